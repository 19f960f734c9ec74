// A payments service: the row and the answer commit together, or neither does.
import express from 'express';
import pg from 'pg';
import { transactional } from '@pawl/client';

const pool = new pg.Pool({ connectionString: process.env.DATABASE_URL });
pool.on('error', (error) => console.error(error.message)); // a connection that was lost while it was idle

async function pay(tx, request) {
  const { order, amount } = request.body;
  if (!Number.isSafeInteger(amount) || amount <= 0) return { status: 422, json: { detail: 'amount must be a positive integer' } };
  const { rows } = await tx.query('INSERT INTO payments (order_id, amount) VALUES ($1, $2) RETURNING id', [order, amount]);
  return { status: 201, json: { id: Number(rows[0].id) } };
}

const app = express();
app.post('/v1/payments', express.json(), transactional(pool, pay, { onError: (error) => console.error(error.message) }));
app.listen(process.env.PORT ?? 3000, '127.0.0.1', () => console.log('listening'));
