"""What 40 questions cost an agent: with all tools, and with `search` and `fetch` alone.

    python bench/agent_tasks.py [--index INDEX] [--data DIR] [--each] [--json]

The official MCP client calls the tools of the very server that `pincite mcp` runs. Two scripted
agents answer the same questions (bench/agent_tasks.jsonl, ours) without knowing what is right: one
takes the tool that is made for the question, the other has `search` and `fetch` and reads what they
give. It parses a fetched table as Pincite does, compares two fetched texts word by word, and looks
for a quotation or for words in what it fetched; both ask for few results. Tokens are those of calls
and answers, estimated from above (`read/chunks.py`); what tools say of themselves is read once a
conversation and counted apart. Questions about Part 97 need --data (or PINCITE_DATA); without, they
are left out and that is said.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import sys
import tempfile
from collections.abc import Iterable
from contextlib import contextmanager
from dataclasses import dataclass, field
from difflib import SequenceMatcher
from pathlib import Path
from typing import Any

import anyio
import mcp

import pincite
from pincite.api import Index
from pincite.mcp.server import make_server
from pincite.model.tables import find_cells, parse_table
from pincite.read.chunks import estimated_tokens

ROOT = Path(__file__).parents[1]
TASKS = ROOT / "bench" / "agent_tasks.jsonl"
PART97 = "part97.md"
KINDS = ("locate", "cell", "compare", "verify", "there")
SMALL = 600  # tokens that an agent asks for where it wants one place
FEW = {"k": 3, "max_tokens": SMALL}  # both agents are thrifty


@dataclass
class Told:
    """Calls of one agent for one question, and what they cost."""

    client: Any
    calls: int = 0
    tokens: int = 0
    worst: float = 0.0  # of an answer, as a part of what it may have
    read: list[str] = field(default_factory=list)

    async def call(self, tool: str, **arguments: Any) -> dict[str, Any]:
        """Call a tool; an error is an answer as well."""
        result = await self.client.call_tool(tool, arguments)
        text = result.content[0].text
        size = estimated_tokens(text)
        most = arguments.get("max_tokens", {"fetch": 5000, "show": 5000}.get(tool, 2000))
        self.calls += 1
        self.tokens += size + estimated_tokens(json.dumps({"name": tool, "arguments": arguments}))
        self.worst = max(self.worst, size / most)
        self.read.append(text)
        return {} if result.is_error else dict(result.structured_content)


def plain(text: str) -> str:
    """Return words without signs and blanks, for looking one text up in another."""
    return " ".join(re.sub(r"[*_`|]", " ", text).split()).casefold()


# The agent with all tools.


async def locate(told: Told, task: dict[str, Any]) -> Any:
    found = await told.call("search", query=task["question"], **FEW)
    return first_id(found)


async def cell(told: Told, task: dict[str, Any]) -> Any:
    wanted = {name: task[name] for name in ("table", "row", "column", "document")}
    found = await told.call("cell", **wanted)
    return {each["value"] for each in found.get("cells", ())}


async def compare(told: Told, task: dict[str, Any]) -> Any:
    found = await told.call("compare", old=task["old"], new=task["new"], place=task["place"])
    return " ".join(each["words"] for each in found.get("changes", ()))


async def verify(told: Told, task: dict[str, Any]) -> Any:
    found = await told.call("verify", text=f"The text says: “{task['quote']}”.")
    return bool(found.get("claims")) and not found["failed"]


async def there(told: Told, task: dict[str, Any]) -> Any:
    return bool((await told.call("grep", words=task["words"], max_tokens=SMALL)).get("matches"))


# The agent with search and fetch.


async def locate_by_search(told: Told, task: dict[str, Any]) -> Any:
    return await locate(told, task)


async def cell_by_search(told: Told, task: dict[str, Any]) -> Any:
    query = f"{task['table']} {task['row']} {task['column']}"
    found = await told.call("search", query=query, documents=[task["document"]], **FEW)
    wanted = f"{task['document']}#{task['table']}"
    results = found.get("results", [])
    best = next((each for each in results if each["id"].startswith(wanted)), None)
    if best is None:
        return set()
    text = (await told.call("fetch", id=wanted)).get("text", "")
    table = parse_table(text)
    return {each.value for each in find_cells(table, task["row"], task["column"])} if table else ()


async def compare_by_search(told: Told, task: dict[str, Any]) -> Any:
    texts = []
    for document in (task["old"], task["new"]):
        found = await told.call("search", query=task["place"], k=1, documents=[document])
        texts.append(await whole(told, first_id(found)) if found.get("results") else "")
    old, new = (text.split() for text in texts)
    steps = SequenceMatcher(None, old, new, autojunk=False).get_opcodes()
    differ = [" ".join((*old[a:b], *new[c:d])) for kind, a, b, c, d in steps if kind != "equal"]
    return " ".join(differ)


async def whole(told: Told, place: str) -> str:
    """Return the whole text of a place, in as many calls as it takes."""
    text = ""
    while True:
        got = await told.call("fetch", id=place, start=len(text))
        text += got.get("text", "")
        if not got or "go on with start" not in got.get("left_out", ""):
            return text


async def verify_by_search(told: Told, task: dict[str, Any]) -> Any:
    found = await told.call("search", query=task["quote"], **FEW)
    for result in found.get("results", [])[:2]:
        if plain(task["quote"]) in plain(await whole(told, result["id"])):
            return True
    return False


async def there_by_search(told: Told, task: dict[str, Any]) -> Any:
    found = await told.call("search", query=task["words"], **FEW)
    for result in found.get("results", ()):
        if plain(task["words"]) in plain(result["text"]):
            return True
    for result in found.get("results", [])[:2]:
        if plain(task["words"]) in plain(await whole(told, result["id"])):
            return True
    return False


AGENTS = {
    "all tools": (locate, cell, compare, verify, there),
    "search and fetch": (
        locate_by_search,
        cell_by_search,
        compare_by_search,
        verify_by_search,
        there_by_search,
    ),
}


def first_id(found: dict[str, Any]) -> str:
    return next((str(each["id"]) for each in found.get("results", ())), "")


def is_right(task: dict[str, Any], answer: Any) -> bool:
    """Return whether an answer is the one that a person wrote down."""
    gold = task["gold"]
    if task["kind"] == "locate":
        return bool(answer == f"{task['document']}#{gold}")
    if task["kind"] == "cell":
        return answer == {gold}
    if task["kind"] == "compare":
        return all(re.search(rf"(?<![\w.]){re.escape(each)}(?![\w])", answer) for each in gold)
    return answer is gold


def tasks(names: Iterable[str]) -> list[dict[str, Any]]:
    """Return the questions about the documents that are there."""
    known, found = set(names), []
    for line in TASKS.read_text(encoding="utf-8").splitlines():
        task = json.loads(line)
        if task.get("document", task.get("of", "")) in {"", *known}:
            found.append(task)
    return found


async def run(index: Index) -> tuple[list[dict[str, Any]], int]:
    """Return what each agent made of each question, and the tokens of the tools' descriptions."""

    @contextmanager
    def lend(_: object) -> Any:
        yield index

    done = []
    async with mcp.Client(make_server(lend)) as client:
        listed = (await client.list_tools()).tools
        told = [json.dumps([t.name, t.description, t.input_schema]) for t in listed]
        for task in tasks(index.documents()):
            for agent, ways in AGENTS.items():
                seen = Told(client)
                answer = await ways[KINDS.index(task["kind"])](seen, task)
                facts = {"calls": seen.calls, "tokens": seen.tokens, "worst": seen.worst}
                right = is_right(task, answer)
                done.append({"id": task["id"], "kind": task["kind"], "agent": agent} | facts)
                done[-1] |= {
                    "right": right,
                    "answer": sorted(answer) if isinstance(answer, set) else answer,
                }
    return done, sum(map(estimated_tokens, told))


def table(done: list[dict[str, Any]]) -> Iterable[str]:
    """Yield the figures by kind of question, as rows of a table."""
    yield "| questions | right | | calls a question | | tokens a question | | ratio |"
    yield "|---|---|---|---|---|---|---|---|"
    yield "| | " + "all tools | search, fetch | " * 3 + "|"
    for kind in (*KINDS, "all"):
        cells = []
        sums = []
        for agent in AGENTS:
            own = [x for x in done if x["agent"] == agent and kind in ("all", x["kind"])]
            count = len(own)
            right = sum(each["right"] for each in own)
            calls, tokens = (sum(each[name] for each in own) for name in ("calls", "tokens"))
            cells.append((f"{right} of {count}", f"{calls / count:.1f}", f"{tokens / count:,.0f}"))
            sums.append(tokens)
        pairs = " | ".join(f"{a} | {b}" for a, b in zip(*cells, strict=True))
        yield f"| {kind} | {pairs} | {sums[0] / sums[1]:.2f} |"


def main() -> None:
    """Ask the questions and print what they cost."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--index", help="An index of the samples and part97.md; made if left out.")
    parser.add_argument("--data", default=os.environ.get("PINCITE_DATA", ""))
    parser.add_argument("--each", action="store_true", help="Print every question too.")
    parser.add_argument("--json", action="store_true")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        part97 = Path(given.data) / "part97" / PART97
        files = [ROOT / "samples", *([part97] if given.data and part97.is_file() else [])]
        index = pincite.open(given.index or Path(folder) / "index")
        if not given.index:
            index.ingest(files).raise_for_rejected()
        if PART97 not in index.documents():
            print("without Part 97: --data names no folder that has it", file=sys.stderr)
        done, described = anyio.run(run, index)
    if given.json:
        print(json.dumps({"described": described, "questions": done}))
        return
    for each in done if given.each else ():
        print(each)
    print("\n".join(table(done)))
    worst = max(each["worst"] for each in done)
    print(
        f"\nfullest answer: {worst:.0%} of its max_tokens; "
        f"tools say of themselves: {described:,} tokens"
    )


if __name__ == "__main__":
    main()
