// DBOS: a durable workflow whose id is the caller and the key.
import { DBOS } from '@dbos-inc/dbos-sdk';
import express from 'express';
import { effects, pay, port, storeUrl } from './payment.js';

DBOS.setConfig({ name: 'payments', systemDatabaseUrl: storeUrl, runAdminServer: false });
const payment = DBOS.registerWorkflow(
  (headers, body) => DBOS.runStep(() => pay(headers, body), { name: 'pay' }), { name: 'payment' });
await DBOS.launch();

const app = express();
app.get('/effects', (_, response) => response.json({ total: effects() }));
app.post('/payments', express.json(), async (request, response) => {
  const key = request.get('Idempotency-Key');
  if (!key) return response.status(400).json({ error: { message: 'Idempotency-Key is required' } });
  const workflowID = `${request.get('Authorization') ?? ''}/${key}`;
  const handle = await DBOS.startWorkflow(payment, { workflowID })({ ...request.headers }, request.body);
  const answer = await handle.getResult();
  return response.status(answer.status).set(answer.headers).json(answer.body);
});
app.listen(Number(port), '127.0.0.1');
