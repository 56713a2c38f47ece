"""Answers in the words of OpenAI's chat completions."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from pincite.answer.values import Answer
from pincite.ask.asker import Message
from pincite.serve.errors import ServiceError

DONE = "data: [DONE]\n\n"
QUESTION_CHARS = 2000
# What was said before that: enough for a follow-up, and no more to read.
HISTORY = 20
Said = tuple[str, str | list[dict[str, Any]] | None]


def question_of(said: Sequence[Said]) -> tuple[str, list[Message]]:
    """Return the last question of the user, and what was said before it.

    Instructions of a system are left out: there are no documents in them to cite.
    """
    plain = [(role, _text(content)) for role, content in said]
    asked = [at for at, (role, text) in enumerate(plain) if role == "user" and text.strip()]
    if not asked:
        raise ServiceError("messages: there is no question of the user", 400)
    question = plain[asked[-1]][1].strip()
    if len(question) > QUESTION_CHARS:
        raise ServiceError(f"the question is longer than {QUESTION_CHARS:,} characters", 400)
    before = [
        Message("user" if role == "user" else "assistant", text[:QUESTION_CHARS])
        for role, text in plain[: asked[-1]]
        if role in ("user", "assistant") and text.strip()
    ]
    return question, before[-HISTORY:]


def _text(content: str | list[dict[str, Any]] | None) -> str:
    if content is None or isinstance(content, str):
        return content or ""
    texts = (part.get("text") for part in content if part.get("type") == "text")
    return "\n".join(text for text in texts if isinstance(text, str))


def data(values: Any) -> str:
    """Return one chunk as it goes over the wire."""
    return f"data: {json.dumps(values, ensure_ascii=False)}\n\n"


@dataclass(frozen=True, slots=True)
class Completion:
    """One answer; all of its chunks have the same id."""

    id: str
    model: str
    created: int = field(default_factory=lambda: int(time.time()))

    def _head(self, kind: str) -> dict[str, Any]:
        return {"id": self.id, "object": kind, "created": self.created, "model": self.model}

    def chunk(self, delta: dict[str, str], finish: str | None = None) -> dict[str, Any]:
        choice = {"index": 0, "delta": delta, "finish_reason": finish}
        return {**self._head("chat.completion.chunk"), "choices": [choice]}

    def end(self, answer: Answer, *, with_usage: bool) -> Iterator[dict[str, Any]]:
        """Yield the last chunks: the list of sources, the end, and what was counted."""
        if listed := sources_below(answer):
            yield self.chunk({"content": listed})
        yield {**self.chunk({}, "stop"), **_evidence(answer)}
        if with_usage:
            head = self._head("chat.completion.chunk")
            yield {**head, "choices": [], "usage": _usage(answer)}

    def whole(self, answer: Answer) -> dict[str, Any]:
        text = answer.text + sources_below(answer)
        message = {"role": "assistant", "content": text}
        choice = {"index": 0, "message": message, "finish_reason": "stop"}
        return {
            **self._head("chat.completion"),
            "choices": [choice],
            "usage": _usage(answer),
            **_evidence(answer),
        }


def sources_below(answer: Answer) -> str:
    """Return the cited places as lines below the text: a chat shows nothing else of them."""
    sources = {source.number: source for source in answer.sources}
    cited = sorted(answer.citations, key=lambda citation: citation.source)
    lines = (f"[{each.source}] {sources[each.source].cited(each)}" for each in cited)
    listed = "\n".join(dict.fromkeys(lines))
    return f"\n\nSources:\n{listed}" if listed else ""


def _evidence(answer: Answer) -> dict[str, Any]:
    citations = [citation.plain() for citation in answer.citations]
    abstention = answer.abstention.plain() if answer.abstention else None
    sources = [source.plain() for source in answer.sources]
    return {"citations": citations, "sources": sources, "abstention": abstention}


def _usage(answer: Answer) -> dict[str, int]:
    used = answer.usage
    return {
        "prompt_tokens": used.prompt_tokens,
        "completion_tokens": used.completion_tokens,
        "total_tokens": used.prompt_tokens + used.completion_tokens,
    }
