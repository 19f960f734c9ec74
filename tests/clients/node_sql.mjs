// Carries out the calls of service.py with clients/node on pg.
import { createRequire } from 'node:module';
import { createInterface } from 'node:readline';
import * as pawl from '../../clients/node/dist/index.js';

const { Pool } = createRequire(new URL('../../clients/node/', import.meta.url))('pg');
const pool = new Pool({ connectionString: process.env.DATABASE_URL }).on('error', () => {});
const insert = 'INSERT INTO payments (key, amount) VALUES ($1, 1000)';

async function carryOut(tx, request, call) {
  const { op, status, headers, body, point, reason, op: _, ...message } = call;
  if (op === 'complete') await pawl.complete(tx, request, status, headers, body);
  if (op === 'advance') await pawl.advance(tx, request, point);
  if (op === 'release') await pawl.release(tx, request, reason);
  if (op === 'enqueue') return `id ${await pawl.enqueue(tx, request, { ...message, headers, body })}`;
  if (op === 'insert') await tx.query(insert, [request.key]);
  return 'ok';
}

async function transaction({ headers, end, calls }) {
  const client = await pool.connect();
  const request = pawl.guardedRequest(headers);
  await client.query('BEGIN');
  const results = [];
  for (const call of calls) results.push(await carryOut(client, request, call).catch((error) => (error instanceof pawl.PawlError ? error.name : error.message)));
  await client.query(end === 'commit' ? 'COMMIT' : 'ROLLBACK');
  client.release();
  return { results };
}

async function handled({ headers, handler }) {
  const answer = await pawl.runTransactional(pool, headers, async (tx, request) => {
    await tx.query(insert, [request.key]);
    if (handler.startsWith('commit')) await tx.query('COMMIT');
    if (handler === 'rollback') await tx.query('ROLLBACK');
    if (handler === 'give_back') tx.release();
    if (handler === 'failed_statement') await tx.query('SELECT 1 / 0');
    if (handler.endsWith('raise')) throw new Error('the handler failed');
    return { status: handler.endsWith('5xx') ? 503 : 201, json: {} };
  });
  return { status: answer.status, outcome: answer.headers.find(([name]) => name === 'Pawl-Outcome')?.[1] ?? '' };
}

for await (const line of createInterface({ input: process.stdin })) {
  const { headers, ...call } = JSON.parse(line);
  const lower = Object.fromEntries(Object.entries(headers).map(([name, value]) => [name.toLowerCase(), value]));
  console.log(JSON.stringify(await (call.handler ? handled : transaction)({ ...call, headers: lower })));
}
await pool.end();
