"""Examples for the reader that are answered by yes or no: questions on rules, and claims."""

from __future__ import annotations

import random
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path

from reader_data import (
    Example,
    Verdict,
    best_place,
    lines,
    rival,
    sentence_of,
    window_around,
    windows,
)

TAGS = re.compile(r"</?[a-z0-9]+>")
LONGEST = 800  # characters of a passage that is read whole
VERDICTS: Mapping[str, Verdict] = {"supported": "yes", "contradicted": "no", "not said": "none"}
# "X was born in Y" is asked as "Was X born in Y?".
_CLAIM = re.compile(
    r"(?P<subject>(?:[^\s,;]+ ){1,9}?)(?P<verb>is|are|was|were|has|have|had|can|could|will|would"
    r"|shall|may|must|should)(?P<rest> .+?)\.?$"
)


def as_question(claim: str) -> str | None:
    """Return a claim as a question; None where its verb is not plain.

    >>> as_question("Receiving Party may retain some copies.")
    'May Receiving Party retain some copies?'
    """
    found = _CLAIM.match(claim.strip())
    if found is None or " not " in found["rest"][:5]:
        return None
    verb, subject, rest = found["verb"], found["subject"].strip(), found["rest"]
    if verb in ("has", "have", "had") and not re.match(r" (?:been|\w+ed) ", rest):
        return f"{'Does' if verb == 'has' else 'Do'} {subject} have{rest}?"
    first, _, more = subject.partition(" ")
    if first in ("The", "A", "An", "All", "Some", "It", "This", "There", "Each"):
        subject = f"{first.lower()} {more}".strip()
    return f"{verb.capitalize()} {subject}{rest}?"


def boolq(folder: Path, chance: random.Random) -> Iterator[Example]:
    """Questions of web users with a paragraph each; rivals are other paragraphs."""
    rows = list(lines(folder / "boolq.jsonl.gz"))
    texts = [_titled(row["passage"]) for row in rows]
    for row, (path, text) in zip(rows, texts, strict=True):
        question = f"{row['question'].strip().capitalize()}?"
        verdict: Verdict = "yes" if row["answer"] == "1" else "no"
        yield Example("boolq", path, question, path, _cut(text), verdict)
        if chance.random() < 0.3:
            near = {other: title for title, other in chance.sample(texts, 60) if other != text}
            if other := rival(question, list(near), (), chance):
                yield Example("boolq", path, question, near[other], _cut(other), "none")


def _titled(passage: str) -> tuple[str, str]:
    title, mark, text = passage.partition(" -- ")
    return (title, text) if mark and len(title) < 90 else ("", passage)


def _cut(text: str) -> str:
    return text if len(text) <= LONGEST else windows(text, LONGEST)[0].text


def sharc(folder: Path, chance: random.Random) -> Iterator[Example]:
    """Rules of government pages, asked about somebody's case."""
    for row in lines(folder / "sharc.jsonl.gz"):
        rule = row["rule"].strip()
        heading, _, text = rule.partition("\n")
        path, text = (heading.lstrip("# "), text.strip()) if heading[:1] == "#" else ("", rule)
        told = [f"{q} {a}." for q, a in row["history"][:2]]
        if len(row["history"]) > 2 or not text or len(text) > LONGEST:
            continue
        scenario = " ".join([row["scenario"].strip(), *told]).strip()
        question = f"{scenario} {row['question']}".strip() if scenario else row["question"]
        if row["answer"] in ("Yes", "No"):
            verdict: Verdict = "yes" if row["answer"] == "Yes" else "no"
            yield Example("sharc", rule[:80], question, path, text, verdict)
        elif row["answer"] == "Irrelevant":
            yield Example("sharc", rule[:80], question, path, text, "none")


def conditionalqa(folder: Path, chance: random.Random) -> Iterator[Example]:
    """Questions on government pages; the evidence stands among sentences of other pages."""
    rows = [row for row in lines(folder / "conditionalqa.jsonl.gz") if row["evidence"]]
    proofs = [[TAGS.sub("", each).strip() for each in row["evidence"]] for row in rows]
    for row, proof in zip(rows, proofs, strict=True):
        scenario = row["scenario"].strip() if chance.random() < 0.6 else ""
        question = f"{scenario} {row['question']}".strip()
        others = [" ".join(each)[:560] for each in chance.sample(proofs, 60) if each != proof]
        document, other = proof[0][:80], rival(row["question"], others, proof[:1], chance)
        if other and (row["not_answerable"] or chance.random() < 0.35):
            yield Example("conditionalqa", document, question, "", other, "none")
        if not row["not_answerable"]:
            answers = [answer for answer, _ in row["answers"]]
            yield from _advice(document, question, proof, answers)


def _advice(
    document: str, question: str, proof: Sequence[str], answers: Sequence[str]
) -> Iterator[Example]:
    text = "\n".join(proof)
    if len(text) > LONGEST:
        return
    evidence = ((0, len(text)),)
    if answers[0] in ("yes", "no"):
        verdict: Verdict = "yes" if answers[0] == "yes" else "no"
        yield Example("conditionalqa", document, question, "", text, verdict, (), evidence)
        return
    spans = tuple(place for each in answers if (place := best_place(question, text, each)))
    if spans:
        yield Example("conditionalqa", document, question, "", text, "span", spans, evidence)


def contractnli(folder: Path, chance: random.Random) -> Iterator[Example]:
    """Claims on agreements, asked as questions, with the clauses that decide."""
    for number, row in enumerate(lines(folder / "contractnli.jsonl.gz")):
        text = row["document"]
        texts = [window.text for window in windows(text) if len(window.text) > 80]
        for claim in row["claims"]:
            question, verdict = as_question(claim["claim"]), VERDICTS[claim["verdict"]]
            if question is None:
                continue
            places = [(at, at + len(e)) for e in claim["evidence"] if (at := text.find(e)) >= 0]
            if verdict == "none" or not places:
                other = rival(question, texts, claim["evidence"], chance)
                if other:
                    yield Example("contractnli", str(number), question, "", other, "none")
                continue
            near = [place for place in places if abs(place[0] - places[-1][0]) < 500]
            whole = (near[0][0], near[-1][1])
            window = window_around(text, sentence_of(text, whole), chance)
            if len(window.text) <= 1400:
                proof = window.inside(near)
                yield Example(
                    "contractnli", str(number), question, "", window.text, verdict, (), proof
                )


SOURCES: Mapping[str, Callable[[Path, random.Random], Iterator[Example]]] = {
    "boolq": boolq,
    "sharc": sharc,
    "conditionalqa": conditionalqa,
    "contractnli": contractnli,
}
