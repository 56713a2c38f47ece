"""A language model's answer: its words as they come, its citations once they are checked."""

from __future__ import annotations

from collections.abc import Generator, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass, field

from pincite.answer.stream import Ended, SentenceReader
from pincite.answer.values import Sentence, Source, Usage
from pincite.answer.verify import Verifier
from pincite.ask.events import (
    CitationEvent,
    Event,
    GenerationEvent,
    RejectedEvent,
    TokenEvent,
)
from pincite.ask.language_model import LanguageModel, Prompt
from pincite.ask.prompt import NOT_FOUND
from pincite.index.tokens import Analyzer

MARK = " [not supported by the sources]"


@dataclass
class Writing:
    """What a model has written so far, checked sentence by sentence."""

    model: LanguageModel
    sources: Sequence[Source]
    analyzer: Analyzer
    drops: bool  # leaves out what no source supports, and so shows no word before it is checked
    text: str = ""
    sentences: list[Sentence] = field(default_factory=list)
    usage: Usage = field(default_factory=Usage)
    is_not_found: bool = False  # the model says that the sources do not answer

    def events(self, prompt: Prompt) -> Generator[Event]:
        """Yield the events of writing; the model is stopped when this is closed."""
        verifier = Verifier(self.sources, self.analyzer)
        reader = SentenceReader()
        held = ""  # the beginning, as long as it may turn out to say that there is no answer
        is_begun = False
        with closing(self.model.stream(prompt)) as stream:
            for piece in stream:
                if isinstance(piece, Usage):
                    self.usage = piece
                    continue
                if not is_begun:
                    yield GenerationEvent(self.model.model)
                    is_begun = True
                held += piece
                if _may_be_not_found(held):
                    continue
                ready, held = held, ""
                yield from self._read(reader.feed(ready), verifier)
        if not self.sentences and not self.text and _says_not_found(held):
            self.is_not_found = True
            return
        yield from self._read(reader.feed(held), verifier)
        yield from self._read(reader.close(), verifier)

    def _read(self, items: Iterator[str | Ended], verifier: Verifier) -> Iterator[Event]:
        for item in items:
            if isinstance(item, Ended):
                yield from self._checked(item, verifier)
            elif not self.drops:
                yield self._token(item if self.text else item.lstrip())

    def _checked(self, ended: Ended, verifier: Verifier) -> Iterator[Event]:
        sentence, rejected = verifier.check(ended.text, ended.cited)
        number = len(self.sentences)
        is_kept = sentence.verdict != "unsupported" or not self.drops
        if ended.text and is_kept:
            self.sentences.append(sentence)
            if self.drops:
                yield self._token(f" {ended.text}" if self.text else ended.text)
            markers = "".join(f"[{each.source}]" for each in sentence.citations)
            after = f" {markers}" if markers else ""
            if sentence.verdict == "unsupported":
                after += MARK
            if after:
                yield self._token(after)
            for each in sentence.citations:
                yield CitationEvent(each, number)
        for each in rejected:
            yield RejectedEvent(each, number)

    def _token(self, text: str) -> TokenEvent:
        self.text += text
        return TokenEvent(text)


def _says_not_found(text: str) -> bool:
    return text.strip(" \n\t.\"'*").upper().startswith(NOT_FOUND)


def _may_be_not_found(text: str) -> bool:
    """Return whether an answer that begins so may still say that there is none."""
    begun = text.lstrip(" \n\t\"'*").upper()
    return NOT_FOUND.startswith(begun[: len(NOT_FOUND)])
