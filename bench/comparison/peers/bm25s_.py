"""bm25s with stems and its English stop words, saved and mapped."""

from __future__ import annotations

from typing import Any

from protocol import Bench, Search, serve


def words(bench: Bench) -> Search:
    import bm25s
    import Stemmer

    stemmer = Stemmer.Stemmer("english")

    def tokens(texts: list[str]) -> Any:
        return bm25s.tokenize(texts, stopwords="en", stemmer=stemmer, show_progress=False)

    made = bm25s.BM25()
    made.index(tokens(bench.texts), show_progress=False)
    made.save(bench.scratch)
    index = bm25s.BM25.load(bench.scratch, mmap=True)
    k = min(bench.k, len(bench.texts))

    def search(question: str) -> list[int]:
        return index.retrieve(tokens([question]), k=k, show_progress=False).documents[0].tolist()

    return search


if __name__ == "__main__":
    serve({"bm25s": words}, ["bm25s", "numpy"])
