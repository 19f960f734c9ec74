"""Runs a handler and its completion in one transaction, and says what became of it."""
from __future__ import annotations

import contextlib
import json as json_module
import re
from dataclasses import dataclass, field, replace
from typing import Any, AsyncContextManager, Awaitable, Callable, ContextManager, List, Mapping, Optional, Tuple, Union

from .errors import NotGuarded, StaleFence
from .service import Guarded, ResponseHeaders, complete, complete_async, guarded_request, sql_state

# SQLSTATE classes that a server reports of a transaction it has rolled back, also at COMMIT.
_ROLLED_BACK = re.compile(r"22|23|25|40|42|44|P0|PW")
_NOT_CERTAIN = frozenset({"40003", "25P03"})  # the server does not know; the session was ended


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

    def begin(self, headers: Mapping[str, str]) -> Transaction:
        guarded = guarded_request(headers)
        self.request = Transaction(guarded.scope, guarded.key, guarded.fence)
        return self.request

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
        if self.committing and not certain:
            return _problem(500, "the commit was not confirmed; retry with the same key", "unknown")
        if self.outcome() == "unknown":
            return _problem(500, "the transaction was rolled back after an effect outside it", "unknown")
        return _problem(500, "nothing was committed; retry with the same key", "not-executed")


def _idle(options: TransactionalOptions) -> Optional[str]:
    ms = int(options.idle_timeout * 1000)
    return f"SET LOCAL idle_in_transaction_session_timeout = {ms}" if ms > 0 else None


def _must_be_idle(connection: Any) -> None:
    # 0: no transaction. In one that is open already, COMMIT would commit more than the handler's work.
    if connection.info.transaction_status != 0:
        raise RuntimeError("the connection is in a transaction already")


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
            except BaseException:
                # Before the context manager, which would commit on its own way out.
                if not progress.committing:
                    with contextlib.suppress(Exception):  # a lost connection has rolled back
                        connection.rollback()
                raise
    except Exception as error:
        options.on_error(error)
        return progress.failed(error)


def _in_transaction(
    connection: Any, request: Transaction, handler: Callable[[Any, Transaction], Reply],
    options: TransactionalOptions, progress: _Progress,
) -> Rendered:  # fmt: skip
    if connection.autocommit:
        connection.execute("BEGIN")
    if (idle := _idle(options)) is not None:
        connection.execute(idle)
    answer = render(handler(connection, request))
    options.on_step("worked")
    if answer.status >= 500:
        connection.rollback()
        return progress.said(answer)
    complete(connection, request, answer.status, answer.headers, answer.body)
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
            except BaseException:
                if not progress.committing:
                    with contextlib.suppress(Exception):
                        await connection.rollback()
                raise
    except Exception as error:
        options.on_error(error)
        return progress.failed(error)


async def _in_transaction_async(
    connection: Any, request: Transaction, handler: Callable[[Any, Transaction], Awaitable[Reply]],
    options: TransactionalOptions, progress: _Progress,
) -> Rendered:  # fmt: skip
    if connection.autocommit:
        await connection.execute("BEGIN")
    if (idle := _idle(options)) is not None:
        await connection.execute(idle)
    answer = render(await handler(connection, request))
    options.on_step("worked")
    if answer.status >= 500:
        await connection.rollback()
        return progress.said(answer)
    await complete_async(connection, request, answer.status, answer.headers, answer.body)
    options.on_step("completed")
    progress.committing = True
    await connection.commit()
    options.on_step("committed")
    return answer
