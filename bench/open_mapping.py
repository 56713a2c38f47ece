"""What other programs find first in a published index, beside what Pincite finds.

    python bench/open_mapping.py --part97 ../shared/data/part97

Headings of the samples and questions of Part 97, in a real OpenSearch that is started for it.
Rows of Haystack's own retrievers need `pip install opensearch-haystack`.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections.abc import Callable, Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1]))

from tests.servers.opensearch import OpenSearch

from experiments import part97
from pincite.api import Index
from pincite.encode.encoders import open_encoder
from pincite.maintain.open_mapping import publish_index
from pincite.model.settings import Settings, merged
from pincite.read.load import find_files
from pincite.store.location import open_engine
from pincite.update import embed_index, ingest_files

SAMPLES = Path(__file__).parents[1] / "samples"
Find = Callable[[str], str]  # the id of the first hit of a question


def headings(folder: Path, count: int) -> list[str]:
    """Return headings of clauses, each once."""
    with Index.open(folder) as index:
        chunks = [c for name in index.documents() for c in index.snapshot.chunks(name)]
    titles = dict.fromkeys(c.title for c in chunks if c.searched and len(c.title.split()) > 2)
    return list(titles)[:count]


def finders(url: str, name: str) -> dict[tuple[str, str], Find]:
    """Return who searches, by name and by the pipeline of Pincite that it is compared with."""
    encoder = open_encoder(Settings().encoding)
    assert encoder is not None
    engine: Any = open_engine(url)

    def vector(text: str) -> list[float]:
        found: list[float] = encoder.encode_query(encoder.spec.query_prefix + text).tolist()
        return found

    def hybrid(pipeline: str) -> Find:
        def find(text: str) -> str:
            words = {"multi_match": {"query": text, "fields": ["content", "heading", "title"]}}
            near = {"knn": {"embedding": {"vector": vector(text), "k": 50}}}
            path = f"/{name}-open/_search?search_pipeline={name}-{pipeline}"
            query = {"query": {"hybrid": {"queries": [words, near]}}}
            return str(engine._client.ask("POST", path, query)["hits"]["hits"][0]["_id"])

        return find

    found = {(f"{name}-{each}", "hybrid"): hybrid(each) for each in ("minmax", "rrf")}
    if find_spec("haystack_integrations") is None:
        return found
    from haystack_integrations.components.retrievers import opensearch
    from haystack_integrations.document_stores.opensearch import OpenSearchDocumentStore

    host = f"http://{url.removeprefix('opensearch://').partition('/')[0]}"
    store = OpenSearchDocumentStore(hosts=host, index=f"{name}-open", create_index=False)
    near = opensearch.OpenSearchEmbeddingRetriever(document_store=store)
    words = opensearch.OpenSearchBM25Retriever(document_store=store)
    found["Haystack, embedding", "dense"] = lambda text: str(
        near.run(query_embedding=vector(text))["documents"][0].id
    )
    found["Haystack, BM25", "lexical"] = lambda text: str(words.run(query=text)["documents"][0].id)
    return found


def compare(folder: Path, url: str, name: str, questions: Sequence[str], label: str) -> None:
    """Print how often each finds the text first that Pincite finds first, or among its three."""
    place = f"{url}/{name}"
    publish_index(folder, place)
    for (who, preset), find in finders(place, name).items():
        settings = merged(Settings(), {"search": {"preset": preset}}, origin="bench")
        first = three = 0
        with Index.open(folder, settings) as index:
            for question in questions:
                ids = [hit.chunk_id for hit in index.search_ranking(question, 3).hits]
                best, *texts = [c.text for c in index.snapshot.get([find(question), *ids])]
                first += best == texts[0]
                three += best in texts
        shares = [100 * each / len(questions) for each in (first, three)]
        print(f"{who:20} {preset:8} {len(questions)} {label}: same text first {shares[0]:.0f} %, "
              f"among the three best {shares[1]:.0f} %", flush=True)  # fmt: skip


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--part97", type=Path, help="folder of Part 97")
    options.add_argument("--questions", type=int, default=100)
    chosen = options.parse_args()
    with tempfile.TemporaryDirectory(prefix="pincite-open-") as room, OpenSearch() as server:
        sources = {"samples": find_files([SAMPLES])}
        if chosen.part97:
            sources["part97"] = [(chosen.part97 / part97.DOCUMENT, part97.DOCUMENT)]
        for name, files in sources.items():
            folder = Path(room) / name
            list(ingest_files(files, folder))
            list(embed_index(folder))
            asked = headings(folder, 60)
            if name == "part97":
                every = part97.read_questions(chosen.part97 / "questions_dev.jsonl")
                asked = [each.text for each in every][: chosen.questions]
            compare(
                folder, server.url, name, asked, "questions" if name == "part97" else "headings"
            )


if __name__ == "__main__":
    main()
