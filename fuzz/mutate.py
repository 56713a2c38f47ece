"""A small mutator of our own: the same seed gives the same inputs, and nothing is installed."""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence

_NUMBERS = (b"0", b"-1", b"1e999", b"NaN", b"99999999999999999999", b"2147483648", b"1e-400")
_SIGNS = (
    b"\0",
    b"\xff",
    b"\xfe\xff",
    "\u202e".encode(),
    "\ud800".encode("utf-8", "surrogatepass"),
    "\u0345".encode(),
    "İ".encode(),
    "ß".encode(),
    b"\x1b[31m",
    b"\r\n",
    b"\t",
    b'"',
    b"\\",
    b"=cmd",
    b"(((((((((",
    b"[[[[[[[[[",
    b"{" * 9,
    b"| | | |\n|---|---|\n",
    b"../",
    b"<![CDATA[",
    b"%s%n",
)


def mutations(seeds: Sequence[bytes], words: Sequence[str], seed: int) -> Iterator[bytes]:
    """Yield the seeds as they are, then damaged ones without end."""
    chance = random.Random(seed)
    yield from seeds
    parts = [*(word.encode() for word in words), *_NUMBERS, *_SIGNS]
    while True:
        data = bytearray(chance.choice(seeds) if seeds else b"")
        for _ in range(chance.choice((1, 1, 2, 3, 5, 8))):
            _change(data, chance, parts, seeds)
        yield bytes(data)


def _change(
    data: bytearray, chance: random.Random, parts: Sequence[bytes], seeds: Sequence[bytes]
) -> None:
    at = chance.randint(0, len(data))
    end = min(len(data), at + chance.choice((1, 1, 4, 16, 64)))
    kind = chance.randrange(7)
    if kind == 0 and at < len(data):
        data[at] ^= 1 << chance.randrange(8)
    elif kind == 1:
        data[at:end] = b""
    elif kind == 2:
        data[at:at] = chance.choice(parts)
    elif kind == 3:
        data[at:end] = chance.choice(parts)
    elif kind == 4:
        data[at:at] = bytes(data[at:end]) * chance.choice((1, 2, 10, 50))
    elif kind == 5 and seeds:
        other = chance.choice(seeds)
        start = chance.randint(0, len(other))
        data[at:end] = other[start : start + chance.choice((8, 64, 512))]
    else:
        data[at:at] = bytes(chance.randrange(256) for _ in range(chance.choice((1, 2, 8))))
