"""Scores of pairs from a service: what Cohere, Jina, vLLM and others answer at /rerank."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from pincite.encode.http import HttpService, Purpose
from pincite.model.errors import MALFORMED
from pincite.search.windows import BadScores, checked

RERANK = Purpose(
    "rerank",
    "rerank",
    "the re-ranking service",
    too_many="rerank.pool",
    refused="check rerank.model, or lower tuning.rerank.window_tokens",
)


class HttpScorer:
    """Sends a question with its texts in one request; every text has to come back scored."""

    def __init__(self, service: HttpService) -> None:
        self.service = service
        self.id = f"{service.address} {service.model}"

    def score(self, query: str, texts: Sequence[str]) -> list[float]:
        if not texts:
            return []
        body = {
            "query": query,
            "documents": list(texts),
            "top_n": len(texts),
            "return_documents": False,
        }
        return self._scores(self.service.ask(body), len(texts))

    def _scores(self, answer: Any, count: int) -> list[float]:
        """Return the scores of an answer in the order of the texts."""
        try:
            results = answer["results"]
            scores = {row["index"]: row["relevance_score"] for row in results}
            if len(results) != count or sorted(scores) != list(range(count)):
                raise self._strange(f"{len(results)} scores for {count} texts, or misnumbered ones")
            if not all(type(score) in (int, float) for score in scores.values()):
                raise self._strange("scores that are no numbers")
        except MALFORMED as error:
            raise self._strange("an answer that holds no scores") from error
        try:
            return checked([scores[at] for at in range(count)], count)
        except (BadScores, OverflowError):
            raise self._strange("scores that are not from 0 to 1") from None

    def _strange(self, what: str) -> BadScores:
        return BadScores(
            f"{self.service.name} gave {what}",
            hint="is it a re-ranking model, and does it give probabilities?",
        )
