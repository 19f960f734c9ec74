// express-idempotency, as its README has it. Its only store is the process's memory.
import express from 'express';
import { getSharedIdempotencyService, idempotency } from 'express-idempotency';
import { effects, pay, port } from './payment.js';

const app = express();
app.get('/effects', (_, response) => response.json({ total: effects() }));
app.use(express.json());
app.use(idempotency());
app.post('/payments', async (request, response) => {
  const service = getSharedIdempotencyService();
  if (service.isHit(request)) return;
  const answer = await pay(request.headers, request.body);
  if (answer.status >= 500) service.reportError(request);
  response.status(answer.status).set(answer.headers).json(answer.body);
});
app.listen(Number(port), '127.0.0.1');
