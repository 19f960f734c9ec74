/** What is known of the answer that led to an error. */
export interface Details {
  /** The idempotency key: keep it, a later try must use the same one. */
  key?: string | undefined;
  /** The machine-readable code of Pawl's problem document, e.g. `outcome-unknown`. */
  code?: string | undefined;
  /** The last HTTP status, if there was an answer. */
  status?: number | undefined;
  cause?: unknown;
}

/** The base of every error of this package. */
export class PawlError extends Error {
  readonly key: string | undefined;
  readonly code: string | undefined;
  readonly status: number | undefined;

  constructor(message: string, details: Details = {}) {
    super(message, details.cause === undefined ? undefined : { cause: details.cause });
    this.name = new.target.name;
    this.key = details.key;
    this.code = details.code;
    this.status = details.status;
  }
}

/** It may have happened. Never send it under a new key: look it up, or try again with the same one. */
export class Unknown extends PawlError {}
/** The key stands for another request, or is no key: a bug in this program. */
export class Misuse extends PawlError {}
/** Pawl refused it before anything was executed, and trying again as it is does not help. */
export class Refused extends PawlError {}
/** Nothing was executed, and the time ran out. The same key may be tried later. */
export class Unavailable extends PawlError {}
/** Consumer: another owner is at it now. */
export class InFlight extends PawlError {}
/** Consumer: the lease ended while the work ran. What the work had done by then is not known. */
export class LeaseLost extends Unknown {}
/** Another owner has this request now. Nothing of this transaction, or of this call, was kept. */
export class StaleFence extends PawlError {}
/** Service: the handler committed, rolled back or gave away the transaction that it was given. */
export class TransactionEnded extends PawlError {}
/** pawl.enqueue: another message was enqueued in this place before (PW002). */
export class EnqueueConflict extends PawlError {}
/** Service: the request did not come through a transactional route of Pawl. */
export class NotGuarded extends PawlError {}
/** Thrown by a consumer's work, and only where it is certain that nothing happened. */
export class NotExecuted extends PawlError {}
