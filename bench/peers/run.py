#!/usr/bin/env python3
"""Runs pawl verify against what others offer, and writes the table in docs/comparison.md.

  bench/peers/run.py [PEER...]

Needs node, npm, redis-server and PostgreSQL (scripts/setup) and a built build/pawl. Packages come from
the npm registry into a temporary folder; everything that is started is stopped again by its pid.
"""
import concurrent.futures
import datetime
import glob
import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
PAWL = os.environ.get("PAWL", ROOT + "/build/pawl")
PAGE = ROOT + "/docs/comparison.md"
FOLDER = tempfile.mkdtemp(prefix="pawl-peers-")
RUNNING = []
BODY = '{"amount":1200,"currency":"EUR","note":""}'
LARGE = FOLDER + "/large.json"


def free_port():
    """A port that is free, and so is the next one."""
    while True:
        with socket.socket() as one, socket.socket() as two:
            one.bind(("127.0.0.1", 0))
            port = one.getsockname()[1]
            try:
                two.bind(("127.0.0.1", port + 1))
            except OSError:
                continue
            return port


def wait_for(port):
    for _ in range(600):
        try:
            socket.create_connection(("127.0.0.1", port), 1).close()
            return
        except OSError:
            time.sleep(0.1)
    raise SystemExit(f"nothing listens on port {port}")


def start(command, port, **more):
    log = open(f"{FOLDER}/log-{port}", "ab")
    child = subprocess.Popen(command, stdout=log, stderr=log, start_new_session=True, **more)
    RUNNING.append(child)
    wait_for(port)
    return child


def redis():
    port = free_port()
    # Durable, so that what is lost at a kill is the library's loss.
    os.mkdir(f"{FOLDER}/redis-{port}")
    start(["redis-server", "--port", str(port), "--dir", f"{FOLDER}/redis-{port}", "--appendonly", "yes",
           "--appendfsync", "always", "--save", ""], port)
    return f"redis://127.0.0.1:{port}"


def postgres():
    binaries = sorted(glob.glob("/usr/lib/postgresql/*/bin"))[-1]
    port = free_port()
    data = f"{FOLDER}/postgres-{port}"
    os.mkdir(data)
    as_user = {}
    if os.getuid() == 0:
        os.chmod(FOLDER, 0o755)
        shutil.chown(data, "postgres", "postgres")
        as_user = {"user": "postgres", "group": "postgres", "cwd": "/"}
    subprocess.run([binaries + "/initdb", "-A", "trust", "-U", "peer", "-D", data], check=True,
                   stdout=subprocess.DEVNULL, **as_user)
    start([binaries + "/postgres", "-D", data, "-p", str(port), "-k", data, "-h", "127.0.0.1"], port,
          **as_user)
    for _ in range(100):  # it accepts connections before it answers them
        made = subprocess.run([binaries + "/createdb", "-h", "127.0.0.1", "-p", str(port), "-U", "peer",
                               "peer"], stderr=subprocess.DEVNULL)
        if made.returncode == 0:
            break
        time.sleep(0.1)
    return f"postgres://peer@127.0.0.1:{port}/peer"


def shell(script, port, store, name):
    """How a shell kills and starts a server of ours."""
    folder = f"{FOLDER}/{name}"
    os.makedirs(folder, exist_ok=True)
    pid = folder + "/pid"
    begin = (f"cd {FOLDER}; node {script} {folder} {port} {store} >>{folder}/log 2>&1 & echo $! > {pid}")
    return begin, f"kill -9 $(cat {pid})", pid


def verify(url, extra):
    command = ["verify", url, "--timeout", "20", "--concurrency", "20", "--quiet", "--format", "json"] + extra
    ran = subprocess.run([PAWL] + command, capture_output=True, text=True)
    if not ran.stdout:
        raise SystemExit(f"{url}: {ran.stderr}")
    return json.loads(ran.stdout)


def usual(port):
    return ["--body", BODY, "-H", "Authorization: Bearer shop", "--second-caller-header",
            "Authorization: Bearer other", "--large-body", "@" + LARGE, "--count", "GET /effects",
            "--count-pointer", "/total", "--fail-header", "X-Fail: 1", "--refuse-header", "X-Refuse: 1",
            "--slow-header", "X-Slow: 1000"]


def node_peer(name, script, store=""):
    port = free_port()
    begin, kill, pid = shell(script, port, store, name.split("/")[-1].split(" ")[0].strip("@`"))
    subprocess.run(["sh", "-c", begin], check=True)
    wait_for(port)
    try:
        if script == "stripe-mock.js":
            flags = ["--content-type", "application/x-www-form-urlencoded", "--body",
                     "amount=2000&currency=usd&source=tok_visa", "--other-body",
                     "amount=2001&currency=usd&source=tok_visa", "--invalid-body", "currency=usd", "-H",
                     "Authorization: Bearer sk_test_shop", "--second-caller-header",
                     "Authorization: Bearer sk_test_other", "--key-optional", "--profile", "stripe",
                     "--count", "GET /v1/charges?limit=1000", "--count-pointer", "/data"]
            return verify(f"http://127.0.0.1:{port}/v1/charges", flags + ["--kill", kill, "--restart", begin])
        return verify(f"http://127.0.0.1:{port}/payments",
                      usual(port) + ["--kill", kill, "--restart", begin])
    finally:
        os.kill(int(open(pid).read()), signal.SIGKILL)


def pawl_peer():
    """pawl serve, as it comes, in front of a server that has no boundary of its own."""
    behind, port = free_port(), free_port()
    folder = FOLDER + "/pawl"
    os.makedirs(folder, exist_ok=True)
    start(["node", "none.js", folder, str(behind)], behind, cwd=FOLDER)
    pid = folder + "/pid"
    begin = (f"{PAWL} serve --listen 127.0.0.1:{port} --admin 127.0.0.1:0 --upstream http://127.0.0.1:{behind} "
             f"--store sqlite:{folder}/pawl.db >>{folder}/log 2>&1 & echo $! > {pid}")
    subprocess.run(["sh", "-c", begin], check=True)
    wait_for(port)
    try:
        return verify(f"http://127.0.0.1:{port}/payments",
                      usual(port) + ["--kill", f"kill -9 $(cat {pid})", "--restart", begin])
    finally:
        os.kill(int(open(pid).read()), signal.SIGKILL)


PEERS = {
    "pawl serve": ("SQLite", "pawl", lambda: pawl_peer()),
    "no boundary": ("", "", lambda: node_peer("none", "none.js")),
    "a hand-written table": ("PostgreSQL", "pg", lambda: node_peer("table", "table.js", postgres())),
    "express-idempotency": ("memory", "express-idempotency",
                            lambda: node_peer("express-idempotency", "express-idempotency.js")),
    "@node-idempotency/core": ("Redis", "@node-idempotency/core",
                               lambda: node_peer("node-idempotency", "node-idempotency.js", redis())),
    "@aws-lambda-powertools/idempotency": ("Redis", "@aws-lambda-powertools/idempotency",
                                           lambda: node_peer("powertools", "powertools.js", redis())),
    "stripe-stateful-mock": ("memory", "stripe-stateful-mock",
                             lambda: node_peer("stripe-mock", "stripe-mock.js")),
    "DBOS": ("PostgreSQL", "@dbos-inc/dbos-sdk", lambda: node_peer("dbos", "dbos.js", postgres())),
}


def version_of(package):
    if package == "pawl":
        return subprocess.run([PAWL, "--version"], capture_output=True, text=True).stdout.split()[-1]
    if not package:
        return ""
    return json.load(open(f"{FOLDER}/node_modules/{package}/package.json"))["version"]


def table(reports):
    marks = {"passed": "yes", "failed": "**no**", "not run": ""}
    names = list(reports)
    lines = ["| | " + " | ".join(names) + " |", "|---" * (len(names) + 1) + "|"]
    for title, row in (("store", 0), ("version", 1)):
        lines.append(f"| {title} | " + " | ".join(reports[name][row] for name in names) + " |")
    lines.append("| **grade** | " + " | ".join(f"**{reports[name][2]['grade']}**" for name in names) + " |")
    for index, check in enumerate(reports[names[0]][2]["checks"]):
        results = [marks[reports[name][2]["checks"][index]["result"]] for name in names]
        if any(results):
            lines.append(f"| `{check['name']}` ({check['severity']}) | " + " | ".join(results) + " |")
    return "\n".join(lines) + "\n"


def reasons(reports):
    lines = []
    for name, (_, _, report) in reports.items():
        worst = [check for check in report["checks"]
                 if check["result"] == "failed" and check["severity"] == "critical"]
        if worst:
            lines += [f"**{name}**", ""]
            lines += [f"- `{check['name']}`: {check['reason'][:200]}" for check in worst] + [""]
    return "\n".join(lines)


def write(reports):
    today = datetime.datetime.now(datetime.timezone.utc).date().isoformat()
    node = subprocess.run(["node", "--version"], capture_output=True, text=True).stdout.strip()
    made = (f"Made by `bench/peers/run.py` on {today}, Node {node}.\n\n" + table(reports) +
            "\n### What was critical\n\n" + reasons(reports))
    page = open(PAGE).read()
    begin, end = "<!-- begin: made by bench/peers/run.py -->\n", "<!-- end -->"
    head, rest = page.split(begin)
    open(PAGE, "w").write(head + begin + "\n" + made + "\n" + end + rest.split(end)[1])


def main():
    with open(LARGE, "w") as file:
        json.dump({"amount": 1, "note": "n" * 20000}, file)
    for path in glob.glob(HERE + "/*.js*"):
        shutil.copy(path, FOLDER)
    subprocess.run(["npm", "install", "--no-audit", "--no-fund", "--silent"], cwd=FOLDER, check=True,
                   stderr=subprocess.DEVNULL)
    chosen = sys.argv[1:] or list(PEERS)
    reports = {}
    with concurrent.futures.ThreadPoolExecutor(max_workers=3) as pool:
        made = list(pool.map(lambda name: PEERS[name][2](), chosen))
    for name, report in zip(chosen, made):
        store, package, _ = PEERS[name]
        failed = [check["name"] for check in report["checks"] if check["result"] == "failed"]
        print(f"{name}: grade {report['grade']}, failed {failed} {report['trouble']}", flush=True)
        reports[name] = (store, version_of(package), report)
    if chosen == list(PEERS):
        write(reports)


try:
    main()
finally:
    for child in reversed(RUNNING):
        child.kill()
        child.wait()
    shutil.rmtree(FOLDER, ignore_errors=True)
