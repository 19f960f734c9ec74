#!/usr/bin/env python3
"""complete, advance, enqueue and release of each language on a real PostgreSQL, and handlers that end their transaction."""
import json
import os
import subprocess
import sys

from drivers import BUILD, HERE, PYTHON
from real import ROOT, Postgres
from runner import Count, expect

SCOPE = "tenant-a"
PROGRAMS = {"node": ["node", str(HERE / "node_sql.mjs")], "python": [PYTHON, str(HERE / "python_sql.py"), "sync"],
            "python-asyncio": [PYTHON, str(HERE / "python_sql.py"), "asyncio"], "go": [str(BUILD / "go_sql")], "go-pgx": [str(BUILD / "go_pgx")]}


class Service:
    """A program of tests/clients that carries out calls on a database, one JSON line each."""

    def __init__(self, postgres, language):
        self.postgres, self.name = postgres, f"sql_{language.replace('-', '_')}_{os.getpid()}"
        self.database = postgres.shop(self.name)
        environment = {**os.environ, "PYTHONPATH": str(ROOT / "clients/python/src"), "DATABASE_URL": postgres.url(self.database)}
        self.process = subprocess.Popen(PROGRAMS[language], stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=environment, text=True)

    def close(self):
        self.process.stdin.close()
        self.process.wait(timeout=30)

    def ask(self, **call):
        self.process.stdin.write(json.dumps(call) + "\n")
        self.process.stdin.flush()
        line = self.process.stdout.readline()
        assert line, "the program ended"
        return json.loads(line)

    def query(self, sql):
        return self.postgres.query(self.database, sql)

    def reserved(self, key):
        """A reservation, as the gateway makes one: the headers it would forward."""
        fence = self.query(f"SELECT fence FROM pawl.reserve('{SCOPE}', '{key}', '1..{key}', gen_random_uuid()::text) WHERE decision = 'execute'")
        assert fence, "not granted"
        return {"Pawl-Scope": SCOPE, "Pawl-Key": key, "Pawl-Fence": fence}

    def record(self, key, columns):
        return self.query(f"SELECT {columns} FROM pawl.keys WHERE scope_id = '{SCOPE}' AND idempotency_key = '{key}'")

    def transaction(self, headers, end, *calls):
        """What each call returned, and whether it was committed or rolled back."""
        return self.ask(headers=headers, end=end, calls=calls)["results"]

    def handled(self, headers, ends):
        """A transactional handler that inserts a payment and ends the transaction itself: `commit`, `rollback`, ..."""
        answer = self.ask(headers=headers, handler=ends)
        return answer["status"], answer["outcome"]


MESSAGE = {"op": "enqueue", "destination": "bank", "body": '{"amount":1000}', "headers": {"X-Batch": "7"}, "step": "first"}


def completes(service):
    headers = service.reserved("order-4711-payment")
    call = {"op": "complete", "status": 201, "headers": {"Content-Type": "application/json"}, "body": '{"id":1}'}
    expect(["ok"], service.transaction(headers, "commit", call), "complete")
    expect('completed|201|[["Content-Type", "application/json"]]|{"id":1}',
           service.record("order-4711-payment", "status, response_code, response_headers, convert_from(response_body, 'UTF8')"), "record")
    expect(["StaleFence"], service.transaction(headers, "rollback", call), "complete again")


def completes_and_rolls_back(service):
    """An answer of a transaction that is rolled back afterwards is not there: the next try may run."""
    headers = service.reserved("order-4712-payment")
    call = {"op": "complete", "status": 201, "headers": {}, "body": ""}
    expect(["ok", "ok"], service.transaction(headers, "rollback", {"op": "insert"}, call), "complete")
    expect("in_progress|", service.record("order-4712-payment", "status, response_code"), "record")
    expect("0", service.query("SELECT count(*) FROM payments WHERE key = 'order-4712-payment'"), "rows")
    expect(["ok", "ok"], service.transaction(headers, "commit", {"op": "insert"}, call), "once more")
    expect("1", service.query("SELECT count(*) FROM payments WHERE key = 'order-4712-payment'"), "rows")


def completes_with_an_old_fence(service):
    headers = service.reserved("order-4713-payment")
    old = {**headers, "Pawl-Fence": str(int(headers["Pawl-Fence"]) - 1)}
    call = {"op": "complete", "status": 201, "headers": {}, "body": ""}
    expect(["ok", "StaleFence"], service.transaction(old, "rollback", {"op": "insert"}, call), "complete")
    expect("in_progress", service.record("order-4713-payment", "status"), "record")
    unknown = {**headers, "Pawl-Key": "order-never-seen-1"}
    expect(["StaleFence"], service.transaction(unknown, "rollback", call), "a key that was never reserved")


def advances(service):
    headers = service.reserved("order-4714-payment")
    call = {"op": "advance", "point": "charged"}
    expect(["ok"], service.transaction(headers, "rollback", call), "advance")
    expect("", service.record("order-4714-payment", "recovery_point"), "rolled back")
    before = service.record("order-4714-payment", "locked_until")
    expect(["ok"], service.transaction(headers, "commit", call), "advance")
    expect("charged", service.record("order-4714-payment", "recovery_point"), "committed")
    expect("t", service.record("order-4714-payment", f"locked_until > '{before}'"), "the lease starts anew")
    old = {**headers, "Pawl-Fence": str(int(headers["Pawl-Fence"]) - 1)}
    expect(["StaleFence"], service.transaction(old, "rollback", call), "advance with an old fence")


def releases(service):
    headers = service.reserved("order-4715-payment")
    call = {"op": "release", "reason": "the bank is closed"}
    expect(["ok"], service.transaction(headers, "rollback", call), "release")
    expect("in_progress", service.record("order-4715-payment", "status"), "rolled back")
    expect(["ok"], service.transaction(headers, "commit", call), "release")
    expect("failed_retryable|released: the bank is closed", service.record("order-4715-payment", "status, last_error"), "committed")
    again = service.reserved("order-4715-payment")
    expect(True, int(again["Pawl-Fence"]) > int(headers["Pawl-Fence"]), "the next owner has a higher fence")
    for stale in (call, {"op": "complete", "status": 201, "headers": {}, "body": ""}, {"op": "advance", "point": "x"}, MESSAGE):
        expect(["StaleFence"], service.transaction(headers, "rollback", stale), f"{stale['op']} of the owner before")


def enqueues(service):
    headers, rows = service.reserved("order-4716-payment"), "SELECT count(*) FROM pawl.outbox WHERE idempotency_key = 'order-4716-payment'"
    expect(True, service.transaction(headers, "rollback", MESSAGE)[0].startswith("id "), "enqueue")
    expect("0", service.query(rows), "rolled back")
    first = service.transaction(headers, "commit", MESSAGE)
    columns = "id, destination, path, headers, convert_from(body, 'UTF8'), status"
    wanted = f'{first[0].removeprefix("id ")}|bank|/|[["X-Batch", "7"]]|{{"amount":1000}}|pending'
    expect(wanted, service.query(f"SELECT {columns} FROM pawl.outbox WHERE idempotency_key = 'order-4716-payment'"), "message")
    expect(first, service.transaction(headers, "commit", MESSAGE), "the same message in another try")
    expect(["EnqueueConflict"], service.transaction(headers, "rollback", {**MESSAGE, "body": "{}"}), "another in its place")
    expect(["EnqueueConflict"], service.transaction(headers, "rollback", {**MESSAGE, "path": "/payouts"}), "to another path")
    second = service.transaction(headers, "commit", {**MESSAGE, "step": "second", "path": "/refunds"})
    expect(True, second != first and second[0].startswith("id "), "another step")
    expect("2", service.query(rows), "messages")


def rows_after(service, key, ends, wanted, rows):
    headers = service.reserved(key)
    expect(wanted, service.handled(headers, ends), f"a handler that ends with {ends}")
    expect(rows, int(service.query(f"SELECT count(*) FROM payments WHERE key = '{key}'")), "rows")
    # Its rows need not be with a completion: there is none, and the gateway is told that it is not known.
    expect("completed" if ends == "well" else "in_progress", service.record(key, "status"), "record")


def handles(service):
    rows_after(service, "order-4717-payment", "well", (201, ""), 1)
    rows_after(service, "order-4718-payment", "commit", (500, "unknown"), 1)
    rows_after(service, "order-4719-payment", "rollback", (500, "unknown"), 0)
    rows_after(service, "order-4720-payment", "commit_then_5xx", (500, "unknown"), 1)
    rows_after(service, "order-4721-payment", "commit_then_raise", (500, "unknown"), 1)
    rows_after(service, "order-4722-payment", "raise", (500, "not-executed"), 0)
    rows_after(service, "order-4723-payment", "failed_statement", (500, "not-executed"), 0)
    rows_after(service, "order-4724-payment", "5xx", (503, "not-executed"), 0)
    rows_after(service, "order-4725-payment", "give_back", (500, "unknown"), {"node": 0}.get(service.name.split("_")[1], 1))
    rows_after(service, "order-4726-payment", "well", (201, ""), 1)  # nothing of the others is left on the connections


TESTS = [completes, completes_and_rolls_back, completes_with_an_old_fence, advances, releases, enqueues, handles]


def main(languages):
    count = Count("service")
    postgres = Postgres()
    try:
        for language in languages:
            stage = Service(postgres, language)
            try:
                for test in TESTS:
                    count.run(f"{language}: {test.__name__}", test, stage)
            finally:
                stage.close()
    finally:
        postgres.close()
    return count.exit_code()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:] or ["node", "python", "python-asyncio", "go", "go-pgx"]))
