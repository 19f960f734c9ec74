"""python-stripe against a gateway: every error of ours is an error there, of the class that its users catch.

stripe_python.py PORT PROFILE; the upstream behind is sdk_test.cpp's.
"""
import sys

import stripe

PORT, PROFILE = sys.argv[1], sys.argv[2]
IS_STRIPE = PROFILE == "stripe"
stripe.api_base = f"http://127.0.0.1:{PORT}"
stripe.max_network_retries = 0
stripe.api_key = "secret-of-a"


def key(name):
    return f"stripe-python-{PROFILE}-{name}"


def throws(name, call, kind, status, code, type_, should_retry):
    try:
        result = call()
    except stripe.error.StripeError as error:
        seen = (type(error), error.http_status, error.code or error.error.code, error.error.type)
        assert seen == (kind, status, code, type_), f"{name}: {seen}"
        assert error.headers["Pawl-Should-Retry"] == should_retry, f"{name}: {error.headers}"
        assert error.headers.get("Stripe-Should-Retry") == (should_retry if IS_STRIPE else None), name
        assert error.request_id == (error.headers["Pawl-Request-Id"] if IS_STRIPE else None), name
        print("ok", PROFILE, name, kind.__name__, status, code)
        return error
    raise AssertionError(f"{name}: taken for a result: {result}")


def main():
    e = stripe.error
    paid = stripe.Charge.create(amount=10, idempotency_key=key("reuse"))
    assert paid.id == "ch_1", paid
    throws("reuse", lambda: stripe.Charge.create(amount=11, idempotency_key=key("reuse")),
           e.IdempotencyError if IS_STRIPE else e.APIError, 400 if IS_STRIPE else 422, "key-reused", "idempotency_error", "false")
    lost = {"amount": 10, "description": "reset", "idempotency_key": key("lost")}
    throws("lost", lambda: stripe.Charge.create(**lost), e.APIError, 502, "outcome-unknown", "api_error", "false")
    held = throws("held", lambda: stripe.Charge.create(**lost), e.APIError, 409, "outcome-unknown", "idempotency_error", "false")
    assert "Retry-After" not in held.headers
    throws("key invalid", lambda: stripe.Charge.create(amount=10, idempotency_key="short"),
           e.InvalidRequestError, 400, "key-invalid", "invalid_request_error", "false")
    throws("unknown caller", lambda: stripe.Charge.create(amount=10, api_key="wrong", idempotency_key=key("caller")),
           e.AuthenticationError, 401, "unauthenticated", "authentication_error", "false")
    stripe.Refund.create(charge="ch_1", idempotency_key=key("limit-1"))
    throws("limit", lambda: stripe.Refund.create(charge="ch_2", idempotency_key=key("limit-2")),
           e.RateLimitError, 429, "rate-limited", "rate_limit_error", "true")
    throws("too large", lambda: stripe.Customer.create(description="x" * 500, idempotency_key=key("size")),
           e.APIError, 413, "body-too-large", "invalid_request_error", "false")
    throws("unguarded", lambda: stripe.Charge.retrieve("garbage"), e.APIError, 502, "bad-upstream-response", "api_error", "true")
    print("all ok")


main()
