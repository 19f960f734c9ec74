"""Runs queue jobs and cron runs under the key API: each operation once."""
from __future__ import annotations

import asyncio
import threading
import time
from dataclasses import dataclass
from typing import Any, Awaitable, Callable, Coroutine, Mapping, Optional

from ._keyapi import Finished, Hold, KeyApi, Said, finished, new_owner, not_recorded, printable, refusal, response_of, work_failed
from .errors import NotExecuted, Unavailable
from .transactional import Reply

_TOO_LATE = "the lease was over before the work began"


class Job(Hold):
    """A granted key in the hands of the work. A thread cannot be cancelled: ask `check()` before each effect, or
    wait on `lost`."""

    def __init__(self, key: str, owner: str, granted: Said, consumer: "Consumer") -> None:
        super().__init__(key, owner, granted, consumer)
        #: Set when the lease is lost.
        self.lost = threading.Event()
        self._consumer = consumer
        self._halted = threading.Event()

    def on_loss(self) -> None:
        self.lost.set()

    def advance(self, recovery_point: str) -> None:
        """Keeps the next recovery point. A step has a name of its own."""
        self.stepped(recovery_point, self._consumer.ask(self.key, "advance", self.step(recovery_point), self.lease_left))

    def renew(self) -> None:
        pause = self.first_pause()
        while not self._halted.wait(pause) and self.loss is None:
            if self.lease_left <= 0:
                return self.lose("the lease was not renewed in time")
            pause = self.renewed(self._consumer.once(self.key, "renew", self.call(), self.renewal_timeout()))

    def halt(self) -> None:
        self._halted.set()


@dataclass(frozen=True)
class Consumer(KeyApi):
    """`run` returns what the operation came to; an error says: leave the message on the queue."""

    sleep: Callable[[float], Any] = time.sleep

    def run(self, key: str, request: Any, work: Callable[[Job], Reply], *, owner: Optional[str] = None) -> Finished:
        """`key` comes from the message and is the same in every delivery; `request` is what it means. The work returns
        its answer, raises NotExecuted where certainly nothing happened, and anything else where it is not known."""
        token = owner or new_owner()
        granted = self.ask(key, "reserve", {"owner": token, "request": request}, self.reserve_for)
        if granted is None:
            raise Unavailable("reserve was not answered", key=key)
        if granted.wire.status == 200:
            return finished(granted.body["response"], True)
        if granted.wire.status != 201:
            raise refusal(key, granted)
        job = Job(key, token, granted, self)
        if job.lease_left <= 0:
            self.ask(key, "release", job.call(reason=_TOO_LATE), self.settle_for)
            raise Unavailable(_TOO_LATE, key=key)
        renewal = threading.Thread(target=job.renew, name=f"pawl renews {key}", daemon=True)
        renewal.start()
        try:
            return self._carry_out(job, work)
        finally:
            job.halt()
            renewal.join()

    def _carry_out(self, job: Job, work: Callable[[Job], Reply]) -> Finished:
        try:
            response = response_of(work(job))
        except NotExecuted as error:
            self.ask(job.key, "release", job.call(reason=printable(str(error))), self.settle_for)
            raise
        except Exception as error:
            raise work_failed(job, error) from error
        said = self.ask(job.key, "complete", job.call(response=response), self.settle_for)
        if said is None or said.wire.status != 200:
            raise not_recorded(job, said)
        return finished(response, False)

    def ask(self, key: str, verb: str, body: Mapping[str, Any], seconds: float) -> Optional[Said]:
        """One call, repeated as it is while it is not answered: what is done already is not done again."""
        end = self.clock.now() + seconds
        tries = 0
        while True:
            tries += 1
            said = self.once(key, verb, body, end - self.clock.now())
            if said is not None and said.settled:
                return said
            wait = self.wait_after(tries, said, end)
            if wait is None:
                return None
            self.sleep(wait)


class AsyncJob(Hold):
    """A granted key in the hands of a coroutine, which is cancelled when the lease is lost."""

    def __init__(self, key: str, owner: str, granted: Said, consumer: "AsyncConsumer") -> None:
        super().__init__(key, owner, granted, consumer)
        #: Set when the lease is lost.
        self.lost = asyncio.Event()
        self._consumer = consumer
        self.task: Optional["asyncio.Future[Any]"] = None

    def on_loss(self) -> None:
        self.lost.set()
        if self.task is not None:
            self.task.cancel()

    async def advance(self, recovery_point: str) -> None:
        """Keeps the next recovery point. A step has a name of its own."""
        said = await self._consumer.ask(self.key, "advance", self.step(recovery_point), self.lease_left)
        self.stepped(recovery_point, said)

    async def renew(self) -> None:
        pause = self.first_pause()
        while self.loss is None:
            await asyncio.sleep(pause)
            if self.lease_left <= 0:
                return self.lose("the lease was not renewed in time")
            said = await asyncio.to_thread(self._consumer.once, self.key, "renew", self.call(), self.renewal_timeout())
            pause = self.renewed(said)


@dataclass(frozen=True)
class AsyncConsumer(KeyApi):
    """The same for asyncio."""

    sleep: Callable[[float], Any] = asyncio.sleep

    async def run(
        self, key: str, request: Any, work: Callable[[AsyncJob], Awaitable[Reply]], *, owner: Optional[str] = None
    ) -> Finished:
        token = owner or new_owner()
        granted = await self.ask(key, "reserve", {"owner": token, "request": request}, self.reserve_for)
        if granted is None:
            raise Unavailable("reserve was not answered", key=key)
        if granted.wire.status == 200:
            return finished(granted.body["response"], True)
        if granted.wire.status != 201:
            raise refusal(key, granted)
        job = AsyncJob(key, token, granted, self)
        if job.lease_left <= 0:
            await self.ask(key, "release", job.call(reason=_TOO_LATE), self.settle_for)
            raise Unavailable(_TOO_LATE, key=key)
        renewal = asyncio.ensure_future(job.renew())
        try:
            return await self._carry_out(job, work)
        finally:
            renewal.cancel()

    async def _carry_out(self, job: AsyncJob, work: Callable[[AsyncJob], Awaitable[Reply]]) -> Finished:
        job.task = asyncio.ensure_future(work(job))
        try:
            response = response_of(await job.task)
        except asyncio.CancelledError as error:
            if job.loss is None:  # cancelled from outside: what it had done is not known, and nothing is said
                job.task.cancel()
                raise
            raise work_failed(job, error) from error
        except NotExecuted as error:
            await self._to_the_end(self.ask(job.key, "release", job.call(reason=printable(str(error))), self.settle_for))
            raise
        except Exception as error:
            raise work_failed(job, error) from error
        finally:
            job.task = None
        said = await self._to_the_end(self.ask(job.key, "complete", job.call(response=response), self.settle_for))
        if said is None or said.wire.status != 200:
            raise not_recorded(job, said)
        return finished(response, False)

    async def _to_the_end(self, settling: Coroutine[Any, Any, Optional[Said]]) -> Optional[Said]:
        """What is done must be recorded: who is cancelled meanwhile is so afterwards."""
        task = asyncio.ensure_future(settling)
        cancelled: Optional[asyncio.CancelledError] = None
        while not task.done():
            try:
                await asyncio.shield(task)
            except asyncio.CancelledError as error:
                if task.cancelled():
                    raise
                cancelled = error
        if cancelled is not None:
            raise cancelled
        return task.result()

    async def ask(self, key: str, verb: str, body: Mapping[str, Any], seconds: float) -> Optional[Said]:
        end = self.clock.now() + seconds
        tries = 0
        while True:
            tries += 1
            said = await asyncio.to_thread(self.once, key, verb, body, end - self.clock.now())
            if said is not None and said.settled:
                return said
            wait = self.wait_after(tries, said, end)
            if wait is None:
                return None
            await self.sleep(wait)
