"""A language model behind HTTP: what OpenAI, Azure, vLLM, Ollama, llama.cpp and others stream."""

from __future__ import annotations

import json
import time
from collections.abc import Generator, Iterator, Sequence
from contextlib import closing
from typing import Any

from pincite.answer.values import Usage
from pincite.core.answer_settings import AnswerSettings
from pincite.core.errors import MALFORMED, ConfigError, ModelError
from pincite.encode.http import Incoming, Purpose, Service, in_one_line
from pincite.ingest.tokencount import estimated_tokens

CHAT = Purpose(
    "answer",
    "chat/completions",
    "the language model",
    too_many="answer.retries",
    refused="check answer.model, or lower answer.context_tokens and answer.max_tokens",
)
MAX_ANSWER_BYTES = 16_000_000
# Nobody waits for an answer longer than that.
PATIENCE = 30.0
PER_MILLION = 1_000_000

Prompt = Sequence[dict[str, str]]  # messages with role and content


class LanguageModel:
    """Streams the words that a model answers to a prompt."""

    def __init__(self, settings: AnswerSettings) -> None:
        if not settings.model:
            raise ConfigError("answer.url is set and answer.model is not", hint="name the model")
        self.settings = settings
        self.model = settings.model
        self.service = Service(
            settings.url,
            model=settings.model,
            api_key_env=settings.api_key_env,
            timeout_seconds=settings.timeout_seconds,
            retries=settings.retries,
            purpose=CHAT,
            patience=PATIENCE,
        )

    def stream(self, prompt: Prompt) -> Generator[str | Usage]:
        """Yield words as they come and what they cost at last; closing it closes the connection.

        What fails before the first words is tried again; after them, it is a ModelError.
        """
        with closing(_Stream(self, prompt)) as stream:
            yield from stream.words()
            yield stream.usage()

    def body(self, prompt: Prompt) -> dict[str, Any]:
        return {
            "messages": list(prompt),
            "stream": True,
            "stream_options": {"include_usage": True},
            "max_tokens": self.settings.max_tokens,
            "temperature": self.settings.temperature,
        }


class _Stream:
    """One answer: its connection, its words, and what was counted."""

    def __init__(self, model: LanguageModel, prompt: Prompt) -> None:
        self.model = model
        self.service = model.service
        self.prompt = prompt
        self.counted: dict[str, Any] = {}
        self.written: list[str] = []
        self._answer: Incoming | None = None
        self._begin()

    def _begin(self) -> None:
        self._is_finished = False  # the model has written its last word
        self._is_done = False  # and nothing else comes

    def words(self) -> Iterator[str]:
        first = self.service.tried(self._first)
        while first:
            yield first
            try:
                first = self._next()
            except OSError as error:
                if self._is_finished:
                    return  # all words are here
                raise self._broken(self.service.reason(error)) from None
        if not (self._is_done or self._is_finished):
            raise self._broken("the connection was closed")

    def _first(self) -> str:
        """Connect and return the first words; whatever fails here may be tried again."""
        self.close()
        self._begin()
        settings = self.model.settings
        deadline = time.monotonic() + settings.timeout_seconds
        self._answer = self.service.open(self.model.body(self.prompt), MAX_ANSWER_BYTES)
        if not self._answer.is_stream:
            return self._whole_answer(self._answer.read_all(deadline))
        words = self._next(deadline)
        if not words and not (self._is_done or self._is_finished):
            raise ConnectionError("the connection was closed before the first words")
        return words

    def _next(self, deadline: float | None = None) -> str:
        """Return the next words; empty at the end."""
        deadline = deadline or time.monotonic() + self.model.settings.idle_seconds
        while self._answer and not self._is_done:
            data = self._answer.event(deadline)
            if data is None:
                return ""
            if words := self._words_in(data):
                self.written.append(words)
                return words
        return ""

    def _whole_answer(self, content: bytes) -> str:
        """Return the words of a service that answers in one piece all the same."""
        self._is_done = True
        try:
            answer = json.loads(content)
            self.counted = answer.get("usage") or {}
            words = answer["choices"][0]["message"]["content"] or ""
            self.written.append(words)
        except MALFORMED:
            raise self.service.strange("neither a stream nor a chat completion") from None
        return str(words)

    def _words_in(self, data: str) -> str:
        if data.strip() == "[DONE]":
            self._is_done = True
            return ""
        try:
            event = json.loads(data)
            if isinstance(event.get("usage"), dict):
                self.counted = event["usage"]
            if error := event.get("error"):
                raise self._told(error)
            choices = event.get("choices") or [{}]
            # What it counted may come in an event after the last words.
            self._is_finished |= bool(choices[0].get("finish_reason"))
            words = (choices[0].get("delta") or {}).get("content") or ""
        except MALFORMED:
            raise self.service.strange("events that are no chat completion") from None
        if not isinstance(words, str):
            raise self.service.strange("events that are no chat completion")
        return words

    def _told(self, error: Any) -> ModelError:
        said = error.get("message", "") if isinstance(error, dict) else error
        return ModelError(
            f"{self.service.name} failed: {in_one_line(str(said))}", hint="see its log"
        )

    def _broken(self, reason: str) -> ModelError:
        return ModelError(
            f"{self.service.name} stopped in the middle of its answer: {reason}",
            hint="ask again; see also answer.idle_seconds",
        )

    def usage(self) -> Usage:
        """Return what was read and written, as the service counted it or as we estimate."""
        settings = self.model.settings
        try:
            read = int(self.counted["prompt_tokens"])
            wrote = int(self.counted["completion_tokens"])
            is_estimate = read < 0 or wrote < 0
        except MALFORMED:
            is_estimate = True
        if is_estimate:
            read = sum(estimated_tokens(each["content"]) for each in self.prompt)
            wrote = estimated_tokens("".join(self.written))
        cost = (read * settings.price_in + wrote * settings.price_out) / PER_MILLION
        return Usage(read, wrote, cost, is_estimate)

    def close(self) -> None:
        if self._answer is not None:
            self._answer.close()
            self._answer = None
