import { randomUUID } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import { systemClock, type Clock } from './caller.js';
import { InFlight, LeaseLost, Misuse, NotExecuted, PawlError, Refused, Unavailable, Unknown } from './errors.js';
import { NoAnswer, send, type WireAnswer } from './http.js';
import { retryAfterMs, waitMs } from './judge.js';
import type { Reply } from './transactional.js';

export interface ConsumerOptions {
  /** Where pawl serve listens. */
  url: string;
  /** Sent with every call, such as Authorization. */
  headers?: Record<string, string>;
  /** How long a reservation is asked for; 10 seconds unless given. */
  reserveMs?: number;
  /** How long a result is handed in; 60 seconds unless given. */
  settleMs?: number;
  clock?: Clock;
}

/** What the operation came to, now or in an earlier delivery. Acknowledge the message. */
export interface Finished {
  status: number;
  headers: [string, string][];
  body: Buffer;
  /** An earlier delivery did it. */
  replayed: boolean;
  /** The answer was too large to keep. */
  bodyWithheld: boolean;
}

type Json = Record<string, unknown>;
interface Said { wire: WireAnswer; body: Json; sentAt: number }

/** One granted key, in the hands of the work. */
export class Job {
  private readonly lost = new AbortController();
  private leaseMs: number;
  private leaseEnd: number;
  private stopped = false;
  private readonly stop = new AbortController();
  private point: string;
  /** How often the lease was renewed in the background. */
  renewals = 0;

  constructor(readonly key: string, readonly owner: string, granted: Said, private readonly consumer: Consumer) {
    this.fence = granted.body.fence as number;
    this.attempt = granted.body.attempt as number;
    this.point = granted.body.recovery_point as string;
    this.leaseMs = leaseMsOf(granted.body.lease_seconds as number);
    this.leaseEnd = granted.sentAt + this.leaseMs;
  }
  readonly fence: number;
  readonly attempt: number;
  /** How far this or an earlier owner came; empty: not begun. */
  get recoveryPoint(): string { return this.point; }
  /** Aborted when the lease is lost: stop before the next effect. */
  get signal(): AbortSignal { return this.lost.signal; }
  get isLost(): boolean { return this.lost.signal.aborted; }
  get leaseLeftMs(): number { return this.leaseEnd - this.consumer.clock.now(); }

  /** Throws LeaseLost once the lease is over: ask before each effect. */
  check(): void {
    if (this.leaseLeftMs <= 0) this.lose('the lease is over');
    if (this.isLost) throw this.lost.signal.reason;
  }

  /** Keeps the next recovery point. A step has a name of its own. */
  async advance(recoveryPoint: string): Promise<void> {
    this.check();
    const said = await this.consumer.ask(this.key, 'advance',
      { owner: this.owner, fence: this.fence, after: this.point, recovery_point: recoveryPoint }, this.leaseLeftMs);
    if (said?.wire.status === 200) {
      this.point = recoveryPoint;
      return this.extend(said);
    }
    if (said?.wire.status === 409) this.lose('the key is not ours any more');
    this.check();
    throw new Unavailable('advance was not answered', { key: this.key, status: said?.wire.status });
  }

  private lose(why: string): void {
    if (!this.isLost) this.lost.abort(new LeaseLost(why, { key: this.key, code: 'stale-fence' }));
  }

  private extend(said: Said): void {
    const seconds = said.body.lease_seconds;
    // 0: the store's clock is not to be trusted, and nothing is gained.
    if (typeof seconds === 'number' && seconds > 0) this.leaseEnd = Math.max(this.leaseEnd, said.sentAt + leaseMsOf(seconds));
  }

  /** Renews every third of the lease until halted; the lease's end without an answer is its loss. */
  async renewing(): Promise<void> {
    let pause = this.leaseMs / 3;
    while (!this.stopped && !this.isLost) {
      await delay(Math.max(1, Math.min(pause, this.leaseLeftMs)), undefined, { signal: this.stop.signal }).catch(() => {});
      if (this.stopped) return;
      if (this.leaseLeftMs <= 0) return this.lose('the lease was not renewed in time');
      // A third of the lease for one try: one that hangs leaves time for another.
      const said = await this.consumer.once(this.key, 'renew', { owner: this.owner, fence: this.fence }, Math.min(this.leaseLeftMs, this.leaseMs / 3));
      if (said?.wire.status === 200) {
        this.renewals += 1;
        this.extend(said);
      } else if (said !== undefined && said.wire.status < 500 && said.wire.status !== 429) {
        this.lose('the key is not ours any more');
      }
      pause = said?.wire.status === 200 ? this.leaseMs / 3 : this.leaseMs / 10;
    }
  }

  halt(): void {
    this.stopped = true;
    this.stop.abort();
  }
}

/** Runs queue jobs and cron runs under the key API: each operation once. */
export class Consumer {
  readonly clock: Clock;
  constructor(private readonly options: ConsumerOptions) {
    this.clock = options.clock ?? systemClock;
  }

  /**
   * `key` comes from the message and is the same in every delivery; `request` is what it means. The work
   * returns its answer, throws NotExecuted where certainly nothing happened, and anything else where it is not
   * known. Returns what the operation came to; an error says: leave the message on the queue.
   */
  async run(key: string, request: unknown, work: (job: Job) => Promise<Reply>, owner: string = randomUUID()): Promise<Finished> {
    const granted = await this.ask(key, 'reserve', { owner, request }, this.options.reserveMs ?? 10_000);
    if (granted === undefined) throw new Unavailable('reserve was not answered', { key });
    if (granted.wire.status === 200) return finished(granted.body.response as Json, true);
    if (granted.wire.status !== 201) throw refusal(key, granted);
    const job = new Job(key, owner, granted, this);
    if (!(job.leaseLeftMs > 0)) {
      await this.settle(job, 'release', { reason: 'the lease was over before the work began' });
      throw new Unavailable('the lease was over before the work began', { key });
    }
    const renewing = job.renewing();
    try {
      return await this.carryOut(job, work);
    } finally {
      job.halt();
      await renewing;
    }
  }

  private async carryOut(job: Job, work: (job: Job) => Promise<Reply>): Promise<Finished> {
    let response: WireResponse & Json;
    try {
      response = responseOf(await work(job));
    } catch (error) {
      if (error instanceof NotExecuted) {
        await this.settle(job, 'release', { reason: printable(error.message) });
        throw error;
      }
      if (error instanceof LeaseLost) throw error;
      const type = job.isLost ? LeaseLost : Unknown;
      throw new type('the work failed, and it may have happened', { key: job.key, cause: error });
    }
    const said = await this.settle(job, 'complete', { response });
    if (said?.wire.status === 200) {
      const body = Buffer.from(response.body ?? response.body_base64 ?? '', response.body === undefined ? 'base64' : 'utf8');
      return { status: response.status, headers: response.headers, body, replayed: false, bodyWithheld: false };
    }
    const details = { key: job.key, status: said?.wire.status, code: said?.body.code as string | undefined };
    if (said?.wire.status === 409) throw new LeaseLost('it was done, and another owner has the key by now', details);
    throw new Unknown('it was done, and that could not be recorded', details);
  }

  private settle(job: Job, verb: string, more: Json): Promise<Said | undefined> {
    return this.ask(job.key, verb, { owner: job.owner, fence: job.fence, ...more }, this.options.settleMs ?? 60_000);
  }

  /** One call, repeated as it is while it is not answered: what is done already is not done again. */
  async ask(key: string, verb: string, body: Json, forMs: number): Promise<Said | undefined> {
    const end = this.clock.now() + forMs;
    for (let tries = 1; ; tries += 1) {
      const said = await this.once(key, verb, body, end - this.clock.now());
      if (said !== undefined && said.wire.status < 500 && said.wire.status !== 429) return said;
      const wait = waitMs(tries, said && retryAfterMs(said.wire, Date.now()), this.clock.random());
      if (this.clock.now() + wait >= end) return undefined;
      await this.clock.sleep(wait);
    }
  }

  /** One try; undefined: no answer, or none that can be read. */
  async once(key: string, verb: string, body: Json, timeoutMs: number): Promise<Said | undefined> {
    const sentAt = this.clock.now();
    const bytes = Buffer.from(JSON.stringify(body));
    try {
      const wire = await send({
        method: 'POST', url: `${this.options.url.replace(/\/$/, '')}/_pawl/v1/keys/${encodeURIComponent(key)}/${verb}`,
        headers: { ...this.options.headers, 'Content-Type': 'application/json', 'Content-Length': String(bytes.length) },
        body: bytes, timeoutMs: Math.max(1, Math.min(timeoutMs, 30_000)),
      });
      const said = parsed(wire, verb, body);
      return said && { wire, body: said, sentAt };
    } catch (error) {
      if (error instanceof NoAnswer) return undefined;
      throw error;
    }
  }
}

/** A lease of more than a day is counted as one: it is renewed long before. */
const leaseMsOf = (seconds: number): number => Math.min(seconds, 86_400) * 1000;

function objectOf(wire: WireAnswer): Json | undefined {
  try {
    const body: unknown = JSON.parse(wire.body.toString('utf8'));
    return typeof body === 'object' && body !== null && !Array.isArray(body) ? body as Json : undefined;
  } catch {
    return undefined;
  }
}

/** undefined: a success that does not say what was asked for comes from something in between. */
function parsed(wire: WireAnswer, verb: string, call: Json): Json | undefined {
  const body = objectOf(wire);
  if (wire.status >= 300) return body ?? {}; // a problem document is for people; its absence changes nothing
  if (body === undefined) return undefined;
  if (verb === 'reserve') {
    if (wire.status === 201) return isGrant(body) ? body : undefined;
    return wire.status === 200 && body.decision === 'replay' && isResponse(body.response) ? body : undefined;
  }
  const kept = verb === 'complete' ? body.status === 'completed' : verb === 'release' ? body.status === 'failed_retryable'
    : verb === 'advance' ? body.recovery_point === call.recovery_point : typeof body.lease_seconds === 'number';
  return wire.status === 200 && kept ? body : undefined;
}

function isGrant(body: Json): boolean {
  return body.decision === 'execute' && Number.isSafeInteger(body.fence) && typeof body.lease_seconds === 'number';
}

function isResponse(value: unknown): boolean {
  if (typeof value !== 'object' || value === null) return false;
  const { status, headers, body, body_base64: bytes } = value as Json;
  const text = (each: unknown) => each === undefined || each === null || typeof each === 'string';
  return Number.isInteger(status) && text(body) && text(bytes) && (headers === undefined || Array.isArray(headers));
}

function refusal(key: string, said: Said): PawlError {
  const code = said.body.code as string | undefined;
  const details = { key, code, status: said.wire.status };
  const message = (said.body.detail as string | undefined) ?? `reserve answered ${said.wire.status}`;
  if (code === 'key-reused' || code === 'key-invalid') return new Misuse(message, details);
  if (code === 'in-flight') return new InFlight(message, details);
  if (code === 'stale-fence') return new Unavailable(message, details);
  const plain = said.wire.status >= 400 && said.wire.status < 500 && said.wire.status !== 409 && said.wire.status !== 410;
  return plain ? new Refused(message, details) : new Unknown(message, details);
}

interface WireResponse { status: number; headers: [string, string][]; body?: string; body_base64?: string }

function responseOf(reply: Reply): WireResponse & Json {
  if (!Number.isInteger(reply?.status)) throw new TypeError('the work returned no status');
  const headers: [string, string][] = Array.isArray(reply.headers) ? [...reply.headers] : Object.entries(reply.headers ?? {});
  if (reply.json !== undefined) {
    if (!headers.some(([name]) => name.toLowerCase() === 'content-type')) headers.push(['Content-Type', 'application/json']);
    return { status: reply.status, headers, body: JSON.stringify(reply.json) };
  }
  if (Buffer.isBuffer(reply.body)) return { status: reply.status, headers, body_base64: reply.body.toString('base64') };
  return { status: reply.status, headers, body: reply.body ?? '' };
}

function finished(response: Json, replayed: boolean): Finished {
  const { status, headers, body, body_base64: bytes } = response as unknown as WireResponse;
  return {
    status, headers: headers ?? [], replayed, bodyWithheld: response.body_withheld === true,
    body: bytes === undefined || bytes === null ? Buffer.from(body ?? '') : Buffer.from(bytes, 'base64'),
  };
}

/** As the key API takes a reason: printable ASCII, 255 at most. */
const printable = (text: string): string => text.replace(/[^\x20-\x7e]/g, '?').slice(0, 255);
