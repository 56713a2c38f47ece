"""Nothing that a key may not see comes out: not as a hit, a count, a suggestion, nor an error."""

from __future__ import annotations

import asyncio
import random
from collections import Counter
from pathlib import Path
from typing import Any

import httpx
import pytest

from pincite.model.settings import merged
from pincite.read.load import find_files
from pincite.serve.access import add_key, new_key
from pincite.serve.service import Options
from pincite.update import embed_index, ingest_files

from .conftest import client, run, settings

# Each tag's documents are full of words that stand nowhere else.
TAGS = {
    "": ["lantern", "harbour", "rudder", "anchor", "galley"],
    "red": ["zorblax", "zorblaxes", "quindle", "vremtok", "quindling"],
    "blue": ["hympek", "hympeks", "drauvin", "folqar", "drauvining"],
}
COMMON = ["the", "table", "rule", "damage", "see", "section", "when", "cable", "cables"]
ALL = [word for words in TAGS.values() for word in words]


def text_of(tag: str, number: int, draw: random.Random) -> str:
    """Return a document: clauses, a table, a definition and references, some to the others."""
    own = TAGS[tag]
    front = f"---\naccess: {tag}\n---\n\n" if tag else ""
    name = f"{draw.choice(own).title()} Book {number}"
    parts = [f"{front}# {name}"]
    for clause in range(1, 5):
        words = " ".join(draw.choices([*own, *COMMON], k=14))
        parts.append(f"## {number}.{clause} {draw.choice(own).title()}\n\n(a) {words}.\n")
        parts.append(f"See {draw.randint(1, 9)}.{draw.randint(1, 4)} and Table {number}.")
    term = draw.choice(own)
    parts.append(f'"{term.title()}" means a {draw.choice(own)} ({term[:2].upper()}).')
    rows = "\n".join(f"| {draw.choice(own)} | {draw.randint(1, 99)} |" for _ in range(3))
    parts.append(
        f"**Table {number} {draw.choice(own).title()}**\n\n| Name | Value |\n|---|---|\n{rows}"
    )
    return "\n\n".join(parts) + "\n"


@pytest.fixture(scope="module")
def tagged(tmp_path_factory: pytest.TempPathFactory) -> Path:
    base = tmp_path_factory.mktemp("tagged")
    draw = random.Random(7)
    for number in range(1, 10):
        tag = list(TAGS)[number % 3]
        file = base / "documents" / (tag or "open") / f"{draw.choice(TAGS[tag])}-{number}.md"
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text_of(tag, number, draw))
    list(ingest_files(find_files([base / "documents"]), base / "index"))
    list(embed_index(base / "index"))
    return base / "index"


def slip(word: str, draw: random.Random) -> str:
    """Return a word with two letters exchanged."""
    at = draw.randrange(1, max(2, len(word) - 1))
    return word[:at] + word[at : at + 2][::-1] + word[at + 2 :]


def calls(draw: random.Random) -> tuple[str, str, dict[str, Any]]:
    """Return a random request, with words of all tenants in it."""
    words = draw.choices([*ALL, *COMMON], k=draw.randint(1, 4))
    if draw.random() < 0.5:
        words[0] = slip(words[0], draw)
    place = draw.choice([f"{draw.randint(1, 9)}.{draw.randint(1, 4)}", "Table 3", words[0]])
    query, k = " ".join([*words, *([place] if draw.random() < 0.3 else [])]), draw.randint(1, 9)
    tag = draw.choice(list(TAGS)) or "open"
    filters = draw.choice(
        [{}, {"documents": [f"{tag}/*"]}, {"tags": [words[0]]}, {"as_of": "2020"}]
    )
    # Answers read more than searches do: fewer of them, so that there can be thousands in all.
    often = [
        ("POST", "/v1/search", {"query": query, "k": k, "filters": filters}),
        ("POST", "/v1/search", {"query": query, "k": k}),
        ("POST", "/v1/show", {"locator": place}),
        ("POST", "/v1/show", {"locator": place, "as_of": "1990"}),
        ("POST", "/v1/cell", {"table": place, "row": words[0]}),
        ("POST", "/v1/similar", {"locator": place, "least": -1.0, "k": 20}),
        ("GET", "/v1/documents", {}),
        ("GET", f"/v1/documents/{tag}/{words[0]}-{draw.randint(1, 9)}.md", {}),
    ]
    seldom = [
        ("POST", "/v1/explain", {"query": query, "k": k, "place": place}),
        ("POST", "/v1/explain", {"query": query, "place": place, "filters": filters}),
        ("POST", "/v1/ask", {"question": query}),
        ("GET", "/v1/cite", {"place": place, "as": "annotation"}),
        ("POST", "/v1/check", {"text": f"It says “{query} {query}” ({place})."}),
        ("POST", "/v1/ask", {"question": query, "stream": True}),
        ("POST", "/v1/feedback", {"question": query, "locator": place, "grade": 1}),
        ("POST", "/v1/chat/completions", {"messages": [{"role": "user", "content": query}]}),
    ]
    return draw.choice(seldom if draw.random() < 0.15 else often)


def leaks(told: httpx.Response, sent: str, tags: set[str]) -> list[str]:
    """Return the words of other tenants in an answer that were not in the question."""
    said = told.text.lower()
    hidden = [word for tag, words in TAGS.items() if tag and tag not in tags for word in words]
    found = [word for word in hidden if word in said.replace(sent.lower(), "")]
    # What the caller wrote may be repeated, as it was written.
    return [word for word in found if word not in sent.lower()]


@pytest.mark.slow
@pytest.mark.parametrize(("pipeline", "count"), [("default", 300), ("lexical", 1800)])
def test_thousands_of_questions_reveal_nothing(
    tagged: Path, tmp_path: Path, pipeline: str, count: int
) -> None:
    """Most are asked without encoding the question, which takes most of the time of a search."""
    people: dict[str, set[str]] = {"nobody": set(), "red": {"red"}, "blue": {"blue"}}
    keys = {}
    for name, tags in people.items():
        key, keys[name] = new_key(name, access=tags)
        add_key(tmp_path / "keys.json", key)
    draw = random.Random(count)
    chosen = settings(rate_per_minute=0, feedback="")
    chosen = merged(chosen, {"search": {"preset": pipeline}}, origin="test")

    async def ask() -> tuple[list[Any], Counter[int], int]:
        bad: list[Any] = []
        statuses: Counter[int] = Counter()
        own = 0
        async with client(tagged, chosen, Options(tmp_path / "keys.json")) as opened:
            for _ in range(count // 10):
                batch = []
                for _ in range(10):
                    name = draw.choice(list(people))
                    method, path, body = calls(draw)
                    headers = {"authorization": f"Bearer {keys[name]}"}
                    sent = {"json": body} if method == "POST" else {"params": body}
                    request = opened.request(method, path, headers=headers, **sent)
                    batch.append((name, f"{path} {body}", request))
                answers = await asyncio.gather(*(request for _, _, request in batch))
                for (name, sent_text, _), told in zip(batch, answers, strict=True):
                    statuses[told.status_code] += 1
                    if words := leaks(told, sent_text, people[name]):
                        bad.append((name, sent_text, words, told.text[:2000]))
                    mine = next(iter(people[name]), "")
                    own += bool(mine) and any(word in told.text for word in TAGS[mine])
        return bad, statuses, own

    bad, statuses, own = run(ask())
    assert not bad, bad[0]
    assert set(statuses) <= {200, 201, 400, 404, 409}, statuses
    assert statuses[200] > count / 3
    assert own > count / 10  # who may see it does see it: silence is no proof


def test_a_hidden_document_looks_like_one_that_is_not_there(tagged: Path, tmp_path: Path) -> None:
    """Same status, same words: existence is not told either."""
    key, secret = new_key("nobody")
    add_key(tmp_path / "keys.json", key)
    hidden = next((tagged.parent / "documents" / "red").iterdir()).name

    async def ask() -> list[str]:
        async with client(tagged, None, Options(tmp_path / "keys.json"), key=secret) as opened:
            found = []
            for name in (hidden, "x" * len(hidden)):
                doc = f"red/{name}"
                for told in [
                    await opened.get(f"/v1/documents/{doc}"),
                    await opened.post("/v1/show", json={"locator": "1.1", "document": doc}),
                    await opened.post("/v1/explain", json={"query": "rule", "place": doc}),
                    await opened.post(
                        "/v1/search", json={"query": "rule", "filters": {"documents": [doc]}}
                    ),
                ]:
                    values = told.json()
                    values.pop("seconds", None)
                    values.get("error", {}).pop("request_id", None)
                    found.append(f"{told.status_code} {values}".replace(name, "?"))
            return found

    found = run(ask())
    assert found[:4] == found[4:]
