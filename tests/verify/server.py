#!/usr/bin/env python3
"""A payments endpoint with idempotency keys, correct unless a fault is named.

  server.py FOLDER PORT [FAULT]

It says "listening on http://127.0.0.1:PORT" (port 0: any). Effects and stored answers are files in
FOLDER, so that they survive kill -9. What pawl verify uses to provoke it, as request headers:
X-Slow: MS (after the effect), X-Fail: 1 (500 after the effect), X-Refuse: 1 (503 before it).
"""
import hashlib
import json
import os
import select
import socket
import sys
import threading
import time
from decimal import Decimal
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

FOLDER, FAULT = sys.argv[1], (sys.argv[3:] or [""])[0]
LOCK = threading.RLock()
RECORDS = {}  # (caller, key) -> {"print", "status", "headers", "body"}; status None: under way
LIMITED = "Bearer limited"  # a caller that may use ten new keys and no more
LIMIT = 10


def effects():
    try:
        with open(FOLDER + "/effects") as file:
            return len(file.readlines())
    except FileNotFoundError:
        return 0


def charge(amount):
    with LOCK, open(FOLDER + "/effects", "a") as file:
        file.write(f"{amount}\n")
        file.flush()
        os.fsync(file.fileno())
        return effects()


def save():
    if FAULT == "forgets-at-kill":
        return
    with LOCK:
        text = json.dumps([[list(name), record] for name, record in RECORDS.items()])
        with open(FOLDER + "/records.new", "w") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        os.rename(FOLDER + "/records.new", FOLDER + "/records")


def load():
    try:
        with open(FOLDER + "/records") as file:
            RECORDS.update({tuple(name): record for name, record in json.load(file)})
    except FileNotFoundError:
        return
    for record in RECORDS.values():  # what was under way when it died may have happened
        if record["status"] is None:
            record["status"] = 0


def exact(text):
    """A number by its exact value, as a text that no string of a body is."""
    return ["number", str(Decimal(text).normalize())]


def fingerprint(kind, body):
    if FAULT == "no-fingerprint":
        return ""
    if FAULT == "first-kilobyte":
        body = body[:1024]
    if FAULT == "raw-fingerprint":
        return hashlib.sha256(body).hexdigest()
    if kind.startswith("multipart/form-data"):
        boundary = kind.split("boundary=")[1].encode()
        return hashlib.sha256(body.replace(boundary, b"")).hexdigest()
    try:
        if FAULT == "double-precision":
            value = json.loads(body, parse_int=float)
        else:
            value = json.loads(body, parse_int=exact, parse_float=exact)
        body = json.dumps(value, sort_keys=True).encode()
    except ValueError:
        pass
    return hashlib.sha256(body).hexdigest()


def parse_key(lines):
    """The key, or None and what is wrong with it."""
    if not lines or (len(lines) > 1 and FAULT != "any-key"):
        return None
    value = lines[0]
    if FAULT == "any-key":
        return value
    if FAULT == "quotes-count":
        return value if 16 <= len(value) <= 255 and value.isascii() else None
    if value.startswith('"') or value.endswith('"'):
        if len(value) < 2 or value[0] != '"' or value[-1] != '"':
            return None
        value = value[1:-1]
    good = 16 <= len(value) <= 255 and value.isascii() and value.isprintable()
    return value if good else None


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True

    def log_message(self, *_):
        pass

    def reply(self, status, body, headers=None, kind="application/json"):
        if isinstance(body, str):
            body = body.encode()
        self.send_response(status)
        for name, value in (headers or {}).items():
            self.send_header(name, value)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def problem(self, status, slug, more=None, headers=None):
        document = {"type": "urn:example:" + slug, "title": slug, "error": {"message": slug}}
        document.update(more or {})
        kind = "application/problem+json"
        body = json.dumps(document)
        if FAULT == "plain-errors":
            kind, body = "text/plain", slug
        allowed = {} if FAULT == "no-cors" else {"Access-Control-Allow-Origin": "*"}
        self.reply(status, body, {**allowed, **(headers or {})}, kind)

    def handle(self):
        try:
            super().handle()
        except (BrokenPipeError, ConnectionResetError):
            pass  # it hung up

    def do_GET(self):
        if FAULT == "key-on-everything" and self.path == "/payments":
            return self.problem(400, "idempotency-key-missing")
        if self.path == "/effects":
            return self.reply(200, json.dumps({"total": effects()}))
        self.reply(200, "{}")

    def do_PUT(self):
        self.rfile.read(int(self.headers.get("Content-Length", 0)))
        self.problem(404, "not-found")

    do_DELETE = do_PUT

    def body(self):
        length = int(self.headers.get("Content-Length", 0))
        body = self.rfile.read(length)
        if len(body) < length:
            if FAULT == "executes-half":
                charge(0)
            return None
        return body

    def execute(self, body):
        """The handler behind the boundary."""
        if self.headers.get("X-Refuse"):
            return 503, {"Retry-After": "1"}, '{"error":{"message":"busy"}}'
        kind = self.headers.get("Content-Type", "")
        note = ""
        if kind.startswith("application/json"):
            document = json.loads(body)
            if "amount" not in document:
                return 422, {}, '{"error":{"message":"amount is missing"}}'
            note = document.get("note", "")
        if FAULT == "no-lock":
            time.sleep(0.2)  # everybody is past the look-up before anybody has finished
        number = charge(1)
        time.sleep(int(self.headers.get("X-Slow", 0)) / 1000)
        if self.headers.get("X-Fail"):
            return 500, {}, '{"error":{"message":"broken"}}'
        body = '{"id": "payment-%08d",  "note": "%s"}' % (number, note)
        return 201, {"Location": f"/payments/{number}", "Content-Language": "en"}, body

    def hung_up(self):
        readable, _, _ = select.select([self.connection], [], [], 0)
        return bool(readable) and self.connection.recv(1, socket.MSG_PEEK) == b""

    def do_POST(self):
        body = self.body()
        if body is None:
            self.close_connection = True
            return
        lines = self.headers.get_all("Idempotency-Key") or []
        if not lines and FAULT == "key-not-required":
            status, headers, text = self.execute(body)
            return self.reply(status, text, headers)
        key = parse_key(lines)
        if key is None:
            return self.problem(400, "idempotency-key-missing" if not lines else "bad-key")
        caller = self.headers.get("Authorization", "")
        scope = "" if FAULT in ("global-key", "leaks") else caller
        path = "" if FAULT in ("any-path", "no-fingerprint") else self.path
        self.guarded((scope, key), path + fingerprint(self.headers.get("Content-Type", ""), body),
                     body, caller)

    def guarded(self, name, print_, body, caller):
        with LOCK:
            record = RECORDS.get(name)
            new = record is None or record["status"] is None and FAULT == "no-lock"
            used = sum(1 for each in RECORDS.values() if each["caller"] == LIMITED)
            limited = caller == LIMITED and used >= LIMIT
            if limited and (new or FAULT == "limits-replays"):
                return self.problem(429, "limited", headers={"Retry-After": "5"})
            if new:
                record = RECORDS[name] = {"print": print_, "caller": caller, "status": None,
                                          "headers": {}, "body": ""}
                save()
            else:
                record = dict(record)
        if new:
            return self.first(name, body)
        self.duplicate(name, record, print_, caller)

    def first(self, name, body):
        status, headers, text = self.execute(body)
        with LOCK:
            record = RECORDS[name]
            record.update({"status": status, "headers": headers, "body": text})
            if status == 503 and FAULT != "caches-errors":
                del RECORDS[name]
            if status == 500 and FAULT == "executes-after-500":
                del RECORDS[name]
            if FAULT == "frees-on-hang-up" and self.hung_up():
                RECORDS.pop(name, None)
            save()
        told = {} if FAULT == "no-expiry" else {"Idempotency-Expires": "Tue, 01 Jan 2030 00:00:00 GMT"}
        self.reply(status, text, {**headers, **told})

    def duplicate(self, name, record, print_, caller):
        if FAULT == "leaks" and caller != record["caller"]:
            return self.problem(409, "key-taken", {"stored": record["body"]})
        if record["print"] != print_:
            if FAULT == "misuse-overwrites":
                with LOCK:
                    RECORDS[name].update({"status": 422, "body": "{}"})
            if FAULT == "reuse-is-success":
                return self.reply(200, "{}")
            return self.problem(422, "key-reused")
        if record["status"] is None:
            return self.in_flight(name)
        if record["status"] == 0:
            return self.problem(409, "outcome-unknown")
        self.replay(record)

    def in_flight(self, name):
        if FAULT == "late-conflict":
            while RECORDS[name]["status"] is None:
                time.sleep(0.01)
            time.sleep(0.3)
        if FAULT == "errors-in-flight":
            return self.reply(500, "{}")
        wait = {"absurd-retry-after": "86400000"}.get(FAULT, "1")
        self.problem(409, "in-flight", headers={"Retry-After": wait})

    def replay(self, record):
        status, headers, text = record["status"], dict(record["headers"]), record["body"]
        if FAULT == "forgets-errors" and status == 422:
            status = 500
        if FAULT == "replays-as-200" and status == 201:
            status = 200
        if FAULT == "re-serialises":
            text = json.dumps(json.loads(text))
        if FAULT == "drops-headers":
            headers = {}
        if FAULT == "cuts-large" and len(text) > 4096:
            text = text[:4096]
        if FAULT != "unmarked":
            headers["Idempotent-Replayed"] = "true"
        self.reply(status, text, headers)


class Server(ThreadingHTTPServer):
    request_queue_size = 1024
    daemon_threads = True


load()
server = Server(("127.0.0.1", int(sys.argv[2])), Handler)
with open(FOLDER + "/pid", "w") as file:
    file.write(str(os.getpid()))
print(f"listening on http://127.0.0.1:{server.server_port}", flush=True)
server.serve_forever()
