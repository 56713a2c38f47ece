"""Long work on several machines: one function over many pieces, as tasks of Ray.

Ray schedules, moves bytes between nodes and repeats what was lost; here is only what Pincite adds:
a bounded number of pieces under way, results in the order of the pieces, and one clear error when
a node does not fit. Functions are named, not sent: nodes have the same Pincite as the parent.
Ray is imported only when the settings name a cluster.
"""

from __future__ import annotations

import logging
import os
import platform
import socket
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from functools import cache
from hashlib import sha256
from importlib import import_module
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any, Generic, NamedTuple, TypeVar

from pincite.model.errors import ClusterError, ConfigError, PinciteError, require
from pincite.model.settings import ClusterSettings

# Enough that no processor waits for the parent, few enough that little is lost or held.
PIECES_PER_CPU = 4
BYTES_UNDER_WAY = 64_000_000
# Nodes come and go: how often they are counted, and how long none may be there.
COUNT_SECONDS = 2.0
PATIENCE_SECONDS = 30.0
CONNECT_SECONDS = 5.0
RETRIES = 3  # how often a task is given to another node after its own was lost
OBJECT_STORE_MB = 200  # shared memory of a "local" Ray; what does not fit is kept on disk
# What a result depends on, besides Pincite's own code.
LIBRARIES = (
    *("lxml", "markdown-it-py", "numpy", "onnxruntime", "pypdfium2", "PyStemmer"),
    *("rapidfuzz", "rapidocr", "regex", "selectolax", "tokenizers"),
)

Kept = TypeVar("Kept")
LOST = object()  # takes the place of a result whose nodes were lost once too often


class WorkPiece(NamedTuple, Generic[Kept]):
    """Some work: what it is known by, and what the function gets; without arguments, nothing."""

    kept: Kept
    arguments: tuple[Any, ...] | None
    size: int = 0  # bytes that are held meanwhile


@contextmanager
def connected(settings: ClusterSettings) -> Iterator[Cluster | None]:
    """Give the cluster that the settings name; None without one. A connection is made once."""
    if not settings.address:
        yield None
        return
    if settings.address == "local":
        # What is started here is for this machine alone, and tells nobody.
        os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
        os.environ.setdefault("RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER", "0")
    ray = require("ray", extra="ray")
    is_ours = not ray.is_initialized()
    if is_ours:
        _connect(ray, settings)
    try:
        yield Cluster(ray, settings)
    finally:
        if is_ours:
            ray.shutdown()


def _check_reachable(address: str) -> None:
    """Raise an error at once for what Ray itself would wait for in vain, for minutes."""
    if address in ("auto", "local"):
        return
    host, _, port = address.removeprefix("ray://").rpartition(":")
    if not host or not port.isdecimal():
        raise ConfigError(
            f"cluster.address = {address!r} is no address",
            hint='one of "auto", "local", "host:6379", "ray://host:10001"',
        )
    try:
        socket.create_connection((host, int(port)), timeout=CONNECT_SECONDS).close()
    except (OSError, OverflowError) as error:
        raise _absent(address, error) from error


def _connect(ray: Any, settings: ClusterSettings) -> None:
    _check_reachable(settings.address)
    more: dict[str, Any] = {}
    if settings.address == "local":
        size = OBJECT_STORE_MB * 1_000_000
        more = {"include_dashboard": False, "object_store_memory": size}
    try:
        ray.init(settings.address, logging_level=logging.ERROR, log_to_driver=False, **more)
    except (ray.exceptions.RayError, OSError, RuntimeError, ValueError) as error:
        raise _absent(settings.address, error) from error


def _absent(address: str, error: Exception) -> ClusterError:
    reason = str(error).strip().partition("\n")[0]
    return ClusterError(
        f"no Ray cluster at cluster.address = {address!r}: {reason}",
        hint="start one (ray start --head), or leave cluster.address empty",
    )


class Cluster:
    """A connection to Ray."""

    def __init__(self, ray: Any, settings: ClusterSettings) -> None:
        self._ray = ray
        # A task that fails by an error of its own would fail again; a lost one need not.
        self._task = ray.remote(_task()).options(max_retries=RETRIES)
        self._counted = (-COUNT_SECONDS, 0)

    def distribute(
        self, function: Callable[..., Any], pieces: Iterable[WorkPiece[Kept]]
    ) -> Iterator[tuple[Kept, Any]]:
        """Yield what each piece is known by with what the function returns for it, in order."""
        for kept, result in self.attempt(function, pieces):
            if result is LOST:
                raise ClusterError(
                    f"{function.__name__}: every node that tried was lost",
                    hint="look at the nodes' memory; the same command goes on where it was",
                )
            yield kept, result

    def attempt(
        self, function: Callable[..., Any], pieces: Iterable[WorkPiece[Kept]]
    ) -> Iterator[tuple[Kept, Any]]:
        """Yield the same, with LOST for what was lost more often than ``RETRIES``.

        Pieces are asked for only as fast as they are done.
        """
        name = f"{function.__module__}:{function.__qualname__}"
        waiting: deque[tuple[WorkPiece[Kept], Any]] = deque()
        for piece in pieces:
            given = piece.arguments
            task = None if given is None else self._task.remote(name, facts(), *given)
            waiting.append((piece, task))
            while waiting and (task is None or self._is_full(waiting)):
                yield self._first(waiting)
        while waiting:
            yield self._first(waiting)
        # Given up halfway, the few pieces under way end by themselves or with the connection:
        # to cancel a task that is just finishing makes Ray 2.60 abort the whole program.

    def cpus(self) -> int:
        """Return how many processors the cluster has by now."""
        when, count = self._counted
        if time.monotonic() - when >= COUNT_SECONDS:
            count = int(self._ray.cluster_resources().get("CPU", 0))
            self._counted = time.monotonic(), count
        return count

    def _is_full(self, waiting: deque[tuple[WorkPiece[Kept], Any]]) -> bool:
        held = sum(piece.size for piece, _ in waiting)
        return held >= BYTES_UNDER_WAY or len(waiting) >= PIECES_PER_CPU * max(1, self.cpus())

    def _first(self, waiting: deque[tuple[WorkPiece[Kept], Any]]) -> tuple[Kept, Any]:
        piece, task = waiting.popleft()
        return piece.kept, None if task is None else self._result(task)

    def _result(self, task: Any) -> Any:
        errors = self._ray.exceptions
        lost = (
            *(errors.WorkerCrashedError, errors.NodeDiedError),
            *(errors.ObjectLostError, errors.OutOfMemoryError),
        )
        while True:
            try:
                return self._ray.get(task, timeout=PATIENCE_SECONDS)
            except errors.GetTimeoutError:
                if not self.cpus():
                    raise ClusterError(
                        f"the cluster has had no node with a processor for {PATIENCE_SECONDS:g} s",
                        hint="start nodes (ray start --address=HEAD); the same command goes on",
                    ) from None
            except errors.RayTaskError as error:
                raise _own_error(error.cause) from error
            except lost:
                return LOST
            except errors.RayError as error:
                raise ClusterError(
                    f"the cluster failed: {str(error).strip().partition(chr(10))[0]}",
                    hint="the same command goes on where it was; see the logs of Ray",
                ) from error


_SAME = "install the same Pincite with the same extras on all nodes, e.g. from one container image"


def _own_error(cause: BaseException) -> PinciteError:
    """Return what went wrong inside a task."""
    if isinstance(cause, PinciteError):
        return cause
    if isinstance(cause, ImportError):
        return ClusterError(f"a node cannot use Pincite: {cause}", hint=_SAME)
    return ClusterError(
        f"a task failed on its node: {type(cause).__name__}: {cause}",
        hint="this is a mistake in Pincite; please report it",
    )


def _task() -> Callable[..., Any]:
    """Return what a node runs; being inside a function, it is sent whole and needs no Pincite."""

    def run(name: str, needed: dict[str, str], *arguments: Any) -> Any:
        import importlib

        here = importlib.import_module("pincite.cluster")
        here.check_same(needed)
        return here.named(name)(*arguments)

    return run


def node_name() -> str:
    """On a node: return its name, with what tells it from others of this machine."""
    ray = require("ray", extra="ray")
    return f"{platform.node()}/{ray.get_runtime_context().get_node_id()[:6]}"


def named(name: str) -> Callable[..., Any]:
    """Return a function by its module and name.

    >>> named("posixpath:basename")("a/b")
    'b'
    """
    module, _, attribute = name.partition(":")
    function: Callable[..., Any] = getattr(import_module(module), attribute)
    return function


def check_same(needed: dict[str, str]) -> None:
    """On a node: raise ClusterError if its results could be others than the parent's.

    >>> check_same(facts())
    """
    for name, wanted in needed.items():
        own = facts().get(name, "")
        if own != wanted:
            differ = f"has {name} {own or '(none)'} and the parent {wanted or '(none)'}"
            raise ClusterError(f"the node {node_name()} {differ}", hint=_SAME)


@cache
def facts() -> dict[str, str]:
    """Return the versions of what results depend on; Pincite's with a hash of its code."""
    package = import_module("pincite")
    home = Path(str(package.__file__)).parent
    code = sha256()
    for file in sorted(home.rglob("*")):
        if file.suffix in (".py", ".toml"):
            code.update(file.relative_to(home).as_posix().encode() + b"\0" + file.read_bytes())
    return {"Pincite": f"{package.__version__} ({code.hexdigest()[:8]})"} | {
        name: _version(name) for name in LIBRARIES
    }


def _version(name: str) -> str:
    try:
        return version(name)
    except PackageNotFoundError:
        return ""
