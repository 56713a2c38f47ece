"""The settings of answering; part of the one tree in ``core/settings.py``."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True, slots=True)
class AnswerSettings:
    """From hits to an answer with citations. Free to change at any time."""

    # How many hits are read for an answer.
    k: int = 8
    # Tokens of text that an answer may be taken from, estimated from above.
    context_tokens: int = 3000
    # At most so many places that the hits do not stand without: tables, exceptions, definitions.
    companions: int = 4
    # A JSON file with summaries of pages for the prompt, {"document id": {"12": "…"}}; of other
    # pages the sentence that says most is taken.
    page_summaries: str = ""
    # At most so many quotations.
    quotes: int = 3
    # Below this probability that what would be quoted answers, the documents are said not to; 0
    # always answers, but for places that are named and not there. At this value hardly a question
    # is left out that has an answer, and nearly all that are about something else (decision 14).
    least_confidence: float = 0.12
    # A language model that writes the answer: any service that answers POST /chat/completions as
    # OpenAI does, as "http://localhost:11434/v1". Empty: the answer is quoted, without a model.
    url: str = ""
    # What the service calls the model.
    model: str = ""
    # The environment variable that holds the service's key; never the key itself.
    api_key_env: str = ""
    # To connect and get the first token may take this long; each next token this long.
    timeout_seconds: float = 60.0
    idle_seconds: float = 20.0
    # Attempts beyond the first; after its first token an answer is never begun again.
    retries: int = 2
    # Tokens that the model may write, and its temperature: 0 makes it as repeatable as it can be.
    max_tokens: int = 500
    temperature: float = 0.0
    # What a million tokens cost to read and to write, in any currency; 0: nobody counts.
    price_in: float = 0.0
    price_out: float = 0.0
    # A sentence that its sources do not support: "mark" shows words as they come and says so
    # behind them; "drop" shows each sentence only once it is checked, and leaves such ones out.
    unsupported: Literal["mark", "drop"] = "mark"
    # If the model fails before its first word: "fallback" quotes instead; "raise" tells the error.
    on_error: Literal["fallback", "raise"] = "fallback"
