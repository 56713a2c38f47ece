"""The service under attack: `python bench/attack.py --seconds 20`. Prints a table.

A well-behaved key searches, one request after the other, while others do their worst with keys of
their own or none. Its median and 95th percentile are shown beside each attack, and what attackers
were answered. It ends with an error if its 95th percentile passes five times the quiet one, or an
attacker is answered anything but 200, 401, 413, 429, 431, 503 or a closed connection.

The quiet value is taken again before each attack, in the same minute. Attackers are a process of
their own, which gives way to others, as if they had a machine of their own.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import multiprocessing
import os
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from pincite.read.load import find_files
from pincite.serve.access import add_key, new_key
from pincite.update import embed_index, ingest_files
from service import ROOT, Client, megabytes, percentile, server

ATTACKERS = 4
MOST_TIMES = 5.0
ALLOWED = {"200", "401", "413", "429", "431", "503", "closed"}
TEXTS = [f"clause {n}: two earth rods are {n} m apart in such soil" for n in range(1000)]
Attack = Callable[[int, str, Counter[str]], Awaitable[None]]


async def _post(port: int, key: str, path: str, body: dict[str, Any], met: Counter[str]) -> None:
    client = Client(port)
    try:
        status, _, _ = await client.post(path, body, f"Authorization: Bearer {key}\r\n")
        met[str(status)] += 1
    except (OSError, asyncio.IncompleteReadError):
        met["closed"] += 1
    finally:
        await client.close()


async def rerank(port: int, key: str, met: Counter[str]) -> None:
    await _post(port, key, "/v1/rerank", {"query": "rods", "documents": TEXTS}, met)


async def embeddings(port: int, key: str, met: Counter[str]) -> None:
    await _post(port, key, "/v1/embeddings", {"input": TEXTS}, met)


async def searches(port: int, key: str, met: Counter[str]) -> None:
    many = (_post(port, key, "/v1/search", {"query": f"rods {n}"}, met) for n in range(32))
    await asyncio.gather(*many)


async def answers(port: int, key: str, met: Counter[str]) -> None:
    many = (
        _post(port, key, "/v1/ask", {"question": f"How far are {n} rods?"}, met) for n in range(8)
    )
    await asyncio.gather(*many)


async def ranges(port: int, key: str, met: Counter[str]) -> None:
    await _post(port, key, "/v1/ask", {"question": "1-2 " * 499}, met)


async def headers(port: int, _: str, met: Counter[str]) -> None:
    """Headers without an end, from somebody without a key."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    try:
        writer.write(b"GET / HTTP/1.1\r\nHost: localhost\r\n")
        for number in range(2000):
            writer.write(b"x-%d: " % number + b"a" * 1000 + b"\r\n")
            await writer.drain()
        met[(await reader.read(20)).decode()[9:12] or "closed"] += 1
    except OSError:
        met["closed"] += 1
    finally:
        writer.close()


async def bodies(port: int, _: str, met: Counter[str]) -> None:
    """A large upload of somebody without a key."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    head = b"POST /v1/documents HTTP/1.1\r\nHost: localhost\r\nContent-Length: 60000000\r\n\r\n"
    try:
        writer.write(head + b"a" * 100_000)
        met[(await reader.read(20)).decode()[9:12] or "closed"] += 1
    except OSError:
        met["closed"] += 1
    finally:
        writer.close()


ATTACKS: dict[str, Attack] = {
    "1,000 texts to score": rerank,
    "1,000 texts to encode": embeddings,
    "32 searches at a time": searches,
    "8 answers at a time": answers,
    "a question of 499 ranges": ranges,
    "headers without an end, no key": headers,
    "uploads of 60 MB, no key": bodies,
}


def crowd(port: int, keys: list[str], name: str, seconds: float, told: Any) -> None:
    """Attack for so long; this is a process of its own. Tells what attackers met."""
    os.nice(10)
    met, until, attack = Counter[str](), time.monotonic() + seconds, ATTACKS[name]

    async def attacker(key: str) -> None:
        while time.monotonic() < until:
            await attack(port, key, met)

    async def attackers() -> None:
        every = asyncio.gather(*map(attacker, keys))
        with suppress(TimeoutError):
            await asyncio.wait_for(every, seconds + 5)

    asyncio.run(attackers())
    told.put(met)


async def neighbour(port: int, key: str, seconds: float) -> list[float]:
    """Return how long each search of a well-behaved key took."""
    took, client, number = list[float](), Client(port), 0
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        number += 1
        started = time.perf_counter()
        body = {"query": f"how far apart are {number} rods", "k": 5}
        status, _, _ = await client.post("/v1/search", body, f"Authorization: Bearer {key}\r\n")
        took.append(time.perf_counter() - started if status == 200 else float("inf"))
        await asyncio.sleep(0.02)
    await client.close()
    return took


def attacked(
    port: int, keys: list[str], name: str, seconds: float
) -> tuple[list[float], Counter[str]]:
    """Return the neighbour's seconds, and what the attackers met."""
    processes = multiprocessing.get_context("spawn")
    told = processes.Queue()
    others = processes.Process(target=crowd, args=(port, keys[1:], name, seconds + 2, told))
    others.start()
    time.sleep(min(2.0, seconds))
    took = asyncio.run(neighbour(port, keys[0], seconds))
    met = told.get(timeout=60)
    others.join()
    return took, met


@contextmanager
def _index(scratch: Path) -> Iterator[Path]:
    folder = scratch / "index"
    list(ingest_files(find_files([ROOT / "samples"]), folder))
    list(embed_index(folder))
    yield folder


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--seconds", type=float, default=20.0)
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--attack", action="append", choices=ATTACKS, help="only this one")
    chosen = parser.parse_args()
    rows = []
    with tempfile.TemporaryDirectory() as scratch, _index(Path(scratch)) as folder:
        file, keys = Path(scratch) / "keys.json", []
        for number in range(ATTACKERS + 1):
            key, shown = new_key(f"key {number}", ["read"], access=None)
            add_key(file, key)
            keys.append(shown)
        with server(folder, words=["--keys", str(file)]) as (port, pid):
            asyncio.run(neighbour(port, keys[0], 2.0))
            for name in chosen.attack or ATTACKS:
                quiet = percentile(asyncio.run(neighbour(port, keys[0], chosen.seconds / 2)), 0.95)
                took, met = attacked(port, keys, name, chosen.seconds)
                p95 = percentile(took, 0.95)
                is_held = p95 <= MOST_TIMES * quiet and met.keys() <= ALLOWED
                rows.append(
                    {
                        "attack": name,
                        "quiet_p95_ms": round(1000 * quiet, 1),
                        "p50_ms": round(1000 * percentile(took, 0.5), 1),
                        "p95_ms": round(1000 * p95, 1),
                        "times_quiet": round(p95 / quiet, 1),
                        "attackers_met": dict(met),
                        "server_mb": round(megabytes(pid)),
                        "held": is_held,
                    }
                )
    if chosen.json:
        print(json.dumps(rows, indent=1))
    else:
        print("| " + " | ".join(rows[0]) + " |\n|" + "---|" * len(rows[0]))
        for row in rows:
            print("| " + " | ".join(str(value) for value in row.values()) + " |")
    sys.exit(not all(row["held"] for row in rows))


if __name__ == "__main__":
    main()
