import { EnqueueConflict, NotGuarded, StaleFence } from './errors.js';

/** What a `pg` client, pool client or transaction has. */
export interface Queryable {
  query(text: string, values?: unknown[]): Promise<{ rows: unknown[]; command?: string }>;
}

export type ResponseHeaders = Record<string, string> | [string, string][];

/** Whose request it is, as the gateway forwarded it. The fence stays text: it may exceed a JS number. */
export interface Guarded {
  readonly scope: string;
  readonly key: string;
  readonly fence: string;
}

type IncomingHeaders = Record<string, string | string[] | undefined>;

/** Scope, key and fence of a request that came through a transactional route; else NotGuarded. */
export function guardedRequest(headers: IncomingHeaders): Guarded {
  const one = (name: string): string => {
    const value = headers[name];
    if (typeof value !== 'string' || value === '') {
      throw new NotGuarded(`${name} is missing: this route must be transactional, and reached through pawl serve`);
    }
    return value;
  };
  const fence = one('pawl-fence');
  if (!/^[1-9]\d{0,18}$/.test(fence)) throw new NotGuarded('pawl-fence is not a number');
  return { scope: one('pawl-scope'), key: one('pawl-key'), fence };
}

/** The SQLSTATE of a driver's error, also of one that wraps it. */
export function sqlState(error: unknown): string | undefined {
  for (let at = error, depth = 0; at instanceof Object && depth < 8; at = (at as { cause?: unknown }).cause, depth += 1) {
    const code = (at as { code?: unknown }).code;
    if (typeof code === 'string' && /^[0-9A-Z]{5}$/.test(code)) return code;
  }
  return undefined;
}

export async function run(tx: Queryable, request: Guarded, sql: string, values: unknown[]): Promise<unknown[]> {
  try {
    return (await tx.query(sql, [request.scope, request.key, request.fence, ...values])).rows;
  } catch (error) {
    const state = sqlState(error);
    if (state === 'PW001') {
      throw new StaleFence('another owner has this request now: roll back', { key: request.key, code: state, cause: error });
    }
    if (state === 'PW002') {
      throw new EnqueueConflict('another message was enqueued here before', { key: request.key, code: state, cause: error });
    }
    throw error;
  }
}

/** Stores the answer in the service's own transaction. The last statement before COMMIT. */
export async function complete(tx: Queryable, request: Guarded, status: number, headers: ResponseHeaders, body: Buffer | string): Promise<void> {
  await run(tx, request, 'SELECT pawl.complete($1, $2, $3, $4, $5, $6)', [status, JSON.stringify(headers), Buffer.from(body)]);
}

/** Notes how far it got; the lease starts anew. */
export async function advance(tx: Queryable, request: Guarded, recoveryPoint: string): Promise<void> {
  await run(tx, request, 'SELECT pawl.advance($1, $2, $3, $4)', [recoveryPoint]);
}

/** Nothing happened: it may run again. */
export async function release(tx: Queryable, request: Guarded, reason = ''): Promise<void> {
  await run(tx, request, 'SELECT pawl.release($1, $2, $3, $4)', [reason]);
}

export interface Message {
  destination: string;
  body: Buffer | string;
  /** Below the destination's URL; `/` unless given. */
  path?: string;
  headers?: ResponseHeaders;
  /** Tells messages of one transaction to one destination apart; the same in every try. */
  step?: string;
}

/** Enqueues an external call that a worker makes after the commit. Returns the message's id. */
export async function enqueue(tx: Queryable, request: Guarded, message: Message): Promise<string> {
  const rows = await run(tx, request, 'SELECT pawl.enqueue($1, $2, $3, $4, $5, $6, $7, $8) AS id',
    [message.destination, Buffer.from(message.body), message.path ?? '/', JSON.stringify(message.headers ?? {}), message.step ?? '']);
  return (rows[0] as { id: string }).id;
}
