"""pawl.complete and its relatives, in the service's own transaction. Sync and async psycopg connections or cursors."""
from __future__ import annotations

import json
import re
from dataclasses import dataclass
from typing import Any, List, Mapping, NoReturn, Optional, Protocol, Tuple, Union

from .errors import EnqueueConflict, NotGuarded, StaleFence

ResponseHeaders = Union[Mapping[str, str], List[Tuple[str, str]]]


class Executes(Protocol):
    """What a psycopg connection or cursor has."""

    def execute(self, query: Any, params: Any = None) -> Any: ...


class ExecutesAsync(Protocol):
    async def execute(self, query: Any, params: Any = None) -> Any: ...


@dataclass(frozen=True)
class Guarded:
    """Whose request it is, as the gateway forwarded it."""

    scope: str
    key: str
    fence: int


def guarded_request(headers: Mapping[str, str]) -> Guarded:
    """Scope, key and fence of a request that came through a transactional route; else NotGuarded."""
    found = {name.lower(): value for name, value in headers.items()}

    def one(name: str) -> str:
        value = found.get(name, "")
        if not value:
            raise NotGuarded(f"{name} is missing: this route must be transactional, and reached through pawl serve")
        return value

    fence = one("pawl-fence")
    if not re.fullmatch(r"[1-9][0-9]{0,18}", fence):
        raise NotGuarded("pawl-fence is not a number")
    return Guarded(one("pawl-scope"), one("pawl-key"), int(fence))


def sql_state(error: Optional[BaseException]) -> Optional[str]:
    """The SQLSTATE of a driver's error, also of one that wraps it."""
    for _ in range(8):
        if error is None:
            return None
        state = getattr(error, "sqlstate", None) or getattr(error, "pgcode", None)
        if isinstance(state, str):
            return state
        error = error.__cause__ or getattr(error, "orig", None)
    return None


def _raise(error: Exception, request: Guarded) -> NoReturn:
    state = sql_state(error)
    if state == "PW001":
        raise StaleFence("another owner has this request now: roll back", key=request.key, code=state) from error
    if state == "PW002":
        raise EnqueueConflict("another message was enqueued here before", key=request.key, code=state) from error
    raise error


def _headers(headers: ResponseHeaders) -> str:
    return json.dumps(dict(headers) if isinstance(headers, Mapping) else [list(pair) for pair in headers])


def _bytes(body: Union[bytes, str]) -> bytes:
    return body.encode() if isinstance(body, str) else bytes(body)


@dataclass(frozen=True)
class Message:
    """An external call that a worker makes after the commit."""

    destination: str
    body: Union[bytes, str]
    #: Below the destination's URL.
    path: str = "/"
    headers: ResponseHeaders = ()  # type: ignore[assignment]
    #: Tells messages of one transaction to one destination apart; the same in every try.
    step: str = ""


_COMPLETE = "SELECT pawl.complete(%s, %s, %s, %s, %s::jsonb, %s)"
_ADVANCE = "SELECT pawl.advance(%s, %s, %s, %s)"
_RELEASE = "SELECT pawl.release(%s, %s, %s, %s)"
_ENQUEUE = "SELECT pawl.enqueue(%s, %s, %s, %s, %s, %s, %s::jsonb, %s)"


def _owner(request: Guarded) -> Tuple[str, str, int]:
    return request.scope, request.key, request.fence


def _message(request: Guarded, message: Message) -> Tuple[Any, ...]:
    headers = _headers(message.headers or {})
    return (*_owner(request), message.destination, _bytes(message.body), message.path, headers, message.step)


def execute(tx: Executes, request: Guarded, sql: str, values: Tuple[Any, ...]) -> Any:
    try:
        return tx.execute(sql, values)
    except Exception as error:
        _raise(error, request)


async def execute_async(tx: ExecutesAsync, request: Guarded, sql: str, values: Tuple[Any, ...]) -> Any:
    try:
        return await tx.execute(sql, values)
    except Exception as error:
        _raise(error, request)


def complete_values(
    request: Guarded, status: int, headers: ResponseHeaders, body: Union[bytes, str]
) -> Tuple[str, Tuple[Any, ...]]:
    return _COMPLETE, (*_owner(request), status, _headers(headers), _bytes(body))


def complete(tx: Executes, request: Guarded, status: int, headers: ResponseHeaders, body: Union[bytes, str]) -> None:
    """Stores the answer in the service's own transaction. The last statement before COMMIT."""
    execute(tx, request, *complete_values(request, status, headers, body))


def advance(tx: Executes, request: Guarded, recovery_point: str) -> None:
    """Notes how far it got; the lease starts anew."""
    execute(tx, request, _ADVANCE, (*_owner(request), recovery_point))


def release(tx: Executes, request: Guarded, reason: str = "") -> None:
    """Nothing happened: it may run again."""
    execute(tx, request, _RELEASE, (*_owner(request), reason))


def enqueue(tx: Executes, request: Guarded, message: Message) -> str:
    """Enqueues an external call; returns the message's id."""
    row = execute(tx, request, _ENQUEUE, _message(request, message)).fetchone()
    return str(row[0] if isinstance(row, (tuple, list)) else next(iter(row.values())))


async def complete_async(
    tx: ExecutesAsync, request: Guarded, status: int, headers: ResponseHeaders, body: Union[bytes, str]
) -> None:
    await execute_async(tx, request, *complete_values(request, status, headers, body))


async def advance_async(tx: ExecutesAsync, request: Guarded, recovery_point: str) -> None:
    await execute_async(tx, request, _ADVANCE, (*_owner(request), recovery_point))


async def release_async(tx: ExecutesAsync, request: Guarded, reason: str = "") -> None:
    await execute_async(tx, request, _RELEASE, (*_owner(request), reason))


async def enqueue_async(tx: ExecutesAsync, request: Guarded, message: Message) -> str:
    row = await (await execute_async(tx, request, _ENQUEUE, _message(request, message))).fetchone()
    return str(row[0] if isinstance(row, (tuple, list)) else next(iter(row.values())))
