"""What every command prints with ``--json`` about the samples, kept in commands.jsonl.

The calls run one after the other in one folder, so that later ones see what earlier ones wrote.
Structure and values are compared; figures with a decimal point to six places. What differs from
machine to machine or from second to second is masked by ``MASKED``: only its type is compared.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from itertools import zip_longest
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
FILE = HERE / "commands.jsonl"
DRIVER = ROOT / "tests" / "e2e" / "cli_driver.py"
NEW, OLD = "electrical-code-2024.md", "electrical-code-2021.md"
FIRST_QUESTIONS = 12
ABSENT = "<nothing>"
FULL = "--json=full"

# Written into the folder before the first call.
FILES = {
    "draft.md": "Rods “shall be at least 2.5 m apart”. Compare 250.999, and § 5 BGB.\n",
    "raw.json": json.dumps(
        [
            {"doc_name": "a", "ID": "1", "questions": "What is the fee?", "answers": "10",
             "doc_type": "text", "answer_form": "Numeric", "evidence_source": "text",
             "evidence_context": "The fee is 10.", "evidence_page_no": 1}
        ]
    ),
}  # fmt: skip
CALLS = [
    ["--version"],
    ["ingest", "samples"],
    ["ingest", "samples"],
    ["search", "how far apart do two earth rods have to be", "-k", "3"],
    ["search", "how far apart do two earth rods have to be", "-k", "3", "--json=full"],
    ["search", "210.8(A)(2)", "-k", "3", "--explain", "--json=full"],
    ["search", "grunding electrod", "-k", "2", "--document", NEW],
    ["search", "210.8(D)", "--as-of", "2022", "-k", "2"],
    ["search", "receptacle protection", "-k", "2", "--save", "saved.json"],
    ["replay", "saved.json"],
    ["ask", "how far apart do two earth rods have to be"],
    ["ask", "how far apart do two earth rods have to be", "--json=full"],
    ["ask", "Table 250.66 95 mm² electrode copper", "--json=full"],
    ["ask", "How many hit points does a griffin have?"],
    ["check", "draft.md"],
    ["cite", "210.8(D)", "--as", "csl-json", "--document", NEW],
    ["why-not", "how far apart do rods stand", "250.52(i)"],
    ["show", "210.8(D)", "--document", NEW],
    ["show", "210.8", "--document", NEW],
    ["show", "nothing like it"],
    ["outline", "manual.md", "--depth", "1"],
    ["outline", NEW, "Table 250.66"],
    ["grep", "at least 2.4 m"],
    ["grep", "^.*spacing", "-E"],
    ["similar", "210.8(D)", "--document", NEW],
    ["list"],
    ["list", "manual.md"],
    ["card", "manual.md"],
    ["cell", "Table 250.66", "95 mm²", "electrode copper"],
    ["cell", "Table 250.122", "90 A", "copper", "--document", NEW],
    ["cell", "Table 250.122", "no such row"],
    ["audit"],
    ["diff", OLD, NEW],
    ["agent", "Table 250.66 95 mm² electrode copper"],
    ["eval", "questions.jsonl", "--pipeline", "lexical", "--depth", "10", "--runs", "runs"],
    ["judgements", "check", "questions.jsonl"],
    ["judgements", "record", "questions.jsonl", "--reason", "first"],
    ["judgements", "export", "questions.jsonl", "--out", "trec.txt"],
    ["clean", "raw.json"],
    ["label", "labels.jsonl", "--add", "how far apart do earth rods stand", "--depth", "1"],
    ["keys", "add", "one"],
    ["keys", "list"],
    ["export", "plain"],
    ["import", "plain", "--index", "again"],
    ["copy", "pincite-index", "copied"],
    ["remove", "manual.md"],
    ["remove", "manual.md"],
    ["list"],
    ["doctor"],
    ["search", "x", "--set", "search.kk=1"],
]
MASKED = re.compile(
    r"seconds$|_ms$|^ms$|^made$|^expires$|^since$|^created$|version$|^commit$|^program$|^pincite$|^python$"
    r"|^platform$|^samples$|^extras$|^settings$|^fingerprint$|^key$|^bytes$|^models$"
)
TOLERANCE = 1e-5


def masked(value: Any, name: str = "") -> Any:
    """Return a value without what is not the same everywhere."""
    if MASKED.search(name) and not isinstance(value, bool) and value is not None:
        return f"<{type(value).__name__}>"
    if isinstance(value, dict):
        return {key: masked(each, key) for key, each in value.items()}
    if isinstance(value, list):
        return [masked(each) for each in value]
    return round(value, 6) if isinstance(value, float) else value


def differences(was: Any, now: Any, at: str = "") -> Iterator[str]:
    """Yield where two values differ, by their paths; figures may by a little."""
    if isinstance(was, dict) and isinstance(now, dict):
        for key in [*was, *(each for each in now if each not in was)]:
            yield from differences(was.get(key, ABSENT), now.get(key, ABSENT), f"{at}.{key}")
    elif isinstance(was, list) and isinstance(now, list):
        for number, (one, other) in enumerate(zip_longest(was, now, fillvalue=ABSENT)):
            yield from differences(one, other, f"{at}[{number}]")
    elif isinstance(was, float) and isinstance(now, float | int):
        if abs(was - now) > TOLERANCE:
            yield f"{at}: {now} instead of {was}"
    elif was != now:
        yield f"{at}: {now!r} instead of {was!r}"


def parsed(arguments: list[str], code: int, out: str) -> dict[str, Any]:
    """Return what a call told: its exit code, and every line of its JSON."""
    lines = [masked(json.loads(line)) for line in out.splitlines()]
    if arguments[0] == "keys":  # which are drawn by chance
        lines = json.loads(re.sub(r'"id": "[^"]+"', '"id": "<str>"', json.dumps(lines)))
    return {"call": " ".join(arguments), "code": code, "json": lines}


def run(folder: Path, env: dict[str, str]) -> list[dict[str, Any]]:
    """Return what every call told, run in a new folder."""
    folder.mkdir(parents=True)
    shutil.copytree(ROOT / "samples", folder / "samples")
    questions = (ROOT / "samples/questions.jsonl").read_text("utf-8").splitlines()
    (folder / "questions.jsonl").write_text("\n".join(questions[:FIRST_QUESTIONS]) + "\n", "utf-8")
    for name, text in FILES.items():
        (folder / name).write_text(text + "\n", "utf-8")
    calls = [call if call[-1] == FULL else [*call, "--json"] for call in CALLS]
    done = subprocess.run(
        [sys.executable, str(DRIVER)],
        cwd=folder,
        env=env,
        input=json.dumps(calls).encode(),
        capture_output=True,
        check=True,
    )
    answers = json.loads(done.stdout)
    return [parsed(call, code, out) for call, (code, out, _) in zip(CALLS, answers, strict=True)]


def write(folder: Path) -> None:
    """Write the goldens again, one call a line."""
    lines = [json.dumps(each, ensure_ascii=False) for each in run(folder, dict(os.environ))]
    FILE.write_text("\n".join(lines) + "\n", "utf-8")


def stored() -> list[dict[str, Any]]:
    return [json.loads(line) for line in FILE.read_text("utf-8").splitlines()]
