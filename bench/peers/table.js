// What a team writes by hand: a table with a unique key, reserved by INSERT ... ON CONFLICT, completed by UPDATE.
import { createHash } from 'node:crypto';
import express from 'express';
import pg from 'pg';
import { effects, pay, port, storeUrl } from './payment.js';

const pool = new pg.Pool({ connectionString: storeUrl, max: 20 });
await pool.query(`CREATE TABLE IF NOT EXISTS idempotency_keys (user_id text, key text, hash text, status int,
  body jsonb, PRIMARY KEY (user_id, key))`);

async function guarded(request, response) {
  const key = request.get('Idempotency-Key');
  if (!key) return response.status(400).json({ error: { message: 'Idempotency-Key is required' } });
  const user = request.get('Authorization') ?? '';
  const hash = createHash('sha256').update(JSON.stringify(request.body)).digest('hex');
  const inserted = await pool.query(
    'INSERT INTO idempotency_keys (user_id, key, hash) VALUES ($1, $2, $3) ON CONFLICT DO NOTHING', [user, key, hash]);
  if (inserted.rowCount === 0) {
    const found = await pool.query('SELECT * FROM idempotency_keys WHERE user_id = $1 AND key = $2', [user, key]);
    const row = found.rows[0];
    if (row.hash !== hash) return response.status(422).json({ error: { message: 'key reused' } });
    if (row.status === null) {
      return response.status(409).set('Retry-After', '1').json({ error: { message: 'in progress' } });
    }
    return response.status(row.status).json(row.body);
  }
  const answer = await pay(request.headers, request.body);
  if (answer.status >= 500) {
    await pool.query('DELETE FROM idempotency_keys WHERE user_id = $1 AND key = $2', [user, key]);
  } else {
    await pool.query('UPDATE idempotency_keys SET status = $3, body = $4 WHERE user_id = $1 AND key = $2',
      [user, key, answer.status, answer.body]);
  }
  return response.status(answer.status).set(answer.headers).json(answer.body);
}

const app = express();
app.get('/effects', (_, response) => response.json({ total: effects() }));
app.post('/payments', express.json(), guarded);
app.listen(Number(port), '127.0.0.1');
