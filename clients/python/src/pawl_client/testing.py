"""A Pawl for unit tests, on loopback and in memory: guarded routes in front of `upstream`, and the key API."""
from __future__ import annotations

import base64
import hashlib
import json
import re
import threading
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Callable, Dict, List, Optional, Tuple
from urllib.parse import unquote

#: method, path, body -> status and a JSON value
Upstream = Callable[[str, str, bytes], Tuple[int, Any]]
Said = Tuple[int, Dict[str, str], bytes]


@dataclass
class _Kept:
    fingerprint: str
    status: str
    fence: int
    owner: str = ""
    attempt: int = 1
    point: str = ""
    response: Optional[Dict[str, Any]] = None


def _problem(status: int, code: str, retry: bool, **more: Any) -> Said:
    headers = {"Content-Type": "application/problem+json", "Pawl-Should-Retry": str(retry).lower()}
    if retry:
        headers["Retry-After"] = "1"
    document = {"type": f"urn:pawl:problem:{code}", "title": code, "status": status, "detail": code, "code": code}
    return status, headers, json.dumps({**document, **more}).encode()


def _ok(status: int, value: Any) -> Said:
    return status, {"Content-Type": "application/json"}, json.dumps(value, separators=(",", ":")).encode()


def _hash(*parts: str) -> str:
    return hashlib.sha256("\n".join(parts).encode()).hexdigest()


def _stored(response: Dict[str, Any]) -> Dict[str, Any]:
    headers = [list(pair) for pair in response.get("headers", [])]
    body = response.get("body", "")
    if "body_json" in response:
        body = json.dumps(response["body_json"], separators=(",", ":"))
        if not any(name.lower() == "content-type" for name, _ in headers):
            headers.append(["Content-Type", "application/json"])
    if "body_base64" in response:
        body = base64.b64decode(response["body_base64"]).decode("utf-8", "replace")
    return {"status": response.get("status", 200), "headers": headers, "body": body}


class FakePawl:
    """`with FakePawl(upstream) as fake: Caller().post(fake.url + "/v1/payments", ...)`"""

    def __init__(self, upstream: Upstream = lambda method, path, body: (201, {}), lease_seconds: float = 30) -> None:
        self.upstream, self.lease_seconds = upstream, lease_seconds
        #: How often the upstream was really called.
        self.executions = 0
        self._fence = 1_700_000_000_000_000
        self._routes: Dict[str, _Kept] = {}
        self._keys: Dict[str, _Kept] = {}
        self._faults: List[str] = []
        self._lock = threading.RLock()
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), self._handler())
        self.url = f"http://127.0.0.1:{self._server.server_address[1]}"

    def __enter__(self) -> "FakePawl":
        threading.Thread(target=self._server.serve_forever, daemon=True).start()
        return self

    def __exit__(self, *_: Any) -> None:
        self._server.shutdown()
        self._server.server_close()

    def lose_next_answer(self) -> None:
        """The next request is carried out, and its answer is lost on the way."""
        self._faults.append("lost")

    def fail_next(self) -> None:
        """The next request gets 503 store-unavailable, and nothing is carried out."""
        self._faults.append("unavailable")

    def make_unknown(self, key: str) -> None:
        """From now on it is not known what became of this key."""
        self._routes.setdefault(key, _Kept("", "unknown", self._fence))
        for kept in (self._routes[key], self._keys.get(key)):
            if kept is not None and kept.status != "completed":
                kept.status = "unknown"

    def end_lease(self, key: str) -> None:
        """The lease of this key of the key API ends now: as by default, its outcome is unknown."""
        kept = self._keys.get(key)
        if kept is not None and kept.status == "in_progress":
            kept.status = "unknown"

    def _handler(self) -> Any:
        fake = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def log_message(self, *_: Any) -> None:
                pass

            def do_any(self) -> None:
                body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
                with fake._lock:
                    fault = fake._faults.pop(0) if fake._faults else ""
                    unavailable = fault == "unavailable"
                    said = _problem(503, "store-unavailable", True) if unavailable else fake._answer(self, body)
                self.close_connection = True
                if fault == "lost":
                    return
                status, headers, data = said
                self.send_response(status)
                for name, value in {**headers, "Content-Length": str(len(data)), "Connection": "close"}.items():
                    self.send_header(name, value)
                self.end_headers()
                self.wfile.write(data)

            do_GET = do_POST = do_PUT = do_PATCH = do_DELETE = do_any

        return Handler

    def _answer(self, request: BaseHTTPRequestHandler, body: bytes) -> Said:
        found = re.fullmatch(r"/_pawl/v1/keys/([^/]+)/(\w+)", request.path)
        if found:
            return self._key_api(unquote(found.group(1)), found.group(2), json.loads(body))
        return self._guarded(request, body)

    def _pass(self, request: BaseHTTPRequestHandler, body: bytes) -> Said:
        self.executions += 1
        return _ok(*self.upstream(request.command, request.path, body))

    def _guarded(self, request: BaseHTTPRequestHandler, body: bytes) -> Said:
        if request.command not in ("POST", "PATCH"):
            return self._pass(request, body)
        key = request.headers.get("Idempotency-Key")
        if key is None:
            return _problem(400, "key-missing", False)
        if not 16 <= len(key) <= 255:
            return _problem(400, "key-invalid", False)
        fingerprint = _hash(request.command, request.path, body.decode("latin-1"))
        kept = self._routes.get(key)
        if kept is not None and kept.status == "unknown":
            return _problem(409, "outcome-unknown", False)
        if kept is not None and kept.fingerprint != fingerprint:
            return _problem(422, "key-reused", False)
        if kept is not None and kept.response is not None:
            status, headers, data = kept.response["said"]
            return status, {**headers, "Idempotency-Key": key, "Idempotent-Replayed": "true"}, data
        status, headers, data = said = self._pass(request, body)
        self._routes[key] = _Kept(fingerprint, "completed", self._fence, response={"said": said})
        return status, {**headers, "Idempotency-Key": key}, data

    def _key_api(self, key: str, verb: str, call: Dict[str, Any]) -> Said:
        if verb == "reserve":
            return self._reserve(key, call)
        kept = self._keys.get(key)
        if kept is None:
            return _problem(404, "not-found", False)
        done = {"complete": "completed", "release": "failed_retryable"}.get(verb)
        mine = kept.owner == call.get("owner") and kept.fence == call.get("fence")
        stale = _problem(409, "stale-fence", False, key_status=kept.status)
        if mine and done is not None and kept.status == done:
            return self._grant(key, kept)
        if not mine or not (kept.status == "in_progress" or (done is not None and kept.status == "unknown")):
            return stale
        if verb == "advance":
            if kept.point not in (call["after"], call["recovery_point"]):
                return stale
            kept.point = call["recovery_point"]
        if verb == "complete":
            kept.response = _stored(call.get("response", {}))
        if done is not None:
            kept.status = done
        return self._grant(key, kept)

    def _reserve(self, key: str, call: Dict[str, Any]) -> Said:
        fingerprint = call.get("fingerprint") or _hash(json.dumps(call.get("request"), sort_keys=True))
        kept, owner = self._keys.get(key), call["owner"]
        if kept is not None:
            if kept.fingerprint != fingerprint:
                return _problem(422, "key-reused", False, decision="misuse")
            if kept.status == "completed":
                return self._grant(key, kept, decision="replay", response=kept.response)
            if kept.status == "unknown":
                return _problem(409, "outcome-unknown", False, decision="undetermined")
            if kept.status == "failed_retryable" and kept.owner == owner:
                return _problem(409, "stale-fence", False, decision="spent")
            if kept.status == "in_progress" and kept.owner != owner:
                return _problem(409, "in-flight", True, decision="in_flight")
        if kept is None or kept.status != "in_progress":
            self._fence += 1
            attempt, point = (1, "") if kept is None else (kept.attempt + 1, kept.point)
            kept = self._keys[key] = _Kept(fingerprint, "in_progress", self._fence, owner, attempt, point)
        status, headers, data = self._grant(key, kept, decision="execute")
        return 201, headers, data

    def _grant(self, key: str, kept: _Kept, **more: Any) -> Said:
        live = kept.status == "in_progress"
        value = {"key": key, "status": kept.status, "fence": kept.fence, "attempt": kept.attempt, "recovery_point": kept.point}
        lease = {"lease_expires_at": None, "lease_seconds": self.lease_seconds if live else None}
        return _ok(200, {**more, **value, **lease})


class FakeConnection:
    """A psycopg connection for unit tests of transactional handlers: `run_transactional(lambda: fake, ...)`."""

    autocommit = False
    closed = False
    broken = False

    class _Info:
        transaction_status = 0

    def __init__(self, rows: Optional[List[Any]] = None) -> None:
        self.info = self._Info()
        self.rows = rows or []
        self.statements: List[Tuple[str, Any]] = []
        #: SQLSTATE that pawl.complete fails with, e.g. PW001.
        self.complete_fails_with: Optional[str] = None
        #: The answer of COMMIT is lost.
        self.commit_is_lost = False
        self.committed = False
        self._of_pawl = False

    def __enter__(self) -> "FakeConnection":
        return self

    def __exit__(self, *_: Any) -> None:
        pass

    def execute(self, query: str, params: Any = None) -> "FakeConnection":
        self.statements.append((query, params))
        if "pawl.complete" in query and self.complete_fails_with:
            error = Exception("pawl.complete failed")
            error.sqlstate = self.complete_fails_with  # type: ignore[attr-defined]
            raise error
        self._of_pawl = "pawl." in query
        return self

    def fetchone(self) -> Any:
        if self._of_pawl:
            return ("fake",)
        return self.rows[0] if self.rows else None

    def fetchall(self) -> List[Any]:
        return self.rows

    def commit(self) -> None:
        if self.commit_is_lost:
            raise ConnectionError("the connection was lost")
        self.committed = True

    def rollback(self) -> None:
        self.statements.append(("ROLLBACK", None))
