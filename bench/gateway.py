#!/usr/bin/env python3
"""The gateway beside what people use now: nginx with no idempotency at all, and a hand-written Node service.

Everything runs on loopback in one run, the sides in turns; what counts are the ratios.
Usage: bench/gateway.py BINARY [--before BINARY] [--seconds S] [--turns N] [--connections C] [--json FILE]
--before: another build of Pawl, on the same streams with stores of its own, in the place of nginx and Node.
"""
import argparse
import json
import os
import pathlib
import re
import shutil
import socket
import statistics
import subprocess
import sys
import tempfile
import time

HERE = pathlib.Path(__file__).resolve().parent
PG_BIN = pathlib.Path("/usr/lib/postgresql/15/bin")
ANSWER = ('{"id":"pay_0123456789","status":"succeeded","amount":1000,"currency":"usd","customer":"cus_0123456789",'
          '"description":"an answer of some two hundred bytes, as answers about payments are","live":true}')
BODY = ANSWER.replace("succeeded", "requested")


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


class Bench:
    def __init__(self, arguments):
        self.arguments = arguments
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="pawl-bench-"))
        self.folder.chmod(0o755)
        self.processes = []
        self.ratios = []

    def start(self, command, **options):
        process = subprocess.Popen(command, stderr=open(self.folder / "log", "ab"), **options)
        self.processes.append(process)
        return process

    def close(self):
        for process in reversed(self.processes):
            process.terminate()
        for process in reversed(self.processes):
            process.wait()
        shutil.rmtree(self.folder)

    def nginx(self, name, workers, location, upstream=""):
        port = free_port()
        base = self.folder / name
        base.mkdir()
        temporary = "".join(f"{kind}_temp_path {base}/{kind};" for kind in
                            ("client_body", "proxy", "fastcgi", "uwsgi", "scgi"))
        (base / "conf").write_text(
            f"worker_processes {workers}; pid {base}/pid; error_log {base}/errors; daemon off;\n"
            f"events {{ worker_connections 4096; }}\nhttp {{ access_log off; keepalive_requests 1000000000; {temporary}\n"
            f"{upstream}\nserver {{ listen 127.0.0.1:{port}; location / {{ {location} }} }} }}\n")
        self.start(["nginx", "-c", str(base / "conf")])
        wait_for(port)
        return port

    def pawl(self, store, upstream, binary=None):
        options = {"stdout": subprocess.PIPE, "text": True}
        process = self.start([binary or self.arguments.binary, "serve", "--listen", "127.0.0.1:0", "--admin", "127.0.0.1:0",
                              "--store", store, "--upstream", f"http://127.0.0.1:{upstream}"], **options)
        line = process.stdout.readline()
        port = int(line.rsplit(":", 1)[1])
        process.stdout.readline()
        return process, port

    def postgres(self, binary=None):
        binary = binary or self.arguments.binary
        data = self.folder / f"postgres-{len(self.processes)}"
        user = ["setpriv", "--reuid=postgres", "--regid=postgres", "--clear-groups"] if os.geteuid() == 0 else []
        data.mkdir()
        if user:
            shutil.chown(data, "postgres", "postgres")
        subprocess.run([*user, PG_BIN / "initdb", "-D", data, "-A", "trust", "-U", "postgres"], check=True,
                       stdout=subprocess.DEVNULL)
        port = free_port()
        self.start([*user, PG_BIN / "postgres", "-D", data, "-p", str(port), "-k", str(data), "-c",
                    "listen_addresses=127.0.0.1", "-c", "shared_buffers=512MB", "-c", "max_wal_size=4GB"],
                   stdout=subprocess.DEVNULL)
        wait_for(port)
        url = f"postgres://postgres@127.0.0.1:{port}/postgres"
        for _ in range(100):
            done = subprocess.run([binary, "migrate", "--store", url], capture_output=True)
            if done.returncode == 0:
                return url
            time.sleep(0.1)
        raise RuntimeError(done.stderr.decode())

    def node(self, upstream, url):
        peer = self.folder / "peer"
        shutil.copytree(HERE / "peer", peer, ignore=shutil.ignore_patterns("node_modules"))
        subprocess.run(["npm", "install", "--silent", "--no-audit", "--no-fund"], cwd=peer, check=True)
        port = free_port()
        process = self.start(["node", "server.js", str(port), str(upstream), url], cwd=peer, stdout=subprocess.PIPE,
                             text=True)
        if process.stdout.readline().strip() != "ready":
            raise RuntimeError("the Node service did not start")
        return port

    def lua(self, name, next_number):
        """A script for wrk: a request per call, with keys from `next_number`."""
        path = self.folder / f"{name}.lua"
        path.write_text(f"""
local threads, n = 0, 0
function setup(thread) threads = threads + 1; thread:set("me", threads) end
function init() run = "{os.getpid()}-{time.time_ns()}" end
function request()
  n = {next_number}
  return wrk.format("POST", "/v1/payments", {{["Content-Type"] = "application/json",
    ["Idempotency-Key"] = string.format("{name}-%s-%d-%012d", {"run" if name == "new" else "'same'"}, me, n)}}, '{BODY}')
end
""")
        return path

    def wrk(self, port, script=None, strict=True):
        command = ["wrk", "-t2", f"-c{self.arguments.connections}", f"-d{self.arguments.seconds}s"]
        if script:
            command += ["-s", str(script)]
        out = subprocess.run([*command, f"http://127.0.0.1:{port}/v1/payments"], check=True, capture_output=True,
                             text=True).stdout
        bad = re.search(r"Non-2xx or 3xx responses: (\d+)", out)
        if bad and strict:
            raise RuntimeError(f"{bad[1]} requests failed:\n{out}")
        return float(re.search(r"Requests/sec:\s+([\d.]+)", out)[1])

    def compare(self, what, ours, theirs, floor, goal, script=None, fresh=None):
        """Turn by turn; the ratio of the medians."""
        sides = {"pawl": [], "other": []}
        for _ in range(self.arguments.turns):
            sides["other"].append(self.wrk(theirs, fresh() if fresh else script))
            sides["pawl"].append(self.wrk(ours, fresh() if fresh else script))
        mine, other = statistics.median(sides["pawl"]), statistics.median(sides["other"])
        self.ratios.append({"what": what, "pawl": mine, "other": other, "ratio": mine / other, "floor": floor,
                            "goal": goal})
        print(f"{what:44} pawl {mine:9.0f}/s  other {other:9.0f}/s  ratio {mine / other:5.2f}"
              f"  floor {floor}  goal {goal}", flush=True)


def wait_for(port):
    for _ in range(200):
        try:
            socket.create_connection(("127.0.0.1", port), 1).close()
            return
        except OSError:
            time.sleep(0.05)
    raise RuntimeError(f"nothing listens on port {port}")


def resident_megabytes(pid):
    return int(re.search(r"VmRSS:\s+(\d+)", pathlib.Path(f"/proc/{pid}/status").read_text())[1]) / 1024


def beside_before(bench, upstream):
    """Two builds of Pawl on the same streams; no ratio is to be below 0.95."""
    before = bench.arguments.before
    fresh = lambda: bench.lua("new", "n + 1")
    _, now_port = bench.pawl(f"sqlite:{bench.folder}/now.db", upstream)
    _, before_port = bench.pawl(f"sqlite:{bench.folder}/before.db", upstream, before)
    bench.compare("pass-through (GET) / before", now_port, before_port, 0.95, 1.0)
    replay = bench.lua("replay", "n % 1000 + 1")
    for port in (now_port, before_port):
        bench.wrk(port, replay, strict=False)
    bench.compare("replay / before", now_port, before_port, 0.95, 1.0, replay)
    bench.compare("new keys on SQLite / before", now_port, before_port, 0.95, 1.0, fresh=fresh)
    _, now_port = bench.pawl(bench.postgres(), upstream)
    _, before_port = bench.pawl(bench.postgres(before), upstream, before)
    bench.compare("new keys on PostgreSQL / before", now_port, before_port, 0.95, 1.0, fresh=fresh)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("binary")
    parser.add_argument("--before")
    parser.add_argument("--seconds", type=int, default=5)
    parser.add_argument("--turns", type=int, default=3)
    parser.add_argument("--connections", type=int, default=64)
    parser.add_argument("--json", default="build/bench_gateway.json")
    arguments = parser.parse_args()
    bench = Bench(arguments)
    try:
        upstream = bench.nginx("upstream", 1, f"default_type application/json; return 200 '{ANSWER}';")
        if arguments.before:
            beside_before(bench, upstream)
            pathlib.Path(arguments.json).write_text(json.dumps({"ratios": bench.ratios}, indent=1) + "\n")
            return
        nginx = bench.nginx("proxy", os.cpu_count(), 'proxy_pass http://u; proxy_http_version 1.1; '
                            'proxy_set_header Connection "";',
                            f"upstream u {{ server 127.0.0.1:{upstream}; keepalive 128; "
                            "keepalive_requests 1000000000; }")
        process, pawl = bench.pawl(f"sqlite:{bench.folder}/pawl.db", upstream)
        idle = [socket.create_connection(("127.0.0.1", pawl)) for _ in range(1000)]
        time.sleep(0.5)
        memory = resident_megabytes(process.pid)
        print(f"{'resident with 1,000 idle connections':44} {memory:.0f} MB  floor 100")
        for connection in idle:
            connection.close()
        bench.compare("pass-through (GET) / nginx", pawl, nginx, 0.7, 0.85)
        replay = bench.lua("replay", "n % 1000 + 1")
        bench.wrk(pawl, replay, strict=False)  # keys that come twice at once are told so; then they are there
        bench.compare("replay / nginx proxying the same", pawl, nginx, 1.1, 1.5, replay)
        fresh = lambda: bench.lua("new", "n + 1")
        bench.compare("new keys on SQLite / nginx, no idempotency", pawl, nginx, 0.3, 0.45, fresh=fresh)
        if shutil.which("npm") is None:
            print("new keys on PostgreSQL / fastify + pg: skipped, npm is not installed")
        else:
            url = bench.postgres()
            _, shared = bench.pawl(url, upstream)
            node = bench.node(upstream, url)
            bench.compare("new keys on PostgreSQL / fastify + pg", shared, node, 4, 6, fresh=fresh)
        pathlib.Path(arguments.json).write_text(json.dumps(
            {"idle_megabytes": memory, "resident_megabytes_after": resident_megabytes(process.pid),
             "ratios": bench.ratios}, indent=1) + "\n")
    finally:
        bench.close()


if __name__ == "__main__":
    sys.exit(main())
