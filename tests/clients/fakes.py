#!/usr/bin/env python3
"""The same calls to pawl serve and to each package's fake: they must be answered alike."""
import http.client
import json
import sys
from urllib.parse import urlsplit

from drivers import Driver
from real import PAWL, Program, free_port, until
from scripted import Scripted
import os
import shutil
import socket
import tempfile

KEY, ROUTE_KEY = "payout-2024-06-0001", "order-4711-payment"
A, B = "7f3e9f0a-delivery-1", "c44b0d12-delivery-2"
REQUEST = {"account": "DE00", "amount": 1000}
FENCE = "$fence"  # of the last grant


def verb(name, **body):
    return ("POST", f"/_pawl/v1/keys/{KEY}/{name}", {}, body)


def pay(key, amount=1000):
    return ("POST", "/v1/payments", {"Idempotency-Key": key} if key else {}, {"amount": amount})


CALLS = [
    pay(None), pay("short"), pay(ROUTE_KEY), pay(ROUTE_KEY), pay(ROUTE_KEY, 2000),
    verb("reserve", owner=A, request=REQUEST),
    verb("reserve", owner=A, request=REQUEST),
    verb("reserve", owner=B, request=REQUEST),
    verb("reserve", owner=B, request={"amount": 1}),
    verb("renew", owner=A, fence=FENCE), verb("renew", owner=B, fence=FENCE),
    verb("advance", owner=A, fence=FENCE, after="", recovery_point="one"),
    verb("advance", owner=A, fence=FENCE, after="", recovery_point="one"),
    verb("advance", owner=A, fence=FENCE, after="", recovery_point="two"),
    verb("release", owner=A, fence=FENCE, reason="closed"), verb("release", owner=A, fence=FENCE),
    verb("reserve", owner=A, request=REQUEST),
    verb("renew", owner=A, fence=FENCE),
    verb("reserve", owner=B, request={"amount": 1000, "account": "DE00"}),
    verb("complete", owner=A, fence=FENCE, response={"status": 201, "body": "x"}),
    verb("complete", owner=B, fence=FENCE, response={"status": 201, "headers": [["X-A", "b"]], "body_json": {"id": "po_1"}}),
    verb("complete", owner=B, fence=FENCE, response={"status": 201, "headers": [["X-A", "b"]], "body_json": {"id": "po_1"}}),
    verb("release", owner=B, fence=FENCE),
    verb("reserve", owner="91aa04de-delivery-3", request=REQUEST),
]
MEMBERS = ["code", "decision", "key_status", "status", "attempt", "recovery_point", "response", "lease_seconds"]


def exchange(url):
    """What is answered to each call, without what differs from run to run."""
    fence, answers = None, []
    for method, path, headers, body in CALLS:
        if body.get("fence") == FENCE:
            body = {**body, "fence": fence}
        connection = http.client.HTTPConnection(urlsplit(url).netloc, timeout=30)
        connection.request(method, path, json.dumps(body), {"Content-Type": "application/json", **headers})
        answer = connection.getresponse()
        said = json.loads(answer.read())
        connection.close()
        fence = said.get("fence", fence)
        shown = {name: said[name] for name in MEMBERS if said.get(name) is not None}
        if "lease_seconds" in shown:
            shown["lease_seconds"] = shown["lease_seconds"] > 0
        headers = {name: answer.getheader(name) for name in ("Pawl-Should-Retry", "Idempotent-Replayed") if "/_pawl/" not in path}
        answers.append((answer.status, headers, shown))
    return answers


def from_pawl():
    upstream = Scripted([{"repeat": True, "status": 201, "headers": {"Content-Type": "application/json"}, "json": {"id": "pay_1"}}])
    folder, port = tempfile.mkdtemp(prefix="pawl-clients-"), free_port()
    config = os.path.join(folder, "pawl.toml")
    with open(config, "w") as out:
        out.write(f'listen = "127.0.0.1:{port}"\nupstream = "{upstream.url}"\nstore = "sqlite:{folder}/pawl.db"\n'
                  f'[admin]\nlisten = "127.0.0.1:{free_port()}"\n[key_api]\ncallers = ["default"]\n')
    gateway = Program([PAWL, "serve", "--config", config], folder)
    try:
        def listens():
            with socket.socket() as probe:
                return probe.connect_ex(("127.0.0.1", port)) == 0
        until(f"the gateway listens: {gateway.said()}", listens)
        return exchange(f"http://127.0.0.1:{port}")
    finally:
        gateway.kill_hard()
        upstream.close()
        shutil.rmtree(folder, ignore_errors=True)


def main(languages):
    wanted = from_pawl()
    passed, failed = 0, 0
    for language in languages:
        with Driver(language) as driver:
            got = exchange(driver.ask({"part": "fake"})["url"])
            for call, right, answer in zip(CALLS, wanted, got):
                if right == answer:
                    passed += 1
                else:
                    failed += 1
                    print(f"FAILED {language} {call}:\n  pawl {right}\n  fake {answer}")
            trouble = driver.ask({"part": "fake_trouble"})
            right = {"lost": [201, 2, 1], "failed": [201, 2, 2], "unknown": "Unknown", "lease": "LeaseLost"}
            if trouble == right:
                passed += 1
            else:
                failed += 1
                print(f"FAILED {language} trouble on demand: {trouble} instead of {right}")
    print(f"fakes: {passed} passed, {failed} failed")
    return 1 if failed or not passed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:] or ["node", "python", "go"]))
