"""The client side of Pawl: Caller, Service, Consumer. `pawl_client.testing` has a fake for unit tests."""
from ._keyapi import Finished
from .caller import Answer, AsyncCaller, Caller, Clock
from .consumer import AsyncConsumer, AsyncJob, Consumer, Job
from .errors import (
    EnqueueConflict, InFlight, LeaseLost, Misuse, NotExecuted, NotGuarded, PawlError, Refused, StaleFence, TransactionEnded,
    Unavailable, Unknown,
)  # fmt: skip
from .keys import new_key
from .service import (
    Guarded, Message, advance, advance_async, complete, complete_async, enqueue, enqueue_async, guarded_request, release,
    release_async, sql_state,
)  # fmt: skip
from .transactional import Reply, Transaction, TransactionalOptions, run_transactional, run_transactional_async

__all__ = [
    "Answer", "AsyncCaller", "AsyncConsumer", "AsyncJob", "Caller", "Clock", "Consumer", "EnqueueConflict", "Finished",
    "Guarded", "InFlight", "Job", "LeaseLost", "Message", "Misuse", "NotExecuted", "NotGuarded", "PawlError", "Refused",
    "Reply", "StaleFence", "Transaction", "TransactionEnded", "TransactionalOptions", "Unavailable", "Unknown", "advance", "advance_async",
    "complete", "complete_async", "enqueue", "enqueue_async", "guarded_request", "new_key", "release", "release_async",
    "run_transactional", "run_transactional_async", "sql_state",
]  # fmt: skip
