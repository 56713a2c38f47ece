"""Citation strings, each with its place, for bench/check.py.

Three hundred are of the thirty styles that the grammar was developed on; the others are of styles
that were written down before anybody saw what it makes of them.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import cycle
from pathlib import Path

TABLE = Path(__file__).with_suffix(".txt")
UNSEEN = Path(__file__).with_name("check_styles_unseen.txt")
_SENTENCES = (
    "The operator has to comply with {}, as the agency has said.",
    "See {}.",
    "The claim was dismissed ({}), and nobody appealed.",
    "Under {}, a report is due within ten days.",
    "That follows from {}; the tenant does not deny it.",
)


@dataclass(frozen=True)
class Written:
    """A sentence with one citation, where that stands, and the key of its place."""

    style: str
    text: str
    span: tuple[int, int]
    key: str


def styles(table: Path = TABLE) -> Iterator[Written]:
    """Yield every string in a sentence."""
    sentences = cycle(_SENTENCES)
    for line in table.read_text(encoding="utf-8").splitlines()[1:]:
        style, form, fillings, key = line.split(" | ")
        for filling in fillings.split("; "):
            is_coded = key.startswith("coded")
            parts = [filling] if is_coded else filling.split(" ")
            words, sentence = form.format(*parts), next(sentences)
            start = sentence.index("{}")
            name = key.removeprefix("coded ").format(*parts).lower()
            span = (start, start + len(words))
            yield Written(
                style, sentence.format(words), span, name.replace(" ", "") if is_coded else name
            )
