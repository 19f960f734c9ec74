"""Pays an order: python3 pay.py ORDER AMOUNT. Kill it wherever you like, and run it again."""
import os
import sys
from pathlib import Path

from pawl_client import Caller, PawlError, new_key


def key_of(order):
    """The order's key, stored before the first try: a program that is run again must not make another one."""
    file = Path(f"{order}.key")
    if not file.exists():
        with open(f"{file}.new", "w") as out:
            out.write(new_key())
            out.flush()
            os.fsync(out.fileno())
        os.replace(f"{file}.new", file)
    return file.read_text()


def main(order, amount):
    url = os.environ.get("PAWL_URL", "http://127.0.0.1:8080") + "/v1/payments"
    caller = Caller(deadline=float(os.environ.get("DEADLINE_MS", "120000")) / 1000)
    try:
        answer = caller.post(url, {"order": order, "amount": int(amount)}, key=key_of(order))
    except PawlError as error:
        print(f"{type(error).__name__}: run it again, with the same key")  # Unknown: it may have been paid
        return 75
    print(answer.status, answer.text(), "replayed" if answer.replayed else "new")
    return 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
