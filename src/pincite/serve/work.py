"""Blocking work in a bounded number of threads: the event loop never waits, the queue never grows.

What finds the queue full is refused at once; what is not done in time is given up. A thread cannot
be stopped, so work that was given up keeps its thread until it ends, and its place is counted.
"""

from __future__ import annotations

import asyncio
import contextvars
import time
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from functools import partial
from typing import Any, ParamSpec, TypeVar

from pincite.serve.errors import overloaded, took_too_long

P = ParamSpec("P")
T = TypeVar("T")


class Work:
    """A pool of threads with a bounded queue; called from the event loop alone."""

    def __init__(self, name: str, threads: int, queue: int) -> None:
        self.name = name
        self.most = threads + queue
        self.pending = 0  # running and waiting
        self.shed = 0
        self._threads = threads
        self._seconds = 0.05  # of one piece of work lately, to tell when to come back
        self._pool = ThreadPoolExecutor(threads, thread_name_prefix=f"pincite-{name}")

    async def run(
        self, seconds: float, work: Callable[P, T], *args: P.args, **kwargs: P.kwargs
    ) -> T:
        """Return what the work returns; ServiceError if there is no room or no time for it."""
        future = self.submit(work, *args, **kwargs)
        try:
            return await asyncio.wait_for(asyncio.shield(future), seconds or None)
        except TimeoutError:
            if not future.done():
                future.cancel()
                raise took_too_long(seconds) from None
            raise
        except asyncio.CancelledError:
            future.cancel()  # what nobody waits for is not begun
            raise

    def submit(self, work: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> asyncio.Future[T]:
        """Begin the work, or refuse it; the answer can be cancelled as long as it waits."""
        if self.pending >= self.most:
            self.shed += 1
            raise overloaded(max(1.0, self._seconds * self.pending / self._threads))
        return self.go_on(work, *args, **kwargs)

    def go_on(self, work: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> asyncio.Future[T]:
        """Begin a part of something that was let in before: it is never refused."""
        self.pending += 1
        loop = asyncio.get_running_loop()
        context = contextvars.copy_context()
        begun: list[float] = []
        call: Callable[[], T] = partial(work, *args, **kwargs)

        def timed() -> T:
            begun.append(time.monotonic())
            return context.run(call)

        inner = self._pool.submit(timed)

        def ended(done: Future[T]) -> None:
            took = time.monotonic() - begun[0] if begun else None
            with suppress(RuntimeError):  # the loop has ended, and its counts with it
                loop.call_soon_threadsafe(self._ended, took)

        inner.add_done_callback(ended)
        return asyncio.wrap_future(inner)

    def _ended(self, took: float | None) -> None:
        self.pending -= 1
        if took is not None:
            self._seconds += (took - self._seconds) / 20

    def close(self) -> None:
        """Let what was begun come to its end; nothing else is begun."""
        self._pool.shutdown(wait=False, cancel_futures=True)


def forget(future: asyncio.Future[Any]) -> None:
    """Take note of an error that nobody waits for."""
    if not future.cancelled():
        future.exception()
