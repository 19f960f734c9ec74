#!/usr/bin/env python3
"""Each language against a real pawl serve and PostgreSQL: kill -9 at every step, and there is exactly one row."""
import sys
import traceback
from pathlib import Path

from real import Postgres, Stage, until
from runner import expect

STEPS = ["received", "worked", "completed", "committed"]
ADAPTERS = {"node": ["express", "fastify"], "python": ["flask", "fastapi"], "go": [None]}


def paid_once(stage, key, answers):
    again = stage.caller(key).result()
    expect(201, again.get("status"), f"the last try, {again}")
    expect(True, again["replayed"], "the last try is a replay")
    for answer in answers:
        expect((201, again["body"]), (answer.get("status"), answer.get("body")), f"every answer is the stored one, {answer}")
    expect(1, stage.rows("payments", key), "rows")


def killed(stage, victim, step):
    key = f"order-{victim}-at-{step}"
    go = Path(stage.folder, f"go-{victim}-{step}")
    gateway, service = stage.gateway(), stage.service(step, str(go))
    caller = stage.caller(key)
    service.says(f"at {step}")
    expect(1 if step == "committed" else 0, stage.rows("payments", key), "rows when it stopped")
    {"service": service, "gateway": gateway, "caller": caller}[victim].kill_hard()
    if victim == "service":
        service = stage.service()
    if victim == "gateway":
        gateway = stage.gateway()
    go.touch()  # the service that was stopped goes on, perhaps too late
    if victim == "caller":
        caller = stage.caller(key)
    paid_once(stage, key, [caller.result()])
    for each in (gateway, service):
        each.kill_hard()


def all_killed(stage, step):
    """Gateway, service and caller at once, as when the machine fails."""
    key = f"order-all-at-{step}"
    gateway, service = stage.gateway(), stage.service(step)
    caller = stage.caller(key)
    service.says(f"at {step}")
    for each in (caller, service, gateway):
        each.kill_hard()
    gateway, service = stage.gateway(), stage.service()
    paid_once(stage, key, [stage.caller(key).result()])
    for each in (gateway, service):
        each.kill_hard()


def adapter_pays(stage, adapter):
    key = f"order-2024-by-{adapter or 'net-http'}"
    gateway, service = stage.gateway(), stage.service(adapter=adapter)
    first = stage.caller(key).result()
    expect(False, first.get("replayed"), f"the first answer, {first}")
    paid_once(stage, key, [first])
    expect(1, service.said().count("at committed"), "commits")
    for each in (gateway, service):
        each.kill_hard()


def consumer_killed(stage, step):
    key = f"payout-2024-at-{step}"
    gateway = stage.gateway()
    stage.consumer(key, step).says(f"at {step}").kill_hard()

    def ended():  # while the dead owner's lease lasts another is told to wait
        result = stage.consumer(key).result()
        return result if result["outcome"] != "InFlight" else None
    result = until("the lease ends", ended)
    expect("replayed" if step == "finished" else "Unknown", result["outcome"], "the next delivery")
    expect(0 if step == "reserved" else 1, stage.rows("payouts", key), "payouts")
    gateway.kill_hard()


def consumer_pays(stage):
    key = "payout-2024-06-0001"
    gateway = stage.gateway()
    first, second = stage.consumer(key).result(), stage.consumer(key).result()
    expect(("done", "replayed"), (first["outcome"], second["outcome"]), "deliveries")
    expect(first["body"], second["body"], "answers")
    expect(1, stage.rows("payouts", key), "payouts")
    gateway.kill_hard()


def tests(language):
    for adapter in ADAPTERS[language]:
        yield f"pays with {adapter or 'net/http'}", lambda stage, a=adapter: adapter_pays(stage, a)
    for victim in ("service", "gateway", "caller"):
        for step in STEPS:
            yield f"{victim} killed at {step}", lambda stage, v=victim, s=step: killed(stage, v, s)
    for step in STEPS:
        yield f"all killed at {step}", lambda stage, s=step: all_killed(stage, s)
    yield "consumer pays once", consumer_pays
    for step in ("reserved", "acted", "finished"):
        yield f"consumer killed at {step}", lambda stage, s=step: consumer_killed(stage, s)


def main(languages):
    passed, failed = 0, 0
    postgres = Postgres()
    try:
        for language in languages:
            stage = Stage(postgres, language)
            try:
                for name, test in tests(language):
                    try:
                        test(stage)
                        passed += 1
                    except Exception:
                        failed += 1
                        print(f"FAILED {language}: {name}\n{traceback.format_exc()}", flush=True)
                        for each in stage.programs:
                            each.kill_hard()
            finally:
                stage.close()
            print(f"{language}: {passed} passed so far, {failed} failed", flush=True)
    finally:
        postgres.close()
    print(f"crash: {passed} passed, {failed} failed")
    return 1 if failed or not passed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:] or ["node", "python", "go"]))
