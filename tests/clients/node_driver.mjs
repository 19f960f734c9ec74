// Carries out the cases of cases.json with clients/node, one JSON line each.
import { createInterface } from 'node:readline';
import * as pawl from '../../clients/node/dist/index.js';
import { FakePawl } from '../../clients/node/dist/testing.js';

const text = (body) => Buffer.from(body).toString('utf8');

function fakeClock() {
  const clock = { at: performance.now(), moved: 0, waits: [] };
  clock.now = () => performance.now() + clock.moved;
  clock.random = () => 0.5;
  clock.sleep = async (ms) => { clock.waits.push(ms); clock.moved += ms; };
  return clock;
}

const failure = (error) => ({
  outcome: error instanceof pawl.PawlError ? error.constructor.name : `${error.stack}`, code: error.code, status: error.status, key: error.key });

async function caller({ call, url }) {
  const clock = fakeClock();
  const start = clock.now();
  const caller = new pawl.Caller({ clock: { ...clock, now: () => start + clock.moved, sleep: (ms) => clock.sleep(ms) }, deadlineMs: call.deadline_ms ?? 120_000,
    maxTries: call.max_tries, tryTimeoutMs: call.try_timeout_ms ?? 30_000 });
  const wanted = { method: call.method, url: call.url ?? url + call.path };
  if (call.headers) wanted.headers = call.headers;
  if (call.json !== null) wanted.json = call.json;
  if (call.key !== null) wanted.key = call.key;
  if (call.keyless) wanted.keyless = true;
  if (call.cancel) {
    const controller = new AbortController();
    const { sleep } = clock;
    wanted.signal = controller.signal;
    clock.sleep = async (ms) => { await sleep(ms); controller.abort(); };
  }
  try {
    if (call.warm) await caller.call({ method: 'GET', url: `${url}/warm` });
    const answer = await caller.call(wanted);
    return { outcome: 'answer', status: answer.status, body: answer.text(), replayed: answer.replayed, key: answer.key, waits_ms: clock.waits };
  } catch (error) {
    return { ...failure(error), waits_ms: clock.waits };
  }
}

async function consumer({ run, url }) {
  const clock = fakeClock();
  const consumer = new pawl.Consumer({ url, clock, reserveMs: run.reserve_ms ?? 10_000, settleMs: run.settle_ms ?? 60_000 });
  let worked = false;
  let job;
  const answer = { status: 201, json: { id: 'po_1' } };
  const lost = () => new Promise((_, reject) => {
    if (job.signal.aborted) return reject(job.signal.reason);
    job.signal.addEventListener('abort', () => reject(job.signal.reason));
  });
  const work = {
    answer: async () => answer,
    not_executed: async () => { throw new pawl.NotExecuted('the bank is closed'); },
    throw: async () => { throw new Error('connection reset'); },
    advance: async () => { await job.advance('limits-checked'); await job.advance('sent'); return answer; },
    wait_renewed: async () => { while (job.renewals < 2) { job.check(); await new Promise((go) => setTimeout(go, 5)); } return answer; },
    wait_lost: lost,
    wait_lost_then_answer: async () => { await lost().catch(() => {}); return answer; },
  }[run.work];
  try {
    const done = await consumer.run(run.key, run.request, async (granted) => { worked = true; job = granted; return work(); });
    return { outcome: done.replayed ? 'replayed' : 'done', body: text(done.body), worked, renewed: job?.renewals >= 2 };
  } catch (error) {
    return { ...failure(error), worked, cancelled: job?.signal.aborted ?? false };
  }
}

const guarded = { 'pawl-scope': 'tenant-a', 'pawl-key': 'order-4711-payment', 'pawl-fence': '1767225600000000' };
const dbError = (state) => Object.assign(new Error('db'), state ? { code: state } : { code: 'ECONNRESET' });

async function sql({ op, sqlstate, without }) {
  let seen;
  const tx = { query: async (statement, values) => {
    seen = { statement, values };
    if (sqlstate) throw dbError(sqlstate);
    return { rows: [{ id: 'x' }] };
  } };
  const headers = { ...guarded };
  if (without) delete headers[without.toLowerCase()];
  try {
    const request = pawl.guardedRequest(headers);
    await {
      complete: () => pawl.complete(tx, request, 201, { 'Content-Type': 'application/json' }, '{"id":1}'),
      advance: () => pawl.advance(tx, request, 'charged'),
      release: () => pawl.release(tx, request, 'closed'),
      enqueue: () => pawl.enqueue(tx, request, { destination: 'bank', body: '{}', path: '/payouts', step: 'first' }),
    }[op]();
  } catch (error) {
    return { error: failure(error).outcome };
  }
  const jsonAt = { complete: 4, enqueue: 6 }[op];
  const values = seen.values.map((each, at) => (at === jsonAt ? JSON.parse(each) : Buffer.isBuffer(each) ? text(each) : each));
  return { sql: /pawl\.\w+/.exec(seen.statement)[0], values };
}

async function transaction({ fails, sqlstate, reply, external, on_error: onError }) {
  const log = [];
  let marker; // as PostgreSQL keeps a setting that is local to a transaction
  const client = {
    query: async (statement, values = []) => {
      const kind = statement.startsWith('INSERT') ? 'work' : statement.includes('pawl.complete') ? 'complete'
        : statement === 'COMMIT' ? 'commit' : statement === 'ROLLBACK' ? 'rollback' : 'other';
      if (kind === fails) throw dbError(sqlstate);
      log.push(statement);
      if (statement.includes('set_config')) marker = values.at(-1);
      if (kind === 'commit' || kind === 'rollback') marker = undefined;
      const asked = kind === 'complete' || statement.includes('current_setting');
      return { rows: asked && values.at(-1) === marker ? [{}] : [], command: statement };
    },
    release: () => {},
  };
  const pool = { connect: async () => { if (fails === 'connect') throw dbError(''); return client; } };
  const answer = await pawl.runTransactional(pool, fails === 'unguarded' ? {} : guarded, async (tx, request) => {
    if (external) request.actsOutside();
    await tx.query('INSERT');
    if (fails.startsWith('ended')) await tx.query('COMMIT');
    if (fails === 'handler' || fails === 'ended_then_raised') throw new Error('handler');
    return { status: reply, json: {} };
  }, onError ? { onError: () => { throw new Error('the log is full'); } } : {});
  const outcome = answer.headers.find(([name]) => name === 'Pawl-Outcome')?.[1] ?? '';
  return { status: answer.status, outcome, ends: log.filter((each) => each === 'COMMIT' || (each === 'ROLLBACK' && !fails.startsWith('ended'))).join() };
}

const keys = async () => ({ keys: Array.from({ length: 5000 }, () => pawl.newKey()) });

let running;
async function fake() {
  running = await new FakePawl(() => ({ status: 201, json: { id: 'pay_1' } })).start();
  return { url: running.url };
}

// What the fake does on demand, and what the client makes of it.
async function fakeTrouble() {
  const fake = await new FakePawl(undefined, 1).start();
  const caller = new pawl.Caller({ clock: fakeClock() });
  const pay = async (key) => { const answer = await caller.post(`${fake.url}/v1/payments`, {}, { key }); return [answer.status, answer.tries, fake.executions]; };
  fake.loseNextAnswer();
  const lost = await pay('order-4711-payment');
  fake.failNext();
  const failed = await pay('order-4712-payment');
  fake.makeUnknown('order-4713-payment');
  const unknown = await pay('order-4713-payment').catch((error) => error.name);
  const lease = await new pawl.Consumer({ url: fake.url }).run('payout-2024-06-0001', {}, (job) => {
    fake.endLease(job.key);
    return new Promise((_, reject) => job.signal.addEventListener('abort', () => reject(job.signal.reason)));
  }).catch((error) => error.name);
  await fake.stop();
  return { lost, failed, unknown, lease };
}

const parts = { fake, fake_trouble: fakeTrouble, caller, consumer, sql, transaction, keys };
for await (const line of createInterface({ input: process.stdin })) {
  const wanted = JSON.parse(line);
  console.log(JSON.stringify(await parts[wanted.part](wanted)));
}
await running?.stop();
