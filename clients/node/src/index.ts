export * from './errors.js';
export { newKey } from './key.js';
export { Answer, Caller, type Call, type CallError, type CallerOptions, type Clock } from './caller.js';
export { advance, complete, enqueue, guardedRequest, release, sqlState,
  type Guarded, type Message, type Queryable, type ResponseHeaders } from './service.js';
export { runTransactional, Transaction, type Pool, type Reply, type TransactionalOptions } from './transactional.js';
export { transactional, transactionalFastify, type Handler } from './adapters.js';
export { Consumer, Job, type ConsumerOptions, type Finished } from './consumer.js';
