// A payments service behind a transactional route of Pawl: the business row and the answer commit
// together, or neither does.
import http from 'node:http';
import pg from 'pg';
import { transactional } from '@pawl/client';

const pool = new pg.Pool({ connectionString: process.env.DATABASE_URL });
const lost = (error) => console.error(`a connection was lost: ${error.message}`);
pool.on('error', lost).on('connect', (client) => client.on('error', lost));

const refuse = (status, detail) => ({ status, json: { detail } });

// What is returned below 500 commits, with the rows: a 4xx is an answer too. What is thrown rolls back.
async function pay(tx, request) {
  const chunks = [];
  for await (const chunk of request) chunks.push(chunk);
  let payment;
  try {
    payment = JSON.parse(Buffer.concat(chunks));
  } catch {
    return refuse(400, 'the body must be JSON');
  }
  if (!Number.isSafeInteger(payment?.amount) || payment.amount <= 0) return refuse(422, 'amount must be a positive integer');
  if (!/^[A-Z]{3}$/.test(payment.currency)) return refuse(422, 'currency must be three capital letters');
  const { rows } = await tx.query(
    'INSERT INTO payments (amount, currency) VALUES ($1, $2) RETURNING id', [payment.amount, payment.currency]);
  return { status: 201, json: { id: rows[0].id, amount: payment.amount } };
}

// PW001: another owner has this request now, and our row is gone with the transaction.
const onError = (error) => console.error(`payment not confirmed: ${error.code ?? ''} ${error.message}`);
const payments = transactional(pool, pay, { onError });

const server = http.createServer((request, response) => {
  if (request.method === 'POST' && request.url === '/v1/payments') return payments(request, response);
  response.writeHead(404, { 'Content-Type': 'application/json' }).end('{"detail":"POST /v1/payments is all there is"}');
});
server.listen(process.env.PORT ?? 3000, '127.0.0.1', () => console.log(`listening on ${server.address().port}`));
