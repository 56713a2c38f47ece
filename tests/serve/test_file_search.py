"""Files searched by OpenAI's own client, and hits cited through Anthropic's."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import httpx
import pytest

from pincite.adapters.anthropic import cited_place, search_results
from pincite.api import Index
from pincite.model.errors import StoreError

RODS = "How far apart do two earth rods have to be?"
NEW = "electrical-code-2024.md"


@pytest.fixture
def openai_client(sample_server: str) -> Any:
    openai = pytest.importorskip("openai", reason="needs the OpenAI client")
    with openai.OpenAI(base_url=f"{sample_server}/v1", api_key="none", max_retries=0) as opened:
        yield opened


def test_openai_searches_a_store(openai_client: Any) -> None:
    listed = list(openai_client.vector_stores.list())
    assert [(each.id, each.status, each.file_counts.total) for each in listed] == [
        ("default", "completed", 5)
    ]
    assert openai_client.vector_stores.retrieve("default").name == "default"
    found = openai_client.vector_stores.search("default", query=RODS, max_num_results=4)
    results = list(found)
    assert found.search_query == [RODS] and 1 <= len(results) <= 4
    first = results[0]
    assert first.file_id.endswith("#250.56(B)") and first.filename in first.file_id
    assert first.attributes["citation"].endswith(", 250.56(B)")
    assert "2.4 m apart" in first.content[0].text
    scores = [each.score for each in results]
    assert scores == sorted(scores, reverse=True) and 0 <= scores[-1] <= scores[0] <= 1


def test_openai_filters_a_search(openai_client: Any) -> None:
    import openai

    only = {"type": "eq", "key": "document", "value": NEW}
    found = list(openai_client.vector_stores.search("default", query=[RODS, "rcd"], filters=only))
    assert found and {each.filename for each in found} == {NEW}
    both = {"type": "and", "filters": [only, {"type": "in", "key": "kind", "value": ["table"]}]}
    tables = list(openai_client.vector_stores.search("default", query="copper", filters=both))
    assert tables and {each.attributes["kind"] for each in tables} <= {"table", "row"}
    none = openai_client.vector_stores.search(
        "default", query=RODS, ranking_options={"score_threshold": 1.0}
    )
    assert list(none) == []
    with pytest.raises(openai.BadRequestError, match="cannot compare 'gt'"):
        wrong = {"type": "gt", "key": "price", "value": 3}
        openai_client.vector_stores.search("default", query="x", filters=wrong)
    with pytest.raises(openai.NotFoundError, match="no collection"):
        openai_client.vector_stores.search("other", query="x")


def test_openai_answers_from_files(openai_client: Any) -> None:
    tool = {"type": "file_search", "vector_store_ids": ["default"]}
    told = openai_client.responses.create(
        model="pincite", input=RODS, tools=[tool], include=["file_search_call.results"]
    )
    search, message = told.output
    assert (search.type, search.status, search.queries) == ("file_search_call", "completed", [RODS])
    assert any("2.4 m" in each.text for each in search.results)
    assert "2.4 m" in told.output_text
    note = message.content[0].annotations[0]
    assert note.type == "file_citation" and note.file_id.endswith("#250.56(B)")
    assert told.output_text[: note.index].endswith("apart.")
    bare = openai_client.responses.create(
        model="pincite/default", input=[{"role": "user", "content": RODS}]
    )
    assert bare.output_text == told.output_text and bare.output[0].results is None


class Messages(BaseHTTPRequestHandler):
    """A stand-in for Anthropic's service: cites every block of the request that has the words."""

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["content-length"])))
        blocks = [b for m in body["messages"] for b in m["content"] if b["type"] == "search_result"]
        cited = [
            {
                "type": "search_result_location",
                "cited_text": part["text"],
                "search_result_index": number,
                "source": block["source"],
                "title": block["title"],
                "start_block_index": at,
                "end_block_index": at + 1,
            }
            for number, block in enumerate(blocks)
            if block["citations"]["enabled"]
            for at, part in enumerate(block["content"])
            if "2.4 m apart" in " ".join(part["text"].split())
        ]
        answer = {
            "id": "msg_1",
            "type": "message",
            "role": "assistant",
            "model": body["model"],
            "stop_reason": "end_turn",
            "stop_sequence": None,
            "content": [{"type": "text", "text": "2.4 m.", "citations": cited}],
            "usage": {"input_tokens": 1, "output_tokens": 1},
        }
        text = json.dumps(answer).encode()
        self.send_response(200)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(text)))
        self.end_headers()
        self.wfile.write(text)

    def log_message(self, *_: Any) -> None:
        """Say nothing."""


@pytest.fixture
def messages_api() -> Iterator[str]:
    with ThreadingHTTPServer(("127.0.0.1", 0), Messages) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()
        thread.join()


def test_citations_of_anthropic_lead_back_to_places(
    sample_server: str, sample_index: Path, messages_api: str
) -> None:
    anthropic = pytest.importorskip("anthropic", reason="needs the Anthropic client")
    pydantic = pytest.importorskip("pydantic")
    asked = {"query": RODS, "k": 5}
    served = httpx.post(f"{sample_server}/v1/search_results", json=asked, timeout=60).json()
    blocks = served["content"]
    kind = pydantic.TypeAdapter(anthropic.types.SearchResultBlockParam)
    for block in blocks:
        checked = kind.validate_python(block)
        assert list(checked["content"]) == block["content"]  # nothing that the client would refuse
    assert len({block["source"] for block in blocks}) == len(blocks) > 1
    with Index.open(sample_index) as index:
        assert blocks == search_results(index, RODS, 5)
        with anthropic.Anthropic(base_url=messages_api, api_key="none", max_retries=0) as client:
            said = client.messages.create(
                model="stand-in",
                max_tokens=100,
                messages=[
                    {"role": "user", "content": [*blocks, {"type": "text", "text": RODS}]},
                ],
            )
        (text,) = said.content
        places = [cited_place(index, citation) for citation in text.citations]
        assert NEW in {place.span.doc_id for place in places}
        for place, citation in zip(places, text.citations, strict=True):
            assert place.locator == "250.56(B)" and citation.cited_text == place.text.strip()
        with pytest.raises(StoreError, match="no place 'x#1'"):
            cited_place(index, {"type": "search_result_location", "source": "x#1"})
        with pytest.raises(StoreError, match="no citation of a search result"):
            cited_place(index, {"type": "char_location"})
