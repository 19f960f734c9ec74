#!/usr/bin/env python3
"""What the asyncio client does when it is cancelled, and what no client takes for a setting."""
import asyncio
import math
import subprocess
import sys

from drivers import ROOT
from generate import PAID, grant
from real import until
from runner import Count, expect
from scripted import Scripted

sys.path.insert(0, str(ROOT / "clients/python/src"))
import pawl_client as pawl  # noqa: E402

KEY, ANSWER = "payout-2024-06-0001", pawl.Reply(201, json={"id": "po_1"})
DONE = {"status": 200, "json": {"status": "completed"}}


def verbs(server):
    return [request["target"].rsplit("/", 1)[-1] for request in server.requests]


async def cancelled(task):
    task.cancel()
    try:
        await task
    except asyncio.CancelledError:
        return True
    return False


def consumer(server):
    async def at_once(seconds):
        await asyncio.sleep(0)
    return pawl.AsyncConsumer(server.url, sleep=at_once)


def a_call_needs_its_key(server):
    """A call that is cancelled would take a key that was made for it with it."""
    async def call():
        return await pawl.AsyncCaller().call("POST", server.url, json={})
    try:
        asyncio.run(call())
    except pawl.Misuse:
        return expect([], server.requests, "requests")
    raise AssertionError("it was sent")


def a_cancelled_call_is_not_tried_again(server):
    server.script = [{"event": "hang"}, PAID]

    async def run():
        task = asyncio.ensure_future(pawl.AsyncCaller(try_timeout=60).post(server.url, {}, key=pawl.new_key()))
        await asyncio.to_thread(until, "it is sent", lambda: server.requests)
        expect(True, await cancelled(task), "cancelled")
        server.ended.set()  # the thread that carries the try ends
    asyncio.run(run())
    expect(1, len(server.requests), "requests")


def cancelled_work_says_nothing(server):
    server.script = {"reserve": [grant()]}

    async def run():
        working = asyncio.Event()

        async def work(job):
            working.set()
            await asyncio.sleep(60)
            return ANSWER
        task = asyncio.ensure_future(consumer(server).run(KEY, {}, work))
        await working.wait()
        expect(True, await cancelled(task), "cancelled")
    asyncio.run(run())
    expect(["reserve"], verbs(server), "calls")


def settled_although_cancelled(server, verb, work):
    async def run():
        task = asyncio.ensure_future(consumer(server).run(KEY, {}, work))
        await asyncio.to_thread(until, f"it calls {verb}", lambda: verb in verbs(server))
        task.cancel()
        await asyncio.sleep(0)
        server.gate.set()
        expect(True, await cancelled(task), "cancelled")
    server.script["reserve"] = [grant()]
    asyncio.run(run())
    expect(["reserve", verb, verb], verbs(server), "calls")


def what_is_done_is_recorded_although_cancelled(server):
    async def work(job):
        return ANSWER
    server.script = {"complete": [{"gated": True, "status": 503}, DONE]}
    settled_although_cancelled(server, "complete", work)


def what_was_not_done_is_released_although_cancelled(server):
    async def work(job):
        raise pawl.NotExecuted("the bank is closed")
    server.script = {"release": [{"gated": True, "status": 503}, {"status": 200, "json": {"status": "failed_retryable"}}]}
    settled_although_cancelled(server, "release", work)


def a_deadline_that_never_comes_is_refused(_):
    for name in ("deadline", "try_timeout", "max_tries"):
        for value in (math.nan, 0, -1):
            for kind in (pawl.Caller, pawl.AsyncCaller):
                try:
                    kind(**{name: value})
                except pawl.Misuse:
                    continue
                raise AssertionError(f"{kind.__name__} takes {name}={value}")
    script = """import { Caller, Misuse } from '%s';
    for (const name of ['deadlineMs', 'tryTimeoutMs', 'maxTries']) for (const value of [NaN, 0, -1, '5']) {
      let refused = false;
      try { new Caller({ [name]: value }); } catch (error) { refused = error instanceof Misuse; }
      if (!refused) throw new Error(`Caller takes ${name}: ${value}`);
    }""" % (ROOT / "clients/node/dist/index.js")
    subprocess.run(["node", "--input-type=module", "-e", script], check=True)


TESTS = [a_call_needs_its_key, a_cancelled_call_is_not_tried_again, cancelled_work_says_nothing, what_is_done_is_recorded_although_cancelled,
         what_was_not_done_is_released_although_cancelled, a_deadline_that_never_comes_is_refused]


def main():
    count = Count("cancelled")
    for test in TESTS:
        server = Scripted([])
        try:
            count.run(test.__name__, test, server)
        finally:
            server.close()
    return count.exit_code()


if __name__ == "__main__":
    sys.exit(main())
