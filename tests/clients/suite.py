#!/usr/bin/env python3
"""Drives the clients of every language given (node, python, go) through cases.json. Fails if one was not run."""
import json
import re
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from drivers import Driver
from scripted import Scripted

CASES = json.loads((Path(__file__).parent / "cases.json").read_text())
UUID7 = re.compile(r"^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$")


def differ(errors, what, wanted, got):
    if wanted != got:
        errors.append(f"{what}: {got!r} instead of {wanted!r}")


def check_members(errors, expect, result, names):
    for name in names:
        if name in expect:
            differ(errors, name, expect[name], result.get(name))


def check_caller(case, result, server, errors):
    expect = case["expect"]
    check_members(errors, expect, result, ["outcome", "status", "code", "body", "replayed"])
    differ(errors, "waits_ms", expect["waits_ms"], [round(each, 3) for each in result.get("waits_ms", [])])
    differ(errors, "requests", expect["requests"], len(server.requests))
    tries = [request for request in server.requests if request["target"] != "/warm"]
    keys = {request["headers"].get("idempotency-key") for request in tries}
    if len(keys) > 1:
        errors.append(f"the key changed: {keys}")
    if len({request["body"] for request in tries}) > 1:
        errors.append("the body changed")
    key = keys.pop() if keys else None
    if expect.get("made_key"):
        if key is None or not UUID7.match(key):
            errors.append(f"{key} is no UUID of version 7")
    elif tries:
        differ(errors, "key", None if expect.get("no_key") else case["call"]["key"], key)
    if tries and not expect.get("no_key"):  # from the result alone the next try must be possible
        differ(errors, "key of the result", key, result.get("key") or None)
    for request in tries:
        if case["call"]["json"] is not None:
            differ(errors, "sent", case["call"]["json"], json.loads(request["body"]))


def check_consumer(case, result, server, errors):
    expect = case["expect"]
    check_members(errors, expect, result, ["outcome", "worked", "cancelled", "body", "renewed"])
    calls = [(request["target"].rsplit("/", 1)[-1], json.loads(request["body"])) for request in server.requests]
    differ(errors, "calls", expect["calls"], [verb for verb, _ in calls if verb != "renew"])
    owners = {body["owner"] for _, body in calls}
    if len(owners) != 1 or len(next(iter(owners))) < 16:
        errors.append(f"owners: {owners}")
    for verb, wanted in expect.get("body_of", {}).items():
        last = [body for each, body in calls if each == verb][-1]
        differ(errors, f"body of {verb}", wanted, {name: value for name, value in last.items() if name != "owner"})
    for verb, body in calls:
        if verb == "reserve":
            differ(errors, "request", case["run"]["request"], body["request"])


def run_case(driver, case):
    errors = []
    elsewhere = Scripted([])
    script = json.loads(json.dumps(case.get("server", [])).replace("$ELSEWHERE", elsewhere.url))
    server = Scripted(script)
    try:
        if case.get("server") == []:
            server.close_listener()
        result = driver.ask({**case, "server": None, "expect": None, "url": server.url})
        server.ended.set()  # steps that go on until the client gives up
        if case["part"] == "caller":
            check_caller(case, result, server, errors)
        elif case["part"] == "consumer":
            check_consumer(case, result, server, errors)
        else:
            for name, wanted in case["expect"].items():
                differ(errors, name, wanted, result.get(name))
        errors += [f"unexpected: {each}" for each in server.unexpected + elsewhere.unexpected]
    finally:
        server.close()
        elsewhere.close()
    return errors


def run_language(language):
    passed, failed = 0, []
    driver = Driver(language)
    try:
        keys = driver.ask({"part": "keys"})["keys"]
        if not all(UUID7.match(key) for key in keys) or sorted(set(keys)) != keys:
            failed.append("keys: not unique, sorted UUIDs of version 7")
        else:
            passed += 1
        for case in CASES:
            if language not in case.get("only", [language]):
                continue
            try:
                errors = run_case(driver, case)
            except RuntimeError as ended:  # the client took the whole program with it
                errors, driver = [str(ended)], Driver(language)
            if errors:
                failed.append(f"{case['name']}: " + "; ".join(errors))
            else:
                passed += 1
    finally:
        driver.close()
    return passed, failed


def main(languages):
    total, bad = 0, 0
    with ThreadPoolExecutor(len(languages)) as pool:
        for language, (passed, failed) in zip(languages, pool.map(run_language, languages)):
            total += passed
            bad += len(failed)
            print(f"{language}: {passed} passed, {len(failed)} failed")
            for line in failed:
                print(f"  FAILED {language} {line}")
    print(f"suite: {total} passed, {bad} failed ({len(CASES)} cases, {len(languages)} languages)")
    return 1 if bad or total == 0 else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:] or ["node", "python", "python-asyncio", "go"]))
