"""The calls of the key API, as values; shared by the sync and the asyncio consumer."""
from __future__ import annotations

import base64
import json
import re
import secrets
import time
from dataclasses import dataclass, field
from typing import Any, Dict, Mapping, Optional, Type
from urllib.parse import quote

from ._http import Headers, NoAnswer, WireAnswer, send
from ._judge import retry_after, wait_for
from .caller import Clock
from .errors import InFlight, LeaseLost, Misuse, PawlError, Refused, Unavailable, Unknown
from .transactional import Reply, render


@dataclass(frozen=True)
class Finished:
    """What the operation came to, now or in an earlier delivery. Acknowledge the message."""

    status: int
    headers: Headers
    body: bytes
    #: An earlier delivery did it.
    replayed: bool
    #: The answer was too large to keep.
    body_withheld: bool = False


@dataclass(frozen=True)
class Said:
    wire: WireAnswer
    body: Dict[str, Any]
    sent_at: float

    @property
    def settled(self) -> bool:
        """It is an answer, not a reason to ask again."""
        return self.wire.status < 500 and self.wire.status != 429


def new_owner() -> str:
    return secrets.token_hex(16)


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool) and value == value


def _lease_of(seconds: float) -> float:
    """A lease of more than a day is counted as one: it is renewed long before."""
    return float(min(seconds, 86400))


def _is_grant(body: Mapping[str, Any]) -> bool:
    return body.get("decision") == "execute" and type(body.get("fence")) is int and _is_number(body.get("lease_seconds"))


def _is_response(value: Any) -> bool:
    if not isinstance(value, dict) or type(value.get("status")) is not int:
        return False
    pairs = value.get("headers") or []
    texts = all(value.get(name) is None or isinstance(value[name], str) for name in ("body", "body_base64"))
    return texts and isinstance(pairs, list) and all(isinstance(pair, list) and len(pair) == 2 for pair in pairs)


def _parsed(wire: WireAnswer, verb: str, call: Mapping[str, Any]) -> Optional[Dict[str, Any]]:
    """None: a success that does not say what was asked for comes from something in between."""
    try:
        body = json.loads(wire.body)
    except (ValueError, RecursionError):
        body = None
    if wire.status >= 300:
        return body if isinstance(body, dict) else {}
    if not isinstance(body, dict):
        return None
    if verb == "reserve" and wire.status == 201:
        return body if _is_grant(body) else None
    kept = {
        "reserve": body.get("decision") == "replay" and _is_response(body.get("response")),
        "complete": body.get("status") == "completed",
        "release": body.get("status") == "failed_retryable",
        "advance": body.get("recovery_point") == call.get("recovery_point"),
        "renew": _is_number(body.get("lease_seconds")),
    }
    return body if wire.status == 200 and kept[verb] else None


@dataclass(frozen=True)
class KeyApi:
    url: str
    #: Sent with every call, such as Authorization.
    headers: Mapping[str, str] = field(default_factory=dict)
    #: How long a reservation is asked for, in seconds.
    reserve_for: float = 10.0
    #: How long a result is handed in, in seconds.
    settle_for: float = 60.0
    clock: Clock = Clock()

    def once(self, key: str, verb: str, body: Mapping[str, Any], timeout: float) -> Optional[Said]:
        """One try; None: no answer, or none that can be read."""
        sent_at = self.clock.now()
        data = json.dumps(body, separators=(",", ":"), allow_nan=False).encode()
        url = f"{self.url.rstrip('/')}/_pawl/v1/keys/{quote(key, safe='')}/{verb}"
        headers = {**self.headers, "Content-Type": "application/json"}
        try:
            wire = send("POST", url, headers, data, max(0.001, min(timeout, 30.0)))
        except NoAnswer:
            return None
        parsed = _parsed(wire, verb, body)
        return None if parsed is None else Said(wire, parsed, sent_at)

    def wait_after(self, tries: int, said: Optional[Said], end: float) -> Optional[float]:
        """Seconds until the next try; None: there is none."""
        after = None if said is None else retry_after(said.wire, time.time())
        wait = wait_for(tries, after, self.clock.random())
        return None if self.clock.now() + wait >= end else wait


class Hold:
    """One granted key: its fence, its lease, how far it came. No threads and no tasks in here."""

    def __init__(self, key: str, owner: str, granted: Said, api: KeyApi) -> None:
        self.key = key
        self.owner = owner
        self.fence: int = granted.body["fence"]
        self.attempt: int = granted.body.get("attempt", 1)
        #: How far this or an earlier owner came; empty: not begun.
        self.recovery_point: str = granted.body.get("recovery_point", "")
        #: How often the lease was renewed in the background.
        self.renewals = 0
        self.loss: Optional[LeaseLost] = None
        self.lease: float = _lease_of(granted.body["lease_seconds"])
        self._api = api
        self._end = granted.sent_at + self.lease

    @property
    def lease_left(self) -> float:
        return self._end - self._api.clock.now()

    def extend(self, said: Said) -> None:
        seconds: Any = said.body.get("lease_seconds")
        # 0: the store's clock is not to be trusted, and nothing is gained.
        if _is_number(seconds) and seconds > 0:
            self._end = max(self._end, said.sent_at + _lease_of(seconds))

    def lose(self, why: str) -> None:
        if self.loss is None:
            self.loss = LeaseLost(why, key=self.key, code="stale-fence")
            self.on_loss()

    def on_loss(self) -> None:
        """Cancels the work."""

    def check(self) -> None:
        """Raises LeaseLost once the lease is over: ask before each effect."""
        if self.lease_left <= 0:
            self.lose("the lease is over")
        if self.loss is not None:
            raise self.loss

    def call(self, **more: Any) -> Dict[str, Any]:
        return {"owner": self.owner, "fence": self.fence, **more}

    def step(self, recovery_point: str) -> Dict[str, Any]:
        self.check()
        return self.call(after=self.recovery_point, recovery_point=recovery_point)

    def stepped(self, recovery_point: str, said: Optional[Said]) -> None:
        if said is not None and said.wire.status == 200:
            self.recovery_point = recovery_point
            self.extend(said)
            return
        if said is not None and said.wire.status == 409:
            self.lose("the key is not ours any more")
        self.check()
        raise Unavailable("advance was not answered", key=self.key)

    def renewal_timeout(self) -> float:
        """A third of the lease for one try: one that hangs leaves time for another."""
        return min(self.lease_left, self.lease / 3)

    def first_pause(self) -> float:
        return max(0.001, min(self.lease / 3, self.lease_left))

    def renewed(self, said: Optional[Said]) -> float:
        """Seconds until the next renewal."""
        if said is not None and said.wire.status == 200:
            self.renewals += 1
            self.extend(said)
            return max(0.001, min(self.lease / 3, self.lease_left))
        if said is not None and said.settled:
            self.lose("the key is not ours any more")
        return max(0.001, min(self.lease / 10, self.lease_left))


def refusal(key: str, said: Said) -> PawlError:
    code, status = said.body.get("code"), said.wire.status
    kind: Type[PawlError] = Unknown
    if code in ("key-reused", "key-invalid"):
        kind = Misuse
    elif code == "in-flight":
        kind = InFlight
    elif code == "stale-fence":
        kind = Unavailable
    elif 400 <= status < 500 and status not in (409, 410):
        kind = Refused
    return kind(said.body.get("detail") or f"reserve answered {status}", key=key, code=code, status=status)


def work_failed(hold: Hold, error: BaseException) -> PawlError:
    if isinstance(error, LeaseLost):
        return error
    kind = Unknown if hold.loss is None else LeaseLost
    return kind("the work failed, and it may have happened", key=hold.key)


def not_recorded(hold: Hold, said: Optional[Said]) -> PawlError:
    if said is None:
        return Unknown("it was done, and that could not be recorded", key=hold.key)
    code, status = said.body.get("code"), said.wire.status
    if status == 409:
        return LeaseLost("it was done, and another owner has the key by now", key=hold.key, code=code, status=status)
    return Unknown("it was done, and that could not be recorded", key=hold.key, code=code, status=status)


def response_of(reply: Reply) -> Dict[str, Any]:
    rendered = render(reply)
    response: Dict[str, Any] = {"status": rendered.status, "headers": [list(pair) for pair in rendered.headers]}
    try:
        response["body"] = rendered.body.decode("utf-8")
    except UnicodeDecodeError:
        response["body_base64"] = base64.b64encode(rendered.body).decode()
    return response


def finished(response: Mapping[str, Any], replayed: bool) -> Finished:
    encoded = response.get("body_base64")
    body = (response.get("body") or "").encode() if encoded is None else base64.b64decode(encoded)
    headers = [(name, value) for name, value in response.get("headers") or []]
    return Finished(response["status"], headers, body, replayed, response.get("body_withheld") is True)


def printable(text: str) -> str:
    """As the key API takes a reason: printable ASCII, 255 at most."""
    return re.sub(r"[^\x20-\x7e]", "?", text)[:255]
