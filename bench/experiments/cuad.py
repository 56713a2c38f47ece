"""CUAD: in a contract that is given, where is the clause of a category?

The question is the category's name and what the field means by it, as a lawyer would ask who looks
for it (`CATEGORIES`, written from the meaning of the terms). A hit is a chunk that holds half of
the words of one of the clauses, or lies in one.
"""

from __future__ import annotations

import json
import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from pincite.api import Index
from pincite.model.types import Chunk, Filters, Query

DEPTHS = (1, 5, 10)
CATEGORIES = {
    "Document Name": "the name of the contract",
    "Parties": "the two or more parties who signed the contract",
    "Agreement Date": "the date of the contract",
    "Effective Date": "the date when the contract becomes effective",
    "Expiration Date": "on what date will the contract's initial term expire?",
    "Renewal Term": (
        "what is the renewal term after the initial term expires, including automatic extensions "
        "and unilateral extensions with prior notice?"
    ),
    "Notice Period To Terminate Renewal": (
        "what is the notice period required to terminate renewal?"
    ),
    "Governing Law": "which state's or country's law governs the interpretation of the contract?",
    "Most Favored Nation": (
        "if a third party gets better terms on the licensing or sale of technology, goods or "
        "services, is the buyer entitled to those better terms?"
    ),
    "Competitive Restriction Exception": (
        "exceptions or carve-outs to non-compete, exclusivity and no-solicit of customers"
    ),
    "Non-Compete": (
        "is there a restriction on the ability of a party to compete with the counterparty or to "
        "operate in a certain geography, business or technology sector?"
    ),
    "Exclusivity": (
        "is there an exclusive dealing commitment with the counterparty: procuring all "
        "requirements from one party, or a prohibition on licensing or selling to third parties?"
    ),
    "No-Solicit Of Customers": (
        "is a party restricted from contracting or soliciting customers or partners of the "
        "counterparty, during the contract or after it ends?"
    ),
    "No-Solicit Of Employees": (
        "is there a restriction on a party's soliciting or hiring employees and contractors of "
        "the counterparty, during the contract or after it ends?"
    ),
    "Non-Disparagement": "is there a requirement on a party not to disparage the counterparty?",
    "Termination For Convenience": (
        "can a party terminate this contract without cause, solely by giving notice and letting "
        "a waiting period expire?"
    ),
    "Rofr/Rofo/Rofn": (
        "is there a right of first refusal, right of first offer or right of first negotiation "
        "to purchase, license, market or distribute equity, technology, assets or services?"
    ),
    "Change Of Control": (
        "does a party have the right to terminate, or is consent or notice required, if the "
        "counterparty undergoes a change of control such as a merger, stock sale or transfer of "
        "all or substantially all of its assets?"
    ),
    "Anti-Assignment": (
        "is consent or notice required of a party if the contract is assigned to a third party?"
    ),
    "Revenue/Profit Sharing": (
        "is one party required to share revenue or profit with the counterparty for any "
        "technology, goods or services?"
    ),
    "Price Restrictions": (
        "is there a restriction on the ability of a party to raise or reduce prices of "
        "technology, goods or services provided?"
    ),
    "Minimum Commitment": (
        "is there a minimum order size, or a minimum amount or units per time period that one "
        "party must buy from the counterparty?"
    ),
    "Volume Restriction": (
        "is there a fee increase or consent requirement if one party's use of the product or "
        "services exceeds a certain threshold?"
    ),
    "Ip Ownership Assignment": (
        "does intellectual property created by one party become the property of the "
        "counterparty?"
    ),
    "Joint Ip Ownership": (
        "is there any provision for joint or shared ownership of intellectual property between "
        "the parties?"
    ),
    "License Grant": "does the contract contain a license granted by one party to the other?",
    "Non-Transferable License": (
        "does the contract limit the ability of a party to transfer the license being granted to "
        "a third party?"
    ),
    "Affiliate License-Licensor": (
        "does the contract contain a license grant by affiliates of the licensor, or one that "
        "includes intellectual property of its affiliates?"
    ),
    "Affiliate License-Licensee": (
        "does the contract contain a license grant to a licensee, including its sublicensees and "
        "affiliates?"
    ),
    "Unlimited/All-You-Can-Eat-License": (
        "is there a clause granting one party an enterprise, all you can eat or unlimited usage "
        "license?"
    ),
    "Irrevocable Or Perpetual License": (
        "does the contract contain a license grant that is irrevocable or perpetual?"
    ),
    "Source Code Escrow": (
        "is one party required to deposit its source code into escrow with a third party, to be "
        "released upon certain events such as bankruptcy or insolvency?"
    ),
    "Post-Termination Services": (
        "is a party subject to obligations after the termination or expiration of the contract, "
        "including transition, payment, transfer of intellectual property, wind-down, last buy?"
    ),
    "Audit Rights": (
        "does a party have the right to audit the books, records or physical locations of the "
        "counterparty to ensure compliance with the contract?"
    ),
    "Uncapped Liability": (
        "is a party's liability uncapped upon the breach of its obligation, including certain "
        "types of breach such as infringement of intellectual property or confidentiality?"
    ),
    "Cap On Liability": (
        "is there a cap on liability upon the breach of a party's obligation, including a time "
        "limitation to bring claims or a maximum amount for recovery?"
    ),
    "Liquidated Damages": (
        "does the contract contain a clause that awards liquidated damages for breach, or a fee "
        "upon the termination of the contract (termination fee)?"
    ),
    "Warranty Duration": (
        "what is the duration of any warranty against defects or errors in technology, products "
        "or services provided under the contract?"
    ),
    "Insurance": (
        "is there a requirement for insurance that must be maintained by one party for the "
        "benefit of the counterparty?"
    ),
    "Covenant Not To Sue": (
        "is a party restricted from contesting the validity of the counterparty's ownership of "
        "intellectual property, or from bringing a claim unrelated to the contract?"
    ),
    "Third Party Beneficiary": (
        "is there a party that is no contracting party but a beneficiary of clauses in the "
        "contract and can enforce its rights against a contracting party?"
    ),
}  # fmt: skip
_WORD = re.compile(r"[a-z0-9]+")


@dataclass(frozen=True, slots=True)
class Asked:
    """A category asked of one contract, with the words of the clauses that belong to it."""

    contract: str
    category: str
    clauses: tuple[str, ...]

    @property
    def text(self) -> str:
        return f"{self.category}: {CATEGORIES[self.category]}"


@dataclass(frozen=True, slots=True)
class Words:
    """The words of a document with where each of them begins."""

    words: list[str]
    starts: list[int]

    @classmethod
    def of(cls, text: str) -> Words:
        found = list(_WORD.finditer(text.lower()))
        return cls([match.group() for match in found], [match.start() for match in found])

    def find(self, clause: str) -> list[tuple[int, int]]:
        """Return where a clause stands, as spans of characters; what was left out is in between.

        Clauses were marked in another copy, with gaps as ``<omitted>``: the longest stretch of
        words that stands here word for word counts.
        """
        asked = max((_WORD.findall(part) for part in _parts(clause)), key=len)
        joined, wanted = f" {' '.join(self.words)} ", f" {' '.join(asked)} "
        found, at = [], joined.find(wanted)
        while asked and at >= 0:
            first = joined.count(" ", 0, at)
            last = first + len(asked) - 1
            found.append((self.starts[first], self.starts[last] + len(self.words[last])))
            at = joined.find(wanted, at + 1)
        return found

    def between(self, start: int, end: int) -> int:
        """Return how many words begin between two places."""
        return bisect_left(self.starts, end) - bisect_right(self.starts, start - 1)


def _parts(clause: str) -> list[str]:
    return clause.lower().split("<omitted>")


def read_asked(file: Path) -> list[Asked]:
    """Return the categories that each contract has clauses of."""
    items = map(json.loads, file.read_text("utf-8").splitlines())
    return [
        Asked(item["contract"], item["category"], tuple(item["clauses"]))
        for item in items
        if item["clauses"] and item["category"] in CATEGORIES
    ]


def ranks(index: Index, asked: Sequence[Asked]) -> Iterator[tuple[Asked, int | None]]:
    """Yield the rank of the first hit of each question; nothing where no clause was found again."""
    words: dict[str, Words] = {}
    for each in asked:
        doc_id = f"{each.contract}.txt"
        if doc_id not in words:
            words[doc_id] = Words.of(index.snapshot.document(doc_id).text)
        gold = [span for clause in each.clauses for span in words[doc_id].find(clause)]
        if gold:
            query = Query(each.text, filters=Filters(documents=(doc_id,)))
            found = index.searcher.search(query, max(DEPTHS))
            chunks = index.snapshot.get(found.names())
            yield each, _rank(chunks, gold, words[doc_id])


def _rank(chunks: Sequence[Chunk], gold: Sequence[tuple[int, int]], words: Words) -> int | None:
    for rank, chunk in enumerate(chunks, 1):
        if any(holds(chunk, span, words) for span in gold):
            return rank
    return None


def holds(chunk: Chunk, gold: tuple[int, int], words: Words) -> bool:
    """Return whether a chunk has half of a clause's words, or half of its own words are of it."""
    start, end = max(chunk.span.start, gold[0]), min(chunk.span.end, gold[1])
    shared = words.between(start, end) if start < end else 0
    own = words.between(chunk.span.start, chunk.span.end)
    return 2 * shared >= max(1, min(own, words.between(*gold)))
