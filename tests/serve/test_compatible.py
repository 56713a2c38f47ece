"""Clients of other makers: OpenAI's and Cohere's own, and the bodies of Jina, TEI and vLLM."""

from __future__ import annotations

import base64
from pathlib import Path
from typing import Any

import httpx
import numpy as np
import pytest

from pincite.answer.values import Abstention, Answer, CitedPlace
from pincite.encode.encoders import open_encoder
from pincite.model.settings import Encoding, merged
from pincite.model.types import Span
from pincite.serve.openai_routes import Completion

from .conftest import client, run, settings

RODS = "How far apart do two earth rods have to be?"
TEXTS = [
    "The boat is painted red.",
    "Where more than one rod is used, they shall be at least 2.4 m apart.",
    "Soup of the day.",
]


@pytest.fixture
def openai_client(sample_server: str) -> Any:
    openai = pytest.importorskip("openai", reason="needs the OpenAI client")
    with openai.OpenAI(base_url=f"{sample_server}/v1", api_key="none", max_retries=0) as opened:
        yield opened


@pytest.fixture
def http(sample_server: str) -> Any:
    with httpx.Client(base_url=sample_server, timeout=60) as opened:
        yield opened


def test_openai_streams_a_chat(openai_client: Any) -> None:
    asked = {"model": "pincite", "messages": [{"role": "user", "content": RODS}]}
    chunks = list(
        openai_client.chat.completions.create(
            **asked, stream=True, stream_options={"include_usage": True}
        )
    )
    text = "".join(c.choices[0].delta.content or "" for c in chunks if c.choices)
    assert "2.4 m" in text and "Sources:" in text
    assert ", 250.56(B)\n" in f"{text}\n"  # the clause that is quoted, not its section
    assert len({chunk.id for chunk in chunks}) == 1
    last = [chunk for chunk in chunks if chunk.choices][-1]
    assert last.choices[0].finish_reason == "stop"
    assert last.citations and last.sources  # ours, which the client keeps
    assert chunks[-1].usage.total_tokens >= 0
    whole = openai_client.chat.completions.create(**asked)
    assert whole.choices[0].message.content == text
    assert whole.model_extra["citations"] == last.citations


def test_a_chat_hears_that_there_is_no_answer(sample_index: Path) -> None:
    said = [
        {"role": "system", "content": "You are a pirate."},
        {"role": "user", "content": [{"type": "text", "text": "zxqv wkjh?"}]},
    ]
    words_alone = merged(settings(), {"search": {"preset": "lexical"}}, origin="test")

    async def ask() -> Any:
        async with client(sample_index, words_alone) as opened:
            body = {"model": "pincite/default", "messages": said}
            return (await opened.post("/v1/chat/completions", json=body)).json()

    told = run(ask())
    assert told["choices"][0]["message"]["content"]
    assert told["abstention"]["reason"] and not told["citations"]


def test_a_chat_says_the_short_answer_first() -> None:
    span = Span("a.md", 0, 11)
    answer = Answer("q", "2.4 m apart [1]", short="2.4\nm", short_spans=(span,))
    told = Completion("id", "pincite").whole(answer)
    assert told["choices"][0]["message"]["content"] == "2.4 m\n\n2.4 m apart [1]"
    assert (told["state"], told["short"]) == ("found", "2.4\nm")
    assert told["short_spans"] == [{"document": "a.md", "span": [0, 11]}]


def test_a_chat_without_an_answer_names_the_nearest_places() -> None:
    none = Abstention("low_confidence", "No.", (CitedPlace("a.md", "Rules", "1(a)"),))
    told = Completion("id", "pincite").whole(Answer("q", "No.", abstention=none))
    content = told["choices"][0]["message"]["content"]
    assert content == "No.\n\nNearest places:\n- Rules, 1(a)"
    assert told["state"] == "candidates"


def test_openai_reads_vectors(openai_client: Any) -> None:
    encoder = open_encoder(Encoding())
    assert encoder is not None
    expected = encoder.encode(TEXTS)
    packed = openai_client.embeddings.create(model="minilm", input=TEXTS)  # asks for base64
    plain = openai_client.embeddings.create(model="minilm", input=TEXTS, encoding_format="float")
    for told in (packed, plain):
        assert [each.index for each in told.data] == [0, 1, 2]
        assert np.allclose([each.embedding for each in told.data], expected, atol=1e-6)
    assert packed.usage.total_tokens > 10
    one = openai_client.embeddings.create(model="minilm", input="a question")
    assert len(one.data) == 1 and len(one.data[0].embedding) == 384


def test_openai_lists_models_and_understands_errors(openai_client: Any) -> None:
    import openai

    names = [model.id for model in openai_client.models.list()]
    assert names == ["pincite", "pincite/default", "minilm"]
    assert openai_client.models.retrieve("pincite/default").id == "pincite/default"
    with pytest.raises(openai.NotFoundError):
        openai_client.models.retrieve("gpt")
    with pytest.raises(openai.BadRequestError, match="another tokeniser"):
        openai_client.embeddings.create(model="minilm", input=[[1, 2, 3]])
    with pytest.raises(openai.BadRequestError, match="384"):
        openai_client.embeddings.create(model="minilm", input="x", dimensions=12)
    with pytest.raises(openai.NotFoundError, match="no collection"):
        said = [{"role": "user", "content": "x"}]
        openai_client.chat.completions.create(model="pincite/other", messages=said)


def test_vectors_in_base64_are_little_endian(http: Any) -> None:
    body = {"input": "x", "encoding_format": "base64"}
    told = http.post("/v1/embeddings", json=body).json()["data"][0]["embedding"]
    plain = http.post("/v1/embeddings", json={"input": ["x"]}).json()["data"][0]["embedding"]
    assert np.frombuffer(base64.b64decode(told), "<f4").tolist() == pytest.approx(plain)


def test_cohere_reranks_in_both_versions(sample_server: str) -> None:
    cohere = pytest.importorskip("cohere", reason="needs the Cohere client")
    for make in (cohere.Client, cohere.ClientV2):
        with httpx.Client(timeout=60) as http:
            opened = make(api_key="none", base_url=sample_server, httpx_client=http)
            told = opened.rerank(model="rerank-v3.5", query=RODS, documents=TEXTS, top_n=2)
        first, second = told.results
        assert first.index == 1
        assert 1 >= first.relevance_score > 10 * second.relevance_score >= 0


def test_jina_and_vllm_get_their_documents_back(http: Any) -> None:
    documents = [{"text": text} for text in TEXTS]
    jina = http.post("/v1/rerank", json={"model": "jina", "query": RODS, "documents": documents})
    told = jina.json()
    assert told["results"][0]["document"] == {"text": TEXTS[1]} and told["usage"]["total_tokens"]
    vllm = http.post("/rerank", json={"query": RODS, "documents": TEXTS, "top_n": 0})
    assert len(vllm.json()["results"]) == 3
    hidden = {"query": RODS, "documents": TEXTS, "return_documents": False, "top_k": 1}
    voyage = http.post("/v1/rerank", json=hidden).json()
    assert (
        voyage["data"]
        == voyage["results"]
        == [{"index": 1, "relevance_score": told["results"][0]["relevance_score"]}]
    )


def test_tei_gets_a_bare_list(http: Any) -> None:
    body = {"query": RODS, "texts": TEXTS, "return_text": True}
    plain = http.post("/rerank", json=body).json()
    assert plain[0]["index"] == 1 and plain[0]["text"] == TEXTS[1]
    assert all(0 <= each["score"] <= 1 for each in plain)
    raw = http.post("/rerank", json={**body, "raw_scores": True}).json()
    assert [each["index"] for each in raw] == [each["index"] for each in plain]
    assert any(not 0 <= each["score"] <= 1 for each in raw)


def test_a_long_document_is_read_to_its_end(http: Any) -> None:
    long = "Paint is red. " * 400 + TEXTS[1] + " Soup is hot. " * 100
    wish = {"mode": "enabled", "threshold": 0.05}
    body = {"query": RODS, "documents": [TEXTS[0], long], "relevant_spans": wish}
    (first, second) = http.post("/v2/rerank", json=body).json()["results"]
    assert first["index"] == 1 and first["relevance_score"] > 10 * second["relevance_score"]
    assert "document" not in first
    assert any("2.4 m apart" in long[s["start"] : s["end"]] for s in first["relevant_spans"])


def test_what_makes_no_sense_is_told(http: Any) -> None:
    for body, status in [
        ({"query": RODS}, 422),
        ({"query": RODS, "documents": [{"image": "x"}]}, 422),
        ({"query": RODS, "documents": ["x"] * 1001}, 413),
        ({"documents": ["x"]}, 422),
    ]:
        told = http.post("/v2/rerank", json=body)
        assert told.status_code == status and told.json()["error"]["message"]
    assert http.post("/v2/rerank", json={"query": "", "documents": []}).json()["results"] == []
    for body in ({"input": ""}, {"input": []}, {"input": ["a", " "]}):
        assert http.post("/v1/embeddings", json=body).status_code == 400
    none = {"messages": [{"role": "system", "content": "x"}]}
    assert http.post("/v1/chat/completions", json=none).status_code == 400
