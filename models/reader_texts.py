"""Examples for the reader from texts: paragraphs, sentences, contracts, advice, definitions."""

from __future__ import annotations

import random
import re
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path

from reader_data import (
    Example,
    Window,
    best_place,
    lines,
    rival,
    sentence_of,
    window_around,
    windows,
    words_of,
)

QAMR_QUESTIONS = 9  # of a sentence; it has some forty, most of them alike
CUAD_MISSING = 6  # categories of a contract that it has no clause of
MEDQUAD = 4000

# What people ask about a contract, for each of its categories.
CUAD_QUESTIONS: Mapping[str, Sequence[str]] = {
    "Document Name": ("What is this contract called?", "What is the name of the agreement?"),
    "Parties": ("Who are the parties to the agreement?", "Between whom is the agreement made?"),
    "Agreement Date": ("When was the agreement signed?", "What is the date of the contract?"),
    "Effective Date": ("When does the agreement take effect?", "What is the effective date?"),
    "Expiration Date": ("When does the agreement expire?", "How long is the initial term?"),
    "Renewal Term": ("For how long does the agreement renew?", "What is the renewal term?"),
    "Notice Period to Terminate Renewal": (
        "How much notice is needed to prevent renewal?",
        "How long before the end of the term must notice of non-renewal be given?",
    ),
    "Governing Law": (
        "Which law governs the agreement?",
        "Under the laws of which state is the contract interpreted?",
    ),
    "Most Favored Nation": ("Is a party promised terms as good as those of others?",),
    "Non-Compete": ("Which restriction on competing business is there?",),
    "Exclusivity": ("Is there an exclusive dealing commitment?", "What is exclusive?"),
    "No-Solicit of Customers": ("May a party solicit the other's customers?",),
    "No-Solicit of Employees": ("May a party hire the other's employees?",),
    "Non-Disparagement": ("May a party speak ill of the other?",),
    "Termination for Convenience": (
        "Can a party terminate without cause?",
        "How can the agreement be ended without a reason?",
    ),
    "Rofr/Rofo/Rofn": ("Does anyone have a right of first refusal?",),
    "Change of Control": ("What happens on a change of control?",),
    "Anti-Assignment": (
        "May the agreement be assigned without consent?",
        "Is consent needed to assign the contract?",
    ),
    "Revenue/Profit Sharing": ("What share of revenue has to be paid?",),
    "Price Restrictions": ("Is there a limit on raising prices?",),
    "Minimum Commitment": ("What is the minimum order or amount?", "How much must be bought?"),
    "Volume Restriction": ("Is there a limit on how much may be used?",),
    "IP Ownership Assignment": ("Who owns the intellectual property that is created?",),
    "Joint IP Ownership": ("Is any intellectual property owned jointly?",),
    "License Grant": ("What license is granted?", "What may the licensee do?"),
    "Non-Transferable License": ("Can the license be transferred?",),
    "Affiliate License-Licensee": ("May affiliates of the licensee use the license?",),
    "Irrevocable or Perpetual License": ("Is any license perpetual or irrevocable?",),
    "Source Code Escrow": ("Is source code put in escrow?",),
    "Post-Termination Services": ("What must be done after termination?",),
    "Audit Rights": ("Who may inspect the books and records?", "Is there a right to audit?"),
    "Uncapped Liability": ("For what is liability not limited?",),
    "Cap on Liability": ("What is the limit of liability?", "How much is the most to be paid?"),
    "Liquidated Damages": ("What is owed as liquidated damages?",),
    "Warranty Duration": ("How long does the warranty last?",),
    "Insurance": ("What insurance has to be maintained?", "How much insurance is required?"),
    "Covenant Not to Sue": ("What may a party not challenge or sue over?",),
    "Third Party Beneficiary": ("Who is a third-party beneficiary?",),
}
SHORT = ("Document Name", "Parties", "Agreement Date", "Effective Date")


def answered(
    source: str,
    document: str,
    question: str,
    *,
    path: str,
    text: str,
    answers: Sequence[str],
    chance: random.Random,
) -> Example | None:
    """Return a question with the window of a text that holds its answers; None without one."""
    places = [place for each in answers if each and (place := best_place(question, text, each))]
    if not places:
        return None
    # Of answers in several places only those in the first one's sentence are sure.
    evidence = sentence_of(text, places[0])
    near = [place for place in places if evidence[0] <= place[0] and place[1] <= evidence[1]]
    window = window_around(text, evidence, chance)
    spans, proof = window.inside(near), window.inside([evidence])
    return Example(source, document, question, path, window.text, "span", spans, proof)


def squad(folder: Path, chance: random.Random) -> Iterator[Example]:
    """Paragraphs of encyclopaedia articles; rivals are other paragraphs of the article."""
    articles: dict[str, list[dict[str, object]]] = defaultdict(list)
    for row in lines(folder / "squad-dev.jsonl.gz"):
        articles[row["title"]].append(row)
    for title, rows in articles.items():
        path = title.replace("_", " ")
        texts = [window.text for row in rows for window in windows(str(row["passage"]))]
        for row in rows:
            yield from _paragraph(title, path, row, texts, chance)


def _paragraph(
    title: str, path: str, row: Mapping[str, object], texts: Sequence[str], chance: random.Random
) -> Iterator[Example]:
    text = str(row["passage"])
    for asked in row["questions"]:  # type: ignore[attr-defined]
        question, answers = asked["question"].strip(), asked["answers"]
        if asked["unanswerable"]:
            near = rival(question, [window.text for window in windows(text)], (), chance) or text
            yield Example("squad", title, question, path, near, "none")
            continue
        found = answered(
            "squad", title, question, path=path, text=text, answers=answers, chance=chance
        )
        if found:
            yield found
            other = rival(question, texts, answers, chance)
            if other and chance.random() < 0.5:
                yield Example("squad", title, question, path, other, "none")


def qamr(folder: Path, chance: random.Random) -> Iterator[Example]:
    """Sentences, each alone or among others, which answer nothing."""
    rows = list(lines(folder / "qamr-answers.jsonl.gz"))
    texts = [_plain(row["sentence"]) for row in rows]
    for number, (row, text) in enumerate(zip(rows, texts, strict=True)):
        for asked in chance.sample(row["questions"], min(QAMR_QUESTIONS, len(row["questions"]))):
            question, answers = asked["question"], [_plain(each) for each in asked["answers"]]
            others = chance.sample(texts, chance.choice((0, 1, 2)))
            at = chance.randrange(len(others) + 1)
            passage = " ".join([*others[:at], text, *others[at:]])
            start = len(" ".join(others[:at])) + (at > 0)
            places = [(a, best_place(question, text, a)) for a in answers]
            spans = tuple((start + p[0], start + p[1]) for _, p in places if p)
            proof = ((start, start + len(text)),)
            if spans and chance.random() < 0.75:
                yield Example("qamr", str(number), question, "", passage, "span", spans, proof)
            elif spans and (other := rival(question, texts[:400], answers, chance)):
                yield Example("qamr", str(number), question, "", other, "none")


def _plain(text: str) -> str:
    text = re.sub(r" ([,.;:?!)%]|'s\b|n't\b)", r"\1", text)
    return re.sub(r"([(\[$]) ", r"\1", text)


def cuad(folder: Path, chance: random.Random) -> Iterator[Example]:
    """Contracts: clauses by category, and categories that a contract has nothing on."""
    for row in lines(folder / "cuad.jsonl.gz"):
        text, name = row["text"], row["contract"]
        texts = [window for window in windows(text) if len(window.text) > 80]
        missing = []
        for category, questions in CUAD_QUESTIONS.items():
            facts = row["categories"].get(category) or {"clauses": [], "answer": ""}
            question = chance.choice(questions)
            if facts["clauses"]:
                yield from _clause(name, category, question, text, facts, texts, chance)
            else:
                missing.append(question)
        for question in chance.sample(missing, min(CUAD_MISSING, len(missing))):
            if other := rival(question, [window.text for window in texts], (), chance):
                yield Example("cuad", name, question, "", other, "none")


def _clause(
    name: str,
    category: str,
    question: str,
    text: str,
    facts: Mapping[str, object],
    texts: Sequence[Window],
    chance: random.Random,
) -> Iterator[Example]:
    clauses = [str(each) for each in facts["clauses"]]  # type: ignore[attr-defined]
    places = [(at, at + len(each)) for each in clauses if (at := text.find(each)) >= 0]
    if not places:
        return
    place = places[0] if category in SHORT else chance.choice(places)
    words, short = text[place[0] : place[1]], str(facts["answer"]).strip()
    window = window_around(text, sentence_of(text, place), chance)
    at = words.find(short) if short not in ("", "Yes", "No") else -1
    spans = [(place[0] + at, place[0] + at + len(short))] if at >= 0 else []
    if category in SHORT:
        spans = [each for each in places if each[0] >= window.start]
    elif not spans and len(words) <= 160:
        spans = [place]
    if len(window.text) <= 1400:
        yield Example(
            "cuad",
            name,
            question,
            "",
            window.text,
            "span",
            window.inside(spans),
            window.inside([place]),
        )
    keys = [each[:60] for each in clauses]
    if chance.random() < 0.5:
        other = rival(question, [window.text for window in texts], keys, chance)
        if other:
            yield Example("cuad", name, question, "", other, "none")


def medquad(folder: Path, chance: random.Random) -> Iterator[Example]:
    """Definitions and advice: the opening answers, an answer to another question does not."""
    rows = list(lines(folder / "medquad.jsonl.gz"))
    texts = [_opening(row["passage"]) for row in rows]
    for number in chance.sample(range(len(rows)), MEDQUAD):
        question = rows[number]["query"].replace(" ?", "?").replace("What is (are)", "What is")
        if chance.random() < 0.4:
            near = chance.sample(texts, 40)
            if other := rival(question, near, [texts[number]], chance):
                yield Example("medquad", str(number), question, "", other, "none")
            continue
        text = texts[number]
        subject = words_of(question) - {"treatments", "symptoms", "causes"}
        first = [s for s in windows(text, 1) if subject & words_of(s.text)][:1]
        defined = (
            re.match(r".{3,80}? (?:is|are) (an? [^.;:]{10,140})[.;:]", first[0].text)
            if (first and question.startswith("What is"))
            else None
        )
        spans = ()
        if defined:
            start = first[0].start
            spans = ((start + defined.start(1), start + defined.end(1)),)
        proof = tuple((s.start, s.start + len(s.text)) for s in first)
        yield Example("medquad", str(number), question, "", text, "span", spans, proof)


def _opening(text: str) -> str:
    found = windows(text)
    return found[0].text if found else text[:560]


SOURCES: Mapping[str, Callable[[Path, random.Random], Iterator[Example]]] = {
    "squad": squad,
    "qamr": qamr,
    "cuad": cuad,
    "medquad": medquad,
}
