"""The adapters inside small pipelines of the frameworks themselves."""

from __future__ import annotations

import asyncio
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from pincite.api import Index
from pincite.model.types import Filters

RULES = """# Earthing Rules

## 1 Rods

Two earth rods shall stand at least 2.4 m apart.

## 2 Wires

A bare wire shall be of copper.
"""
MORE = "# Pumps\n\n## 1 Motors\n\nA motor shall be earthed by a rod.\n\n## 2 Seals\n\nNone.\n"
QUESTION = "how far apart do earth rods stand?"


@pytest.fixture
def index(make_index: Callable[..., Index]) -> Index:
    return make_index({"rules.md": RULES, "pumps.md": MORE})


def check_facts(facts: dict[str, object]) -> None:
    assert facts["document"] == "rules.md" and facts["locator"] == "1"
    assert facts["citation"] == "Earthing Rules, 1" and facts["path"] == "1 Rods"
    assert facts["page"] is None and isinstance(facts["score"], float)


def test_langchain(index: Index) -> None:
    pytest.importorskip("langchain_core", reason='needs: pip install "pincite[langchain]"')
    from langchain_core.output_parsers import StrOutputParser
    from langchain_core.prompts import ChatPromptTemplate
    from langchain_core.runnables import RunnableLambda, RunnablePassthrough

    from pincite.adapters.langchain import LangChainRetriever

    retriever = LangChainRetriever(index=index, k=1)
    (document,) = retriever.invoke(QUESTION)
    check_facts(document.metadata)
    assert "2.4 m" in document.page_content and document.id == index.show("1", "rules.md")[0].id
    assert asyncio.run(retriever.ainvoke(QUESTION)) == [document]

    prompt = ChatPromptTemplate.from_template("{context}\n\n{question}")
    chain = (
        {
            "context": retriever | (lambda found: found[0].metadata["citation"]),
            "question": RunnablePassthrough(),
        }
        | prompt
        | RunnableLambda(lambda value: value.to_messages()[0].content)
        | StrOutputParser()
    )
    assert chain.invoke(QUESTION) == f"Earthing Rules, 1\n\n{QUESTION}"
    only = LangChainRetriever(index=index.snapshot.folder, filters=Filters(documents=("pumps.md",)))
    assert {each.metadata["document"] for each in only.invoke(QUESTION)} == {"pumps.md"}
    only.index.close()


def test_llama_index(index: Index) -> None:
    pytest.importorskip("llama_index.core", reason='needs: pip install "pincite[llama-index]"')
    from llama_index.core.llms import MockLLM
    from llama_index.core.query_engine import RetrieverQueryEngine
    from llama_index.core.schema import MetadataMode

    from pincite.adapters.llama_index import LlamaIndexRetriever

    retriever = LlamaIndexRetriever(index, k=1)
    (node,) = retriever.retrieve(QUESTION)
    check_facts(node.node.metadata)
    assert node.score == node.node.metadata["score"] and "2.4 m" in node.text
    told = node.node.get_content(MetadataMode.LLM)
    assert "citation: Earthing Rules, 1" in told and "score" not in told
    assert asyncio.run(retriever.aretrieve(QUESTION))[0].node.id_ == node.node.id_

    engine = RetrieverQueryEngine.from_args(retriever, llm=MockLLM())
    answer = engine.query(QUESTION)
    assert [each.node.metadata["locator"] for each in answer.source_nodes] == ["1"]
    assert "2.4 m" in str(answer)  # the mock answers with its prompt


def test_haystack(index: Index) -> None:
    pytest.importorskip("haystack", reason='needs: pip install "pincite[haystack]"')
    from haystack import Pipeline
    from haystack.components.builders import PromptBuilder
    from haystack.core.serialization import allow_deserialization_module

    from pincite.adapters.haystack import HaystackRetriever

    template = "{% for each in documents %}{{ each.meta.citation }}{% endfor %}: {{ question }}"
    pipeline = Pipeline()
    pipeline.add_component("retriever", HaystackRetriever(str(index.snapshot.folder), k=1))
    pipeline.add_component("prompt", PromptBuilder(template, required_variables="*"))
    pipeline.connect("retriever.documents", "prompt.documents")
    asked = {"retriever": {"query": QUESTION}, "prompt": {"question": QUESTION}}
    told = pipeline.run(asked, include_outputs_from={"retriever"})
    (document,) = told["retriever"]["documents"]
    check_facts(document.meta)
    assert "2.4 m" in document.content and document.score == document.meta["score"]
    assert told["prompt"]["prompt"] == f"Earthing Rules, 1: {QUESTION}"
    # A pipeline can be written down and read again.
    allow_deserialization_module("pincite.adapters.haystack")
    again = Pipeline.from_dict(pipeline.to_dict())
    assert again.run(asked)["prompt"]["prompt"] == told["prompt"]["prompt"]


def test_a_missing_framework_is_told_with_the_command() -> None:
    code = """if True:
        import importlib, sys
        from pincite.model.errors import MissingExtra
        for name in ("langchain_core", "llama_index", "haystack"):
            sys.modules[name] = None
        for name in ("langchain", "llama_index", "haystack"):
            try:
                importlib.import_module(f"pincite.adapters.{name}")
            except MissingExtra as error:
                print(error.hint)
    """
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines() == [
        f'pip install "pincite[{extra}]"' for extra in ("langchain", "llama-index", "haystack")
    ]


def test_adapters_are_tiny() -> None:
    import pincite

    for file in (Path(pincite.__file__).parent / "adapters").glob("*.py"):
        assert len(file.read_text(encoding="utf-8").splitlines()) <= 60, file
