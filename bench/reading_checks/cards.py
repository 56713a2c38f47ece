"""Cards of filings and contracts against what people wrote down of them.

Documents: the 39 filings of `financebench/` (PDF) and the 60 contracts of `cuad/` (PDF and text).
They are parted by a hash of the file's name; the first half was looked at while the card was
written, of the other only these figures were. What is right is known from `questions.jsonl`
(company, and form, year, quarter and date in `doc_name`, which no reader sees: files are read under
the name "x") and from `clauses.jsonl` (Document Name, Parties, Agreement Date). The date of an 8-K
is compared with the day of its filing, which may be days after that of the report it states.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections import defaultdict
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path

from checks import Figure
from pincite.model.errors import SourceError
from pincite.model.settings import IngestSettings
from pincite.model.types import Document
from pincite.read.load import parse

HALVES = ("looked at", "not looked at")
_FORMS = {"10K": "10-K", "10Q": "10-Q", "8K": "8-K", "EARNINGS": "earnings release"}
_NAME = re.compile(r"_(?P<year>\d{4})(?:Q(?P<quarter>\d))?_(?P<form>10K|10Q|8K|EARNINGS)")
_JUNK = re.compile(
    r"\d{10}-\d\d-\d{6}|united states|.*securities and exchange commission|form [\w-]+"
    r"|.*\bexhibit [\d.]+.*|quicklinks.*|.*execution version.*|microsoft word.*"
    r"|.*\.(?:doc|pdf)x?|x|\W*",
    re.IGNORECASE,
)
# "collectively referred to as "Parties"", "Ann and Bob (“Party” ...)": of all, and no name.
_OF_ALL = re.compile(r"[“\"]\s*part(?:y|ies)|^\W*collectively|\beach\b", re.IGNORECASE)
_ENDINGS = re.compile(
    r"\b(?:inc|incorporated|corp|corporation|co|company|llc|l l c|ltd|limited|lp|l p|plc|s a|the)\b"
)


@dataclass
class Scores:
    """How many of what was looked for was right, by half and name."""

    right: defaultdict[tuple[int, str], int] = field(default_factory=lambda: defaultdict(int))
    total: defaultdict[tuple[int, str], int] = field(default_factory=lambda: defaultdict(int))

    def add(self, half: int, name: str, right: int, total: int = 1) -> None:
        """Count some more."""
        self.right[half, name] += right
        self.total[half, name] += total

    def figures(self, asked: dict[str, str]) -> Iterator[Figure]:
        """Yield what was counted: a count where none is asked, else a share."""
        for half, name in sorted(self.total):
            right, total = self.right[half, name], self.total[half, name]
            value = right if asked.get(name) == "0" else right / max(1, total)
            yield Figure(f"{name}, {HALVES[half]}", value, asked.get(name, ""), total)


def run(data: Path) -> list[Figure]:
    """Return how often kind, issuer or parties, period, date and title are right."""
    scores = Scores()
    for file, judge in (*_filings(data), *_contracts(data)):
        half = int(hashlib.sha256(file.stem.encode()).hexdigest(), 16) % 2
        try:
            parsed = parse(file.read_bytes(), f"x{file.suffix}", IngestSettings())
        except SourceError:
            scores.add(half, "rejected", 1)
            continue
        scores.add(half, "rejected", 0)
        failed = any(each.kind == "reader_failed" for each in parsed.findings)
        scores.add(half, "with a part that failed", failed)
        scores.add(half, "titles that are junk", bool(_JUNK.fullmatch(parsed.document.title)))
        for name, is_right in judge(parsed.document).items():
            scores.add(half, name, is_right)
    asked = dict.fromkeys(("rejected", "with a part that failed", "titles that are junk"), "0")
    return list(scores.figures(asked))


Judge = Callable[[Document], dict[str, bool]]


def _filings(data: Path) -> Iterator[tuple[Path, Judge]]:
    lines = (data / "financebench" / "questions.jsonl").read_text(encoding="utf-8").splitlines()
    known = {value["doc_name"]: value["company"] for value in map(json.loads, lines)}
    for name, company in sorted(known.items()):
        file = data / "financebench" / "pdfs" / f"{name}.pdf"
        yield file, lambda document, n=name, c=company: _judge_filing(document, n, c)


def _judge_filing(document: Document, name: str, company: str) -> dict[str, bool]:
    card = document.meta
    gold = _NAME.search(name)
    assert gold is not None, name
    kind = _FORMS[gold["form"]]
    found = {
        "filings: kind": card.get("kind") == kind,
        "filings: issuer": _is_same(_core(card.get("issuer", "")), _core(company)),
    }
    if kind == "8-K":
        day = re.search(r"\d{4}-\d\d-\d\d$", name)
        found["filings: date of 8-Ks"] = bool(day) and card.get("date") == (day and day.group())
    else:
        found["filings: fiscal year"] = card.get("fiscal_year") == gold["year"]
    if kind == "10-Q":
        found["filings: quarter of 10-Qs"] = card.get("quarter") == gold["quarter"]
    return found


def _contracts(data: Path) -> Iterator[tuple[Path, Judge]]:
    gold: defaultdict[str, dict[str, str]] = defaultdict(dict)
    lines = (data / "cuad" / "clauses.jsonl").read_text(encoding="utf-8").splitlines()
    for value in map(json.loads, lines):
        gold[value["contract"]][value["category"]] = value["answer"] or ""
    for contract, answers in sorted(gold.items()):
        for kind in ("pdf", "txt"):
            file = data / "cuad" / kind / f"{contract}.{kind}"
            if file.exists():
                yield file, lambda document, a=answers: _judge_contract(document, a)


def _judge_contract(document: Document, gold: dict[str, str]) -> dict[str, bool]:
    card = document.meta
    found = {"contracts: kind": card.get("kind") == "contract"}
    if name := _plain(gold.get("Document Name", "")):
        found["contracts: name in the title"] = name in _plain(document.title)
    wanted, parties = _names(gold.get("Parties", "")), _names(card.get("parties", ""))
    if wanted:
        found["contracts: all parties and no other"] = _agree(wanted, parties)
        found["contracts: a party missing"] = not all(
            any(_is_same(w, p) for p in parties) for w in wanted
        )
        found["contracts: a party that is none"] = not all(
            any(_is_same(w, p) for w in wanted) for p in parties
        )
    if re.fullmatch(r"\d+/\d+/\d\d(?:\d\d)?", gold.get("Agreement Date", "")):
        day = gold["Agreement Date"]
        form = "%m/%d/%Y" if len(day.rpartition("/")[2]) == 4 else "%m/%d/%y"
        stated = datetime.strptime(day, form).date().isoformat()
        found["contracts: date"] = card.get("date") == stated
    return found


def _names(answer: str) -> list[str]:
    """Return the names in an answer, without short forms and what is said of all of them."""
    first = (re.split(r"\)\.\s", part)[0] for part in answer.split(";"))
    parts = [part for part in first if not _OF_ALL.search(part)]
    return [name for part in parts if (name := _core(re.sub(r"\([^()]*\)|[“\"].*", "", part)))]


def _agree(wanted: list[str], parties: list[str]) -> bool:
    one = all(any(_is_same(w, p) for p in parties) for w in wanted)
    return one and all(any(_is_same(w, p) for w in wanted) for p in parties)


def _is_same(one: str, other: str) -> bool:
    a, b = one.replace(" ", ""), other.replace(" ", "")
    return a == b or (min(len(a), len(b)) > 3 and (a.startswith(b) or b.startswith(a)))


def _core(name: str) -> str:
    return _ENDINGS.sub("", _plain(name)).strip()


def _plain(words: str) -> str:
    return " ".join(re.findall(r"\w+", words.casefold()))
