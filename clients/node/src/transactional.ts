import { randomUUID } from 'node:crypto';
import { NotGuarded, StaleFence, TransactionEnded } from './errors.js';
import { guardedRequest, run, sqlState, type Guarded, type Queryable, type ResponseHeaders } from './service.js';

export interface Pool {
  connect(): Promise<Queryable & { release(broken?: Error | boolean): void }>;
}

/** What a handler returns. Below 500 it is stored and committed with the handler's rows, a 4xx too. */
export interface Reply {
  status: number;
  headers?: ResponseHeaders;
  body?: Buffer | string;
  json?: unknown;
}

export interface Rendered {
  status: number;
  headers: [string, string][];
  body: Buffer;
}

/** The request as the handler sees it. */
export class Transaction implements Guarded {
  readonly scope: string;
  readonly key: string;
  readonly fence: string;
  external = false;
  constructor(guarded: Guarded) {
    ({ scope: this.scope, key: this.key, fence: this.fence } = guarded);
  }
  /** Say so before anything that a rollback cannot undo. (Better: enqueue it.) */
  actsOutside(): void { this.external = true; }
}

export interface TransactionalOptions {
  /** A transaction that hangs holds its key's row; 10 seconds unless given, 0: the server's setting. */
  idleTimeoutMs?: number;
  /** Called at received, worked, completed, committed, and awaited: for traces and crash tests. */
  onStep?: (step: string) => void | Promise<void>;
  onError?: (error: unknown) => void;
}

/** SQLSTATE classes that a server reports of a transaction it has rolled back, also at COMMIT. */
const rolledBack = /^(22|23|25|40|42|44|P0|PW)/;

function isRolledBack(error: unknown): boolean {
  const state = sqlState(error);
  // 25P03, 25P04: the session was ended for its transaction's time; 40003: the server itself does not know.
  const certain = state !== undefined && rolledBack.test(state) && !['40003', '25P03', '25P04'].includes(state);
  return error instanceof StaleFence || certain;
}

function render(reply: Reply): Rendered {
  const headers: [string, string][] = Array.isArray(reply.headers) ? [...reply.headers] : Object.entries(reply.headers ?? {});
  const body = Buffer.from(reply.json !== undefined ? JSON.stringify(reply.json) : reply.body ?? '');
  if (reply.json !== undefined && !headers.some(([name]) => name.toLowerCase() === 'content-type')) {
    headers.push(['Content-Type', 'application/json']);
  }
  if (!Number.isInteger(reply.status) || reply.status < 200 || reply.status > 599) throw new TypeError(`${reply.status} is no status`);
  return { status: reply.status, headers, body };
}

function problem(status: number, detail: string, outcome: string): Rendered {
  return {
    status,
    headers: [['Content-Type', 'application/problem+json'], ['Pawl-Outcome', outcome]],
    body: Buffer.from(JSON.stringify({ type: 'about:blank', status, detail })),
  };
}

const ended = 'the handler ended the transaction itself: what it did need not be with the completion';

type Client = Awaited<ReturnType<Pool['connect']>>;

/** One transaction, known again by a setting that is local to it: what ends it unseen ends the setting too. */
class Session {
  private readonly marker = randomUUID();
  private constructor(private readonly client: Client) {}

  static async begin(client: Client, idleMs: number): Promise<Session> {
    const session = new Session(client);
    await client.query('BEGIN');
    const idle = idleMs > 0 ? `set_config('idle_in_transaction_session_timeout', '${Math.ceil(idleMs)}', true), ` : '';
    await client.query(`SELECT ${idle}set_config('pawl.transaction', $1, true)`, [session.marker]);
    return session;
  }

  /** The client as the handler gets it: given back to the pool, another request would go on in this transaction. */
  get tx(): Queryable {
    const refuse = () => { throw new TransactionEnded(ended); };
    return new Proxy(this.client, {
      get(client, name) {
        if (name === 'release' || name === 'end') return refuse;
        const value: unknown = Reflect.get(client, name, client);
        return typeof value === 'function' ? value.bind(client) : value;
      },
    });
  }

  async complete(request: Guarded, answer: Rendered): Promise<void> {
    const rows = await run(this.client, request,
      "SELECT pawl.complete($1, $2, $3, $4, $5, $6) WHERE current_setting('pawl.transaction', true) = $7",
      [answer.status, JSON.stringify(answer.headers), answer.body, this.marker]);
    if (rows.length === 0) throw new TransactionEnded(ended, { key: request.key });
  }

  /** False: it is another transaction, or none. One that failed, or whose connection is lost, counts as this one. */
  async isOpen(): Promise<boolean> {
    try {
      return (await this.client.query("SELECT 1 WHERE current_setting('pawl.transaction', true) = $1", [this.marker])).rows.length > 0;
    } catch {
      return true;
    }
  }
}

interface Progress { request?: Transaction; client?: Client; session?: Session; committing: boolean; broken: boolean }

/** Runs a handler and its completion in one transaction, and says what became of it. Never throws. */
export async function runTransactional(
  pool: Pool, incoming: Record<string, string | string[] | undefined>,
  handler: (tx: Queryable, request: Transaction) => Promise<Reply>, options: TransactionalOptions = {},
): Promise<Rendered> {
  const progress: Progress = { committing: false, broken: false };
  try {
    return await inTransaction(pool, incoming, handler, options, progress);
  } catch (error) {
    const said = await rollBack(error, progress);
    try { options.onError?.(said); } catch { /* an error handler that fails does not change what became of the request */ }
    return failed(said, progress.committing, progress.request?.external ?? false);
  } finally {
    progress.client?.release(progress.broken);
  }
}

async function inTransaction(
  pool: Pool, incoming: Record<string, string | string[] | undefined>,
  handler: (tx: Queryable, request: Transaction) => Promise<Reply>, options: TransactionalOptions, progress: Progress,
): Promise<Rendered> {
  const step = async (name: string) => { await options.onStep?.(name); };
  const request = progress.request = new Transaction(guardedRequest(incoming));
  await step('received');
  const client = progress.client = await pool.connect();
  const session = await Session.begin(client, options.idleTimeoutMs ?? 10_000);
  progress.session = session;
  const answer = render(await handler(session.tx, request));
  await step('worked');
  if (answer.status >= 500) {
    if (!await session.isOpen()) throw new TransactionEnded(ended, { key: request.key });
    await client.query('ROLLBACK');
    return { ...answer, headers: [...answer.headers, ['Pawl-Outcome', request.external ? 'unknown' : 'not-executed']] };
  }
  await session.complete(request, answer);
  await step('completed');
  progress.committing = true;
  const done = await client.query('COMMIT');
  // An aborted transaction is rolled back by COMMIT, without an error.
  if (done.command !== undefined && done.command !== 'COMMIT') throw Object.assign(new Error('COMMIT rolled back'), { code: '25P02' });
  await step('committed');
  return answer;
}

/** Nothing of a transaction that failed stays on a connection that others are given. */
async function rollBack(error: unknown, progress: Progress): Promise<unknown> {
  if (progress.committing) {
    progress.broken = true;
    return error;
  }
  const open = await progress.session?.isOpen() ?? true;
  await progress.client?.query('ROLLBACK').catch(() => { progress.broken = true; });
  return open || error instanceof StaleFence ? error : new TransactionEnded(ended, { key: progress.request?.key, cause: error });
}

function failed(error: unknown, committing: boolean, external: boolean): Rendered {
  if (error instanceof NotGuarded) return problem(500, error.message, 'not-executed');
  if (error instanceof StaleFence) return problem(503, 'another owner has this request; nothing of this try was kept', 'unknown');
  if (error instanceof TransactionEnded) return problem(500, error.message, 'unknown');
  if (committing && !isRolledBack(error)) return problem(500, 'the commit was not confirmed; retry with the same key', 'unknown');
  if (external) return problem(500, 'the transaction was rolled back after an effect outside it', 'unknown');
  return problem(500, 'nothing was committed; retry with the same key', 'not-executed');
}
