"""CPU of one search, beside another checkout in the same run: a ratio, not a time.

    python bench/search_cpu.py --old ../pincite-0.2

Both versions index Part 97 and SRD 5.1 themselves and answer the same 200 questions by turns, each
in processes of its own; the least of several rounds counts. "first" encodes the question, "again"
finds its vector in memory: what is left is the search.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).resolve().parents[1]
DATA = Path(os.environ.get("PINCITE_DATA", HERE.parent / "shared" / "data"))
BUILD = """
import sys
from pathlib import Path
from pincite import embed_index, find_files, ingest_files
files = [each for each in find_files([Path(sys.argv[1])]) if "(Alt)" not in each[1]]
files = [each for each in files if each[0].suffix == ".md" and each[0].name != "PROVENANCE.md"]
list(ingest_files(files, Path(sys.argv[2])))
list(embed_index(Path(sys.argv[2])))
"""
ASK = """
import json, sys, time
from pathlib import Path
from pincite import Index
questions = json.loads(sys.stdin.read())[:200]
index = Index.open(Path(sys.argv[1]))
index.search("warm", k=10)
spent = []
for _ in range(2):
    start = time.process_time()
    for text in questions:
        index.search(text, k=10)
    spent.append((time.process_time() - start) / len(questions))
print(json.dumps(spent))
"""


def questions_of(name: str) -> list[str]:
    """Return the questions of a data set as plain texts."""
    if name == "part97":
        lines = (DATA / name / "questions_dev.jsonl").read_text(encoding="utf-8").splitlines()
        return [json.loads(line)["question"] for line in lines if line]
    items = json.loads((DATA / name / "spell_questions_dev.json").read_text(encoding="utf-8"))
    return [item["question"] for item in items]


def run(source: Path, program: str, *arguments: object, text: str = "") -> str:
    """Return what a program prints that imports Pincite from a checkout."""
    environment = {**os.environ, "PYTHONPATH": str(source / "src"), "OPENBLAS_NUM_THREADS": "1"}
    command = [sys.executable, "-c", program, *map(str, arguments)]
    done = subprocess.run(
        command, input=text, env=environment, capture_output=True, text=True, check=True
    )
    return done.stdout


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--old", type=Path, required=True, help="a checkout to compare with")
    parser.add_argument("--rounds", type=int, default=5)
    options = parser.parse_args()
    versions = {"old": options.old, "new": HERE}
    with tempfile.TemporaryDirectory() as scratch:
        for name in ("part97", "srd-5.1"):
            texts = json.dumps(questions_of(name))
            least = {version: [float("inf")] * 2 for version in versions}
            for version, source in versions.items():
                run(source, BUILD, DATA / name, Path(scratch) / f"{name}-{version}")
            for _ in range(options.rounds):
                for version, source in versions.items():
                    told = run(source, ASK, Path(scratch) / f"{name}-{version}", text=texts)
                    least[version] = list(map(min, least[version], json.loads(told)))
            for what, old, new in zip(("first", "again"), least["old"], least["new"], strict=True):
                times = f"old {1000 * old:.2f} ms, new {1000 * new:.2f} ms"
                print(f"{name}, {what}: {times}, ratio {new / old:.2f}", flush=True)


if __name__ == "__main__":
    main()
