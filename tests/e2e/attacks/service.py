"""A payments service on Python's http.server, written as most people write one: POST reads its body, nothing else does."""
import http.server
import json
import threading
import time

executed = []
lock = threading.Lock()

# What a later request on the same connection would take for its answer.
STOLEN = b'HTTP/1.1 201 Created\r\nContent-Type: application/json\r\nContent-Length: 17\r\n\r\n{"stolen": "yes"}'


class Service(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *_):
        pass

    def answer(self, status, document):
        body = json.dumps(document).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def answer_late(self, status):
        """Names the length of a body that this status cannot have, and sends it all the same, a little later."""
        self.send_response(status)
        self.send_header("Content-Length", str(len(STOLEN)))
        self.end_headers()
        time.sleep(0.001)
        self.wfile.write(STOLEN)

    def do_GET(self):
        if self.path == "/executed":
            with lock:
                return self.answer(200, executed)
        if self.path.startswith("/late/"):
            return self.answer_late(int(self.path.split("/")[2]))
        self.answer(200, {"target": self.path})

    do_HEAD = do_OPTIONS = do_DELETE = do_GET

    def do_POST(self):
        if not self.path.startswith("/v1/"):
            return self.answer(404, {"target": self.path})
        if self.path == "/v1/cancel":  # takes no body, and does not look for one
            return self.answer(200, {"target": self.path})
        if self.path == "/v1/moved":
            return self.answer(303, {"target": self.path})
        self.rfile.read(int(self.headers.get("Content-Length", 0)))
        if self.path == "/v1/late":
            return self.answer_late(204)
        what = {"target": self.path, "who": self.headers.get("Authorization", ""),
                "key": self.headers.get("Idempotency-Key", "")}
        with lock:
            executed.append(what)
        self.answer(201, what)

    do_PUT = do_PATCH = do_POST


server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Service)
server.daemon_threads = True
print(f"listening on http://127.0.0.1:{server.server_address[1]}", flush=True)
server.serve_forever()
