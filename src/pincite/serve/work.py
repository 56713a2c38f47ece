"""Threads that work for several callers, in turns: nobody waits because another asks much."""

from __future__ import annotations

import asyncio
import contextvars
import time
from collections import deque
from collections.abc import Callable, Generator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from functools import partial
from threading import Lock
from typing import Any, ParamSpec, TypeVar

from pincite.encode.encoders import ASKER
from pincite.serve.errors import overloaded, took_too_long

P = ParamSpec("P")
T = TypeVar("T")


class _QueuedCall:
    """One piece of work: a call or, where the call returns a generator, the steps of that."""

    __slots__ = ("call", "context", "ended", "is_given_up", "is_part", "owner", "seconds", "steps")

    def __init__(
        self,
        owner: str,
        call: Callable[[], Any],
        ended: Callable[[_QueuedCall, Any, BaseException | None], None],
        *,
        is_part: bool,
    ) -> None:
        self.owner, self.call = owner, call
        self.context = contextvars.copy_context()
        self.context.run(ASKER.set, owner)
        self.ended = ended  # told once what came of it
        self.is_part = is_part  # of something that was let in before
        self.is_given_up = False
        self.seconds = 0.0
        self.steps: Generator[Any, Any, Any] | None = None

    def step(self) -> tuple[Any, BaseException | None] | None:
        """Work until somebody else may have a turn; return what came of it if this is done."""
        try:
            if self.steps is None:
                result = None if self.is_given_up else self.context.run(self.call)
                if not isinstance(result, Generator):
                    return result, None
                self.steps = result
            if not self.is_given_up:
                self.context.run(next, self.steps)
                return None
            self.steps.close()
            return None, None
        except StopIteration as end:
            return end.value, None
        except BaseException as problem:  # whoever waits is told
            return None, problem


class _FairQueue:
    """Pieces that wait. Next is whoever has the fewest running, of these who had the least time."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._waiting: dict[str, deque[_QueuedCall]] = {}
        self._running: dict[str, int] = {}
        self._spent: dict[str, float] = {}  # seconds; who comes back begins where the others are
        self._now = 0.0

    def put(self, piece: _QueuedCall) -> None:
        with self._lock:
            owner = piece.owner
            if owner not in self._waiting:
                self._waiting[owner] = deque()
                self._spent[owner] = max(self._spent.get(owner, 0.0), self._now)
            if piece.is_part:  # what was begun ends before something else begins
                self._waiting[owner].appendleft(piece)
            else:
                self._waiting[owner].append(piece)

    def take(self) -> _QueuedCall | None:
        with self._lock:
            if not self._waiting:
                return None
            owner = min(self._waiting, key=lambda o: (self._running.get(o, 0), self._spent[o]))
            piece = self._waiting[owner].popleft()
            self._forget_if_none(owner)
            self._now = max(self._now, self._spent[owner])
            self._running[owner] = self._running.get(owner, 0) + 1
            return piece

    def ended(self, owner: str, seconds: float) -> None:
        """Note that a piece, or a step of it, took so long."""
        with self._lock:
            self._spent[owner] = self._spent.get(owner, 0.0) + seconds
            self._running[owner] -= 1
            if not self._running[owner]:
                del self._running[owner]
            idle = [o for o in self._spent if o not in self._waiting and o not in self._running]
            for each in idle:
                if self._spent[each] <= self._now or not self._waiting:
                    del self._spent[each]

    def shed_for(self, owner: str) -> _QueuedCall | None:
        """Take out the newest piece of who has most waiting, if that is more than this owner has.

        What was let in before stays.
        """
        with self._lock:
            if not self._waiting:
                return None
            most = max(self._waiting, key=lambda each: len(self._waiting[each]))
            if len(self._waiting[most]) <= len(self._waiting.get(owner, ())) + 1:
                return None
            for piece in reversed(self._waiting[most]):
                if not piece.is_part:
                    self._waiting[most].remove(piece)
                    self._forget_if_none(most)
                    return piece
            return None

    def _forget_if_none(self, owner: str) -> None:
        if not self._waiting[owner]:
            del self._waiting[owner]


class Work:
    """A pool of threads with a bounded queue, fair by owner; called from the event loop alone.

    Work that returns a generator takes turns with that of others between its steps; its answer is
    what the generator returns.
    """

    def __init__(self, name: str, threads: int, queue: int) -> None:
        self.name = name
        self.most = threads + queue
        self.pending = 0  # running and waiting
        self.shed = 0
        self._threads = threads
        self._seconds = 0.05  # of one piece of work lately, to tell when to come back
        self._queue = _FairQueue()
        self._pool = ThreadPoolExecutor(threads, thread_name_prefix=f"pincite-{name}")

    async def run(
        self, owner: str, seconds: float, work: Callable[P, T], *args: P.args, **kwargs: P.kwargs
    ) -> T:
        """Return what the work returns; ServiceError if there is no room or no time for it."""
        future = self.submit(owner, work, *args, **kwargs)
        try:
            async with asyncio.timeout(seconds or None):
                return await future
        except TimeoutError:
            if not future.cancelled():
                raise  # of the work itself
            raise took_too_long(seconds) from None
        finally:
            future.cancel()  # what nobody waits for is not begun, nor gone on with

    def submit(
        self, owner: str, work: Callable[P, T], *args: P.args, **kwargs: P.kwargs
    ) -> asyncio.Future[T]:
        """Begin the work, or refuse it; the answer can be cancelled as long as it waits.

        Where there is no room, the newest work of who has most waiting makes some.
        """
        if self.pending >= self.most:
            self.shed += 1
            refusal = overloaded(max(1.0, self._seconds * self.pending / self._threads))
            other = self._queue.shed_for(owner)
            if other is None:
                raise refusal
            other.ended(other, None, refusal)
        return self._begin(owner, partial(work, *args, **kwargs))

    def go_on(
        self, owner: str, work: Callable[P, T], *args: P.args, **kwargs: P.kwargs
    ) -> asyncio.Future[T]:
        """Begin a part of something that was let in before: it is never refused."""
        return self._begin(owner, partial(work, *args, **kwargs), is_part=True)

    def _begin(
        self, owner: str, call: Callable[[], Any], *, is_part: bool = False
    ) -> asyncio.Future[Any]:
        loop = asyncio.get_running_loop()
        answer: asyncio.Future[Any] = loop.create_future()

        def tell(piece: _QueuedCall, result: Any, error: BaseException | None) -> None:
            self.pending -= 1
            if piece.seconds:
                self._seconds += (piece.seconds - self._seconds) / 20
            if answer.done():
                return
            if error is None:
                answer.set_result(result)
            elif isinstance(error, StopIteration | asyncio.CancelledError):  # no future takes them
                answer.cancel()
            else:
                answer.set_exception(error)

        def ended(piece: _QueuedCall, result: Any, error: BaseException | None) -> None:
            with suppress(RuntimeError):  # the loop has ended, and its counts with it
                loop.call_soon_threadsafe(tell, piece, result, error)

        def give_up(answer: asyncio.Future[Any]) -> None:
            piece.is_given_up = answer.cancelled()

        piece = _QueuedCall(owner, call, ended, is_part=is_part)
        self.pending += 1
        answer.add_done_callback(give_up)
        self._queue.put(piece)
        self._pool.submit(self._turn)
        return answer

    def _turn(self) -> None:
        """Give whoever is next a turn; there is one call of this for every piece that waits."""
        piece = self._queue.take()
        if piece is None:
            return  # one was shed
        started = time.monotonic()
        outcome = piece.step()
        took = time.monotonic() - started
        piece.seconds += took
        self._queue.ended(piece.owner, took)
        if outcome is not None:
            piece.ended(piece, *outcome)
            return
        self._queue.put(piece)
        with suppress(RuntimeError):  # the service stops
            self._pool.submit(self._turn)

    def close(self) -> None:
        """Let what was begun come to its end; nothing else is begun."""
        self._pool.shutdown(wait=False, cancel_futures=True)
        while piece := self._queue.take():
            piece.ended(piece, None, asyncio.CancelledError())
