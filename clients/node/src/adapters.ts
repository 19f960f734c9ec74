import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Queryable } from './service.js';
import { runTransactional, type Pool, type Reply, type Transaction, type TransactionalOptions } from './transactional.js';

export type Handler<Request> = (tx: Queryable, request: Request, guarded: Transaction) => Promise<Reply>;

/** For Express, and for plain node:http: `app.post('/v1/payments', transactional(pool, pay))`. */
export function transactional<Request extends IncomingMessage>(pool: Pool, handler: Handler<Request>, options: TransactionalOptions = {}) {
  return async (request: Request, response: ServerResponse): Promise<void> => {
    const answer = await runTransactional(pool, request.headers, (tx, guarded) => handler(tx, request, guarded), options);
    response.writeHead(answer.status, answer.headers.flat()).end(answer.body);
  };
}

interface FastifyRequestLike { headers: Record<string, string | string[] | undefined> }
interface FastifyReplyLike {
  code(status: number): unknown;
  header(name: string, value: string): unknown;
  send(body: Buffer): unknown;
}

/** For Fastify: `app.post('/v1/payments', transactionalFastify(pool, pay))`. */
export function transactionalFastify<Request extends FastifyRequestLike>(pool: Pool, handler: Handler<Request>, options: TransactionalOptions = {}) {
  return async (request: Request, reply: FastifyReplyLike): Promise<unknown> => {
    const answer = await runTransactional(pool, request.headers, (tx, guarded) => handler(tx, request, guarded), options);
    reply.code(answer.status);
    for (const [name, value] of answer.headers) reply.header(name, value);
    reply.send(answer.body);
    return reply;
  };
}
