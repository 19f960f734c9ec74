// @aws-lambda-powertools/idempotency with Redis: the key of the header is hashed, the body is validated.
import { IdempotencyConfig, makeIdempotent } from '@aws-lambda-powertools/idempotency';
import { CachePersistenceLayer } from '@aws-lambda-powertools/idempotency/cache';
import { createClient } from '@redis/client';
import express from 'express';
import { effects, pay, port, storeUrl } from './payment.js';

process.env.AWS_LAMBDA_FUNCTION_NAME ??= 'payments';
const client = await createClient({ url: storeUrl }).connect();
class Failed extends Error {
  constructor(answer) {
    super('failed');
    this.answer = answer;
  }
}
const once = makeIdempotent(async (event) => {
  const answer = await pay(event.headers, event.body);
  if (answer.status >= 500) throw new Failed(answer);  // the library forgets what throws
  return answer;
}, {
  persistenceStore: new CachePersistenceLayer({ client }),
  config: new IdempotencyConfig({
    eventKeyJmesPath: '[caller, key]', payloadValidationJmesPath: 'body', throwOnNoIdempotencyKey: true }),
});

function status_of(error) {
  if (error.name === 'IdempotencyAlreadyInProgressError') return 409;
  if (error.name === 'IdempotencyValidationError') return 422;
  return error.name === 'IdempotencyKeyError' ? 400 : 500;
}

const app = express();
app.get('/effects', (_, response) => response.json({ total: effects() }));
app.post('/payments', express.json(), async (request, response) => {
  const key = request.get('Idempotency-Key');
  if (!key) return response.status(400).json({ error: { message: 'Idempotency-Key is required' } });
  let answer;
  try {
    const caller = request.get('Authorization') ?? '';
    answer = await once({ caller, key, body: request.body, headers: request.headers });
  } catch (error) {
    const status = status_of(error);
    answer = error.answer ?? { status, headers: status === 409 ? { 'Retry-After': '1' } : {},
      body: { error: { message: error.message } } };
  }
  return response.status(answer.status).set(answer.headers).json(answer.body);
});
app.listen(Number(port), '127.0.0.1');
