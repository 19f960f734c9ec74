"""Runs a handler and its completion in one transaction, and says what became of it."""
from __future__ import annotations

import contextlib
import json as json_module
import re
import secrets
from dataclasses import dataclass, field, replace
from typing import Any, AsyncContextManager, Awaitable, Callable, ContextManager, List, Mapping, Optional, Tuple, Union

from .errors import NotGuarded, StaleFence, TransactionEnded
from .service import Guarded, ResponseHeaders, complete_values, execute, execute_async, guarded_request, sql_state

# SQLSTATE classes that a server reports of a transaction it has rolled back, also at COMMIT.
_ROLLED_BACK = re.compile(r"22|23|25|40|42|44|P0|PW")
_NOT_CERTAIN = frozenset({"40003", "25P03", "25P04"})  # the server does not know; the session was ended
_ENDED = "the handler ended the transaction itself: what it did need not be with the completion"
_IS_OPEN = "SELECT 1 WHERE current_setting('pawl.transaction', true) = %s"


def _no_headers() -> ResponseHeaders:
    return {}


@dataclass(frozen=True)
class Reply:
    """What a handler returns. Below 500 it is stored and committed with the handler's rows, a 4xx too."""

    status: int
    headers: ResponseHeaders = field(default_factory=_no_headers)
    body: Union[bytes, str] = b""
    json: Any = None


@dataclass(frozen=True)
class Rendered:
    status: int
    headers: List[Tuple[str, str]]
    body: bytes


@dataclass(frozen=True)
class Transaction(Guarded):
    """The request as the handler sees it."""

    external: List[bool] = field(default_factory=list, compare=False)

    def acts_outside(self) -> None:
        """Say so before anything that a rollback cannot undo. (Better: enqueue it.)"""
        self.external.append(True)


@dataclass(frozen=True)
class TransactionalOptions:
    #: A transaction that hangs holds its key's row; 0: the server's setting.
    idle_timeout: float = 10.0
    #: Called at received, worked, completed, committed: for traces and crash tests.
    on_step: Callable[[str], None] = lambda step: None
    on_error: Callable[[BaseException], None] = lambda error: None


def render(reply: Reply) -> Rendered:
    pairs = list(reply.headers.items()) if isinstance(reply.headers, Mapping) else [(n, v) for n, v in reply.headers]
    body = reply.body.encode() if isinstance(reply.body, str) else reply.body
    if reply.json is not None:
        body = json_module.dumps(reply.json, separators=(",", ":"), allow_nan=False).encode()
        if not any(name.lower() == "content-type" for name, _ in pairs):
            pairs.append(("Content-Type", "application/json"))
    if not 200 <= reply.status <= 599:
        raise ValueError(f"{reply.status} is no status")
    return Rendered(reply.status, pairs, body)


def _problem(status: int, detail: str, outcome: str) -> Rendered:
    body = json_module.dumps({"type": "about:blank", "status": status, "detail": detail}).encode()
    return Rendered(status, [("Content-Type", "application/problem+json"), ("Pawl-Outcome", outcome)], body)


@dataclass
class _Progress:
    request: Optional[Transaction] = None
    committing: bool = False
    #: A setting that is local to the transaction: what ends it unseen ends the setting too.
    marker: str = field(default_factory=secrets.token_hex)

    def begin(self, headers: Mapping[str, str]) -> Transaction:
        guarded = guarded_request(headers)
        self.request = Transaction(guarded.scope, guarded.key, guarded.fence)
        return self.request

    def first_statement(self, options: TransactionalOptions) -> Tuple[str, Tuple[str, ...]]:
        ms = int(options.idle_timeout * 1000)
        if ms <= 0:
            return "SELECT set_config('pawl.transaction', %s, true)", (self.marker,)
        idle = "set_config('idle_in_transaction_session_timeout', %s, true)"
        return f"SELECT {idle}, set_config('pawl.transaction', %s, true)", (str(ms), self.marker)

    def completion(self, answer: Rendered) -> Tuple[str, Tuple[Any, ...]]:
        assert self.request is not None
        sql, values = complete_values(self.request, answer.status, answer.headers, answer.body)
        return f"{sql} WHERE current_setting('pawl.transaction', true) = %s", (*values, self.marker)

    def must_be_open(self, row: Any) -> None:
        if row is None:
            raise TransactionEnded(_ENDED, key=self.request.key if self.request else None)

    def outcome(self) -> str:
        return "unknown" if self.request is not None and self.request.external else "not-executed"

    def said(self, answer: Rendered) -> Rendered:
        return replace(answer, headers=[*answer.headers, ("Pawl-Outcome", self.outcome())])

    def failed(self, error: BaseException) -> Rendered:
        state = sql_state(error)
        certain = state is not None and _ROLLED_BACK.match(state) is not None and state not in _NOT_CERTAIN
        if isinstance(error, NotGuarded):
            return _problem(500, str(error), "not-executed")
        if isinstance(error, StaleFence):
            return _problem(503, "another owner has this request; nothing of this try was kept", "unknown")
        if isinstance(error, TransactionEnded):
            return _problem(500, _ENDED, "unknown")
        if self.committing and not certain:
            return _problem(500, "the commit was not confirmed; retry with the same key", "unknown")
        if self.outcome() == "unknown":
            return _problem(500, "the transaction was rolled back after an effect outside it", "unknown")
        return _problem(500, "nothing was committed; retry with the same key", "not-executed")


def _must_be_idle(connection: Any) -> None:
    # 0: no transaction. In one that is open already, COMMIT would commit more than the handler's work.
    if connection.info.transaction_status != 0:
        raise RuntimeError("the connection is in a transaction already")


def _was_closed(connection: Any) -> bool:
    """By the handler, and not lost: `with tx:` commits and closes."""
    return bool(connection.closed) and not connection.broken


def _report(options: TransactionalOptions, error: BaseException) -> None:
    with contextlib.suppress(Exception):  # one that fails does not change what became of the request
        options.on_error(error)


def run_transactional(
    connect: Callable[[], ContextManager[Any]],
    headers: Mapping[str, str],
    handler: Callable[[Any, Transaction], Reply],
    options: TransactionalOptions = TransactionalOptions(),
) -> Rendered:
    """`connect`: `pool.connection`, or `lambda: psycopg.connect(url)`. Never raises."""
    progress = _Progress()
    try:
        request = progress.begin(headers)
        options.on_step("received")
        with connect() as connection:
            _must_be_idle(connection)
            try:
                return _in_transaction(connection, request, handler, options, progress)
            except BaseException as error:
                # Before the context manager, which would commit on its own way out.
                if not progress.committing:
                    _roll_back(connection, progress, error)
                raise
    except Exception as error:
        _report(options, error)
        return progress.failed(error)


def _roll_back(connection: Any, progress: _Progress, error: BaseException) -> None:
    is_open = True  # also one that failed, or whose connection is lost, which is rolled back
    with contextlib.suppress(Exception):
        is_open = not _was_closed(connection)
        is_open = is_open and connection.execute(_IS_OPEN, (progress.marker,)).fetchone() is not None
    with contextlib.suppress(Exception):
        connection.rollback()
    if not is_open and isinstance(error, Exception) and not isinstance(error, StaleFence):
        raise TransactionEnded(_ENDED, key=progress.request.key if progress.request else None) from error


def _in_transaction(
    connection: Any, request: Transaction, handler: Callable[[Any, Transaction], Reply],
    options: TransactionalOptions, progress: _Progress,
) -> Rendered:  # fmt: skip
    if connection.autocommit:
        connection.execute("BEGIN")
    connection.execute(*progress.first_statement(options))
    answer = render(handler(connection, request))
    options.on_step("worked")
    if answer.status >= 500:
        progress.must_be_open(connection.execute(_IS_OPEN, (progress.marker,)).fetchone())
        connection.rollback()
        return progress.said(answer)
    progress.must_be_open(execute(connection, request, *progress.completion(answer)).fetchone())
    options.on_step("completed")
    progress.committing = True
    connection.commit()
    options.on_step("committed")
    return answer


async def run_transactional_async(
    connect: Callable[[], AsyncContextManager[Any]],
    headers: Mapping[str, str],
    handler: Callable[[Any, Transaction], Awaitable[Reply]],
    options: TransactionalOptions = TransactionalOptions(),
) -> Rendered:
    """`connect`: `pool.connection` of an AsyncConnectionPool, or a function that returns such a context manager."""
    progress = _Progress()
    try:
        request = progress.begin(headers)
        options.on_step("received")
        async with connect() as connection:
            _must_be_idle(connection)
            try:
                return await _in_transaction_async(connection, request, handler, options, progress)
            except BaseException as error:
                if not progress.committing:
                    await _roll_back_async(connection, progress, error)
                raise
    except Exception as error:
        _report(options, error)
        return progress.failed(error)


async def _roll_back_async(connection: Any, progress: _Progress, error: BaseException) -> None:
    is_open = True
    with contextlib.suppress(Exception):
        is_open = not _was_closed(connection)
        is_open = is_open and await (await connection.execute(_IS_OPEN, (progress.marker,))).fetchone() is not None
    with contextlib.suppress(Exception):
        await connection.rollback()
    if not is_open and isinstance(error, Exception) and not isinstance(error, StaleFence):
        raise TransactionEnded(_ENDED, key=progress.request.key if progress.request else None) from error


async def _in_transaction_async(
    connection: Any, request: Transaction, handler: Callable[[Any, Transaction], Awaitable[Reply]],
    options: TransactionalOptions, progress: _Progress,
) -> Rendered:  # fmt: skip
    if connection.autocommit:
        await connection.execute("BEGIN")
    await connection.execute(*progress.first_statement(options))
    answer = render(await handler(connection, request))
    options.on_step("worked")
    if answer.status >= 500:
        progress.must_be_open(await (await connection.execute(_IS_OPEN, (progress.marker,))).fetchone())
        await connection.rollback()
        return progress.said(answer)
    progress.must_be_open(await (await execute_async(connection, request, *progress.completion(answer))).fetchone())
    options.on_step("completed")
    progress.committing = True
    await connection.commit()
    options.on_step("committed")
    return answer
