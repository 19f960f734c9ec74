import { setTimeout as delay } from 'node:timers/promises';
import { Misuse, PawlError, Unavailable, Unknown } from './errors.js';
import { header, NoAnswer, send, type HeaderPairs, type WireAnswer } from './http.js';
import { errorOf, judge, retryAfterMs, waitMs, type Meaning } from './judge.js';
import { newKey } from './key.js';

export interface CallerOptions {
  /** All tries and waits together; 2 minutes unless given. */
  deadlineMs?: number;
  /** One try; 30 seconds unless given. */
  tryTimeoutMs?: number;
  /** How often it is sent at most; only the deadline counts unless given. */
  maxTries?: number;
  /** Sent with every call, such as Authorization. */
  headers?: Record<string, string>;
  /** For tests: time, chance and waiting. */
  clock?: Clock;
}

export interface Clock {
  now(): number;
  random(): number;
  sleep(ms: number, signal?: AbortSignal): Promise<void>;
}

export interface Call {
  method: string;
  url: string;
  headers?: Record<string, string>;
  /** Sent as it is, the same bytes in every try. */
  body?: Buffer | string;
  /** Instead of `body`: any JSON value; Content-Type is application/json. */
  json?: unknown;
  /** The key of this intent. Store it with the order before you call, so that a restart repeats it. */
  key?: string;
  /** The server knows no keys: none is sent, and an unsafe call is never tried again. */
  keyless?: boolean;
  signal?: AbortSignal;
}

export class Answer {
  constructor(
    readonly status: number,
    readonly headers: HeaderPairs,
    readonly body: Buffer,
    readonly key: string | undefined,
    /** How often it was sent. */
    readonly tries: number,
  ) {}
  /** It is the answer of an earlier try. */
  get replayed(): boolean { return this.header('Idempotent-Replayed') === 'true'; }
  header(name: string): string | undefined { return header(this.headers, name); }
  text(): string { return this.body.toString('utf8'); }
  json(): unknown { return JSON.parse(this.text()); }
}

/** An error of a call, with the last answer if there was one. */
export type CallError = PawlError & { answer?: Answer | undefined };

const safe = new Set(['GET', 'HEAD', 'OPTIONS']);

export const systemClock: Clock = {
  now: () => performance.now(),
  random: Math.random,
  sleep: async (ms, signal) => { await delay(ms, undefined, signal ? { signal } : {}); },
};

interface State { key: string | undefined; safe: boolean; mayRetry: boolean; doubt: boolean; tries: number; end: number }

/** Calls an API with one key per intent, and tries again where that is right. */
export class Caller {
  private readonly clock: Clock;
  constructor(private readonly options: CallerOptions = {}) {
    this.clock = options.clock ?? systemClock;
    for (const name of ['deadlineMs', 'tryTimeoutMs', 'maxTries'] as const) {
      const value = options[name];
      // NaN would be a deadline that never comes.
      if (value !== undefined && !(typeof value === 'number' && value > 0)) throw new Misuse(`${name} must be a number above 0`);
    }
  }

  /** POST with a JSON body. */
  post(url: string, json: unknown, more: Partial<Call> = {}): Promise<Answer> {
    return this.call({ ...more, method: 'POST', url, json });
  }

  /** The API's answer, whatever its status; or Unknown, Misuse, Refused, Unavailable. */
  async call(call: Call): Promise<Answer> {
    const method = call.method.toUpperCase();
    const isSafe = safe.has(method);
    if ('key' in call && call.key === undefined) throw new Misuse('key is undefined: leave it out to have one made');
    if (call.keyless && 'key' in call) throw new Misuse('keyless and key exclude each other');
    const state: State = {
      key: call.keyless ? undefined : checked(call.key) ?? (isSafe ? undefined : newKey()),
      safe: isSafe, mayRetry: isSafe || !call.keyless, doubt: false, tries: 0,
      end: this.clock.now() + (this.options.deadlineMs ?? 120_000),
    };
    const body = bodyOf(call);
    const headers = { ...this.options.headers, ...call.headers };
    checkRequest(method, call.url, headers);
    if (call.json !== undefined && !named(headers, 'content-type')) headers['Content-Type'] = 'application/json';
    if (state.key !== undefined) headers['Idempotency-Key'] = state.key;
    if (body !== undefined) headers['Content-Length'] = String(body.length);
    for (;;) {
      const last = await this.once({ ...call, method }, headers, body, state);
      if (last instanceof Answer) return last;
      const wait = waitMs(state.tries, last.after, this.clock.random());
      const late = this.clock.now() + wait >= state.end || state.tries >= (this.options.maxTries ?? Infinity);
      if (!last.again || !state.mayRetry || late || call.signal?.aborted) throw last.error;
      await this.clock.sleep(wait, call.signal).catch(() => { throw last.error; });
    }
  }

  private async once(call: Call, headers: Record<string, string>, body: Buffer | undefined, state: State): Promise<Answer | Failed> {
    state.tries += 1;
    const left = Math.max(1, state.end - this.clock.now());
    const timeoutMs = Math.min(this.options.tryTimeoutMs ?? 30_000, left);
    try {
      const wire = await send({ method: call.method, url: call.url, headers, body, timeoutMs, signal: call.signal });
      return this.answered(wire, state);
    } catch (error) {
      if (!(error instanceof NoAnswer)) throw error;
      if (error.sent) state.doubt = true;
      const type = state.doubt && !state.safe ? Unknown : Unavailable;
      return { again: true, after: undefined, error: new type(`no answer: ${error.message}`, { key: state.key, cause: error }) };
    }
  }

  private answered(wire: WireAnswer, state: State): Answer | Failed {
    const answer = new Answer(wire.status, wire.headers, wire.body, state.key, state.tries);
    const meaning = judge(wire, state.doubt && !state.safe);
    if (meaning.kind === 'answer') return answer;
    if (meaning.kind === 'retry') {
      // Without a key there is no other try whose answer this could be: it is the API's own.
      const byPawl = header(wire.headers, 'Pawl-Should-Retry') !== undefined;
      if (!state.mayRetry && !byPawl && wire.status < 500) return answer;
      if (meaning.executed === 'perhaps') state.doubt = true;
    }
    const error: CallError = errorOf(typeOf(meaning, state), `${wire.status} ${meaning.code ?? wire.body.toString('utf8', 0, 200)}`,
      { key: state.key, code: meaning.code, status: wire.status });
    error.answer = answer;
    return { again: meaning.kind === 'retry', after: retryAfterMs(wire, Date.now()), error };
  }
}

interface Failed { again: boolean; after: number | undefined; error: PawlError }

/** After a try that may have been executed every error is Unknown: a new key would do it twice. */
function typeOf(meaning: Exclude<Meaning, { kind: 'answer' }>, state: State): 'Unknown' | 'Misuse' | 'Refused' | 'Unavailable' {
  if (state.safe) return meaning.kind === 'error' && meaning.type !== 'Unknown' ? meaning.type : 'Unavailable';
  if (state.doubt) return 'Unknown';
  return meaning.kind === 'error' ? meaning.type : 'Unavailable';
}

function bodyOf(call: Call): Buffer | undefined {
  if (call.json !== undefined && call.body !== undefined) throw new TypeError('give body or json, not both');
  if (call.json !== undefined) return Buffer.from(JSON.stringify(call.json));
  return call.body === undefined ? undefined : Buffer.from(call.body);
}

/** An empty key would be a request without one: a bug that must not turn into a new key, or none. */
function checked(key: string | undefined): string | undefined {
  if (key === undefined) return undefined;
  if (typeof key !== 'string' || !/^[\x21-\x7e]([\x20-\x7e]{0,253}[\x21-\x7e])?$/.test(key)) {
    throw new Misuse('a key is 1 to 255 printable ASCII characters');
  }
  return key;
}

function named(headers: Record<string, string>, name: string): boolean {
  return Object.keys(headers).some((each) => each.toLowerCase() === name);
}

/** What cannot be sent as it is given is a bug in this program: no reason to try again, and not to send something else. */
function checkRequest(method: string, url: string, headers: Record<string, string>): void {
  if (!token.test(method)) throw new Misuse('method is no HTTP method');
  if (!/^https?:\/\/[^/?#\s]+[^\s]*$/i.test(url) || /[\x00-\x20\x7f]/.test(url) || !parses(url)) throw new Misuse('url is no http:// or https:// URL');
  for (const [name, value] of Object.entries(headers)) {
    if (!token.test(name) || typeof value !== 'string' || /[^\t\x20-\x7e\x80-\xff]/.test(value)) throw new Misuse(`the header ${JSON.stringify(name)} cannot be sent`);
  }
  if (named(headers, 'idempotency-key')) throw new Misuse('give the key as `key`, not as a header');
}

const token = /^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/;

function parses(url: string): boolean {
  try { return new URL(url).hostname !== ''; } catch { return false; }
}
