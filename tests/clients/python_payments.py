"""A payments service, a caller and a consumer on clients/python, which stop where the crash test wants them."""
import json
import os
import sys
import time

import psycopg

import pawl_client as pawl

URL = os.environ.get("DATABASE_URL", "")
INSERT = "INSERT INTO payments (key, amount) VALUES (%s, %s) RETURNING id"


def step(name):
    print(f"at {name}", flush=True)
    while os.environ.get("STOP_AT") == name and not os.path.exists(os.environ["GO_FILE"]):
        time.sleep(0.01)


OPTIONS = pawl.TransactionalOptions(on_step=step, on_error=lambda error: print("error", repr(error), flush=True))


def service(port, adapter="flask"):
    if adapter == "fastapi":
        import fastapi
        import uvicorn

        from pawl_client.fastapi import transactional

        app = fastapi.FastAPI(on_startup=[lambda: print("listening", flush=True)])

        class Connection:
            async def __aenter__(self):
                self.connection = await psycopg.AsyncConnection.connect(URL)
                return self.connection

            async def __aexit__(self, *_):
                await self.connection.close()

        @app.post("/v1/payments")
        @transactional(Connection, OPTIONS)
        async def pay(tx, guarded, request):
            amount = (await request.json())["amount"]
            row = await (await tx.execute(INSERT, (guarded.key, amount))).fetchone()
            return pawl.Reply(201, json={"id": row[0], "amount": amount})

        uvicorn.run(app, host="127.0.0.1", port=int(port), log_level="warning")
        return
    from flask import Flask, request
    from werkzeug.serving import make_server

    from pawl_client.flask import transactional

    app = Flask("payments")

    @app.post("/v1/payments")
    @transactional(lambda: psycopg.connect(URL), OPTIONS)
    def pay(tx, guarded):
        amount = request.get_json()["amount"]
        row = tx.execute(INSERT, (guarded.key, amount)).fetchone()
        return pawl.Reply(201, json={"id": row[0], "amount": amount})

    server = make_server("127.0.0.1", int(port), app, threaded=True)
    print("listening", flush=True)
    server.serve_forever()


def call(url, key):
    answer = pawl.Caller(deadline=90, try_timeout=20).post(f"{url}/v1/payments", {"amount": 1000}, key=key)
    print(json.dumps({"status": answer.status, "body": answer.text(), "replayed": answer.replayed}))


def consume(url, key):
    def work(job):
        step("reserved")
        with psycopg.connect(URL) as bank:
            bank.execute("INSERT INTO payouts (key) VALUES (%s)", (key,))
        step("acted")
        return pawl.Reply(201, json={"id": key})

    done = pawl.Consumer(url).run(key, {"amount": 1000}, work)
    step("finished")
    print(json.dumps({"outcome": "replayed" if done.replayed else "done", "status": done.status, "body": done.body.decode()}))


try:
    globals()[sys.argv[1]](*sys.argv[2:])
except pawl.PawlError as error:
    print(json.dumps({"outcome": type(error).__name__, "detail": str(error)}), flush=True)
