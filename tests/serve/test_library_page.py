"""The documents on the page: the list, the gap report, the graph around a clause, scopes."""

from __future__ import annotations

import re
from html import escape
from itertools import pairwise
from pathlib import Path
from typing import Any

import httpx
import pytest

pytest.importorskip("fastapi", reason='needs: pip install "pincite[serve]"')

from pincite.api import Index
from pincite.maintain.audit import audit
from pincite.serve.access import add_key, new_key
from pincite.serve.page.library_page import MAX_NODES, around
from pincite.serve.page.look import Look
from pincite.serve.service import Options
from pincite.update import ingest_files

from .conftest import client, run

CODE = "electrical-code-2024.md"
FINDINGS: dict[str, Any] = {}


def get(folder: Path, *asked: dict[str, Any], **more: Any) -> list[httpx.Response]:
    async def work() -> list[httpx.Response]:
        async with client(folder, **more) as opened:
            return [
                await opened.get("/findings" if each is FINDINGS else "/library", params=each)
                for each in asked
            ]

    return run(work())


def at(index: Index, locator: str) -> Look:
    chunk = index.show(locator, CODE)[0]
    return Look(doc=CODE, at=(chunk.span.start, chunk.span.end))


def test_the_list_has_every_document(sample_index: Path) -> None:
    (told, some) = get(sample_index, {}, {"find": "2024"})
    with Index.open(sample_index) as index:
        for doc_id in index.documents():
            assert f"/?in={doc_id}" in told.text and f"/library?doc={doc_id}" in told.text
            assert escape(index.snapshot.title(doc_id) or doc_id) in told.text
            report = audit(index.snapshot, [doc_id])
            (one,) = get(sample_index, {"doc": doc_id})
            places = sum(report.statistics["places"].values())
            assert f"{places:,} places" in one.text
            assert f"{report.statistics['searched']:,} searched chunks" in one.text
    assert "electrical-code-2024.md" in some.text and "rulebook.md" not in some.text


def test_findings_are_those_of_the_audit_and_lead_to_their_places(
    sample_index: Path, tmp_path: Path
) -> None:
    folder = tmp_path / "index"
    file = tmp_path / "gaps.md"
    words = "# Rules\n\n## 1 One\n\n(a) As 9.9 says.\n(b) Two.\n(d) Four <b>x</b>, see 7.7.\n"
    file.write_text(words + "\n## 2 Two\n\n## 3 Three\n\nSee 1(a).\n", encoding="utf-8")
    list(ingest_files([(file, "gaps.md")], folder))
    with Index.open(folder) as index:
        report = audit(index.snapshot)
    assert report.gaps
    told, one = get(folder, FINDINGS, {"doc": "gaps.md"})
    rows = re.findall(r"<tr><td>.*?</tr>", told.text, re.DOTALL)
    assert len(rows) == len(report.gaps) and "(d) follows (b)" in told.text
    assert "/?doc=gaps.md&amp;at=" in told.text
    assert "Gap report" in one.text and "<b>x</b>" not in told.text + one.text
    assert "Nothing is missing" in get(sample_index, {"doc": "notes.txt"})[0].text


def test_the_graph_has_typed_edges_both_ways(sample_index: Path) -> None:
    with Index.open(sample_index) as index:
        told = around(index, at(index, "250.56"))
        edges = [edge for _, some in told["lists"] for edge in some]
        assert 0 < len(edges) < MAX_NODES
        drawn = [b["edge"] for c in told["columns"] for g in c["groups"] for b in g["boxes"]]
        assert sorted(map(id, drawn)) == sorted(map(id, edges))
        out = next(edge for edge in edges if edge.relation == "refers_to")
        # Whoever walks along an edge finds it again from the other end.
        there = around(
            index, Look(doc=out.chunk.span.doc_id, at=(out.chunk.span.start, out.chunk.span.end))
        )
        back = [e.chunk.id for _, some in there["lists"] for e in some if e.relation == "refers_to"]
        assert told["middle"]["chunk"].id in back


def test_no_two_boxes_of_the_picture_overlap(sample_index: Path) -> None:
    with Index.open(sample_index) as index:
        for chunk in index.snapshot.chunks(CODE)[::7]:
            look = Look(doc=CODE, at=(chunk.span.start, chunk.span.end))
            told = around(index, look)
            for column in told["columns"]:
                tops = [b["y"] for g in column["groups"] for b in g["boxes"]]
                assert all(b - a >= told["line"] for a, b in pairwise(tops))
                assert not tops or (tops[0] >= 0 and tops[-1] + told["line"] <= told["height"])


def test_a_place_that_is_not_there_is_told(sample_index: Path) -> None:
    nowhere, nothing = get(
        sample_index, {"doc": "none.md"}, {"doc": CODE, "at": "90000000-90000001"}
    )
    assert nowhere.status_code == 404 and nothing.status_code == 404


def test_an_empty_collection_asks_for_documents(tmp_path: Path) -> None:
    (told,) = get(tmp_path / "empty", {})
    assert told.status_code == 200 and "no documents yet" in told.text and 'id="drop"' in told.text


def test_removing_needs_the_scope_write(own_index: Path, tmp_path: Path) -> None:
    file = tmp_path / "keys.json"
    reading, reader = new_key("anna", ("read",), access=None)
    writing, writer = new_key("ben", ("read", "write"), access=None)
    for key in (reading, writing):
        add_key(file, key)

    async def work(secret: str) -> tuple[int, str]:
        async with client(own_index, options=Options(file), key=secret) as opened:
            told = await opened.post("/library/remove", data={"doc": "notes.txt"})
            return told.status_code, (await opened.get("/library")).text

    status, text = run(work(reader))
    assert status == 403 and 'id="drop"' not in text and "notes.txt" in text
    status, text = run(work(writer))
    assert status == 303 and 'id="drop"' in text and "notes.txt" not in text


def test_who_may_not_see_a_document_sees_nothing_of_it(tmp_path: Path) -> None:
    folder = tmp_path / "index"
    for name, tag in (("open.md", ""), ("secret.md", "access: [staff]\n")):
        head = f"---\n{tag}---\n" if tag else ""
        (tmp_path / name).write_text(
            f"{head}# {name} title\n\n## 1 One\n\nSee 2.\n\n## 2 Two\n\nSee 9.\n"
        )
    list(ingest_files([(tmp_path / n, n) for n in ("open.md", "secret.md")], folder))
    key, secret = new_key("anna", ("read",), access=("public",))
    add_key(tmp_path / "keys.json", key)
    asked = ({}, FINDINGS, {"doc": "secret.md"}, {"doc": "secret.md", "at": "0-5"})
    told = get(folder, *asked, options=Options(tmp_path / "keys.json"), key=secret)
    assert "open.md" in told[0].text
    assert "secret.md" not in told[0].text + told[1].text
    assert [each.status_code for each in told] == [200, 200, 404, 404]
