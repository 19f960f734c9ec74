"""Carries out the cases of cases.json with clients/python, sync or asyncio, one JSON line each."""
import asyncio
import contextlib
import json
import sys
import time
from types import SimpleNamespace

import pawl_client as pawl
from pawl_client.testing import FakePawl

ASYNC = sys.argv[1] == "python-asyncio"
GUARDED = {"Pawl-Scope": "tenant-a", "Pawl-Key": "order-4711-payment", "Pawl-Fence": "1767225600000000"}


class FakeClock:
    def __init__(self, frozen):
        self.moved, self.waits, self.frozen = 0.0, [], time.monotonic() if frozen else None
        self.clock = pawl.Clock(now=lambda: (self.frozen or time.monotonic()) + self.moved, random=lambda: 0.5)

    def sleep(self, seconds):
        self.waits.append(seconds * 1000)
        self.moved += seconds

    async def sleep_async(self, seconds):
        self.sleep(seconds)


def failure(error):
    name = type(error).__name__ if isinstance(error, pawl.PawlError) else repr(error)
    return {"outcome": name, "code": getattr(error, "code", None), "status": getattr(error, "status", None),
            "key": getattr(error, "key", None)}


def caller(case):
    call, fake = case["call"], FakeClock(True)
    options = {"clock": fake.clock, "deadline": call.get("deadline_ms", 120000) / 1000, "max_tries": call.get("max_tries"),
               "try_timeout": call.get("try_timeout_ms", 30000) / 1000}
    wanted = {"json": call["json"], "keyless": call.get("keyless", False)}
    if call["key"] is not None:
        wanted["key"] = call["key"]
    elif ASYNC and not wanted["keyless"]:
        wanted["key"] = pawl.new_key()
    if "headers" in call:
        wanted["headers"] = call["headers"]
    url = call.get("url", case["url"] + call["path"])
    try:
        if ASYNC:
            async def go():
                caller = pawl.AsyncCaller(**options, sleep=fake.sleep_async)
                if call.get("warm"):
                    await caller.call("GET", case["url"] + "/warm")
                return await caller.call(call["method"], url, **wanted)
            answer = asyncio.run(go())
        else:
            client = pawl.Caller(**options, sleep=fake.sleep)
            if call.get("warm"):
                client.call("GET", case["url"] + "/warm")
            answer = client.call(call["method"], url, **wanted)
    except Exception as error:
        return {**failure(error), "waits_ms": fake.waits}
    return {"outcome": "answer", "status": answer.status, "body": answer.text(), "replayed": answer.replayed, "key": answer.key, "waits_ms": fake.waits}


ANSWER = pawl.Reply(201, json={"id": "po_1"})


def work_sync(kind, job):
    if kind == "not_executed":
        raise pawl.NotExecuted("the bank is closed")
    if kind == "throw":
        raise ConnectionResetError("connection reset")
    if kind == "advance":
        job.advance("limits-checked")
        job.advance("sent")
    if kind == "wait_renewed":
        while job.renewals < 2:
            job.check()
            time.sleep(0.005)
    if kind.startswith("wait_lost"):
        assert job.lost.wait(60)
        if kind == "wait_lost":
            job.check()
    return ANSWER


async def work_async(kind, job):
    if kind == "advance":
        await job.advance("limits-checked")
        await job.advance("sent")
        return ANSWER
    if kind == "wait_renewed":
        while job.renewals < 2:
            job.check()
            await asyncio.sleep(0.005)
        return ANSWER
    if kind.startswith("wait_lost"):
        try:
            await asyncio.sleep(60)  # cancelled
        except asyncio.CancelledError:
            if kind == "wait_lost":
                raise
            return ANSWER
    return work_sync(kind, job)


def consumer(case):
    run, fake, seen = case["run"], FakeClock(False), {}
    options = {"url": case["url"], "clock": fake.clock, "reserve_for": run.get("reserve_ms", 10000) / 1000,
               "settle_for": run.get("settle_ms", 60000) / 1000}

    def work(job):
        seen["job"] = job
        return (work_async if ASYNC else work_sync)(run["work"], job)

    try:
        if ASYNC:
            async def go():
                return await pawl.AsyncConsumer(**options, sleep=fake.sleep_async).run(run["key"], run["request"], work)
            done = asyncio.run(go())
        else:
            done = pawl.Consumer(**options, sleep=fake.sleep).run(run["key"], run["request"], work)
    except Exception as error:
        return {**failure(error), "worked": "job" in seen, "cancelled": "job" in seen and seen["job"].lost.is_set()}
    renewed = "job" in seen and seen["job"].renewals >= 2
    return {"outcome": "replayed" if done.replayed else "done", "body": done.body.decode(), "worked": "job" in seen, "renewed": renewed}


class DbError(Exception):
    def __init__(self, state):
        super().__init__("db")
        self.sqlstate = state or None


class FakeConnection:
    """As much of psycopg's connection as the client uses."""

    autocommit = False

    def __init__(self, fails="", sqlstate=""):
        self.fails, self.sqlstate, self.seen, self.log = fails, sqlstate, None, []
        self.marker = None  # as PostgreSQL keeps a setting that is local to a transaction
        self.closed = self.broken = False
        self.info = SimpleNamespace(transaction_status=0)

    def fail(self, kind):
        if self.fails == kind:
            raise DbError(self.sqlstate)

    def execute(self, query, params=None):
        self.seen = (query, params)
        self.fail("work" if query.startswith("INSERT") else "complete" if "pawl.complete" in query else "execute")
        if self.fails == "any":
            raise DbError(self.sqlstate)
        if "set_config" in query:
            self.marker = params[-1]
        guarded = "current_setting" in query
        return SimpleNamespace(fetchone=lambda: ("x",) if not guarded or params[-1] == self.marker else None)

    def commit(self):
        self.fail("commit")
        self.marker = None
        self.log.append("COMMIT")

    def rollback(self):
        self.marker = None
        if not self.fails.startswith("ended"):
            self.log.append("ROLLBACK")


class FakeAsyncConnection(FakeConnection):
    async def execute(self, query, params=None):
        row = FakeConnection.execute(self, query, params).fetchone()

        async def fetchone():
            return row
        return SimpleNamespace(fetchone=fetchone)

    async def commit(self):
        FakeConnection.commit(self)

    async def rollback(self):
        FakeConnection.rollback(self)


def sql(case):
    kind = FakeAsyncConnection if ASYNC else FakeConnection
    tx = kind("any" if case.get("sqlstate") else "", case.get("sqlstate"))
    headers = {name: value for name, value in GUARDED.items() if name != case.get("without")}
    arguments = {"complete": (201, {"Content-Type": "application/json"}, '{"id":1}'), "advance": ("charged",), "release": ("closed",),
                 "enqueue": (pawl.Message("bank", "{}", "/payouts", {}, "first"),)}[case["op"]]
    try:
        request = pawl.guarded_request(headers)
        if ASYNC:
            asyncio.run(getattr(pawl, case["op"] + "_async")(tx, request, *arguments))
        else:
            getattr(pawl, case["op"])(tx, request, *arguments)
    except pawl.PawlError as error:
        return {"error": type(error).__name__}
    query, values = tx.seen
    at = {"complete": 4, "enqueue": 6}.get(case["op"])
    shown = [json.loads(v) if i == at else v.decode() if isinstance(v, bytes) else v for i, v in enumerate(values)]
    shown[2] = str(shown[2])
    return {"sql": query.split("(")[0].removeprefix("SELECT "), "values": shown}


def transaction(case):
    connection = (FakeAsyncConnection if ASYNC else FakeConnection)(case["fails"], case["sqlstate"])
    headers = {} if case["fails"] == "unguarded" else GUARDED

    def before(request):
        if case["external"]:
            request.acts_outside()

    def after():
        if case["fails"] in ("handler", "ended_then_raised"):
            raise RuntimeError("handler")
        return pawl.Reply(case["reply"], json={})

    def handler(tx, request):
        before(request)
        tx.execute("INSERT")
        if case["fails"].startswith("ended"):
            tx.commit()
        return after()

    async def handler_async(tx, request):
        before(request)
        await tx.execute("INSERT")
        if case["fails"].startswith("ended"):
            await tx.commit()
        return after()

    @contextlib.contextmanager
    def connect():
        connection.fail("connect")
        yield connection

    @contextlib.asynccontextmanager
    async def connect_async():
        connection.fail("connect")
        yield connection

    def full(error):
        raise OSError("the log is full")

    options = pawl.TransactionalOptions(on_error=full) if "on_error" in case else pawl.TransactionalOptions()
    if ASYNC:
        answer = asyncio.run(pawl.run_transactional_async(connect_async, headers, handler_async, options))
    else:
        answer = pawl.run_transactional(connect, headers, handler, options)
    outcome = next((value for name, value in answer.headers if name == "Pawl-Outcome"), "")
    return {"status": answer.status, "outcome": outcome, "ends": ",".join(connection.log)}


def keys(_):
    return {"keys": [pawl.new_key() for _ in range(5000)]}


FAKES = []


def fake(_):
    FAKES.append(FakePawl(lambda method, path, body: (201, {"id": "pay_1"})).__enter__())
    return {"url": FAKES[0].url}


def fake_trouble(_):
    with FakePawl(lease_seconds=1) as fake:
        caller = pawl.Caller(sleep=lambda seconds: None)

        def pay(key):
            answer = caller.post(f"{fake.url}/v1/payments", {}, key=key)
            return [answer.status, answer.tries, fake.executions]

        fake.lose_next_answer()
        lost = pay("order-4711-payment")
        fake.fail_next()
        failed = pay("order-4712-payment")
        fake.make_unknown("order-4713-payment")
        result = {"lost": lost, "failed": failed}
        try:
            pay("order-4713-payment")
        except pawl.PawlError as error:
            result["unknown"] = type(error).__name__

        def work(job):
            fake.end_lease(job.key)
            assert job.lost.wait(60)
            job.check()
            return ANSWER

        try:
            pawl.Consumer(fake.url).run("payout-2024-06-0001", {}, work)
        except pawl.PawlError as error:
            result["lease"] = type(error).__name__
        return result


def main():
    for line in sys.stdin:
        case = json.loads(line)
        print(json.dumps(globals()[case["part"]](case)), flush=True)


main()
