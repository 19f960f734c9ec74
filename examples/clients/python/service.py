"""A payments service: the row and the answer commit together, or neither does."""
import os

import psycopg
from flask import Flask, request

from pawl_client import Reply
from pawl_client.flask import transactional

app = Flask("payments")


@app.post("/v1/payments")
@transactional(lambda: psycopg.connect(os.environ["DATABASE_URL"]))
def pay(tx, guarded):
    payment = request.get_json()
    if not isinstance(payment["amount"], int) or payment["amount"] <= 0:
        return Reply(422, json={"detail": "amount must be a positive integer"})
    values = (payment["order"], payment["amount"])
    (number,) = tx.execute("INSERT INTO payments (order_id, amount) VALUES (%s, %s) RETURNING id", values).fetchone()
    return Reply(201, json={"id": number})


if __name__ == "__main__":
    app.run("127.0.0.1", int(os.environ.get("PORT", "3000")))
