"""One try over HTTP, with nothing but the standard library."""
from __future__ import annotations

import http.client
import time
from dataclasses import dataclass
from typing import Dict, List, Optional, Tuple
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


def _read(response: http.client.HTTPResponse, connection: http.client.HTTPConnection, end: float) -> bytes:
    declared = response.length
    chunks: List[bytes] = []
    size = 0
    while declared is None or size < declared:
        left = end - time.monotonic()
        if left <= 0:
            raise TimeoutError("no whole answer in time")
        if connection.sock is not None:
            connection.sock.settimeout(left)
        chunk = response.read1(65536)
        if not chunk:
            break
        chunks.append(chunk)
        size += len(chunk)
    if declared is not None and size < declared:
        raise http.client.IncompleteRead(b"".join(chunks), declared - size)
    return b"".join(chunks)


def send(method: str, url: str, headers: Dict[str, str], body: Optional[bytes], timeout: float) -> WireAnswer:
    """A whole answer, or NoAnswer. Redirects are not followed: the server has had the request."""
    end = time.monotonic() + timeout
    parts = urlsplit(url)
    kind = http.client.HTTPSConnection if parts.scheme == "https" else http.client.HTTPConnection
    connection = kind(parts.hostname or "", parts.port, timeout=timeout)
    sent = False
    try:
        connection.connect()  # TLS too; up to here not one byte of the request has left
        sent = True
        target = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
        connection.request(method, target, body=body, headers=headers)
        response = connection.getresponse()
        return WireAnswer(response.status, response.getheaders(), _read(response, connection, end))
    except (OSError, http.client.HTTPException, ValueError) as error:
        raise NoAnswer(sent, error) from error
    finally:
        connection.close()
