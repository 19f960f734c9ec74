"""A server that plays a script: each request gets the next step, and is written down."""
import json
import socket
import threading


def read_request(connection):
    data = b""
    while b"\r\n\r\n" not in data:
        chunk = connection.recv(65536)
        if not chunk:
            return None
        data += chunk
    head, _, body = data.partition(b"\r\n\r\n")
    lines = head.decode("latin-1").split("\r\n")
    method, target, _ = lines[0].split(" ", 2)
    headers = {}
    for line in lines[1:]:
        name, _, value = line.partition(":")
        headers[name.strip().lower()] = value.strip()
    length = int(headers.get("content-length", "0"))
    while len(body) < length:
        chunk = connection.recv(65536)
        if not chunk:
            return None
        body += chunk
    return {"method": method, "target": target, "headers": headers, "body": body.decode()}


def answer_bytes(step):
    body = (json.dumps(step["json"]) if "json" in step else step.get("body", "")).encode()
    lines = [f"HTTP/1.1 {step['status']} Scripted"]
    lines += [f"{name}: {value}" for name, value in step.get("headers", {}).items()]
    lines += [f"Content-Length: {len(body)}", "Connection: " + ("keep-alive" if step.get("keep") else "close"), "", ""]
    before = "".join(f"HTTP/1.1 {status} Wait\r\nLink: </a>; rel=preload\r\n\r\n" for status in step.get("informational", []))
    return before.encode() + "\r\n".join(lines).encode() + body


class Scripted:
    """`script`: a list of steps, or lists by the last part of the path."""

    def __init__(self, script):
        self.script = script
        self.requests = []
        self.unexpected = []
        self.lock = threading.Lock()
        self.ended = threading.Event()
        self.gate = threading.Event()  # steps with "gated" are answered once it is set
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.url = f"http://127.0.0.1:{self.listener.getsockname()[1]}"
        threading.Thread(target=self.accept, daemon=True).start()

    def accept(self):
        while True:
            try:
                connection, _ = self.listener.accept()
            except OSError:
                return
            threading.Thread(target=self.serve, args=(connection,), daemon=True).start()

    def next_step(self, request):
        with self.lock:
            self.requests.append(request)
            steps = self.script
            if isinstance(steps, dict):
                steps = steps.get(request["target"].rsplit("/", 1)[-1], [])
            if not steps:
                self.unexpected.append(f"{request['method']} {request['target']}")
                return {"status": 599}
            return steps[0] if steps[0].get("repeat") else steps.pop(0)

    def serve(self, connection):
        with connection:
            while True:
                request = read_request(connection)
                if request is None:
                    return
                step = self.next_step(request)
                if step.get("then") == "close":
                    self.close_listener()
                if step.get("gated"):
                    self.gate.wait(60)
                if "event" in step:
                    return self.disturb(connection, step["event"])
                connection.sendall(answer_bytes(step))
                if not step.get("keep"):
                    return

    def disturb(self, connection, event):
        if event == "half":
            connection.sendall(b"HTTP/1.1 201 Created\r\nContent-Length: 100\r\n\r\n{\"id\":")
        elif event == "half_chunked":
            connection.sendall(b"HTTP/1.1 201 Created\r\nTransfer-Encoding: chunked\r\n\r\n6\r\n{\"id\":\r\n")
        elif event == "garbage":
            connection.sendall(b"EHLO mail\r\n\r\n")
        elif event == "hang":
            self.ended.wait(60)
        elif event == "drip":
            self.drip(connection)

    def drip(self, connection):
        """An answer that never ends, a byte at a time: each of them in time, all together never."""
        try:
            connection.sendall(b"HTTP/1.1 201 Created\r\nX: ")
            for _ in range(1500):
                connection.sendall(b"x")
                if self.ended.wait(0.02):
                    return
            self.unexpected.append("the client waited for a whole answer past its time")
        except OSError:
            pass  # the client has given up

    def close_listener(self):
        # A thread may be in accept(): shutdown wakes it, and from then on connections are refused.
        try:
            self.listener.shutdown(socket.SHUT_RDWR)
        except OSError:
            pass
        self.listener.close()

    def close(self):
        self.ended.set()
        self.gate.set()
        self.close_listener()
