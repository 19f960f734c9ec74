// The articles' flow, as a team would write it: reserve by INSERT ... ON CONFLICT, call the service, store its
// answer by UPDATE. One request, two commits. Arguments: PORT UPSTREAM_PORT CONNECTION_STRING
import { createHash } from 'node:crypto';
import http from 'node:http';
import Fastify from 'fastify';
import pg from 'pg';

const [port, upstreamPort, connectionString] = process.argv.slice(2);
const pool = new pg.Pool({ connectionString, max: 32 });
const agent = new http.Agent({ keepAlive: true, maxSockets: 128 });

await pool.query(`CREATE TABLE IF NOT EXISTS peer_keys (
  id uuid PRIMARY KEY DEFAULT gen_random_uuid(), idempotency_key varchar(255) NOT NULL, user_id varchar(64) NOT NULL,
  request_path varchar(500) NOT NULL, request_hash varchar(64) NOT NULL, status varchar(20) NOT NULL DEFAULT 'PROCESSING',
  response_code int, response_body jsonb, locked_at timestamptz, expires_at timestamptz NOT NULL,
  created_at timestamptz NOT NULL DEFAULT now(), UNIQUE (user_id, idempotency_key))`);

const insert = { name: 'i', text: `INSERT INTO peer_keys (idempotency_key, user_id, request_path, request_hash,
  locked_at, expires_at) VALUES ($1, 'user', $2, $3, now(), now() + interval '48 hours')
  ON CONFLICT (user_id, idempotency_key) DO NOTHING RETURNING id` };
const read = { name: 'r', text: `SELECT request_hash, status, response_code, response_body FROM peer_keys
  WHERE user_id = 'user' AND idempotency_key = $1` };
const complete = { name: 'c', text: `UPDATE peer_keys SET status = 'COMPLETED', response_code = $2, response_body = $3
  WHERE user_id = 'user' AND idempotency_key = $1 AND status = 'PROCESSING'` };

function forward(path, body) {
  return new Promise((resolve, reject) => {
    const request = http.request({ port: upstreamPort, host: '127.0.0.1', path, method: 'POST', agent,
      headers: { 'Content-Type': 'application/json', 'Content-Length': Buffer.byteLength(body) } }, (answer) => {
      let text = '';
      answer.setEncoding('utf8').on('data', (piece) => { text += piece; });
      answer.on('end', () => resolve({ status: answer.statusCode, text }));
    });
    request.on('error', reject).end(body);
  });
}

const app = Fastify();
app.post('/*', async (request, reply) => {
  const key = request.headers['idempotency-key'];
  if (!key) return reply.code(400).send({ error: 'key missing' });
  const body = JSON.stringify(request.body);
  const hash = createHash('sha256').update(body).digest('hex');
  const won = await pool.query({ ...insert, values: [key, request.url, hash] });
  if (won.rowCount === 0) {
    const { rows: [row] } = await pool.query({ ...read, values: [key] });
    if (row.request_hash !== hash) return reply.code(422).send({ error: 'key reused' });
    if (row.status !== 'COMPLETED') return reply.code(409).send({ error: 'in flight' });
    return reply.code(row.response_code).send(row.response_body);
  }
  const answer = await forward(request.url, body);
  await pool.query({ ...complete, values: [key, answer.status, answer.text] });
  return reply.code(answer.status).type('application/json').send(answer.text);
});
await app.listen({ port: Number(port), host: '127.0.0.1' });
console.log('ready');
