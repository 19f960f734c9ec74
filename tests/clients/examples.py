#!/usr/bin/env python3
"""examples/clients in each language, behind a real gateway: an order is paid once, whatever was not running at first."""
import os
import shutil
import socket
import subprocess
import sys
import tempfile
from pathlib import Path

from drivers import BUILD, PYTHON, ROOT
from real import PAWL, Postgres, Program, free_port, until
from runner import Count, expect

EXAMPLE = ROOT / "examples/clients"
PROGRAMS = {"node": lambda name: ["node", f"{name}.mjs"], "python": lambda name: [PYTHON, f"{name}.py"],
            "go": lambda name: [str(BUILD / f"example_{name}")]}


def listens(port):
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0


class Shop:
    def __init__(self, postgres, language):
        self.postgres, self.programs = postgres, []
        self.program = PROGRAMS[language]
        self.folder = tempfile.mkdtemp(prefix=f"pawl-example-{language}-")
        shutil.copytree(EXAMPLE / language, self.folder, dirs_exist_ok=True, ignore=shutil.ignore_patterns("node_modules"))
        if language == "node":
            self.link_packages()
        self.database = f"example_{language}_{os.getpid()}"
        postgres.query("postgres", f"CREATE DATABASE {self.database}")
        subprocess.run([PAWL, "migrate", "--store", postgres.url(self.database)], check=True, capture_output=True)
        postgres.query(self.database, (EXAMPLE / "schema.sql").read_text())
        self.port, self.service_port = free_port(), free_port()
        config = (EXAMPLE / "pawl.toml").read_text()
        for before, after in (("127.0.0.1:8080", f"127.0.0.1:{self.port}"), (":3000", f":{self.service_port}"),
                              ("postgres://postgres@127.0.0.1/shop", postgres.url(self.database))):
            assert before in config, f"pawl.toml has no {before}"
            config = config.replace(before, after)
        self.config = Path(self.folder, "pawl.toml")
        self.config.write_text(config.replace("\n[[route]]", f'\n[admin]\nlisten = "127.0.0.1:{free_port()}"\n\n[[route]]', 1))

    def link_packages(self):
        """What npm install would put there."""
        for name in ("@pawl/client", "pg", "express"):
            link = Path(self.folder, "node_modules", name)
            link.parent.mkdir(parents=True, exist_ok=True)
            link.symlink_to(ROOT / "clients/node" if name == "@pawl/client" else ROOT / "clients/node/node_modules" / name)

    def start(self, command, port):
        made = Program(command, self.folder, {"DATABASE_URL": self.postgres.url(self.database), "PORT": str(self.service_port)}, cwd=self.folder)
        self.programs.append(made)
        until(f"{command} listens: {made.said()}", lambda: listens(port))
        return made

    def gateway(self):
        return self.start([PAWL, "serve", "--config", str(self.config)], self.port)

    def service(self):
        return self.start(self.program("service"), self.service_port)

    def pay(self, order, amount, deadline_ms="60000"):
        environment = {**os.environ, "PYTHONPATH": str(ROOT / "clients/python/src"), "PAWL_URL": f"http://127.0.0.1:{self.port}", "DEADLINE_MS": deadline_ms}
        done = subprocess.run([*self.program("pay"), order, amount], cwd=self.folder, env=environment, capture_output=True, text=True, timeout=120)
        return done.returncode, done.stdout.strip() or done.stderr

    def paid(self, order):
        return int(self.postgres.query(self.database, f"SELECT count(*) FROM payments WHERE order_id = '{order}'"))

    def close(self):
        for each in self.programs:
            each.kill_hard()
        shutil.rmtree(self.folder, ignore_errors=True)


def pays_once(shop):
    gateway, service = shop.gateway(), shop.service()
    code, said = shop.pay("order-4711", "1000")
    expect((0, True, True), (code, said.startswith("201 "), said.endswith(" new")), said)
    code, again = shop.pay("order-4711", "1000")
    expect((0, said.removesuffix("new") + "replayed"), (code, again), "once more")
    expect(1, shop.paid("order-4711"), "payments")
    code, said = shop.pay("order-4712", "-5")
    expect((0, True), (code, said.startswith("422 ")), said)
    for each in (gateway, service):
        each.kill_hard()


def pays_once_although_nothing_was_running(shop):
    code, said = shop.pay("order-4713", "1000", deadline_ms="700")
    expect((75, "Unavailable: run it again, with the same key"), (code, said), "without a gateway")
    gateway = shop.gateway()
    code, said = shop.pay("order-4713", "1000", deadline_ms="700")
    expect((75, True), (code, said.endswith(": run it again, with the same key")), said)
    service = shop.service()
    code, said = shop.pay("order-4713", "1000")
    expect((0, True, True), (code, said.startswith("201 "), said.endswith(" new")), said)
    gateway.kill_hard()
    code, said = shop.pay("order-4713", "1000", deadline_ms="700")
    expect(75, code, said)
    gateway = shop.gateway()
    expect(True, shop.pay("order-4713", "1000")[1].endswith(" replayed"), "after the gateway was killed")
    expect(1, shop.paid("order-4713"), "payments")
    for each in (gateway, service):
        each.kill_hard()


def its_configuration_is_right(shop):
    subprocess.run([PAWL, "config", "check", str(EXAMPLE / "pawl.toml")], check=True, capture_output=True)


TESTS = [pays_once, pays_once_although_nothing_was_running, its_configuration_is_right]


def main(languages):
    count = Count("examples")
    postgres = Postgres()
    try:
        for language in languages:
            stage = Shop(postgres, language)
            try:
                for test in TESTS:
                    count.run(f"{language}: {test.__name__}", test, stage)
            finally:
                stage.close()
    finally:
        postgres.close()
    return count.exit_code()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:] or ["node", "python", "go"]))
