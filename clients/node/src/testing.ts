import { createHash } from 'node:crypto';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

/** What stands in for the API behind the gateway. */
export type Upstream = (request: { method: string; url: string; body: string }) => { status: number; json: unknown };

interface Kept {
  fingerprint: string;
  status: 'in_progress' | 'completed' | 'failed_retryable' | 'unknown';
  fence: number;
  owner: string;
  attempt: number;
  point: string;
  response?: { status: number; headers: [string, string][]; body: string };
}

/** An answer of the fake, before it is written: body as text. */
interface Said { status: number; headers: Record<string, string>; body: string }

const problem = (status: number, code: string, retry: boolean, more: object = {}): Said => ({
  status,
  headers: { 'Content-Type': 'application/problem+json', 'Pawl-Should-Retry': String(retry), ...(retry ? { 'Retry-After': '1' } : {}) },
  body: JSON.stringify({ type: `urn:pawl:problem:${code}`, title: code, status, detail: code, code, ...more }),
});
const ok = (status: number, value: object): Said => ({ status, headers: { 'Content-Type': 'application/json' }, body: JSON.stringify(value) });
const sorted = (value: unknown): unknown => {
  if (Array.isArray(value)) return value.map(sorted);
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1)).map(([name, each]) => [name, sorted(each)]));
};
const hash = (...parts: string[]): string => createHash('sha256').update(parts.join('\n')).digest('hex');

/** A Pawl for unit tests, on loopback and in memory: guarded routes in front of `upstream`, and the key API. */
export class FakePawl {
  url = '';
  /** How often the upstream was really called. */
  executions = 0;
  private fence = 1_700_000_000_000_000;
  private readonly routes = new Map<string, Kept>();
  private readonly keys = new Map<string, Kept>();
  private faults: ('lost' | 'unavailable')[] = [];
  private server: Server | undefined;

  constructor(private readonly upstream: Upstream = () => ({ status: 201, json: {} }), private readonly leaseSeconds = 30) {}

  async start(): Promise<this> {
    this.server = createServer((request, response) => void this.serve(request, response));
    await new Promise<void>((done) => this.server?.listen(0, '127.0.0.1', done));
    this.url = `http://127.0.0.1:${(this.server.address() as AddressInfo).port}`;
    return this;
  }
  async stop(): Promise<void> {
    this.server?.closeAllConnections();
    await new Promise((done) => this.server?.close(done));
  }
  /** The next request is carried out, and its answer is lost on the way. */
  loseNextAnswer(): void { this.faults.push('lost'); }
  /** The next request gets 503 store-unavailable, and nothing is carried out. */
  failNext(): void { this.faults.push('unavailable'); }
  /** From now on it is not known what became of this key. */
  makeUnknown(key: string): void {
    for (const kept of [this.routes.get(key), this.keys.get(key)]) if (kept && kept.status !== 'completed') kept.status = 'unknown';
    if (!this.routes.has(key)) this.routes.set(key, { fingerprint: '', status: 'unknown', fence: this.fence, owner: '', attempt: 1, point: '' });
  }
  /** The lease of this key of the key API ends now: as by default, its outcome is unknown. */
  endLease(key: string): void {
    const kept = this.keys.get(key);
    if (kept?.status === 'in_progress') kept.status = 'unknown';
  }

  private async serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk as Buffer);
    const body = Buffer.concat(chunks).toString('utf8');
    const fault = this.faults.shift();
    const said = fault === 'unavailable' ? problem(503, 'store-unavailable', true) : this.answer(request, body);
    if (fault === 'lost') return void request.socket.destroy();
    response.writeHead(said.status, said.headers).end(said.body);
  }

  private answer(request: IncomingMessage, body: string): Said {
    const path = /^\/_pawl\/v1\/keys\/([^/]+)\/(\w+)$/.exec(request.url ?? '');
    if (path) return this.keyApi(decodeURIComponent(path[1] as string), path[2] as string, JSON.parse(body) as Record<string, unknown>);
    return this.guarded(request, body);
  }

  private guarded(request: IncomingMessage, body: string): Said {
    const { method = 'GET', url = '/' } = request;
    const pass = (): Said => {
      this.executions += 1;
      const { status, json } = this.upstream({ method, url, body });
      return ok(status, json as object);
    };
    if (method !== 'POST' && method !== 'PATCH') return pass();
    const key = request.headers['idempotency-key'];
    if (typeof key !== 'string') return problem(400, 'key-missing', false);
    if (key.length < 16 || key.length > 255) return problem(400, 'key-invalid', false);
    const fingerprint = hash(method, url, body);
    const kept = this.routes.get(key);
    if (kept?.status === 'unknown') return problem(409, 'outcome-unknown', false);
    if (kept && kept.fingerprint !== fingerprint) return problem(422, 'key-reused', false);
    if (kept?.response) return { ...kept.response, headers: { ...Object.fromEntries(kept.response.headers), 'Idempotency-Key': key, 'Idempotent-Replayed': 'true' } };
    const said = pass();
    this.routes.set(key, { fingerprint, status: 'completed', fence: this.fence, owner: '', attempt: 1, point: '',
      response: { status: said.status, headers: Object.entries(said.headers), body: said.body } });
    return { ...said, headers: { ...said.headers, 'Idempotency-Key': key } };
  }

  private keyApi(key: string, verb: string, call: Record<string, unknown>): Said {
    if (verb === 'reserve') return this.reserve(key, call);
    const kept = this.keys.get(key);
    const mine = kept !== undefined && kept.owner === call.owner && kept.fence === call.fence;
    const stale = (): Said => problem(409, 'stale-fence', false, { key_status: kept?.status ?? 'expired' });
    if (!mine) return kept ? stale() : { ...problem(404, 'not-found', false) };
    if (verb === 'complete' && kept.status === 'completed') return this.grant(key, kept);
    if (verb === 'release' && kept.status === 'failed_retryable') return this.grant(key, kept);
    const settles = verb === 'complete' || verb === 'release';
    if (kept.status !== 'in_progress' && !(settles && kept.status === 'unknown')) return stale();
    if (verb === 'advance') {
      if (kept.point !== call.after && kept.point !== call.recovery_point) return stale();
      kept.point = call.recovery_point as string;
    } else if (verb === 'complete') {
      kept.status = 'completed';
      kept.response = stored((call.response ?? {}) as Record<string, unknown>);
    } else if (verb === 'release') {
      kept.status = 'failed_retryable';
    }
    return this.grant(key, kept);
  }

  private reserve(key: string, call: Record<string, unknown>): Said {
    const fingerprint = 'fingerprint' in call ? String(call.fingerprint) : hash(JSON.stringify(sorted(call.request)));
    const kept = this.keys.get(key);
    const no = (status: number, code: string, retry: boolean, decision: string): Said => problem(status, code, retry, { decision });
    if (kept && kept.fingerprint !== fingerprint) return no(422, 'key-reused', false, 'misuse');
    if (kept?.status === 'completed') return this.grant(key, kept, { decision: 'replay', response: kept.response });
    if (kept?.status === 'unknown') return no(409, 'outcome-unknown', false, 'undetermined');
    if (kept?.owner === call.owner && kept?.status === 'failed_retryable') return no(409, 'stale-fence', false, 'spent');
    if (kept?.status === 'in_progress') {
      return kept.owner === call.owner ? this.grant(key, kept, { decision: 'execute' }, 201) : no(409, 'in-flight', true, 'in_flight');
    }
    const granted: Kept = { fingerprint, status: 'in_progress', fence: (this.fence += 1), owner: String(call.owner),
      attempt: (kept?.attempt ?? 0) + 1, point: kept?.point ?? '' };
    this.keys.set(key, granted);
    return this.grant(key, granted, { decision: 'execute' }, 201);
  }

  private grant(key: string, kept: Kept, more: object = {}, status = 200): Said {
    const live = kept.status === 'in_progress';
    return ok(status, { ...more, key, status: kept.status, fence: kept.fence, attempt: kept.attempt, recovery_point: kept.point,
      lease_expires_at: live ? new Date(Date.now() + this.leaseSeconds * 1000).toISOString() : null, lease_seconds: live ? this.leaseSeconds : null });
  }
}

function stored(response: Record<string, unknown>): NonNullable<Kept['response']> {
  const headers = [...((response.headers ?? []) as [string, string][])];
  let body = (response.body as string | undefined) ?? '';
  if ('body_json' in response) {
    body = JSON.stringify(response.body_json);
    if (!headers.some(([name]) => name.toLowerCase() === 'content-type')) headers.push(['Content-Type', 'application/json']);
  }
  if (typeof response.body_base64 === 'string') body = Buffer.from(response.body_base64, 'base64').toString('utf8');
  return { status: (response.status as number | undefined) ?? 200, headers, body };
}

/** A `pg` pool for unit tests of transactional handlers: it keeps what was asked, and fails where it is told to. */
export class FakePool {
  readonly statements: { text: string; values: unknown[] }[] = [];
  /** SQLSTATE that the next pawl.complete fails with, e.g. PW001. */
  completeFailsWith: string | undefined;
  /** The answer of COMMIT is lost. */
  commitIsLost = false;
  /** What statements of the handler return. */
  rows: unknown[] = [];
  get committed(): boolean { return this.statements.some(({ text }) => text === 'COMMIT') && !this.commitIsLost; }
  async connect() {
    return { query: (text: string, values: unknown[] = []) => this.query(text, values), release: () => {} };
  }
  private async query(text: string, values: unknown[]): Promise<{ rows: unknown[]; command: string }> {
    this.statements.push({ text, values });
    if (text.includes('pawl.complete') && this.completeFailsWith) throw Object.assign(new Error('pawl.complete failed'), { code: this.completeFailsWith });
    if (text === 'COMMIT' && this.commitIsLost) throw Object.assign(new Error('connection lost'), { code: 'ECONNRESET' });
    if (text.startsWith('SELECT pawl.') || text.includes('current_setting')) return { rows: [{ id: 'fake' }], command: 'SELECT' };
    return { rows: this.rows, command: text.split(' ')[0] ?? '' };
  }
}
