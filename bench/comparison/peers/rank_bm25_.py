"""rank_bm25 with lower case, stop words and stems, which its page tells users to bring."""

from __future__ import annotations

import re
from collections.abc import Callable

from protocol import Bench, Search, best, serve

_WORD = re.compile(r"\w+")


def tokenizer() -> Callable[[str], list[str]]:
    """Return what makes terms of a text, as bm25s makes them."""
    import Stemmer
    from bm25s.stopwords import STOPWORDS_EN

    stem, dropped = Stemmer.Stemmer("english").stemWords, frozenset(STOPWORDS_EN)
    return lambda text: stem([w for w in _WORD.findall(text.lower()) if w not in dropped])


def words(bench: Bench) -> Search:
    from rank_bm25 import BM25Okapi

    terms = tokenizer()
    index = BM25Okapi([terms(text) for text in bench.texts])
    return lambda question: best(index.get_scores(terms(question)), bench.k)


if __name__ == "__main__":
    serve({"rank_bm25": words}, ["rank-bm25", "numpy"])
