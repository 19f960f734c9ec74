"""One try over HTTP, with nothing but the standard library."""
from __future__ import annotations

import http.client
import io
import socket
import time
from dataclasses import dataclass
from typing import Any, List, Mapping, Optional, Tuple, Type
from urllib.parse import urlsplit

Headers = List[Tuple[str, str]]


@dataclass(frozen=True)
class WireAnswer:
    status: int
    headers: Headers
    body: bytes

    def header(self, name: str) -> Optional[str]:
        wanted = name.lower()
        return next((value for each, value in self.headers if each.lower() == wanted), None)


class NoAnswer(Exception):
    """No answer came. `sent`: a byte of the request may have left, so that it may have been executed."""

    def __init__(self, sent: bool, cause: BaseException) -> None:
        super().__init__(f"{type(cause).__name__}: {cause}")
        self.sent = sent


class _UntilDeadline(io.RawIOBase):
    """What a socket sends until a point in time: a byte now and then does not make more of it."""

    def __init__(self, sock: socket.socket, end: float) -> None:
        self._sock = sock
        self._file = sock.makefile("rb", buffering=0)  # keeps the socket open, as http.client expects
        self._end = end

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> Optional[int]:
        left = self._end - time.monotonic()
        if left <= 0:
            raise TimeoutError("no whole answer in time")
        self._sock.settimeout(left)
        return self._file.readinto(buffer)

    def close(self) -> None:
        self._file.close()
        super().close()


def _response_until(end: float) -> Type[http.client.HTTPResponse]:
    class Response(http.client.HTTPResponse):
        def __init__(self, sock: socket.socket, *more: Any, **named: Any) -> None:
            super().__init__(sock, *more, **named)
            unbounded, self.fp = self.fp, io.BufferedReader(_UntilDeadline(sock, end))
            unbounded.close()

        def _read_status(self) -> Tuple[str, int, str]:
            # http.client knows 100 alone; after 102 and 103 there is more to come as well.
            while True:
                found: Tuple[str, int, str] = super()._read_status()  # type: ignore[misc]
                if found[1] < 100 or found[1] > 199 or found[1] == 101:
                    return found
                http.client.parse_headers(self.fp)

    return Response


def _read(response: http.client.HTTPResponse) -> bytes:
    declared = response.length
    chunks: List[bytes] = []
    size = 0
    while declared is None or size < declared:
        chunk = response.read1(65536)
        if not chunk:
            break
        chunks.append(chunk)
        size += len(chunk)
    if declared is not None and size < declared:
        raise http.client.IncompleteRead(b"".join(chunks), declared - size)
    return b"".join(chunks)


def send(method: str, url: str, headers: Mapping[str, str], body: Optional[bytes], timeout: float) -> WireAnswer:
    """A whole answer, or NoAnswer. Redirects are not followed: the server has had the request."""
    end = time.monotonic() + timeout
    parts = urlsplit(url)
    secure = parts.scheme == "https"
    kind = http.client.HTTPSConnection if secure else http.client.HTTPConnection
    # With its port: http.client would take the end of an IPv6 address for one.
    connection = kind(parts.hostname or "", parts.port or (443 if secure else 80), timeout=timeout)
    connection.response_class = _response_until(end)
    sent = False
    try:
        connection.connect()  # TLS too; up to here not one byte of the request has left
        sent = True
        target = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
        connection.request(method, target, body=body, headers=dict(headers))
        response = connection.getresponse()
        if response.status < 200:
            raise http.client.BadStatusLine(f"{response.status} is no answer")
        return WireAnswer(response.status, response.getheaders(), _read(response))
    except (OSError, http.client.HTTPException, ValueError) as error:
        raise NoAnswer(sent, error) from error
    finally:
        connection.close()
