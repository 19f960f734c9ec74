#!/usr/bin/env python3
"""Writes cases.json and the tables of docs/clients.md, both from contract.json and scenarios.json.

With --check nothing is written: it fails where a file is not what it would write, or where contract.json disagrees
with the problem types of src/core/problem.cpp.
"""
import json
import re
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent.parent
CONTRACT = json.loads((HERE / "contract.json").read_text())
KEY = "018f3c1e-6f5a-7c39-9d9b-0b7f4a1d2c3e"
CALL = {"method": "POST", "path": "/v1/payments", "json": {"amount": 1000, "currency": "EUR"}, "key": KEY}
PAID = {"status": 201, "headers": {"Content-Type": "application/json"}, "body": '{"id":"pay_1"}'}
LOST = {"event": "lost"}
CHANCE = 0.5  # what every driver's random source returns


def backoff(tries):
    b = CONTRACT["backoff"]
    return min(b["first_ms"] * b["factor"] ** (tries - 1), b["cap_ms"]) * (0.5 + CHANCE / 2)


def after(seconds):
    return min(seconds * 1000, CONTRACT["backoff"]["retry_after_cap_ms"]) * (1 + CHANCE / 4)


TYPES = re.findall(r'\{Problem::\w+,\s*"([a-z-]+)",\s*(\d+),\s*(true|false),\s*(\w+),', (ROOT / "src/core/problem.cpp").read_text())


def document(row, kind):
    """As the product writes it: the members of RFC 9457, and `error` for the SDKs that look for that."""
    types = {code: kind for code, _, _, kind in TYPES}
    body = {"type": kind, "title": "t", "status": row["status"], "detail": "d", "code": row["code"]}
    error = {"type": types.get(row["code"], "invalid_request_error"), "code": row["code"] or "not-found", "message": "d"}
    return {**body, "error": error}


def problem(row, **headers):
    body = document(row, f"urn:pawl:problem:{row['code']}")
    retry = {"Pawl-Should-Retry": "true" if row["retry"] else "false"}
    return {"status": row["status"], "headers": {"Content-Type": "application/problem+json", **retry, **headers}, "body": json.dumps(body)}


def case(name, server, expect, **call):
    return {"name": name, "part": "caller", "call": {**CALL, **call}, "server": server,
            "expect": {"requests": len(server), "waits_ms": [], **expect}}


def pawl_cases():
    for row in CONTRACT["pawl"]:
        name = f"pawl {row['status']} {row['code']}" + (" again" if row["retry"] else " final")
        code = {"code": row["code"], "status": row["status"]}
        if row["retry"]:
            yield case(name + ": tried again", [problem(row), PAID], {"outcome": "answer", "status": 201, "waits_ms": [backoff(1)]})
            waits = [after(3)]
            yield case(name + ": after what it asks for", [problem(row, **{"Retry-After": "3"}), PAID],
                       {"outcome": "answer", "status": 201, "waits_ms": waits})
        yield case(name + ": given up", [problem(row)], {"outcome": row["error"], **code}, max_tries=1)
        yield case(name + ": after a lost try", [LOST, problem(row)], {"outcome": "Unknown", **code, "waits_ms": [backoff(1)]},
                   max_tries=2)
    reused = {"code": "key-reused", "status": 400, "retry": False}
    yield case("pawl 400 key-reused in the profile stripe", [problem(reused, **{"Stripe-Should-Retry": "false"})],
               {"outcome": "Misuse", "code": "key-reused", "status": 400})


def other_cases():
    for row in CONTRACT["others"]:
        step = {"status": row["status"], "headers": row.get("headers", {}), "body": row.get("body", "{}")}
        name = f"other {row['status']} " + " ".join(f"{k}: {v}" for k, v in row.get("headers", {}).items())
        name = name.strip() + (" idempotency_error" if "idempotency_error" in step["body"] else "")
        if row["does"] == "answer":
            yield case(name + ": the answer", [step], {"outcome": "answer", "status": row["status"]})
            continue
        if row["does"] == "retry":
            wait = after(1) if "Retry-After" in step["headers"] else backoff(1)
            yield case(name + ": tried again", [step, PAID], {"outcome": "answer", "status": 201, "waits_ms": [wait]})
        yield case(name + ": given up", [step], {"outcome": row["error"], "status": row["status"]}, max_tries=1)
        yield case(name + ": after a lost try", [LOST, step], {"outcome": "Unknown", "status": row["status"], "waits_ms": [backoff(1)]},
                   max_tries=2)


def network_cases():
    for row in CONTRACT["network"]:
        event = {"event": row["event"]}
        short = {"try_timeout_ms": 1500} if row["event"] in ("hang", "drip") else {}
        name = f"network {row['event']}"
        if row["sent"]:
            yield case(name + ": tried again with the same key", [event, PAID],
                       {"outcome": "answer", "status": 201, "waits_ms": [backoff(1)]}, **short)
            yield case(name + ": given up", [event], {"outcome": row["error"]}, max_tries=1, **short)
            yield case(name + ": never tried again without a key", [event], {"outcome": "Unknown"}, keyless=True, key=None, **short)
        else:
            yield case(name + ": given up", [], {"outcome": row["error"], "waits_ms": [backoff(1), backoff(2)]}, max_tries=3)


def in_front_cases():
    """After a try that may have been executed: who gives such an answer need not know of that try."""
    for status in [*CONTRACT["in_front"], 302, 307, 308]:
        step = {"status": status, "headers": {"Location": "$ELSEWHERE/v1/payments"} if status < 400 else {}, "body": "{}"}
        executed = {**step, "headers": {**step["headers"], "Pawl-Request-Id": "r1"}}
        replayed = {**step, "headers": {**step["headers"], "Idempotent-Replayed": "true"}}
        yield case(f"in front {status}, first of all: the answer", [step], {"outcome": "answer", "status": status})
        yield case(f"in front {status}, after a lost try: it may have happened", [LOST, step],
                   {"outcome": "Unknown", "status": status, "waits_ms": [backoff(1)]})
        yield case(f"in front {status}, of an execution: the answer", [LOST, executed],
                   {"outcome": "answer", "status": status, "waits_ms": [backoff(1)]})
        yield case(f"in front {status}, replayed: the answer", [LOST, replayed],
                   {"outcome": "answer", "status": status, "waits_ms": [backoff(1)], "replayed": True})


def reserve_cases():
    for row in CONTRACT["reserve"]:
        name = f"reserve {row['status']} {row['decision'] or row['code']}".strip()
        expect = {"outcome": row["outcome"], "worked": row["decision"] == "execute"}
        calls = ["reserve"] + (["complete"] if row["decision"] == "execute" else [])
        if row["decision"] == "execute":
            server = {"reserve": [grant()], "complete": [{"status": 200, "json": {"status": "completed"}}]}
        elif row["decision"] == "replay":
            response = {"status": 201, "headers": [["Content-Type", "application/json"]], "body": '{"id":"po_1"}'}
            server = {"reserve": [{"status": 200, "json": {"decision": "replay", "status": "completed", "fence": 7, "attempt": 1,
                                                          "recovery_point": "", "response": response}}]}
            expect["body"] = '{"id":"po_1"}'
        else:
            body = {**document(row, "about:blank"), "decision": row["decision"]}
            server = {"reserve": [{"status": row["status"], "json": {k: v for k, v in body.items() if v != ""}}]}
        yield {"name": name, "part": "consumer", "run": {"key": "payout-2024-06-0001", "request": {"amount": 1000}, "work": "answer"},
               "server": server, "expect": {**expect, "calls": calls}}


def grant(lease=30):
    """`lease`: what is said, right or wrong."""
    return {"status": 201, "json": {"decision": "execute", "key": "payout-2024-06-0001", "status": "in_progress", "fence": 1717243200000000,
                                    "attempt": 1, "recovery_point": "", "lease_expires_at": "2024-06-01T12:00:30.000000Z",
                                    "lease_seconds": lease}}


def transaction_cases():
    for row in CONTRACT["transaction"]:
        name = f"transaction fails at {row['fails'] or 'nothing'} {row['sqlstate']} {row.get('reply', '')}"
        yield {"name": " ".join(name.split()) + (" external" if row.get("external") else ""), "part": "transaction",
               "fails": row["fails"], "sqlstate": row["sqlstate"], "reply": row.get("reply", 201), "external": row.get("external", False),
               "expect": {"status": row["status"], "outcome": row["outcome"], "ends": row["ends"]}}


def scenarios():
    text = (HERE / "scenarios.json").read_text()
    macros = {"PAID": PAID, "LOST": LOST, "GRANT": grant(), "KEY": KEY, "RUN": {"key": "payout-2024-06-0001", "request": {"amount": 1000}, "work": "answer"},
              "COMPLETED": {"status": 200, "json": {"status": "completed"}},
              **{f"GRANT_{lease}": grant(lease) for lease in (1, 3, 9, -5, 1e300, True, "30")}}
    for name, value in macros.items():
        text = text.replace(f'"${name}"', json.dumps(value))
    for each in json.loads(text):
        if each["part"] == "caller":
            each["call"] = {**CALL, **each.get("call", {})}
            each["expect"] = {"requests": len(each["server"]), "waits_ms": [], **each["expect"]}
        yield each


def cases():
    every = [*pawl_cases(), *other_cases(), *network_cases(), *in_front_cases(), *reserve_cases(), *transaction_cases(), *scenarios()]
    names = [each["name"] for each in every]
    twice = {name for name in names if names.count(name) > 1}
    assert not twice, f"two cases of one name: {twice}"
    return every


def table(head, rows):
    lines = ["| " + " | ".join(head) + " |", "|" + "---|" * len(head)]
    return "\n".join(lines + ["| " + " | ".join(str(cell) for cell in row) + " |" for row in rows])


def headers_of(row):
    return ", ".join(f"`{k}: {v}`" for k, v in row.get("headers", {}).items()).replace("`Retry-After: 1`", "`Retry-After`")


def tables():
    c, b = CONTRACT, CONTRACT["backoff"]
    said = {True: "try again", False: "stop"}
    does = {"retry": "try again", "answer": "the answer", "error": "stop"}
    yield "pawl", table(["status", "`code`", "`Pawl-Should-Retry`", "then", "error at the end", "it means"], [
        [r["status"], f"`{r['code']}`", str(r["retry"]).lower(), said[r["retry"]], f"`{r['error']}`", r["means"]] for r in c["pawl"]])
    yield "others", table(["status", "with", "then", "error at the end", "it means"], [
        [r["status"], headers_of(r), does[r["does"]], f"`{r['error']}`" if "error" in r else "", r["means"]] for r in c["others"]])
    yield "network", table(["what happened", "sent", "with a key", "error at the end"], [
        [r["means"], "perhaps" if r["sent"] else "no", "try again with the same key", f"`{r['error']}`"] for r in c["network"]])
    yield "in_front", table(["status after a try that may have been executed", "it is believed"], [
        ["3xx, " + ", ".join(str(status) for status in c["in_front"]), "only with `Idempotent-Replayed: true` or `Pawl-Request-Id`; else `Unknown`"],
        ["other 2xx and 4xx that are not tried again, such as 402 and 422", "yes: a login page or a proxy in front does not give them"]])
    yield "backoff", table(["what", "how long"], [
        ["after the n-th try", f"{b['first_ms']} ms · {b['factor']}^(n-1), at most {b['cap_ms'] // 1000} s, of that a random part between a half and all"],
        ["`Retry-After`", f"what it says (seconds or a date), at most {b['retry_after_cap_ms'] // 1000} s, and up to a quarter more"],
        ["all tries together", f"{b['deadline_ms'] // 1000} s; a wait that would go past it is not begun"],
        ["one try", f"{b['try_timeout_ms'] // 1000} s"]])
    yield "reserve", table(["`decision`", "status", "`code`", "result", "it means"], [
        [f"`{r['decision']}`" if r["decision"] else "", r["status"], f"`{r['code']}`" if r.get("code") else "", f"`{r['outcome']}`", r["means"]]
        for r in c["reserve"]])
    yield "transaction", table(["what happened", "SQLSTATE", "status", "`Pawl-Outcome`"], [
        [r["means"], f"`{r['sqlstate']}`" if r["sqlstate"] else "", r["status"], f"`{r['outcome']}`" if r["outcome"] else "none"]
        for r in c["transaction"]])


def page(text):
    for name, rows in tables():
        pattern = re.compile(rf"(<!-- table: {name} -->\n).*?(<!-- end of table -->)", re.S)
        assert len(pattern.findall(text)) == 1, f"docs/clients.md needs one table {name}"
        text = pattern.sub(lambda found: found.group(1) + rows + "\n" + found.group(2), text)
    return text


def check_render():
    """Every problem type of the product is in the table, with its status and its advice."""
    types = [(code, status, retry) for code, status, retry, _ in TYPES]
    assert len(types) > 20, "src/core/problem.cpp: no problem types were found"
    rows = {(r["code"], r["status"], r["retry"]) for r in CONTRACT["pawl"]}
    for code, status, retry in types:
        if code == "stale-fence":  # of the key API alone: no call through a route gets it
            continue
        assert (code, int(status), retry == "true") in rows, f"contract.json lacks {code} {status} {retry}"
    known = {code for code, _, _ in types}
    assert all(code in known for code, _, _ in rows), "contract.json names a code that Pawl does not have"


def main():
    check_render()
    wanted = {HERE / "cases.json": "[\n" + ",\n".join(json.dumps(each) for each in cases()) + "\n]\n"}
    doc = ROOT / "docs/clients.md"
    wanted[doc] = page(doc.read_text())
    if "--check" in sys.argv:
        stale = [str(path) for path, text in wanted.items() if not path.exists() or path.read_text() != text]
        if stale:
            sys.exit(f"not what tests/clients/generate.py writes: {', '.join(stale)}")
        print(f"{len(cases())} cases and the tables of docs/clients.md are what contract.json says")
        return
    for path, text in wanted.items():
        path.write_text(text)


if __name__ == "__main__":
    main()
