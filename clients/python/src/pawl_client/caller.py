"""Calls an API with one key per intent, and tries again where that is right."""
from __future__ import annotations

import asyncio
import json as json_module
import random
import re
import time
from dataclasses import dataclass, field
from typing import Any, Callable, Dict, Mapping, Optional, Type, Union
from urllib.parse import urlsplit

from ._http import Headers, NoAnswer, WireAnswer, send
from ._judge import judge, retry_after, wait_for
from .errors import Misuse, PawlError, Unavailable, Unknown
from .keys import new_key

SAFE = frozenset({"GET", "HEAD", "OPTIONS"})
_TOKEN = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")
_URL = re.compile(r"https?://[^/?#\x00-\x20\x7f-\U0010ffff]+[\x21-\x7e]*", re.I)
_VALUE = re.compile(r"[\t\x20-\x7e\x80-\xff]*")
_KEY = re.compile(r"[\x21-\x7e]([\x20-\x7e]{0,253}[\x21-\x7e])?")


def _check_request(method: str, url: str, headers: Mapping[str, str]) -> None:
    """What cannot be sent as it is given is a bug in this program: no reason to try again, and not to send something else."""
    if not _TOKEN.fullmatch(method):
        raise Misuse("method is no HTTP method")
    try:
        whole = _URL.fullmatch(url) is not None and bool(urlsplit(url).hostname) and urlsplit(url).port != 0
    except ValueError:
        whole = False
    if not whole:
        raise Misuse("url is no http:// or https:// URL, percent-encoded")
    for name, value in headers.items():
        if not _TOKEN.fullmatch(name) or not isinstance(value, str) or not _VALUE.fullmatch(value):
            raise Misuse(f"the header {name!r} cannot be sent")
    if any(name.lower() == "idempotency-key" for name in headers):
        raise Misuse("give the key as `key`, not as a header")


class _Made:
    """No key was given: one is made. None is not that: it is a key that was lost on its way here."""


MADE = _Made()


@dataclass(frozen=True)
class Answer:
    status: int
    headers: Headers
    body: bytes
    key: Optional[str]
    tries: int

    @property
    def replayed(self) -> bool:
        """It is the answer of an earlier try."""
        return self.header("Idempotent-Replayed") == "true"

    def header(self, name: str) -> Optional[str]:
        return WireAnswer(self.status, self.headers, b"").header(name)

    def text(self) -> str:
        return self.body.decode("utf-8")

    def json(self) -> Any:
        return json_module.loads(self.body)


def _now() -> float:
    """Seconds that go on while the machine is suspended, where the system has such a clock: a lease does too."""
    return time.clock_gettime(time.CLOCK_BOOTTIME) if hasattr(time, "CLOCK_BOOTTIME") else time.monotonic()


@dataclass(frozen=True)
class Clock:
    """For tests: time and chance."""

    now: Callable[[], float] = _now
    random: Callable[[], float] = random.random


@dataclass
class _Failed:
    again: bool
    after: Optional[float]
    error: PawlError


@dataclass
class _Call:
    """One intent, through all its tries."""

    method: str
    url: str
    headers: Dict[str, str]
    body: Optional[bytes]
    key: Optional[str]
    end: float
    may_retry: bool
    doubt: bool = False
    tries: int = 0
    safe: bool = field(init=False)

    def __post_init__(self) -> None:
        self.safe = self.method in SAFE

    def no_answer(self, error: NoAnswer) -> _Failed:
        self.doubt = self.doubt or error.sent
        kind = Unknown if self.doubt and not self.safe else Unavailable
        failed = kind(f"no answer: {error}", key=self.key)
        failed.__cause__ = error
        return _Failed(True, None, failed)

    def answered(self, wire: WireAnswer) -> Union[Answer, _Failed]:
        answer = Answer(wire.status, wire.headers, wire.body, self.key, self.tries)
        meaning = judge(wire, self.doubt and not self.safe)
        if meaning.error is None:
            return answer
        # Without a key there is no other try whose answer this could be: it is the API's own.
        by_pawl = wire.header("Pawl-Should-Retry") is not None
        if meaning.again and not self.may_retry and not by_pawl and wire.status < 500:
            return answer
        self.doubt = self.doubt or (meaning.again and meaning.perhaps_executed)
        kind: Type[PawlError] = meaning.error
        if self.safe and kind is Unknown:
            kind = Unavailable
        elif self.doubt and not self.safe:  # a new key would do it twice
            kind = Unknown
        text = meaning.code or wire.body[:200].decode("utf-8", "replace")
        error = kind(f"{wire.status} {text}", key=self.key, code=meaning.code, status=wire.status, answer=answer)
        return _Failed(meaning.again, retry_after(wire, time.time()), error)


@dataclass(frozen=True)
class _Options:
    #: All tries and waits together, in seconds.
    deadline: float = 120.0
    #: One try, in seconds.
    try_timeout: float = 30.0
    #: How often it is sent at most; only the deadline counts unless given.
    max_tries: Optional[int] = None
    #: Sent with every call, such as Authorization.
    headers: Mapping[str, str] = field(default_factory=dict)
    clock: Clock = Clock()

    def __post_init__(self) -> None:
        for name in ("deadline", "try_timeout", "max_tries"):
            value = getattr(self, name)
            if value is not None and not value > 0:  # NaN would be a deadline that never comes
                raise Misuse(f"{name} must be a number above 0")

    def begin(
        self, method: str, url: str, json: Any, body: Optional[bytes], key: Union[str, _Made], keyless: bool,
        headers: Optional[Mapping[str, str]],
    ) -> _Call:  # fmt: skip
        method = method.upper()
        if json is not None and body is not None:
            raise TypeError("give body or json, not both")
        if keyless and key is not MADE:
            raise Misuse("keyless and key exclude each other")
        if not isinstance(key, _Made) and not (isinstance(key, str) and _KEY.fullmatch(key)):
            raise Misuse("a key is 1 to 255 printable ASCII characters")
        chosen = key if isinstance(key, str) else None
        if chosen is None and not keyless and method not in SAFE:
            chosen = new_key()
        fields = {**self.headers, **(headers or {})}
        _check_request(method, url, fields)
        names = {name.lower() for name in fields}
        if json is not None:
            body = json_module.dumps(json, separators=(",", ":"), allow_nan=False).encode()
            if "content-type" not in names:
                fields["Content-Type"] = "application/json"
        if chosen is not None:
            fields["Idempotency-Key"] = chosen
        end = self.clock.now() + self.deadline
        # A copy: a bytearray could change between two tries.
        body = None if body is None else bytes(body)
        return _Call(method, url, fields, body, chosen, end, method in SAFE or not keyless)

    def once(self, call: _Call) -> Union[Answer, _Failed]:
        call.tries += 1
        timeout = min(self.try_timeout, max(0.001, call.end - self.clock.now()))
        try:
            return call.answered(send(call.method, call.url, call.headers, call.body, timeout))
        except NoAnswer as error:
            return call.no_answer(error)

    def wait_after(self, call: _Call, failed: _Failed) -> float:
        """Seconds until the next try; raises the error where there is none."""
        wait = wait_for(call.tries, failed.after, self.clock.random())
        late = self.clock.now() + wait >= call.end or (self.max_tries is not None and call.tries >= self.max_tries)
        if not failed.again or not call.may_retry or late:
            raise failed.error
        return wait


@dataclass(frozen=True)
class Caller(_Options):
    """Returns the API's answer, whatever its status; raises Unknown, Misuse, Refused or Unavailable."""

    sleep: Callable[[float], Any] = time.sleep

    def call(
        self, method: str, url: str, *, json: Any = None, body: Optional[bytes] = None, key: Union[str, _Made] = MADE,
        keyless: bool = False, headers: Optional[Mapping[str, str]] = None,
    ) -> Answer:  # fmt: skip
        """`key`: of this intent; store it with the order before you call, so that a restart repeats it.
        `keyless`: the server knows no keys; then an unsafe call is never tried again."""
        call = self.begin(method, url, json, body, key, keyless, headers)
        while True:
            last = self.once(call)
            if isinstance(last, Answer):
                return last
            self.sleep(self.wait_after(call, last))

    def post(self, url: str, json: Any, *, key: Union[str, _Made] = MADE) -> Answer:
        return self.call("POST", url, json=json, key=key)


@dataclass(frozen=True)
class AsyncCaller(_Options):
    """The same for asyncio. A try runs in a thread; cancelled, it may still be executed. So `key` must be given where one is
    needed: a call that is cancelled, by `asyncio.wait_for` say, would take a key that was made for it with it, and the next one
    would pay again."""

    sleep: Callable[[float], Any] = asyncio.sleep

    async def call(
        self, method: str, url: str, *, json: Any = None, body: Optional[bytes] = None, key: Union[str, _Made] = MADE,
        keyless: bool = False, headers: Optional[Mapping[str, str]] = None,
    ) -> Answer:  # fmt: skip
        if isinstance(key, _Made) and not keyless and method.upper() not in SAFE:
            raise Misuse("give a key (new_key makes one): a call that is cancelled would lose it")
        call = self.begin(method, url, json, body, key, keyless, headers)
        while True:
            last = await asyncio.to_thread(self.once, call)
            if isinstance(last, Answer):
                return last
            await self.sleep(self.wait_after(call, last))

    async def post(self, url: str, json: Any, *, key: str) -> Answer:
        return await self.call("POST", url, json=json, key=key)
