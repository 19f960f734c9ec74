// Pays an order: node pay.mjs ORDER AMOUNT. Kill it wherever you like, and run it again.
import { closeSync, existsSync, fsyncSync, openSync, readFileSync, renameSync, writeSync } from 'node:fs';
import { Caller, newKey, PawlError } from '@pawl/client';

const [order, amount] = process.argv.slice(2);

// The order's key, stored before the first try: a program that is run again must not make another one.
function keyOf(name) {
  const file = `${name}.key`;
  if (!existsSync(file)) {
    const out = openSync(`${file}.new`, 'w');
    writeSync(out, newKey());
    fsyncSync(out);
    closeSync(out);
    renameSync(`${file}.new`, file);
  }
  return readFileSync(file, 'utf8');
}

const caller = new Caller({ deadlineMs: Number(process.env.DEADLINE_MS ?? 120_000) });
try {
  const url = `${process.env.PAWL_URL ?? 'http://127.0.0.1:8080'}/v1/payments`;
  const answer = await caller.post(url, { order, amount: Number(amount) }, { key: keyOf(order) });
  console.log(answer.status, answer.text(), answer.replayed ? 'replayed' : 'new');
} catch (error) {
  if (!(error instanceof PawlError)) throw error;
  console.log(`${error.name}: run it again, with the same key`); // Unknown: it may have been paid
  process.exitCode = 75;
}
