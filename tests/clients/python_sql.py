"""Carries out the calls of service.py with clients/python on psycopg, sync or asyncio."""
import asyncio
import contextlib
import json
import os
import sys

import psycopg

import pawl_client as pawl

URL, ASYNC = os.environ["DATABASE_URL"], sys.argv[1] == "asyncio"
INSERT = "INSERT INTO payments (key, amount) VALUES (%s, 1000)"


def arguments_of(call):
    if call["op"] == "complete":
        return call["status"], call["headers"], call["body"]
    if call["op"] == "enqueue":
        return (pawl.Message(**{name: value for name, value in call.items() if name != "op"}),)
    return (call.get("point") or call.get("reason"),)


def said(result):
    return "ok" if result is None else f"id {result}"


def transaction(headers, end, calls):
    request, results = pawl.guarded_request(headers), []
    with contextlib.closing(psycopg.connect(URL)) as tx:
        for call in calls:
            try:
                if call["op"] == "insert":
                    tx.execute(INSERT, (request.key,))
                    results.append("ok")
                else:
                    results.append(said(getattr(pawl, call["op"])(tx, request, *arguments_of(call))))
            except pawl.PawlError as error:
                results.append(type(error).__name__)
        (tx.commit if end == "commit" else tx.rollback)()
    return {"results": results}


async def transaction_async(headers, end, calls):
    request, results = pawl.guarded_request(headers), []
    tx = await psycopg.AsyncConnection.connect(URL)
    for call in calls:
        try:
            if call["op"] == "insert":
                await tx.execute(INSERT, (request.key,))
                results.append("ok")
            else:
                results.append(said(await getattr(pawl, call["op"] + "_async")(tx, request, *arguments_of(call))))
        except pawl.PawlError as error:
            results.append(type(error).__name__)
    await (tx.commit if end == "commit" else tx.rollback)()
    await tx.close()
    return {"results": results}


def reply_of(handler):
    if handler.endswith("raise"):
        raise RuntimeError("the handler failed")
    return pawl.Reply(503 if handler.endswith("5xx") else 201, json={})


def handled(headers, handler):
    def handle(tx, request):
        if handler == "give_back":
            with tx:  # commits and closes
                tx.execute(INSERT, (request.key,))
            return reply_of(handler)
        tx.execute(INSERT, (request.key,))
        if handler.startswith("commit"):
            tx.commit()
        if handler == "rollback":
            tx.rollback()
        if handler == "failed_statement":
            tx.execute("SELECT 1 / 0")
        return reply_of(handler)

    return pawl.run_transactional(lambda: psycopg.connect(URL), headers, handle)


async def handled_async(headers, handler):
    async def handle(tx, request):
        if handler == "give_back":
            async with tx:
                await tx.execute(INSERT, (request.key,))
            return reply_of(handler)
        await tx.execute(INSERT, (request.key,))
        if handler.startswith("commit"):
            await tx.commit()
        if handler == "rollback":
            await tx.rollback()
        if handler == "failed_statement":
            await tx.execute("SELECT 1 / 0")
        return reply_of(handler)

    @contextlib.asynccontextmanager
    async def connect():
        async with await psycopg.AsyncConnection.connect(URL) as connection:
            yield connection

    return await pawl.run_transactional_async(connect, headers, handle)


def carry_out(call):
    if "handler" not in call:
        return asyncio.run(transaction_async(**call)) if ASYNC else transaction(**call)
    answer = asyncio.run(handled_async(**call)) if ASYNC else handled(**call)
    return {"status": answer.status, "outcome": next((value for name, value in answer.headers if name == "Pawl-Outcome"), "")}


for line in sys.stdin:
    print(json.dumps(carry_out(json.loads(line))), flush=True)
