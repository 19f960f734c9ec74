// A payments service behind a transactional route of Pawl: the business row and the answer commit
// together, or neither does.
'use strict';
const http = require('node:http');
const { Pool } = require('pg');

const pool = new Pool({
  connectionString: process.env.DATABASE_URL,
  idle_in_transaction_session_timeout: 10_000, // a transaction that hangs holds its key's row
});

async function pay(scope, key, fence, payment) {
  const client = await pool.connect();
  let trouble;
  try {
    await client.query('BEGIN');
    const made = await client.query(
      'INSERT INTO payments (amount, currency) VALUES ($1, $2) RETURNING id', [payment.amount, payment.currency]);
    const answer = { status: 201, body: JSON.stringify({ id: made.rows[0].id, amount: payment.amount }) };
    await client.query('SELECT pawl.complete($1, $2, $3, $4, $5, $6)', // last before COMMIT
      [scope, key, fence, answer.status, { 'Content-Type': 'application/json' }, Buffer.from(answer.body)]);
    await client.query('COMMIT');
    return answer;
  } catch (error) {
    trouble = error;
    await client.query('ROLLBACK').catch(() => {});
    throw error;
  } finally {
    client.release(trouble);
  }
}

async function handle(request) {
  const chunks = [];
  for await (const chunk of request) chunks.push(chunk);
  const { 'pawl-scope': scope, 'pawl-key': key, 'pawl-fence': fence } = request.headers;
  if (request.method !== 'POST' || request.url !== '/v1/payments') return refuse(404, 'POST /v1/payments is all there is');
  if (!fence) return refuse(500, 'this route must be transactional, and reached through pawl serve');
  let payment;
  try {
    payment = JSON.parse(Buffer.concat(chunks));
  } catch {
    return refuse(400, 'the body must be JSON');
  }
  // An answer without pawl.complete is stored by the gateway, as on any other route.
  if (!Number.isSafeInteger(payment?.amount) || payment.amount <= 0) return refuse(422, 'amount must be a positive integer');
  if (!/^[A-Z]{3}$/.test(payment.currency)) return refuse(422, 'currency must be three capital letters');
  try {
    return await pay(scope, key, fence, payment);
  } catch (error) {
    // PW001: somebody else owns this request now, and our row is gone with the transaction. Any
    // failure is a 5xx here: "nothing was committed, try again". A 4xx would be kept as the answer.
    console.error(`payment rolled back: ${error.code ?? ''} ${error.message}`);
    return refuse(error.code === 'PW001' ? 503 : 500, 'nothing was paid; retry with the same key');
  }
}

const refuse = (status, detail) => ({ status, body: JSON.stringify({ detail }) });

const server = http.createServer(async (request, response) => {
  const { status, body } = await handle(request).catch((error) => refuse(500, error.message));
  response.writeHead(status, { 'Content-Type': 'application/json' }).end(body);
});

const lost = (error) => console.error(`a connection was lost: ${error.message}`);
pool.on('error', lost).on('connect', (client) => client.on('error', lost));
server.listen(process.env.PORT ?? 3000, '127.0.0.1', () => console.log(`listening on ${server.address().port}`));
