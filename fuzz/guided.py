"""The child that fuzzes one target with atheris for a while: ``fuzz/run.py`` starts it.

Counts are our own, of inputs that were tried beyond those that the corpus already had. A law that
breaks is written down and the fuzzing goes on; only a crash of the interpreter ends it early.
"""

from __future__ import annotations

import importlib
import os
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

import atheris

with atheris.instrument_imports(include=["pincite"]):
    # Only the part that is needed: what is imported is rewritten, and that takes time.
    PART = importlib.import_module(f"fuzz.targets.{sys.argv[2]}")

from fuzz.harness import Watch

HANG_SECONDS = 300
# A slice is so many seconds of processor time; on a busy machine it takes longer, up to this much.
MOST_WAIT = 10


def main() -> None:
    name, work, seconds = sys.argv[1], Path(sys.argv[3]), float(sys.argv[4])
    target = next(each for each in PART.TARGETS if each.name == name)
    corpus, file = work / "corpus" / name, work / "now" / f"{name}.json"
    corpus.mkdir(parents=True, exist_ok=True)
    file.parent.mkdir(parents=True, exist_ok=True)
    for number, seed in enumerate(target.seeds()):
        (corpus / f"seed-{number:03d}").write_bytes(seed[: target.most_bytes])
    replayed = len(list(corpus.iterdir()))
    words = work / "corpus" / f"{name}.dict"
    words.write_text("".join(f"{_quoted(word)}\n" for word in target.words), encoding="ascii")
    watch = Watch(target, work / "findings")
    begun = told = time.monotonic()
    worked = time.process_time()

    def one(data: bytes) -> None:
        nonlocal told
        watch(data)
        now = time.monotonic()
        if now - told > 2:
            told = now
            wall, cpu = now - begun, time.process_time() - worked
            is_over = cpu >= seconds or wall >= MOST_WAIT * seconds
            found = len(list(corpus.iterdir())) if is_over else replayed
            figures = {"seconds": round(cpu, 1), "wall": round(wall, 1), "corpus": found}
            watch.write(file, replayed=replayed, **figures)
            if is_over:
                os._exit(0)

    options = [
        f"-max_len={target.most_bytes}",
        f"-timeout={HANG_SECONDS}",
        "-rss_limit_mb=3000",
        f"-artifact_prefix={work / 'findings'}/{name}-",
        "-verbosity=0",
    ]
    if target.words:  # libFuzzer refuses an empty dictionary
        options.append(f"-dict={words}")
    (work / "findings").mkdir(exist_ok=True)
    atheris.Setup([sys.argv[0], str(corpus), *options], one)
    atheris.Fuzz()


def _quoted(word: str) -> str:
    escaped = "".join(
        chr(byte) if 32 <= byte < 127 and byte not in b'"\\' else f"\\x{byte:02x}"
        for byte in word.encode()
    )
    return f'"{escaped}"'


if __name__ == "__main__":
    main()
