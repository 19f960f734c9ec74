"""For Flask: a view that is one transaction, in one line."""
from __future__ import annotations

import functools
from typing import Any, Callable, ContextManager

from flask import Response, request

from .transactional import Reply, Transaction, TransactionalOptions, run_transactional


def transactional(
    connect: Callable[[], ContextManager[Any]], options: TransactionalOptions = TransactionalOptions()
) -> Callable[[Callable[..., Reply]], Callable[..., Response]]:
    """`@app.post("/v1/payments")` above `@transactional(pool.connection)`; the view gets (tx, guarded, **path values)."""

    def decorate(view: Callable[..., Reply]) -> Callable[..., Response]:
        @functools.wraps(view)
        def wrapper(**values: Any) -> Response:
            def handler(tx: Any, guarded: Transaction) -> Reply:
                return view(tx, guarded, **values)

            answer = run_transactional(connect, dict(request.headers.items()), handler, options)
            return Response(answer.body, answer.status, answer.headers)

        return wrapper

    return decorate
