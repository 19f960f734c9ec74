// What every peer does behind its boundary: a payment whose effect is a line in a file, durable before the answer.
// X-Slow: MS waits after the effect, X-Fail: 1 answers 500 after it, X-Refuse: 1 answers 503 before it.
// Arguments of every server: FOLDER PORT [URL of its store]
import { closeSync, fsyncSync, openSync, readFileSync, writeSync } from 'node:fs';
import { setTimeout as wait } from 'node:timers/promises';

export const [folder, port, storeUrl] = process.argv.slice(2);
const ledger = `${folder}/effects`;

export function effects() {
  try {
    return readFileSync(ledger, 'utf8').split('\n').length - 1;
  } catch {
    return 0;
  }
}

export async function pay(headers, body) {
  if (headers['x-refuse']) {
    return { status: 503, headers: { 'Retry-After': '1' }, body: { error: { message: 'busy' } } };
  }
  if (body?.amount === undefined) {
    return { status: 422, headers: {}, body: { error: { message: 'amount is missing' } } };
  }
  const file = openSync(ledger, 'a');
  writeSync(file, `${body.amount}\n`);
  fsyncSync(file);
  closeSync(file);
  const id = `payment-${String(effects()).padStart(8, '0')}`;
  await wait(Number(headers['x-slow'] ?? 0));
  if (headers['x-fail']) return { status: 500, headers: {}, body: { error: { message: 'broken' } } };
  return { status: 201, headers: { Location: `/payments/${id}` }, body: { id, note: body.note } };
}
