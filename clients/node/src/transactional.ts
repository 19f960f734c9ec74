import { NotGuarded, StaleFence } from './errors.js';
import { complete, guardedRequest, sqlState, type Guarded, type Queryable, type ResponseHeaders } from './service.js';

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
  // 25P03: the session was ended for idling, 40003: the server itself does not know.
  return error instanceof StaleFence || (state !== undefined && rolledBack.test(state) && state !== '40003' && state !== '25P03');
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

/** Runs a handler and its completion in one transaction, and says what became of it. Never throws. */
export async function runTransactional(
  pool: Pool, incoming: Record<string, string | string[] | undefined>,
  handler: (tx: Queryable, request: Transaction) => Promise<Reply>, options: TransactionalOptions = {},
): Promise<Rendered> {
  const step = async (name: string) => { await options.onStep?.(name); };
  let client: Awaited<ReturnType<Pool['connect']>> | undefined;
  let request: Transaction | undefined;
  let committing = false;
  let suspect = false;
  try {
    request = new Transaction(guardedRequest(incoming));
    await step('received');
    client = await pool.connect();
    await client.query('BEGIN');
    const idle = options.idleTimeoutMs ?? 10_000;
    if (idle > 0) await client.query(`SET LOCAL idle_in_transaction_session_timeout = ${Math.ceil(idle)}`);
    const answer = render(await handler(client, request));
    await step('worked');
    if (answer.status >= 500) {
      await client.query('ROLLBACK');
      return { ...answer, headers: [...answer.headers, ['Pawl-Outcome', request.external ? 'unknown' : 'not-executed']] };
    }
    await complete(client, request, answer.status, answer.headers, answer.body);
    await step('completed');
    committing = true;
    const done = await client.query('COMMIT');
    // An aborted transaction is rolled back by COMMIT, without an error.
    if (done.command !== undefined && done.command !== 'COMMIT') throw Object.assign(new Error('COMMIT rolled back'), { code: '25P02' });
    await step('committed');
    return answer;
  } catch (error) {
    options.onError?.(error);
    suspect = committing;
    if (!committing) await client?.query('ROLLBACK').catch(() => { suspect = true; });
    return failed(error, committing, request?.external ?? false);
  } finally {
    client?.release(suspect);
  }
}

function failed(error: unknown, committing: boolean, external: boolean): Rendered {
  if (error instanceof NotGuarded) return problem(500, error.message, 'not-executed');
  if (error instanceof StaleFence) return problem(503, 'another owner has this request; nothing of this try was kept', 'unknown');
  if (committing && !isRolledBack(error)) return problem(500, 'the commit was not confirmed; retry with the same key', 'unknown');
  if (external) return problem(500, 'the transaction was rolled back after an effect outside it', 'unknown');
  return problem(500, 'nothing was committed; retry with the same key', 'not-executed');
}
