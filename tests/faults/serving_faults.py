"""Faults of a service: new generations under load, and restarts under load.

    python bench/faults.py swap --swaps 100 --queries 10000
    python bench/faults.py restart --times 200

Clients open a connection for each request, so that nothing is hidden by retries. An index has two
documents that always say the same version: an answer with two versions is a mixture.
"""

from __future__ import annotations

import asyncio
import json
import random
import re
import signal
import socket
import subprocess
import sys
import time
from collections import Counter, defaultdict
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from fault_workload import bring, scratch, small_segments

CLIENTS = 8
SETS = (
    "serve.rate_per_minute=0",
    "tuning.serve.reload_seconds=0.02",
    "search.preset=lexical",
    "tuning.serve.queue=1000",
)


def write(folder: Path, version: int) -> None:
    """Replace both documents, in one generation."""
    text = "# {}\n\nversion{} of the words\n"
    bring(folder, {name: text.format(name, version) for name in ("a.md", "b.md")})


@dataclass
class Tally:
    """What clients met."""

    whole: int = 0  # answered with 200, to the last byte
    refused: int = 0  # no byte came: the request was not accepted
    bad: Counter[str] = field(default_factory=Counter)  # anything else
    mixed: int = 0
    seconds: list[float] = field(default_factory=list)
    versions: dict[int, set[str]] = field(default_factory=lambda: defaultdict(set))

    def percentile(self, share: float) -> float:
        ordered = sorted(self.seconds)
        return ordered[min(len(ordered) - 1, int(share * len(ordered)))] if ordered else 0.0


async def ask(port: int, tally: Tally) -> None:
    """Search once on a connection of its own."""
    body = json.dumps({"query": "words", "k": 5}).encode()
    head = "POST /v1/search HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n"
    head += f"Content-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n"
    start, data = time.perf_counter(), b""
    try:
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        try:
            writer.write(head.encode() + body)
            await writer.drain()
            data = await reader.read()
        finally:
            writer.close()
    except OSError:
        pass
    note(data, time.perf_counter() - start, tally)


def note(data: bytes, seconds: float, tally: Tally) -> None:
    """Note what came of a request."""
    head, _, body = data.partition(b"\r\n\r\n")
    if not data:
        tally.refused += 1
        return
    length = re.search(rb"content-length: (\d+)", head.lower())
    if length is None or len(body) != int(length[1]):
        tally.bad["cut"] += 1
    elif b" 200 " not in head[:20]:
        tally.bad[head[:30].decode()] += 1
    else:
        tally.whole += 1
        tally.seconds.append(seconds)
        found = json.loads(body)
        versions = set(re.findall(r"version\d+", json.dumps(found["hits"])))
        tally.mixed += len(versions) != 1 or len(found["hits"]) != 2
        tally.versions[found["generation"]] |= versions


@contextmanager
def service(folder: Path, port: int, audit: Path) -> Iterator[subprocess.Popen[bytes]]:
    """Start `pincite serve`, which is ended at the latest when the block is."""
    program = [sys.executable, "-c", "from pincite.cli.main import run; run()", "serve"]
    chosen = ["--index", str(folder), "--port", str(port), "--audit-log", str(audit)]
    sets = [word for each in SETS for word in ("--set", each)]
    process = subprocess.Popen([*program, *chosen, *sets], stderr=subprocess.DEVNULL)
    try:
        yield process
    finally:
        if process.poll() is None:
            process.send_signal(signal.SIGTERM)
            process.wait(60)


def free_port() -> int:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return int(listener.getsockname()[1])


async def until_ready(port: int, process: subprocess.Popen[bytes]) -> float:
    """Wait until the service answers, and return how long that took."""
    start = time.monotonic()
    while time.monotonic() - start < 600:
        assert process.poll() is None, "the service does not start"
        tally = Tally()
        await ask(port, tally)
        if tally.whole:
            return time.monotonic() - start
        await asyncio.sleep(0.05)
    raise AssertionError("the service does not start")


@dataclass
class Swapped:
    swaps: int
    quiet: Tally
    loaded: Tally

    @property
    def failures(self) -> list[str]:
        found = [f"{count} x {what}" for what, count in self.loaded.bad.items()]
        found += [f"{self.loaded.refused} without an answer"] if self.loaded.refused else []
        found += [f"{self.loaded.mixed} mixed answers"] if self.loaded.mixed else []
        two = [number for number, seen in self.loaded.versions.items() if len(seen) != 1]
        return found + [f"generation {number} has two versions" for number in two]


async def _swap(folder: Path, port: int, swaps: int, queries: int) -> Swapped:
    quiet, loaded, made = Tally(), Tally(), 0
    for _ in range(min(300, queries)):
        await ask(port, quiet)
    done = asyncio.Event()

    async def search() -> None:
        while not done.is_set() or loaded.whole < queries:
            await ask(port, loaded)

    clients = [asyncio.create_task(search()) for _ in range(CLIENTS)]
    for number in range(1, swaps + 1):
        await asyncio.to_thread(write, folder, number)
        made += 1
        while loaded.whole < queries * number // swaps:  # spread over all queries
            await asyncio.sleep(0.01)
    done.set()
    await asyncio.gather(*clients)
    return Swapped(made, quiet, loaded)


def swap(swaps: int, queries: int) -> Swapped:
    """Commit generations while clients search a real service."""
    with scratch() as home, small_segments():
        write(home / "index", 0)
        port = free_port()
        with service(home / "index", port, home / "audit.jsonl") as process:
            asyncio.run(until_ready(port, process))
            return asyncio.run(_swap(home / "index", port, swaps, queries))


@dataclass
class Restarted:
    times: int = 0
    tally: Tally = field(default_factory=Tally)
    ready: list[float] = field(default_factory=list)
    drained: list[float] = field(default_factory=list)
    codes: Counter[int] = field(default_factory=Counter)
    logged: int = 0  # requests that services say they answered

    @property
    def failures(self) -> list[str]:
        found = [f"{count} x {what}" for what, count in self.tally.bad.items()]
        if self.logged != self.tally.whole:
            found.append(f"{self.logged} answers given, {self.tally.whole} came")
        found += [f"exit code {code}" for code in self.codes if code not in (0, -signal.SIGTERM)]
        return found


async def _until_end(port: int, process: subprocess.Popen[bytes], found: Restarted) -> None:
    """Search with many clients, end the service meanwhile, and wait until it is gone."""
    ended = asyncio.Event()

    async def search() -> None:
        while not ended.is_set():
            before = found.tally.refused
            await ask(port, found.tally)
            if found.tally.refused > before:
                await asyncio.sleep(0.02)  # nobody is there: it is over, or nearly

    clients = [asyncio.create_task(search()) for _ in range(CLIENTS)]
    await asyncio.sleep(random.uniform(0.05, 0.5))
    start = time.monotonic()
    process.send_signal(signal.SIGTERM)
    found.codes[await asyncio.to_thread(process.wait, 60)] += 1
    found.drained.append(time.monotonic() - start)
    ended.set()
    await asyncio.gather(*clients)


def restart(times: int) -> Restarted:
    """End a service under load so many times; what it accepted it has to answer."""
    found = Restarted()
    with scratch() as home, small_segments():
        write(home / "index", 0)
        audit = home / "audit.jsonl"
        for _ in range(times):
            port = free_port()
            with service(home / "index", port, audit) as process:
                before = _logged(audit)
                found.ready.append(asyncio.run(until_ready(port, process)))
                probes = _logged(audit) - before
                asyncio.run(_until_end(port, process, found))
                found.logged += _logged(audit) - before - probes
            found.times += 1
    return found


def _logged(audit: Path) -> int:
    """Return how many searches the audit log says were answered."""
    if not audit.exists():
        return 0
    lines = map(json.loads, audit.read_text().splitlines())
    return sum(line.get("status") == 200 for line in lines)


def swap_report(found: Swapped) -> str:
    seen = len(found.loaded.versions)
    return (
        f"{found.swaps} swaps during {found.loaded.whole} queries; {seen} generations were seen; "
        f"{sum(found.loaded.bad.values()) + found.loaded.refused} errors, {found.loaded.mixed} "
        f"mixed; p50 {found.quiet.percentile(0.5) * 1000:.0f} ms alone, "
        f"p50 {found.loaded.percentile(0.5) * 1000:.0f} ms and p99 "
        f"{found.loaded.percentile(0.99) * 1000:.0f} ms with {CLIENTS} clients and swaps"
    )


def restart_report(found: Restarted) -> str:
    return (
        f"{found.times} restarts; {found.tally.whole} answered whole, "
        f"{sum(found.tally.bad.values())} cut or failed, {found.tally.refused} not accepted; "
        f"ready within {max(found.ready):.1f} s, ended within {max(found.drained):.1f} s"
    )
