"""What an answer means for the key it was sent under; docs/clients.md has the same tables."""
from __future__ import annotations

import json
import re
from dataclasses import dataclass
from email.utils import parsedate_to_datetime
from typing import Any, Optional, Type

from ._http import WireAnswer
from .errors import Misuse, PawlError, Refused, Unavailable, Unknown

MISUSE = frozenset({"key-missing", "key-invalid", "key-reused"})
# Pawl's own answers after which nothing was sent on by this try.
UNAVAILABLE = frozenset(
    {"rate-limited", "too-many-keys", "store-unavailable", "upstream-unreachable", "draining", "overloaded", "auth-unavailable"}
)
REFUSED = frozenset(
    {
        "body-invalid", "unauthenticated", "forbidden", "body-too-large", "abandoned", "stale-request", "bad-request",
        "uri-too-long", "expectation-failed", "headers-too-large", "not-implemented", "version-not-supported",
        "near-duplicate",
    }
)  # fmt: skip
RETRIED = frozenset({408, 409, 425, 429})
NOT_BEGUN = frozenset({408, 425, 429})
FROM_IN_FRONT = frozenset({400, 401, 403, 404, 405, 406, 407, 411, 413, 414, 415, 417, 421, 426, 431, 451})


@dataclass(frozen=True)
class Meaning:
    """Without an error it is the answer."""

    error: Optional[Type[PawlError]] = None
    again: bool = False
    perhaps_executed: bool = False
    code: Optional[str] = None


@dataclass(frozen=True)
class _Problem:
    code: Optional[str] = None
    pawl: bool = False
    idempotency_error: bool = False


def _text(value: Any) -> Optional[str]:
    return value if isinstance(value, str) else None


def _problem_of(answer: WireAnswer) -> _Problem:
    pawl = answer.header("Pawl-Should-Retry") is not None
    if answer.status < 400:
        return _Problem(pawl=pawl)
    try:
        body = json.loads(answer.body)
    except (ValueError, RecursionError):
        return _Problem(pawl=pawl)
    if not isinstance(body, dict):
        return _Problem(pawl=pawl)
    error = body.get("error")
    error = error if isinstance(error, dict) else {}
    return _Problem(
        code=_text(body.get("code")) or _text(error.get("code")),
        pawl=pawl or (_text(body.get("type")) or "").startswith("urn:pawl:problem:"),
        idempotency_error=error.get("type") == "idempotency_error",
    )


def _of_pawl(code: Optional[str], again: bool) -> Meaning:
    if again:
        nothing = code in UNAVAILABLE
        return Meaning(Unavailable if nothing else Unknown, True, not nothing, code)
    if code in MISUSE:
        return Meaning(Misuse, code=code)
    if code in REFUSED:
        return Meaning(Refused, code=code)
    if code in UNAVAILABLE:
        return Meaning(Unavailable, code=code)
    # outcome-unknown, key-expired, store-restored, caller-unproven, and every code that is not known here.
    return Meaning(Unknown, code=code)


def _of_others(answer: WireAnswer, problem: _Problem) -> Meaning:
    status = answer.status
    if answer.header("Idempotent-Replayed") == "true":
        return Meaning()
    if problem.idempotency_error and status in (400, 422):
        return Meaning(Misuse, code=problem.code)
    said = answer.header("Stripe-Should-Retry")
    again = said == "true" or (said != "false" and (status in RETRIED or status >= 500))
    refusal = status in NOT_BEGUN or (status == 503 and answer.header("Retry-After") is not None)
    error = Unavailable if refusal else Unknown
    if again:
        return Meaning(error, True, not refusal, problem.code)
    return Meaning() if status < 500 else Meaning(error, code=problem.code)


def judge(answer: WireAnswer, doubt: bool) -> Meaning:
    """`doubt`: an earlier try of the same call may have been executed."""
    problem = _problem_of(answer)
    if problem.pawl:
        return _of_pawl(problem.code, answer.header("Pawl-Should-Retry") == "true")
    meaning = _of_others(answer, problem)
    if meaning.error is not None or not doubt:
        return meaning
    # A login page or a proxy in front knows nothing of the try before.
    in_front = answer.status in FROM_IN_FRONT or 300 <= answer.status < 400
    of_the_key = answer.header("Idempotent-Replayed") == "true" or answer.header("Pawl-Request-Id") is not None
    return Meaning(Unknown, code=problem.code) if in_front and not of_the_key else meaning


def retry_after(answer: WireAnswer, wall_clock: float) -> Optional[float]:
    """What Retry-After says, in seconds and never more than a minute; None: nothing usable."""
    value = (answer.header("Retry-After") or "").strip()
    if re.fullmatch(r"[0-9]+", value):
        wait = float(value)
    else:
        try:
            wait = parsedate_to_datetime(value).timestamp() - wall_clock
        except (ValueError, TypeError, IndexError, OverflowError):
            return None
    return min(wait, 60.0) if wait > 0 else None


def wait_for(tries: int, after: Optional[float], random: float) -> float:
    """Seconds after the n-th try: what the server asked for and some more, or twice as long each time."""
    if after is not None:
        return after * (1 + random / 4)
    return min(0.5 * 2.0 ** min(tries - 1, 16), 8.0) * (0.5 + random / 2)
