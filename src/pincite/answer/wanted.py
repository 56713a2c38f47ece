"""What a question says of its answer: yes or no, a figure, a name, a year, a meaning, a list."""

from __future__ import annotations

import re
from dataclasses import dataclass

from pincite.answer.quotes import asked_term, defined
from pincite.answer.reckoning import Reckoning, asked_reckoning
from pincite.answer.windows import ReadingWindow, WindowPiece
from pincite.model.editions import years

_POLAR = re.compile(
    r"(?:^|[,;:.] )(?:and |but |so )?(?:is|are|was|were|am|do|does|did|can|could|may|might|must"
    r"|shall|should|will|would|has|have|had|isn['’]t|aren['’]t|doesn['’]t|don['’]t|can['’]t)\s",
    re.IGNORECASE,
)
_ASKS_WHAT = re.compile(
    r"\b(?:what|which|who|whom|whose|when|where|why|how|name|list|give)\b", re.IGNORECASE
)
_ASKS_NUMBER = re.compile(
    r"\bhow (?:much|many|old|long|far|high|large|big|tall|wide|deep|fast|often)\b"
    r"|\bpercent(?:age)?\b"
    r"|\bwhat (?:is|was|were|are|will be) the (?:[\w'’.-]+ ){0,4}?(?:amount|number|total|rate|ratio"
    r"|value|balance|price|cost|fee|salary|size|score|average|sum|maximum|minimum|frequency|speed"
    r"|temperature|voltage|weight|height|length|duration|age|probability|accuracy)\b",
    re.IGNORECASE,
)
_MATTERS = (
    r"(?:conditions?|responsibilit(?:y|ies)|consequences?|purpose|role|effects?|impact|reasons?)\b"
)
_ASKS_TO_TELL = re.compile(
    r"\bwhy\b|\bhow (?:does|do|did|is|are|can|should|will|was|were)\b|\bwhat happens\b"
    r"|\bwhat (?:must|should|can|will)\b|\b(?:describe|explain)\b"
    r"|\b(?:what|which) (?:is|are|was|were) (?:(?:the|one|an?|two|some) )?(?:[\w'’-]+ ){0,2}?"
    rf"{_MATTERS}|\b(?:what|which) (?:[\w-]+ )?{_MATTERS}"
    r"|, and (?:what|which|who|how|why|when|where)\b",
    re.IGNORECASE,
)
# Between a term and what it means: "Berth. A place", "“berth” means a place".
_SAYS = r"[\"”’*_.]{0,4}(?:\s\([^)]{1,20}\)[*_.]{0,3})?\s?(?:is|are|means?|:|—|–)?[*_]{0,3}[\s,;]*"
_ASKS_NAME = re.compile(r"\b(?:who|whom|whose|where)\b|^which (?!year|date|page)", re.IGNORECASE)
_NUMBER_WORD = re.compile(
    r"\b(?:one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|twenty|thirty|forty|fifty"
    r"|sixty|ninety|hundred|thousand|million|billion|half|third|quarter|once|twice|daily|weekly"
    r"|monthly|annual(?:ly)?|year(?:ly)?|hour(?:ly)?|first|second|none|no|every|each)\b",
    re.IGNORECASE,
)
_ASKS_SEVERAL = re.compile(
    r"\b(?:which|what) (?:[\w-]+ ){0,3}?[\w-]+s (?:are|were|must|shall|should|have|do|may|can)\b"
    r"|\bwhat are\b|^(?:list|name|give)\b",
    re.IGNORECASE,
)


_QUARTER = re.compile(
    r"\bQ(?P<q>[1-4])\b"
    r"|\b(?P<nth>first|second|third|fourth|last|[1-4](?:st|nd|rd|th))"
    r" (?:fiscal |financial )?quarter\b",
    re.IGNORECASE,
)
_NTH = {"first": 1, "second": 2, "third": 3, "fourth": 4, "last": 4}
# Heads of quarters name their last day: as years mostly go.
_QUARTER_END = re.compile(r"\bquarter\b.{0,20}?\b(march|june|september|december)\b", re.IGNORECASE)
_ENDS = {"march": 1, "june": 2, "september": 3, "december": 4}


def quarters(text: str) -> set[int]:
    """Return the quarters of a year that a text names.

    >>> quarters("in the third quarter of 2017"), quarters("Quarter Ended > June 30")
    ({3}, {2})
    """
    named = {
        int(each["q"] or _NTH.get(each["nth"].lower()) or each["nth"][0])
        for each in _QUARTER.finditer(text)
    }
    return named | {_ENDS[month.lower()] for month in _QUARTER_END.findall(text)}


def asks_yes_or_no(question: str) -> bool:
    """Return whether a question is answered by yes or no.

    >>> asks_yes_or_no("According to it, may a club transmit?"), asks_yes_or_no("What may it do?")
    (True, False)
    """
    polar = _POLAR.search(question)
    asks = _ASKS_WHAT.search(question)
    return polar is not None and (asks is None or polar.start() < asks.start())


@dataclass(frozen=True, slots=True)
class Wanted:
    """What a question says of its answer."""

    question: str
    is_polar: bool
    is_number: bool
    is_name: bool
    is_several: bool
    is_told: bool  # what it asks for takes a sentence: a reason, a duty, several things
    years: set[int]
    quarters: set[int]
    reckons: Reckoning  # what it wants of several cells of a table
    term: str  # whose meaning it asks for; empty if it asks for something else

    @classmethod
    def by(cls, question: str) -> Wanted:
        """Return what a question says of its answer by its words alone."""
        return cls(
            question,
            asks_yes_or_no(question),
            bool(_ASKS_NUMBER.search(question)),
            bool(_ASKS_NAME.search(question)),
            bool(_ASKS_SEVERAL.search(question)),
            bool(_ASKS_TO_TELL.search(question)),
            years(question),
            quarters(question),
            asked_reckoning(question),
            asked_term(question),
        )

    def fits(self, window: ReadingWindow, piece: WindowPiece) -> bool:
        """Return whether a piece has what is asked for: figures, or letters where a name is."""
        words = window.text[piece.start : piece.end]
        if self.is_number and piece.row >= 0 and not piece.column:
            return False
        if self.is_number:
            return any(map(str.isdigit, words)) or bool(_NUMBER_WORD.search(words))
        return not self.is_name or any(map(str.isalpha, words))

    def allows(self, piece: WindowPiece) -> bool:
        """Return whether a cell is of a year and quarter that the question means: no other may."""
        parts = piece.about.rpartition(" | ")[::2]  # the row with its groups, the head
        return all(
            not wanted or not own or own & wanted
            for part in parts
            for own, wanted in ((years(part), self.years), (quarters(part), self.quarters))
        )

    def is_defined(self, window: ReadingWindow, piece: WindowPiece) -> bool:
        """Return whether a piece says what the term means."""
        words = window.text[piece.start : piece.end]
        begins = words[: len(self.term)].casefold() == self.term.casefold()
        return defined(self.term, words) or (begins and words[len(self.term) :][:1] in (".", ":"))

    def meaning(self, window: ReadingWindow, piece: WindowPiece) -> int:
        """Return where in a piece that defines the term its meaning begins."""
        said = re.compile(re.escape(self.term) + _SAYS, re.IGNORECASE)
        match = said.search(window.text[piece.start : piece.end])
        return match.end() if match and piece.start + match.end() < piece.end else 0
