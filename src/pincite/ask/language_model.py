"""A language model behind HTTP: what OpenAI, Azure, vLLM, Ollama, llama.cpp and others stream."""

from __future__ import annotations

import http.client
import json
import time
from collections.abc import Generator, Iterator, Sequence
from contextlib import closing
from typing import Any

from pincite.answer.values import Usage
from pincite.core.answer_settings import AnswerSettings
from pincite.core.errors import MALFORMED, ConfigError, ModelError
from pincite.embed.service import Purpose, Service
from pincite.ingest.tokencount import estimated_tokens

CHAT = Purpose(
    "answer",
    "chat/completions",
    "the language model",
    too_many="answer.retries",
    refused="check answer.model, or lower answer.context_tokens and answer.max_tokens",
)
MOST_LINE_BYTES = 1_000_000
MOST_BYTES = 16_000_000
READ_BYTES = 65_536
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

    def body(self, prompt: Prompt) -> bytes:
        return json.dumps(
            {
                "model": self.model,
                "messages": [{**each, "content": _whole(each["content"])} for each in prompt],
                "stream": True,
                "stream_options": {"include_usage": True},
                "max_tokens": self.settings.max_tokens,
                "temperature": self.settings.temperature,
            }
        ).encode()


class _Stream:
    """One answer: its connection, its words, and what was counted."""

    def __init__(self, model: LanguageModel, prompt: Prompt) -> None:
        self.model = model
        self.service = model.service
        self.prompt = prompt
        self.counted: dict[str, Any] = {}
        self.written: list[str] = []
        self._response: Any = None
        self._begin()

    def _begin(self) -> None:
        self._received = bytearray()
        self._read = 0
        self._is_finished = False  # the model has written its last word
        self._is_done = False  # and nothing else comes

    def words(self) -> Iterator[str]:
        first = self.service.tried(self._first)
        while first:
            yield first
            try:
                first = self._next()
            except (OSError, http.client.HTTPException) as error:
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
        body = self.model.body(self.prompt)
        self._response = self.service.open(body, settings.timeout_seconds)
        if "event-stream" not in (self._response.headers.get("Content-Type") or ""):
            return self._whole_answer(deadline)
        words = self._next(deadline)
        if not words and not (self._is_done or self._is_finished):
            raise ConnectionError("the connection was closed before the first words")
        return words

    def _next(self, deadline: float | None = None) -> str:
        """Return the next words; empty at the end."""
        deadline = deadline or time.monotonic() + self.model.settings.idle_seconds
        while not self._is_done:
            data = self._event(deadline)
            if data is None:
                return ""
            if words := self._words_in(data):
                self.written.append(words)
                return words
        return ""

    def _whole_answer(self, deadline: float) -> str:
        """Return the words of a service that answers in one piece all the same."""
        while self._receive(deadline):
            pass
        self._is_done = True
        try:
            answer = json.loads(bytes(self._received))
            self.counted = answer.get("usage") or {}
            words = answer["choices"][0]["message"]["content"] or ""
            self.written.append(words)
        except MALFORMED:
            raise self.service.strange("neither a stream nor a chat completion") from None
        return str(words)

    def _event(self, deadline: float) -> str | None:
        """Return the data of the next event; None if there is none any more."""
        data: list[str] = []
        while line := self._line(deadline):
            text = line.decode("utf-8", "replace").rstrip("\r\n")
            if text.startswith("data:"):
                data.append(text[5:].removeprefix(" "))
            elif not text and data:
                return "\n".join(data)
            # Comments, names and ids of events say nothing here.
        return "\n".join(data) if data else None

    def _line(self, deadline: float) -> bytes:
        """Return the next line with its end; empty if there is none any more."""
        while (end := self._received.find(b"\n")) < 0:
            if len(self._received) > MOST_LINE_BYTES:
                raise self.service.strange("a line without end")
            if not self._receive(deadline):
                end = len(self._received) - 1
                break
        line = bytes(self._received[: end + 1])
        del self._received[: end + 1]
        return line

    def _receive(self, deadline: float) -> bool:
        """Take in what has come, waiting for it no longer than until the deadline."""
        left = deadline - time.monotonic()
        if left <= 0:
            raise TimeoutError
        _set_timeout(self._response, left)
        piece = self._response.read1(READ_BYTES)
        self._read += len(piece)
        if self._read > MOST_BYTES:
            raise self.service.strange("an answer without end")
        self._received += piece
        return bool(piece)

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
        words = " ".join("".join(c if c.isprintable() else " " for c in str(said)).split())
        return ModelError(f"{self.service.name} failed: {words[:300]}", hint="see its log")

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
        if self._response is not None:
            self._response.close()
            self._response = None


def _set_timeout(response: Any, seconds: float) -> None:
    """Let the next read of a response wait this long at most.

    The library sets one time-out for connecting and for every read, and no other way to the socket.
    """
    raw = getattr(getattr(response, "fp", None), "raw", None)
    connection = getattr(raw, "_sock", None)
    if connection is not None:
        connection.settimeout(seconds)


def _whole(text: str) -> str:
    """Return the text without half characters, which JSON cannot carry everywhere."""
    return text.encode("utf-8", "replace").decode("utf-8")
