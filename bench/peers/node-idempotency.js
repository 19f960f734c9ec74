// @node-idempotency/core with Redis, as its README has it; it asks for a key.
import { Idempotency } from '@node-idempotency/core';
import { RedisStorageAdapter } from '@node-idempotency/storage-adapter-redis';
import express from 'express';
import { effects, pay, port, storeUrl } from './payment.js';

const storage = new RedisStorageAdapter({ url: storeUrl });
await storage.connect();
const idempotency = new Idempotency(storage, { enforceIdempotency: true });
const statuses = { REQUEST_IN_PROGRESS: 409, IDEMPOTENCY_FINGERPRINT_MISSMATCH: 422 };

const app = express();
app.get('/effects', (_, response) => response.json({ total: effects() }));
app.post('/payments', express.json(), async (request, response) => {
  const { method, headers, body, path } = request;
  try {
    const stored = await idempotency.onRequest({ method, headers, body, path });
    if (stored) return response.status(stored.additional.status).json(stored.body);
  } catch (error) {
    return response.status(statuses[error.code] ?? 400).json({ error: { message: error.message } });
  }
  const answer = await pay(headers, body);
  await idempotency.onResponse({ method, headers, body, path },
    { body: answer.body, additional: { status: answer.status } });
  return response.status(answer.status).set(answer.headers).json(answer.body);
});
app.listen(Number(port), '127.0.0.1');
