"""Does the service stay what it is for an hour? `python bench/soak.py --minutes 60`.

A real `pincite serve` on loopback, and clients beside it that search, ask, show, look up cells,
re-rank, call tools as an agent does, upload documents (each is searched for when it is in) and take
them out again, while somebody else ingests into the same folder. The number of documents stays the
same, so whatever grows is a leak.

    soak.jsonl    a line for each sample (every 5 s: memory, descriptors, threads of each process
                  of the service), each minute (requests, errors, percentiles by kind), the summary
    soak.html     the same as plots

Descriptors come and go with the segments of an index: 3 of each of them, 8 of which become one. So
it is the floor that counts: memory and descriptors are flat if the lowest tenth of the last quarter
is at most 5 % above that of the first quarter after warming up (3 minutes or a fifth of the time).
Exit code 1 if anything failed, leaked or was too slow.
"""

from __future__ import annotations

import argparse
import asyncio
import itertools
import json
import os
import random
import sys
import tempfile
import time
from collections import Counter, defaultdict
from collections.abc import Awaitable, Callable, Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TextIO

import httpx

from pincite.model.errors import IndexBusy
from pincite.read.load import find_files
from pincite.update import embed_index, ingest_files, remove
from service import percentile, server
from soak_report import KINDS, page, summary

ROOT = Path(__file__).parents[1]
SAMPLE_SECONDS = 5.0
# Children that read a file or draw a page live shorter than this and are not the service.
LASTING_SECONDS = 30.0
# How many clients do each; they wait a little between requests, as people do.
CLIENTS = {"search": 6, "ask": 3, "show": 1, "cell": 1, "rerank": 1, "agent": 1, "upload": 2}
PLACES = ("250.56(B)", "210.8(A)(2)", "Table 250.66", "250.52", "Grabbed")
ROOM = 12  # so many uploaded documents there are at a time


@dataclass
class Record:
    """What happened so far, and the file that keeps it."""

    stream: TextIO
    started: float = field(default_factory=time.monotonic)
    seconds: dict[str, list[float]] = field(default_factory=lambda: defaultdict(list))
    errors: Counter[str] = field(default_factory=Counter)
    generations: set[int] = field(default_factory=set)
    samples: list[dict[str, Any]] = field(default_factory=list)
    minutes: list[dict[str, Any]] = field(default_factory=list)
    requests: int = 0

    def write(self, kind: str, **values: Any) -> dict[str, Any]:
        line = {"kind": kind, "second": round(time.monotonic() - self.started, 1), **values}
        self.stream.write(json.dumps(line) + "\n")
        self.stream.flush()
        return line


class Broken(Exception):
    """An answer that is not what it has to be."""


def expect(is_so: bool, what: str) -> None:
    if not is_so:
        raise Broken(what)


def name_of(number: int) -> str:
    return f"soak-{number}.md"


def document(number: int, questions: Sequence[str], dice: random.Random) -> bytes:
    """Return a document that holds a word which no other has."""
    parts = [
        f"## {part} Part {part}\n\n{dice.choice(questions)} zanzibar{number} {part}."
        for part in range(1, 15)
    ]
    return "\n\n".join([f"# Document {number}", *parts]).encode()


class Work:
    """One request of each kind, with a check of what came back."""

    def __init__(self, http: httpx.AsyncClient, questions: Sequence[str], record: Record) -> None:
        self.http, self.questions, self.record = http, questions, record
        self.numbers = itertools.count(ROOM)
        self.names = [name_of(number) for number in range(ROOM)]

    async def post(self, path: str, body: dict[str, Any], **more: Any) -> Any:
        answer = await self.http.post(path, json=body, **more)
        expect(answer.status_code == 200, f"{path}: {answer.status_code}")
        return answer.json()

    async def search(self, dice: random.Random) -> None:
        found = await self.post("/v1/search", {"query": dice.choice(self.questions), "k": 5})
        expect(bool(found["hits"]), "a search without hits")
        self.record.generations.add(found["generation"])

    async def ask(self, dice: random.Random) -> None:
        body = {"question": dice.choice(self.questions)}
        headers = {"accept": "text/event-stream"}
        answer = await self.http.post("/v1/ask", json=body, headers=headers)
        expect(answer.status_code == 200, f"/v1/ask: {answer.status_code}")
        expect("\nevent: complete\n" in answer.text, "an answer that was not completed")

    async def show(self, dice: random.Random) -> None:
        found = await self.post("/v1/show", {"locator": dice.choice(PLACES)})
        expect(bool(found["places"]), "a place that is gone")

    async def cell(self, _: random.Random) -> None:
        body = {"table": "Table 250.66", "row": "95 mm²", "column": "electrode copper"}
        found = await self.post("/v1/cell", body)
        expect(found["cells"][0]["value"] == "35", f"a cell that is {found['cells']}")

    async def rerank(self, dice: random.Random) -> None:
        texts = dice.sample(list(self.questions), 6)
        found = await self.post("/v1/rerank", {"query": texts[0], "documents": texts})
        expect(found["results"][0]["index"] == 0, "a question that is not most like itself")

    async def agent(self, dice: random.Random) -> None:
        headers = {"accept": "application/json, text/event-stream"}
        params = {"name": "search", "arguments": {"query": dice.choice(self.questions)}}
        body = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}
        answer = await self.http.post("/mcp", json=body, headers=headers)
        expect(answer.status_code == 200, f"/mcp: {answer.status_code}")
        expect('"isError":true' not in answer.text, "a tool that failed")

    async def upload(self, dice: random.Random) -> None:
        """Bring a document in, find it, and take the oldest one out."""
        number = next(self.numbers)
        name = name_of(number)
        files = {"file": (name, document(number, self.questions, dice), "text/markdown")}
        answer = await self.http.post("/v1/documents", files=files)
        expect(answer.status_code == 202, f"/v1/documents: {answer.status_code}")
        state = answer.json()
        while state["state"] not in ("done", "rejected", "failed"):
            await asyncio.sleep(0.2)
            state = (await self.http.get(f"/v1/jobs/{state['id']}")).json()
        expect(state["state"] == "done", f"an upload that {state['state']}: {state['reason']}")
        found = await self.post("/v1/search", {"query": f"zanzibar{number}", "k": 1})
        expect(found["hits"][0]["document"] == name, "an acknowledged document is not found")
        self.names.append(name)
        gone = await self.http.delete(f"/v1/documents/{self.names.pop(0)}")
        expect(gone.status_code == 200, f"DELETE: {gone.status_code}")


async def client(
    kind: str, number: int, work: Work, record: Record, until: float, pause: float
) -> None:
    """Do one kind of work again and again until the time is up."""
    dice = random.Random(f"{kind} {number}")
    step: Callable[[random.Random], Awaitable[None]] = getattr(work, kind)
    while time.monotonic() < until:
        began = time.perf_counter()
        record.requests += 1
        try:
            await step(dice)
            record.seconds[kind].append(time.perf_counter() - began)
        except (Broken, httpx.HTTPError, KeyError, IndexError, ValueError) as error:
            record.errors[f"{kind}: {type(error).__name__} {error}"[:200]] += 1
        await asyncio.sleep(pause * dice.uniform(0.5, 1.5))


async def writer(folder: Path, scratch: Path, until: float, record: Record) -> None:
    """Be somebody else who ingests into the folder and removes again."""
    extra = scratch / "outside.md"
    for number in itertools.count():
        extra.write_text(f"# Outside\n\n## 9.9 Extra\n\nEdition {number}.\n", encoding="utf-8")
        for work in (
            lambda: list(ingest_files([(extra, "outside.md")], folder)),
            lambda: remove(folder, ["outside.md"]),
        ):
            if time.monotonic() > until - 5:
                return
            try:
                await asyncio.to_thread(work)
            except IndexBusy:  # an upload holds the lock: that is an answer, not an error
                record.write("busy")
            await asyncio.sleep(8)


def family(pid: int) -> list[int]:
    """Return a process and those that it started, directly or not."""
    found = [pid]
    for each in found:
        for tasks in Path(f"/proc/{each}/task").glob("*/children"):
            found += map(int, tasks.read_text().split())
    return found


def measured(pid: int) -> dict[str, float]:
    """Return memory, descriptors and threads of a process."""
    status = dict(
        line.split(":", 1) for line in Path(f"/proc/{pid}/status").read_text().splitlines()
    )
    return {
        "rss_mb": round(int(status["VmRSS"].split()[0]) / 1024, 1),
        # Without the mapped files of the index, which the kernel may give back at any time.
        "own_mb": round(int(status["RssAnon"].split()[0]) / 1024, 1),
        "descriptors": len(os.listdir(f"/proc/{pid}/fd")),
        "threads": int(status["Threads"]),
    }


async def watch(pid: int, folder: Path, until: float, record: Record) -> None:
    """Write down every few seconds what the lasting processes of the service hold."""
    seen: dict[int, float] = {}
    while time.monotonic() < until:
        now, total, each = time.monotonic(), Counter[str](), {}
        for member in family(pid):
            seen.setdefault(member, record.started if member == pid else now)
            try:
                if now - seen[member] >= LASTING_SECONDS or member == pid:
                    each[member] = measured(member)
            except (OSError, KeyError):
                continue  # it ended meanwhile
        for values in each.values():
            total.update(values)
        disk = sum(file.stat().st_size for file in _files(folder))
        sample = {**{name: round(value, 1) for name, value in total.items()}, "disk_mb": disk / 1e6}
        record.samples.append(record.write("sample", processes=len(each), **sample))
        await asyncio.sleep(SAMPLE_SECONDS)


def _files(folder: Path) -> Iterable[Path]:
    return (file for file in list(folder.rglob("*")) if file.is_file())


async def by_minute(until: float, record: Record) -> None:
    """Close each minute: what was asked in it, and how long it took."""
    errors = 0
    while time.monotonic() < until:
        await asyncio.sleep(min(60.0, max(0.5, until - time.monotonic())))
        done, record.seconds = record.seconds, defaultdict(list)
        times = {
            kind: {
                "count": len(done[kind]),
                "p50_ms": round(1000 * percentile(done[kind], 0.5), 1),
                "p99_ms": round(1000 * percentile(done[kind], 0.99), 1),
            }
            for kind in KINDS
            if done[kind]
        }
        now = record.errors.total()
        record.minutes.append(record.write("minute", errors=now - errors, times=times))
        errors = now


def prepared(folder: Path) -> list[str]:
    """Make the index, with as many documents as there will always be; return questions on it."""
    lines = (ROOT / "samples/questions.jsonl").read_text(encoding="utf-8").splitlines()
    questions = [json.loads(line)["question"] for line in lines]
    dice, uploads = random.Random(0), folder / "uploads"
    uploads.mkdir(parents=True)
    for number in range(ROOM):
        (uploads / name_of(number)).write_bytes(document(number, questions, dice))
    list(ingest_files([*find_files([ROOT / "samples"]), *find_files([uploads])], folder))
    list(embed_index(folder))
    return questions


async def soak(
    service: tuple[int, int],
    folder: Path,
    questions: Sequence[str],
    args: argparse.Namespace,
    record: Record,
) -> None:
    """Let everybody work until the time is up."""
    port, pid = service
    until = time.monotonic() + 60 * args.minutes
    limits = httpx.Limits(max_connections=40)
    address = f"http://127.0.0.1:{port}"
    async with httpx.AsyncClient(base_url=address, timeout=120, limits=limits) as http:
        work = Work(http, questions, record)
        clients = [
            client(kind, number, work, record, until, args.pause)
            for kind, count in CLIENTS.items()
            for number in range(count)
        ]
        outside = writer(folder, folder.parent, until, record)
        watched = watch(pid, folder, until, record)
        await asyncio.gather(*clients, outside, watched, by_minute(until, record))


def main(words: Sequence[str] | None = None) -> int:
    """Run it and return the exit code."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--minutes", type=float, default=60.0)
    parser.add_argument("--workers", type=int, default=1)
    parser.add_argument("--pause", type=float, default=0.25, help="seconds between requests")
    parser.add_argument(
        "--p99-ms", type=float, default=3000.0, help="limit for a minute's searches"
    )
    parser.add_argument("--out", type=Path, default=ROOT / "bench/results")
    args = parser.parse_args(words)
    args.out.mkdir(parents=True, exist_ok=True)
    with (
        tempfile.TemporaryDirectory() as scratch,
        (args.out / "soak.jsonl").open("w", encoding="utf-8") as stream,
    ):
        folder = Path(scratch) / "index"
        questions = prepared(folder)
        with server(folder, words=["--workers", str(args.workers)]) as (port, pid):
            record = Record(stream)
            asyncio.run(soak((port, pid), folder, questions, args, record))
        asked = {"minutes": args.minutes, "workers": args.workers, "requests": record.requests}
        asked["generations"] = len(record.generations)
        told = asked | summary(record.samples, record.minutes, record.errors, args.p99_ms)
        record.write("summary", **told)
    (args.out / "soak.html").write_text(
        page(record.samples, record.minutes, told), encoding="utf-8"
    )
    print(json.dumps(told, indent=1))
    return 1 if told["failed"] else 0


if __name__ == "__main__":
    sys.exit(main())
