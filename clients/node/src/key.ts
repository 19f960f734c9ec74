import { randomBytes } from 'node:crypto';

let last = { time: 0, count: 0 };

/** A key for one intent: a UUID of version 7. Later ones of this process sort after earlier ones. */
export function newKey(now: number = Date.now()): string {
  const bytes = randomBytes(16);
  if (now > last.time) {
    last = { time: now, count: bytes.readUInt16BE(6) & 0x7ff };
  } else {
    // The same millisecond, or a clock that went back: count on, into the next one where it is full.
    const count = last.count + 1;
    last = count > 0xfff ? { time: last.time + 1, count: 0 } : { time: last.time, count };
  }
  bytes.writeUIntBE(last.time, 0, 6);
  bytes.writeUInt16BE(0x7000 | last.count, 6);
  bytes.writeUInt8((bytes.readUInt8(8) & 0x3f) | 0x80, 8);
  const hex = bytes.toString('hex');
  return [hex.slice(0, 8), hex.slice(8, 12), hex.slice(12, 16), hex.slice(16, 20), hex.slice(20)].join('-');
}
