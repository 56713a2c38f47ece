"""Searching and looking over HTTP: what comes out is what the library finds."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from pincite.api import Index

from .conftest import client, run, settings

RODS = "how far apart do two earth rods have to be"


def post(folder: Path, *calls: tuple[str, dict[str, Any]], **serve: Any) -> list[Any]:
    """Return the answers to some calls."""

    async def ask() -> list[Any]:
        async with client(folder, settings(**serve)) as opened:
            kind = {"content-type": "application/json"}
            return [
                await opened.post(path, content=json.dumps(body), headers=kind)
                for path, body in calls
            ]

    return run(ask())


def test_a_search_finds_what_the_library_finds(sample_index: Path) -> None:
    (found,) = post(sample_index, ("/v1/search", {"query": RODS, "k": 3}))
    assert found.status_code == 200
    with Index.open(sample_index) as index:
        expected = index.search(RODS, 3)
    hits = found.json()["hits"]
    assert [hit["citation"] for hit in hits] == [p.citation for p in expected.passages]
    assert [hit["score"] for hit in hits] == [p.hit.score for p in expected.passages]
    assert found.json()["generation"] == index.snapshot.manifest.generation
    for hit in hits:
        assert sum(hit["why"].values()) == pytest.approx(hit["score"])


def test_filters_are_kept(sample_index: Path) -> None:
    only = {"documents": ["electrical-code-2021.md"]}
    none = {"documents": ["nothing.md"]}
    found, empty, bad = post(
        sample_index,
        ("/v1/search", {"query": RODS, "filters": only}),
        ("/v1/search", {"query": RODS, "filters": none}),
        ("/v1/search", {"query": RODS, "filters": {"as_of": "soon"}}),
    )
    assert {hit["document"] for hit in found.json()["hits"]} == {"electrical-code-2021.md"}
    assert empty.json()["hits"] == [] and "nothing.md" in empty.json()["note"]
    assert bad.status_code == 400 and "no date" in bad.json()["error"]["message"]


def test_an_explanation_has_every_stage_and_says_what_lost_a_place(sample_index: Path) -> None:
    (found,) = post(sample_index, ("/v1/explain", {"query": RODS, "k": 1, "place": "250.52"}))
    told = found.json()
    assert [stage["stage"] for stage in told["stages"]][-1] == "spread"
    assert all(stage["candidates"] >= len(stage["hits"]) for stage in told["stages"])
    assert told["why_not"][0]["lost_at"]
    assert told["why_not"][0]["reason"]


def test_places_cells_and_the_like(sample_index: Path) -> None:
    cell = {"table": "Table 250.66", "row": "95 mm²", "column": "electrode copper"}
    shown, gone, value, like = post(
        sample_index,
        ("/v1/show", {"locator": "250.56(B)", "document": "electrical-code-2024.md"}),
        ("/v1/show", {"locator": "999.99"}),
        ("/v1/cell", cell),
        ("/v1/similar", {"locator": "250.56(B)", "k": 2, "least": 0.5}),
    )
    (place,) = shown.json()["places"]
    assert "2.4 m apart" in place["text"] and place["path"]
    assert gone.status_code == 404 and gone.json()["error"]["hint"]
    assert {each["value"] for each in value.json()["cells"]} == {"35"}
    assert len(like.json()["places"]) == 2
    assert all(each["cosine"] >= 0.5 for each in like.json()["places"])


def test_a_text_is_checked(sample_index: Path) -> None:
    text = "Rods “shall be at least 2.5 m apart” (250.56(B))."
    told, refused = post(sample_index, ("/v1/check", {"text": text}), ("/v1/check", {"text": ""}))
    (claim,) = told.json()["claims"]
    assert (claim["verdict"], told.json()["failed"]) == ("number_differs", 1)
    assert claim["changes"] == [{"source": "2.4", "written": "2.5"}]
    assert refused.status_code == 422
    body = {"text": f"{text} See 999.9 of the code. {text}", "stream": True}
    (whole,) = post(sample_index, ("/v1/check", {**body, "stream": False}))
    (streamed,) = post(sample_index, ("/v1/check", body))
    assert streamed.headers["content-type"].startswith("text/event-stream")
    events = [each.split("\n") for each in streamed.text.strip().split("\n\n")]
    names = [lines[1] for lines in events]
    assert names == ["event: claim"] * (len(events) - 1) + ["event: complete"]
    values = [json.loads(lines[2].removeprefix("data: ")) for lines in events]
    assert values[:-1] == whole.json()["claims"] and len(values) > 2
    assert (
        values[-1]["failed"] == whole.json()["failed"]
        and values[-1]["generation"] == whole.json()["generation"]
    )


@pytest.mark.parametrize(
    "body",
    [
        {"query": ""},
        {"query": " \n"},
        {"query": "x", "k": 0},
        {"query": "x", "k": "3"},
        {"query": "x", "k": True},
        {"query": "x", "nonsense": 1},
        {"query": "x" * 2001},
        {"query": "x", "k": 201},
        {"query": "x", "filters": {"access": ["gm"]}},
        {"query": "\ud800"},
        ["query"],
    ],
)
def test_a_native_request_is_strict(sample_index: Path, body: Any) -> None:
    (told,) = post(sample_index, ("/v1/search", body))
    assert told.status_code == 422
    assert told.json()["error"]["message"] and told.json()["error"]["request_id"]


def test_documents_are_listed_without_where_they_came_from(sample_index: Path) -> None:
    async def ask() -> tuple[Any, Any, Any]:
        async with client(sample_index) as opened:
            return (
                await opened.get("/v1/documents"),
                await opened.get("/v1/documents/rulebook.md"),
                await opened.get("/v1/documents/../../etc/passwd"),
            )

    listed, one, none = run(ask())
    assert "rulebook.md" in [each["id"] for each in listed.json()["documents"]]
    assert one.json()["count"] == len(one.json()["places"]) > 50
    assert str(sample_index.parent) not in one.text and "source" not in one.json()
    assert none.status_code == 404


def test_json_that_is_called_a_form_is_told_which_header_is_missing(sample_index: Path) -> None:
    async def ask() -> list[Any]:
        async with client(sample_index, settings()) as opened:
            body = json.dumps({"query": RODS})
            kinds = ("application/x-www-form-urlencoded", "application/json")
            return [
                await opened.post("/v1/search", content=text, headers={"content-type": kind})
                for text, kind in zip((body, "{}"), kinds, strict=True)
            ]

    form, empty = (told.json()["error"]["hint"] for told in run(ask()))
    assert form == "send the header Content-Type: application/json; see /openapi.json"
    assert empty == "see /openapi.json"


def test_hints_name_calls_of_the_service(sample_index: Path) -> None:
    told = post(
        sample_index,
        ("/v1/show", {"locator": "999.99"}),
        ("/v1/show", {"locator": "1", "document": "none.md"}),
    )
    hints = [each.json()["error"]["hint"] for each in told]
    assert hints == ['try: POST /v1/search with {"query": ...}', "see: GET /v1/documents"]
