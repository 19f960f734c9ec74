// A Restate service. Clients send to Restate's own ingress, which reads Idempotency-Key. Arguments: FOLDER PORT; the
// effects are counted on the next port.
import http from 'node:http';
import * as restate from '@restatedev/restate-sdk';
import { effects, pay, port } from './payment.js';

const payments = restate.service({
  name: 'payments',
  handlers: {
    pay: async (context, body) => {
      const headers = Object.fromEntries(context.request().headers);
      const answer = await context.run('pay', () => pay(headers, body));
      if (answer.status >= 400) {
        throw new restate.TerminalError(answer.body.error.message, { errorCode: answer.status });
      }
      return answer.body;
    },
  },
});
await restate.serve({ services: [payments], port: Number(port) });
http.createServer((_, response) => {
  response.setHeader('Content-Type', 'application/json');
  response.end(JSON.stringify({ total: effects() }));
}).listen(Number(port) + 1, '127.0.0.1');
