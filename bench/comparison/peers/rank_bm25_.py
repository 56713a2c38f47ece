"""rank_bm25: words split at blanks, as its page shows."""

from __future__ import annotations

from protocol import Bench, Search, best, serve


def words(bench: Bench) -> Search:
    from rank_bm25 import BM25Okapi

    index = BM25Okapi([text.lower().split() for text in bench.texts])
    return lambda question: best(index.get_scores(question.lower().split()), bench.k)


if __name__ == "__main__":
    serve({"rank_bm25": words}, ["rank-bm25", "numpy"])
