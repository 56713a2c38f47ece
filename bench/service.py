"""The service under load: `python bench/service.py --seconds 60`. Prints one JSON object.

One server process on this machine, its clients beside it on the same processors. So many clients
search and so many read streamed answers, each asking again as soon as it was answered, while
documents come and go in the index. Then more clients come than the queue has room for.

    alone       a single client: median and 95th percentile of a search and of a whole answer
    crowd       all clients: requests, errors, percentiles, and the 95th as a multiple of alone
    memory      resident megabytes of the server after each tenth of the time
    generations how many generations were served meanwhile, and how many swaps were made
    overload    answered, refused with 503 and Retry-After, anything else; how soon refused
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from pincite.read.load import find_files
from pincite.update import embed_index, ingest_files, remove

ROOT = Path(__file__).parents[1]
STREAM = "Accept: text/event-stream\r\n"


@dataclass
class Tally:
    """What clients met: statuses, seconds of the good ones, and generations seen."""

    statuses: Counter[str] = field(default_factory=Counter)
    seconds: list[float] = field(default_factory=list)
    refused: list[float] = field(default_factory=list)
    generations: set[int] = field(default_factory=set)

    @property
    def errors(self) -> int:
        return sum(count for name, count in self.statuses.items() if name != "200")


def percentile(values: Sequence[float], share: float) -> float:
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(share * len(ordered)))] if ordered else 0.0


class Client:
    """One connection that is kept open; as little of HTTP as it takes."""

    def __init__(self, port: int) -> None:
        self.port = port
        self._pair: tuple[asyncio.StreamReader, asyncio.StreamWriter] | None = None

    async def post(
        self, path: str, body: dict[str, Any], extra: str = ""
    ) -> tuple[int, str, bytes]:
        """Return status, head and body of an answer."""
        if self._pair is None:
            self._pair = await asyncio.open_connection("127.0.0.1", self.port)
        reader, writer = self._pair
        data = json.dumps(body).encode()
        head = f"POST {path} HTTP/1.1\r\nHost: localhost\r\n{extra}"
        head += f"Content-Type: application/json\r\nContent-Length: {len(data)}\r\n\r\n"
        writer.write(head.encode() + data)
        await writer.drain()
        answer = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").lower()
        status = int(answer.split(" ", 2)[1])
        if "transfer-encoding: chunked" in answer:
            return status, answer, await _chunks(reader)
        length = int(answer.partition("content-length: ")[2].partition("\r\n")[0] or 0)
        return status, answer, await reader.readexactly(length)

    async def close(self) -> None:
        if self._pair is not None:
            self._pair[1].close()
            self._pair = None


async def _chunks(reader: asyncio.StreamReader) -> bytes:
    found = bytearray()
    while size := int(await reader.readline(), 16):
        found += (await reader.readexactly(size + 2))[:-2]
    await reader.readline()
    return bytes(found)


async def one(client: Client, tally: Tally, question: str, *, is_stream: bool) -> None:
    """Ask one question and note what came of it."""
    started = time.perf_counter()
    try:
        if is_stream:
            body: dict[str, Any] = {"question": question}
            status, head, data = await client.post("/v1/ask", body, STREAM)
            is_whole = b"\nevent: complete\n" in data or status != 200
        else:
            body = {"query": question, "k": 5}
            status, head, data = await client.post("/v1/search", body)
            is_whole = True
            if status == 200:
                tally.generations.add(json.loads(data)["generation"])
    except (OSError, asyncio.IncompleteReadError, ValueError) as error:
        tally.statuses[type(error).__name__] += 1
        await client.close()
        return
    took = time.perf_counter() - started
    if status == 503 and "retry-after" in head:
        tally.refused.append(took)
    tally.statuses[str(status) if is_whole else "broken stream"] += 1
    if status == 200 and is_whole:
        tally.seconds.append(took)


async def crowd(
    port: int, questions: Sequence[str], count: int, until: float, *, is_stream: bool
) -> Tally:
    """Let many clients ask until the time is up."""
    tally = Tally()

    async def ask(number: int) -> None:
        client = Client(port)
        turn = number
        while time.monotonic() < until:
            await one(client, tally, questions[turn % len(questions)], is_stream=is_stream)
            turn += count
        await client.close()

    await asyncio.gather(*(ask(number) for number in range(count)))
    return tally


async def alone(port: int, questions: Sequence[str], *, is_stream: bool) -> Tally:
    tally, client = Tally(), Client(port)
    for question in questions[:30]:
        await one(client, tally, question, is_stream=is_stream)
    await client.close()
    return tally


def megabytes(pid: int) -> float:
    """Return the resident memory of a process."""
    for line in Path(f"/proc/{pid}/status").read_text().splitlines():
        if line.startswith("VmRSS:"):
            return int(line.split()[1]) / 1024
    return 0.0


async def watch(pid: int, until: float, seconds: float) -> list[float]:
    found = []
    while time.monotonic() < until:
        found.append(round(megabytes(pid), 1))
        await asyncio.sleep(seconds / 10)
    return found


async def swap(folder: Path, extra: Path, until: float, pause: float) -> int:
    """Let a document come and go in the index until the time is up."""
    count = 0
    while time.monotonic() + pause < until:
        await asyncio.to_thread(lambda: list(ingest_files([(extra, "extra.md")], folder)))
        await asyncio.sleep(pause / 2)
        await asyncio.to_thread(remove, folder, ["extra.md"])
        await asyncio.sleep(pause / 2)
        count += 2
    return count


@contextmanager
def server(folder: Path, *sets: str, words: Sequence[str] = ()) -> Iterator[tuple[int, int]]:
    """Start `pincite serve`, with more words of its command line; gives its port and process."""
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        port = int(listener.getsockname()[1])
    program = [sys.executable, "-c", "from pincite.cli.main import run; run()", "serve"]
    chosen = ["--index", str(folder), "--port", str(port), *words]
    changed = [word for each in ("serve.rate_per_minute=0", *sets) for word in ("--set", each)]
    environment = {**os.environ, "PYTHONPATH": str(ROOT / "src")}
    process = subprocess.Popen(
        [*program, *chosen, *changed], env=environment, stderr=subprocess.DEVNULL
    )
    try:
        _wait(port, process)
        yield port, process.pid
    finally:
        process.send_signal(signal.SIGTERM)
        process.wait(60)


def _wait(port: int, process: subprocess.Popen[bytes]) -> None:
    until = time.monotonic() + 120
    while time.monotonic() < until and process.poll() is None:
        try:
            with socket.create_connection(("127.0.0.1", port), timeout=5) as opened:
                opened.sendall(b"GET /readyz HTTP/1.1\r\nHost: localhost\r\n\r\n")
                if b" 200 " in opened.recv(200):
                    return
        except OSError:
            time.sleep(0.1)
    raise SystemExit("the service does not start")


async def under_load(
    port: int, pid: int, folder: Path, questions: Sequence[str], args: argparse.Namespace
) -> dict[str, Any]:
    quiet = await alone(port, questions, is_stream=False)
    calm = await alone(port, questions, is_stream=True)
    extra = folder.parent / "extra.md"
    extra.write_text("# Extra\n\n## 9.9 Extra\n\nThis clause comes and goes.\n", encoding="utf-8")
    until = time.monotonic() + args.seconds
    searched, streamed, memory, swaps = await asyncio.gather(
        crowd(port, questions, args.searches, until, is_stream=False),
        crowd(port, questions, args.streams, until, is_stream=True),
        watch(pid, until, args.seconds),
        swap(folder, extra, until, args.swap_seconds),
    )
    return {
        "alone": {"search": _times(quiet), "answer": _times(calm)},
        "crowd": {
            "search": _figures(searched, quiet, args.seconds),
            "answer": _figures(streamed, calm, args.seconds),
        },
        "memory": memory,
        "generations": {"seen": len(searched.generations), "swaps": swaps},
    }


def _times(tally: Tally) -> dict[str, float]:
    half, most = percentile(tally.seconds, 0.5), percentile(tally.seconds, 0.95)
    return {"p50_ms": round(1000 * half, 1), "p95_ms": round(1000 * most, 1)}


def _figures(tally: Tally, quiet: Tally, seconds: float) -> dict[str, Any]:
    p95, single = percentile(tally.seconds, 0.95), percentile(quiet.seconds, 0.5)
    return {
        "requests": sum(tally.statuses.values()),
        "per_second": round(sum(tally.statuses.values()) / seconds, 1),
        "errors": tally.errors,
        "statuses": dict(tally.statuses),
        **_times(tally),
        "p95_is_times_alone": round(p95 / single, 1) if single else None,
    }


async def overload(
    port: int, questions: Sequence[str], clients: int, seconds: float
) -> dict[str, Any]:
    tally = await crowd(port, questions, clients, time.monotonic() + seconds, is_stream=False)
    answered, refused = tally.statuses["200"], len(tally.refused)
    return {
        "clients": clients,
        "answered": answered,
        "answered_p95_ms": round(1000 * percentile(tally.seconds, 0.95), 1),
        "refused": refused,
        "refused_p95_ms": round(1000 * percentile(tally.refused, 0.95), 1),
        "other": sum(tally.statuses.values()) - answered - refused,
    }


def measured(args: argparse.Namespace) -> dict[str, Any]:
    """Run everything and return the figures."""
    lines = (ROOT / "samples/questions.jsonl").read_text(encoding="utf-8").splitlines()
    questions = [json.loads(line)["question"] for line in lines]
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch) / "index"
        list(ingest_files(find_files([ROOT / "samples"]), folder))
        list(embed_index(folder))
        with server(folder) as (port, pid):
            found = asyncio.run(under_load(port, pid, folder, questions, args))
        with server(folder, "tuning.serve.queue=8", "serve.threads=2") as (port, _):
            found["overload"] = asyncio.run(
                overload(port, questions, args.searches // 2, min(5.0, args.seconds / 2))
            )
    return {"seconds": args.seconds, "load_average": os.getloadavg()[0], **found}


def arguments(words: Sequence[str] | None = None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--seconds", type=float, default=60.0)
    parser.add_argument("--searches", type=int, default=200)
    parser.add_argument("--streams", type=int, default=100)
    parser.add_argument("--swap-seconds", type=float, default=6.0)
    return parser.parse_args(words)


if __name__ == "__main__":
    print(json.dumps(measured(arguments()), indent=1))
