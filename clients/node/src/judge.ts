import { Misuse, PawlError, Refused, Unavailable, Unknown } from './errors.js';
import { header, type WireAnswer } from './http.js';

/** What an answer means for the key it was sent under; docs/clients.md has the same tables. */
export type Meaning =
  | { kind: 'answer' }
  | { kind: 'retry'; executed: 'no' | 'perhaps'; code: string | undefined }
  | { kind: 'error'; type: 'Unknown' | 'Misuse' | 'Refused' | 'Unavailable'; code: string | undefined };

const misuse = new Set(['key-missing', 'key-invalid', 'key-reused']);
/** Pawl's own answers after which nothing was sent on by this try. */
const unavailable = new Set([
  'rate-limited', 'too-many-keys', 'store-unavailable', 'upstream-unreachable', 'draining', 'overloaded', 'auth-unavailable']);
const refused = new Set([
  'body-invalid', 'unauthenticated', 'forbidden', 'body-too-large', 'abandoned', 'stale-request', 'bad-request', 'uri-too-long',
  'expectation-failed', 'headers-too-large', 'not-implemented', 'version-not-supported', 'near-duplicate']);
const retried = new Set([408, 409, 425, 429]);
const notBegun = new Set([408, 425, 429]);
const fromInFront = new Set([400, 401, 403, 404, 405, 406, 407, 411, 413, 414, 415, 417, 421, 426, 431, 451]);

interface Problem { code: string | undefined; pawl: boolean; idempotencyError: boolean }

function text(value: unknown): string | undefined {
  return typeof value === 'string' ? value : undefined;
}

function problemOf(answer: WireAnswer): Problem {
  const pawl = header(answer.headers, 'Pawl-Should-Retry') !== undefined;
  const none = { code: undefined, pawl, idempotencyError: false };
  if (answer.status < 400) return none;
  let body: Record<string, unknown>;
  try {
    body = JSON.parse(answer.body.toString('utf8')) as Record<string, unknown>;
  } catch {
    return none;
  }
  if (typeof body !== 'object' || body === null) return none;
  const error = (typeof body.error === 'object' && body.error !== null ? body.error : {}) as Record<string, unknown>;
  const type = text(body.type) ?? '';
  return {
    code: text(body.code) ?? text(error.code),
    pawl: pawl || type.startsWith('urn:pawl:problem:'),
    idempotencyError: text(error.type) === 'idempotency_error',
  };
}

function ofPawl(code: string | undefined, again: boolean): Meaning {
  const known = code ?? '';
  if (again) return { kind: 'retry', executed: unavailable.has(known) ? 'no' : 'perhaps', code };
  if (misuse.has(known)) return { kind: 'error', type: 'Misuse', code };
  if (refused.has(known)) return { kind: 'error', type: 'Refused', code };
  if (unavailable.has(known)) return { kind: 'error', type: 'Unavailable', code };
  // outcome-unknown, key-expired, store-restored, caller-unproven, and every code that is not known here.
  return { kind: 'error', type: 'Unknown', code };
}

function ofOthers(answer: WireAnswer, problem: Problem): Meaning {
  const { status } = answer;
  const { code } = problem;
  if (header(answer.headers, 'Idempotent-Replayed') === 'true') return { kind: 'answer' };
  if (problem.idempotencyError && (status === 400 || status === 422)) return { kind: 'error', type: 'Misuse', code };
  const said = header(answer.headers, 'Stripe-Should-Retry');
  const again = said === 'true' || (said !== 'false' && (retried.has(status) || status >= 500));
  const refusal = notBegun.has(status) || (status === 503 && header(answer.headers, 'Retry-After') !== undefined);
  if (again) return { kind: 'retry', executed: refusal ? 'no' : 'perhaps', code };
  if (status < 500) return { kind: 'answer' };
  return { kind: 'error', type: refusal ? 'Unavailable' : 'Unknown', code };
}

/** `doubt`: an earlier try of the same call may have been executed. */
export function judge(answer: WireAnswer, doubt: boolean): Meaning {
  const problem = problemOf(answer);
  if (problem.pawl) return ofPawl(problem.code, header(answer.headers, 'Pawl-Should-Retry') === 'true');
  const meaning = ofOthers(answer, problem);
  if (meaning.kind !== 'answer' || !doubt) return meaning;
  // A login page or a proxy in front knows nothing of the try before.
  const inFront = fromInFront.has(answer.status) || (answer.status >= 300 && answer.status < 400);
  const ofTheKey = header(answer.headers, 'Idempotent-Replayed') === 'true' ||
    header(answer.headers, 'Pawl-Request-Id') !== undefined;
  return inFront && !ofTheKey ? { kind: 'error', type: 'Unknown', code: problem.code } : meaning;
}

const types = { Unknown, Misuse, Refused, Unavailable };

export function errorOf(type: keyof typeof types, message: string, details: ConstructorParameters<typeof PawlError>[1]): PawlError {
  return new types[type](message, details);
}

/** What Retry-After says, in milliseconds and never more than a minute; undefined: nothing usable. */
export function retryAfterMs(answer: WireAnswer, wallClock: number): number | undefined {
  const value = header(answer.headers, 'Retry-After')?.trim();
  if (value === undefined) return undefined;
  const wait = /^\d+$/.test(value) ? Number(value) * 1000 : /^[A-Z][a-z]{2},/.test(value) ? Date.parse(value) - wallClock : NaN;
  return wait > 0 ? Math.min(wait, 60_000) : undefined;
}

/** How long to wait after the n-th try: what the server asked for and some more, or twice as long each time. */
export function waitMs(tries: number, after: number | undefined, random: number): number {
  if (after !== undefined) return after * (1 + random / 4);
  return Math.min(500 * 2 ** (tries - 1), 8000) * (0.5 + random / 2);
}
