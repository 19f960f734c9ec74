// No boundary at all: what Pawl is put in front of, and what a retry does without it.
import express from 'express';
import { effects, pay, port } from './payment.js';

const app = express();
app.get('/effects', (_, response) => response.json({ total: effects() }));
app.post('/payments', express.json(), async (request, response) => {
  const answer = await pay(request.headers, request.body);
  response.status(answer.status).set(answer.headers).json(answer.body);
});
app.listen(Number(port), '127.0.0.1');
