// Takes payouts from a Redis stream and sends each of them to the bank once. The stream delivers at
// least once: whatever was not acknowledged comes again, also while an earlier delivery still runs.
import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { createClient } from 'redis';

const pawl = process.env.PAWL_URL ?? 'http://127.0.0.1:8080';
const bank = process.env.BANK_URL ?? 'http://127.0.0.1:3000/payouts';
const redeliverAfter = Number(process.env.REDELIVER_AFTER_MS ?? 60_000);
const askFor = Number(process.env.ASK_FOR_MS ?? 10_000);
const [stream, group, me] = ['payouts', 'senders', `consumer-${process.pid}`];

const redis = await createClient({ url: process.env.REDIS_URL ?? 'redis://127.0.0.1:6379' })
  .on('error', (error) => console.error('redis:', error.message)).connect();
await redis.xGroupCreate(stream, group, '0', { MKSTREAM: true }).catch((error) => {
  if (!error.message.includes('BUSYGROUP')) throw error; // it is there already
});

// One call of the key API, repeated while it is not answered: what is done is not done again. Not
// for ever: one key that Pawl cannot serve must not hold up all the others.
async function ask(key, verb, body) {
  for (const end = Date.now() + askFor; Date.now() < end; await sleep(250)) {
    const answer = await fetch(`${pawl}/_pawl/v1/keys/${encodeURIComponent(key)}/${verb}`, {
      method: 'POST', headers: { 'Content-Type': 'application/json' }, body: JSON.stringify(body),
      signal: AbortSignal.timeout(askFor),
    }).then(async (it) => (it.status === 503 || it.status === 429 ? null : it.json())).catch(() => null);
    if (answer) return answer;
  }
  return { detail: `${verb} was not answered` };
}

// What the bank made of it: an `answer`, or a `refusal`, after which certainly nothing has happened.
// Neither: nobody knows.
async function pay(payout) {
  try {
    const answer = await fetch(bank, {
      method: 'POST', headers: { 'Content-Type': 'application/json' }, body: JSON.stringify(payout),
      redirect: 'manual', // whoever refers us to another place has had the payout in its hands
    });
    const { status } = answer;
    const response = { status, body: await answer.text() };
    if (status === 429 || (status === 503 && answer.headers.has('Retry-After'))) return { refusal: status };
    return status < 300 || (status >= 400 && status < 500) ? { answer: response } : { doubt: status };
  } catch (error) {
    // Nobody listened: not one byte was sent. Anything else may have reached the bank.
    const reason = error.cause?.code ?? error.message;
    return reason === 'ECONNREFUSED' ? { refusal: reason } : { doubt: reason };
  }
}

// True once the payout needs nobody any more.
async function send(payout) {
  const key = `payout:${payout.id}`; // the message's own name: the same in every delivery
  const owner = randomUUID(); // this delivery's: never the same in two
  const found = await ask(key, 'reserve', { owner, request: payout });
  console.log(`${key}: ${found.decision ?? found.detail}`);
  if (found.decision === 'replay') return true; // an earlier delivery did it
  if (found.decision !== 'execute') return false; // somebody is at it, or nobody knows: not now
  const held = { owner, fence: found.fence };
  const renewal = setInterval(() => ask(key, 'renew', held), Math.max(found.lease_seconds * 333, 100));
  const { answer, refusal, doubt } = await pay(payout);
  clearInterval(renewal);
  if (answer) return (await ask(key, 'complete', { ...held, response: answer })).status === 'completed';
  if (refusal) await ask(key, 'release', { ...held, reason: `${refusal}` });
  // In doubt nothing is said: the lease runs out, and the payout is held until somebody has looked.
  console.error(`${key}: ${refusal ?? doubt}`);
  return false;
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
