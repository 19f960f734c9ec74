// Takes payouts from a Redis stream and sends each of them to the bank once. The stream delivers at
// least once: whatever was not acknowledged comes again, also while an earlier delivery still runs.
import { Consumer, NotExecuted, PawlError } from '@pawl/client';
import { createClient } from 'redis';

const bank = process.env.BANK_URL ?? 'http://127.0.0.1:3000/payouts';
const redeliverAfter = Number(process.env.REDELIVER_AFTER_MS ?? 60_000);
const askFor = Number(process.env.ASK_FOR_MS ?? 10_000);
const [stream, group, me] = ['payouts', 'senders', `consumer-${process.pid}`];

// Not for ever: one key that Pawl cannot serve must not hold up all the others.
const consumer = new Consumer({ url: process.env.PAWL_URL ?? 'http://127.0.0.1:8080', reserveMs: askFor, settleMs: askFor });

const redis = await createClient({ url: process.env.REDIS_URL ?? 'redis://127.0.0.1:6379' })
  .on('error', (error) => console.error('redis:', error.message)).connect();
await redis.xGroupCreate(stream, group, '0', { MKSTREAM: true }).catch((error) => {
  if (!error.message.includes('BUSYGROUP')) throw error; // it is there already
});

// What the bank has decided. NotExecuted, only where certainly nothing has happened: the payout may be
// sent again. Any other error: it is not known, and the payout is held until that is resolved.
async function pay(payout, job) {
  job.check(); // the lease is still ours
  let answer;
  try {
    answer = await fetch(bank, {
      method: 'POST', headers: { 'Content-Type': 'application/json' }, body: JSON.stringify(payout),
      redirect: 'manual', // a bank that refers us to another place has had the payout
    });
  } catch (error) {
    // Nothing listened: not one byte was sent. Anything else may have reached the bank.
    if (error.cause?.code === 'ECONNREFUSED') throw new NotExecuted(error.cause.message);
    throw error;
  }
  const { status } = answer;
  if (status === 429 || (status === 503 && answer.headers.has('Retry-After'))) throw new NotExecuted(`the bank answered ${status}`);
  if (status < 300 || (status >= 400 && status < 500)) return { status, body: await answer.text() };
  throw new Error(`the bank answered ${status}`);
}

// True once the payout has its answer, from this delivery or an earlier one.
async function send(payout) {
  const key = `payout:${payout.id}`; // the message's own name: the same in every delivery
  try {
    const done = await consumer.run(key, payout, (job) => pay(payout, job));
    console.log(`${key}: ${done.replayed ? 'replayed' : 'done'}`);
    return true;
  } catch (error) {
    if (!(error instanceof PawlError)) throw error;
    console.error(`${key}: ${error.name} ${error.code ?? ''} ${error.cause?.message ?? error.message}`);
    return false; // it stays on the queue
  }
}

console.log('consuming');
for (let cursor = '0-0'; ;) {
  // One that another consumer, or an earlier life of this one, left unacknowledged, the next one each
  // time round; and one that is new: neither has to wait for the other.
  const left = await redis.xAutoClaim(stream, group, me, redeliverAfter, cursor, { COUNT: 1 });
  cursor = left.nextId;
  const fresh = await redis.xReadGroup(group, me, { key: stream, id: '>' },
    { COUNT: 1, BLOCK: left.messages.length > 0 ? 1 : 250 });
  for (const { id, message } of [...left.messages, ...(fresh?.[0]?.messages ?? [])]) {
    if (await send(message)) await redis.xAck(stream, group, id);
  }
}
