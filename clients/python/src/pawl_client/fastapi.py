"""For FastAPI and Starlette: an endpoint that is one transaction, in one line."""
from __future__ import annotations

from typing import Any, AsyncContextManager, Awaitable, Callable

from starlette.requests import Request
from starlette.responses import Response

from .transactional import Reply, Transaction, TransactionalOptions, run_transactional_async


def transactional(
    connect: Callable[[], AsyncContextManager[Any]], options: TransactionalOptions = TransactionalOptions()
) -> Callable[[Callable[[Any, Transaction, Request], Awaitable[Reply]]], Callable[[Request], Awaitable[Response]]]:
    """`@app.post("/v1/payments")` above `@transactional(pool.connection)`; the endpoint gets (tx, guarded, request)."""

    def decorate(
        endpoint: Callable[[Any, Transaction, Request], Awaitable[Reply]],
    ) -> Callable[[Request], Awaitable[Response]]:
        async def wrapper(request):  # type: ignore[no-untyped-def]
            async def handler(tx: Any, guarded: Transaction) -> Reply:
                return await endpoint(tx, guarded, request)

            answer = await run_transactional_async(connect, dict(request.headers.items()), handler, options)
            response = Response(answer.body, answer.status)
            for name, value in answer.headers:
                response.headers.append(name, value)
            return response

        # FastAPI reads the types at run time, where a postponed annotation would not be found.
        wrapper.__annotations__ = {"request": Request, "return": Response}
        wrapper.__name__ = endpoint.__name__
        wrapper.__doc__ = endpoint.__doc__
        return wrapper

    return decorate
