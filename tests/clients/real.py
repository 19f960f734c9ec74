"""Real parts for the clients' tests: PostgreSQL, pawl serve, and programs that are killed."""
import json
import os
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from pathlib import Path

from drivers import BUILD, HERE, PYTHON, ROOT

PAWL = os.environ.get("PAWL_BINARY", str(ROOT / "build" / "pawl"))
PG_BIN = Path("/usr/lib/postgresql/15/bin")
LIMIT = 90  # seconds; only a test that fails waits this long


def free_port():
    with socket.create_server(("127.0.0.1", 0)) as probe:
        return probe.getsockname()[1]


def until(what, holds):
    end = time.monotonic() + LIMIT
    while time.monotonic() < end:
        found = holds()
        if found:
            return found
        time.sleep(0.02)
    raise AssertionError(f"never: {what}")


class Program:
    """A process whose output is read from a file. Ended by its id."""

    def __init__(self, command, folder, environment=None, user=None, cwd=None):
        descriptor, self.log = tempfile.mkstemp(dir=folder)
        with os.fdopen(descriptor, "wb") as log:
            self.process = subprocess.Popen(command, stdout=log, stderr=log, stdin=subprocess.DEVNULL, user=user, cwd=cwd,
                                            env={**os.environ, "PYTHONPATH": str(ROOT / "clients/python/src"), **(environment or {})})

    def said(self):
        return Path(self.log).read_text(errors="replace")

    def says(self, line):
        def holds():
            if f"{line}\n" in self.said():
                return True
            if self.process.poll() is not None and f"{line}\n" not in self.said():
                raise AssertionError(f"it ended without saying {line!r}: {self.said()}")
            return False
        until(f"says {line!r}: {self.said()}", holds)
        return self

    def kill_hard(self):
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait()

    def result(self):
        """The JSON of its last line, once it has ended."""
        self.process.wait(timeout=LIMIT + 30)
        try:
            return json.loads(self.said().strip().rsplit("\n", 1)[-1])
        except ValueError:
            raise AssertionError(f"no result: {self.said()}")


class Postgres:
    def __init__(self):
        self.folder = tempfile.mkdtemp(prefix="pawl-clients-")
        user = "postgres" if os.getuid() == 0 else None
        if user:
            shutil.chown(self.folder, user)
        self.port = free_port()
        data = f"{self.folder}/data"
        subprocess.run([PG_BIN / "initdb", "-D", data, "-U", "postgres", "-A", "trust"], check=True, user=user, cwd="/", stdout=subprocess.DEVNULL)
        self.server = Program([PG_BIN / "postgres", "-D", data, "-p", str(self.port), "-k", self.folder, "-h", "127.0.0.1"], self.folder, user=user)
        until("PostgreSQL is ready", lambda: subprocess.run([PG_BIN / "pg_isready", "-h", "127.0.0.1", "-p", str(self.port), "-q"]).returncode == 0)

    def url(self, database):
        return f"postgres://postgres@127.0.0.1:{self.port}/{database}"

    def query(self, database, sql):
        done = subprocess.run(["psql", "-X", "-A", "-t", "-q", "-v", "ON_ERROR_STOP=1", "-c", sql, self.url(database)],
                              check=True, capture_output=True, text=True)
        return done.stdout.strip()

    def shop(self, name):
        self.query("postgres", f"CREATE DATABASE {name}")
        subprocess.run([PAWL, "migrate", "--store", self.url(name)], check=True, capture_output=True)
        # No unique key: a second execution would show.
        self.query(name, "CREATE TABLE payments (id bigserial PRIMARY KEY, key text, amount bigint NOT NULL);"
                         "CREATE TABLE payouts (id bigserial PRIMARY KEY, key text)")
        return name

    def close(self):
        self.server.process.send_signal(signal.SIGINT)
        self.server.process.wait(timeout=60)
        shutil.rmtree(self.folder, ignore_errors=True)


def program(language):
    return {"node": ["node", str(HERE / "node_payments.mjs")], "python": [PYTHON, str(HERE / "python_payments.py")],
            "go": [str(BUILD / "go_payments")]}[language]


class Stage:
    """One shop in one language: database, gateway, service, on ports that stay."""

    def __init__(self, postgres, language):
        self.postgres, self.language = postgres, language
        self.folder = tempfile.mkdtemp(prefix=f"pawl-clients-{language}-")
        self.database = postgres.shop(f"shop_{language}_{os.getpid()}")
        self.service_port, self.port = free_port(), free_port()
        self.url = f"http://127.0.0.1:{self.port}"
        config = f'''listen = "127.0.0.1:{self.port}"
upstream = "http://127.0.0.1:{self.service_port}"
store = "{postgres.url(self.database)}"
sweep_interval = "100ms"

[admin]
listen = "127.0.0.1:{free_port()}"

[[route]]
match = "POST /v1/payments"
transactional = true
lease = "1s"

[key_api]
callers = ["default"]
lease = "1s"
'''
        self.config = Path(self.folder, "pawl.toml")
        self.config.write_text(config)
        self.programs = []

    def start(self, command, **environment):
        made = Program(command, self.folder, {"DATABASE_URL": self.postgres.url(self.database), **environment})
        self.programs.append(made)
        return made

    def gateway(self):
        made = self.start([PAWL, "serve", "--config", str(self.config)])
        until(f"the gateway listens: {made.said()}", self.listens)
        return made

    def listens(self):
        try:
            socket.create_connection(("127.0.0.1", self.port), 1).close()
            return True
        except OSError:
            return False

    def service(self, stop_at="", go_file="/nonexistent", adapter=None):
        command = [*program(self.language), "service", str(self.service_port), *([adapter] if adapter else [])]
        return self.start(command, STOP_AT=stop_at, GO_FILE=go_file).says("listening")

    def caller(self, key):
        return self.start([*program(self.language), "call", self.url, key])

    def consumer(self, key, stop_at=""):
        return self.start([*program(self.language), "consume", self.url, key], STOP_AT=stop_at, GO_FILE="/nonexistent")

    def rows(self, table, key):
        return int(self.postgres.query(self.database, f"SELECT count(*) FROM {table} WHERE key = '{key}'"))

    def close(self):
        for each in self.programs:
            each.kill_hard()
        shutil.rmtree(self.folder, ignore_errors=True)
