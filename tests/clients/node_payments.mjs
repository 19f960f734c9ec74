// A payments service, a caller and a consumer on clients/node, which stop where the crash test wants them.
import { existsSync } from 'node:fs';
import { createRequire } from 'node:module';
import * as pawl from '../../clients/node/dist/index.js';

const require = createRequire(new URL('../../clients/node/', import.meta.url));
const { Pool } = require('pg');
const [, , mode, ...args] = process.argv;
const pool = () => new Pool({ connectionString: process.env.DATABASE_URL }).on('error', () => {});

async function step(name) {
  console.log(`at ${name}`);
  if (process.env.STOP_AT !== name) return;
  while (!existsSync(process.env.GO_FILE)) await new Promise((go) => setTimeout(go, 10));
}

async function pay(tx, request, guarded) {
  const made = await tx.query('INSERT INTO payments (key, amount) VALUES ($1, $2) RETURNING id', [guarded.key, request.body.amount]);
  return { status: 201, json: { id: made.rows[0].id, amount: request.body.amount } };
}

const options = { onStep: step, onError: (error) => console.log(`error ${error.name} ${error.message}`) };
const modes = {
  async service(port, adapter) {
    if (adapter === 'fastify') {
      const app = require('fastify')();
      app.post('/v1/payments', pawl.transactionalFastify(pool(), pay, options));
      await app.listen({ port: Number(port), host: '127.0.0.1' });
      return console.log('listening');
    }
    const express = require('express');
    const app = express();
    app.post('/v1/payments', express.json(), pawl.transactional(pool(), pay, options));
    app.listen(Number(port), '127.0.0.1', () => console.log('listening'));
  },
  async call(url, key) {
    const answer = await new pawl.Caller({ deadlineMs: 90_000, tryTimeoutMs: 20_000 }).post(`${url}/v1/payments`, { amount: 1000 }, { key });
    console.log(JSON.stringify({ status: answer.status, body: answer.text(), replayed: answer.replayed }));
  },
  async consume(url, key) {
    const bank = pool();
    const done = await new pawl.Consumer({ url }).run(key, { amount: 1000 }, async () => {
      await step('reserved');
      await bank.query('INSERT INTO payouts (key) VALUES ($1)', [key]);
      await step('acted');
      return { status: 201, json: { id: key } };
    });
    await step('finished');
    await bank.end();
    console.log(JSON.stringify({ outcome: done.replayed ? 'replayed' : 'done', status: done.status, body: done.body.toString() }));
  },
};

try {
  await modes[mode](...args);
} catch (error) {
  console.log(JSON.stringify({ outcome: error.name, detail: error.message }));
  process.exit(0);
}
