// @aws-lambda-powertools/idempotency with Redis; caller and key of the request are its key. Without
// payloadValidationJmesPath: the Redis layer of 2.35.0 forgets the body's hash when it stores the answer, and every
// replay would be refused as another body.
import { IdempotencyConfig, makeIdempotent } from '@aws-lambda-powertools/idempotency';
import { CachePersistenceLayer } from '@aws-lambda-powertools/idempotency/cache';
import { createClient } from '@redis/client';
import express from 'express';
import { effects, pay, port, storeUrl } from './payment.js';

process.env.AWS_LAMBDA_FUNCTION_NAME ??= 'payments';
const client = await createClient({ url: storeUrl }).connect();
const config = new IdempotencyConfig({ eventKeyJmesPath: '[caller, key]', throwOnNoIdempotencyKey: true });
// What Lambda tells it: how long a call may still take. Without it a call under way is taken for one that died.
config.registerLambdaContext({ getRemainingTimeInMillis: () => 30_000 });
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
}, { persistenceStore: new CachePersistenceLayer({ client }), config });

function statusOf(error) {
  if (error.name === 'IdempotencyAlreadyInProgressError') return 409;
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
    const status = statusOf(error);
    answer = error.answer ?? { status, headers: status === 409 ? { 'Retry-After': '1' } : {},
      body: { error: { message: error.message } } };
  }
  return response.status(answer.status).set(answer.headers).json(answer.body);
});
app.listen(Number(port), '127.0.0.1');
