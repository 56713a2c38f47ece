"""What the area for judging shows: hits with what was said of them, a blind queue, agreement."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from threading import Lock
from typing import Any
from weakref import WeakKeyDictionary

from pincite.answer.plain import passage_values
from pincite.evaluate.judgements.checks import agreement, by_person
from pincite.evaluate.judgements.coverage import Corpus
from pincite.evaluate.judgements.questions import Place, Question, QuestionSet
from pincite.evaluate.labelling import Candidate, pool
from pincite.search.reader import IndexReader
from pincite.serve.page.look import Look
from pincite.serve.page.search_page import shown
from pincite.serve.page.text import Words
from pincite.serve.page.why_page import with_pipeline

# Who finds what is judged blind, so that no pipeline is favoured; so deep in each.
POOLED, DEPTH = ("lexical", "hybrid"), 5
# Questions that are looked through for something to judge, in one request.
LOOK_AHEAD = 20
SHOWN_CHARS = 3000
MOST_LISTED, MOST_RECENT, MOST_DISPUTED, MOST_HITS = 100, 12, 20, 50


def hits(index: IndexReader, look: Look, said: QuestionSet, who: str) -> list[dict[str, Any]]:
    """Return what a search finds with what was said of each place."""
    k = min(look.k or index.settings.search.k, MOST_HITS)
    result = index.search(look.q, k, look.filters())
    question = next((each for each in said.questions if each.text == look.q), None)
    found = []
    for passage in result.passages:
        hit = shown(index, passage_values(passage), look)
        grades = _grades(question, hit["document"], *hit["span"])
        mine = grades.pop(who, None)
        read = Look(c=look.c, q=look.q, doc=hit["document"], at=tuple(hit["span"])).url("/read")
        found.append({**hit, "mine": mine, "others": grades, "read": read})
    return found


def _grades(question: Question | None, doc_id: str, start: int, end: int) -> dict[str, int]:
    if question is None:
        return {}
    spots = (*question.places, *question.rejected)
    here = [p for p in spots if (p.document, p.start, p.end) == (doc_id, start, end)]
    return {place.by or "unsigned": place.grade for place in here}


def queue(index: IndexReader, look: Look, said: QuestionSet, who: str) -> dict[str, Any]:
    """Return the next thing to judge blind, and where in the queue it is."""
    wanted, is_second = look.rest.get("question", ""), look.rest.get("second") == "1"
    skip = look.rest.get("skip", "")
    skipped = int(skip) if skip.isdecimal() and len(skip) < 5 else 0
    ids = [question.id for question in said.questions]
    first = ids.index(wanted) if wanted in ids else 0
    ahead = [*said.questions[first:], *said.questions[:first]][:LOOK_AHEAD]
    rest = {n: v for n, v in look.rest.items() if n in ("by", "second")}
    lines = [
        {
            "text": each.text,
            "count": len(each.places) + len(each.rejected),
            "url": look.but(rest={**rest, "question": each.id}).url("/judge"),
        }
        for each in said.questions[:MOST_LISTED]
    ]
    told: dict[str, Any] = {"count": len(ids), "questions": lines, "candidate": None}
    for question in ahead:
        view = _seen_by(who, question) if is_second else question
        left = [*pool(view, [with_pipeline(index, name) for name in POOLED], _corpus(index), DEPTH)]
        if len(left) > skipped:
            same = {**rest, "question": question.id}
            told["candidate"] = _candidate(left[skipped], question, look)
            told["here"] = look.but(rest={**same, "skip": str(skipped or "")}).url("/judge")
            told["skip"] = look.but(rest={**same, "skip": str(skipped + 1)}).url("/judge")
            told["left"], told["number"] = len(left) - skipped - 1, ids.index(question.id) + 1
            return told
        skipped = 0
    return told


def _seen_by(who: str, question: Question) -> Question:
    """Return the question with what this person and its author said, and nobody else."""

    def kept(places: Sequence[Place]) -> tuple[Place, ...]:
        return tuple(place for place in places if place.by in ("", who))

    needs = tuple(need for need in map(kept, question.needs) if need)
    return replace(question, needs=needs, rejected=kept(question.rejected))


def _candidate(each: Candidate, question: Question, look: Look) -> dict[str, Any]:
    chunk = each.chunk
    at = (chunk.span.start, chunk.span.end)
    return {
        "question": question.text,
        "needs": [" or ".join(map(str, need)) for need in question.needs],
        "chunk": chunk,
        "blocks": Words(chunk.text[:SHOWN_CHARS]).blocks(),
        "is_cut": len(chunk.text) > SHOWN_CHARS,
        "at": f"{at[0]}-{at[1]}",
        "read": Look(c=look.c, doc=chunk.span.doc_id, at=at).url("/read"),
    }


def agreed(said: QuestionSet, look: Look) -> dict[str, Any]:
    """Return who judged how much, and how far they agree beyond chance."""
    people = by_person(said)
    counts = {
        who: sum(len(each.places) + len(each.rejected) for each in theirs.questions)
        for who, theirs in people.items()
    }
    if len(people) < 2:
        return {"people": counts, "places": 0, "nominal": None, "ordinal": None, "disputed": []}
    found = agreement(list(people.values()))
    texts = {each.id: each.text for each in said.questions}
    rest = {"by": look.rest["by"]} if "by" in look.rest else {}
    disputed = [
        {
            "question": texts[question],
            "place": place,
            "grades": list(zip(people, grades, strict=True)),
            "url": Look(c=look.c, q=texts[question], rest=rest).url("/judge"),
        }
        for question, place, grades in found.disputed[:MOST_DISPUTED]
    ]
    nominal, ordinal = (None if math.isnan(a) else a for a in (found.nominal, found.ordinal))
    return {
        "people": counts,
        "places": found.places,
        "nominal": nominal,
        "ordinal": ordinal,
        "disputed": disputed,
        "disputes": len(found.disputed),
    }


def recent(index: IndexReader, said: QuestionSet, who: str, look: Look) -> list[dict[str, Any]]:
    """Return what was judged last, with who and when."""
    every = [
        (place.when, question.text, place)
        for question in said.questions
        for place in (*question.places, *question.rejected)
        if place.when and place.start is not None
    ]
    latest = sorted(every, key=lambda each: each[0], reverse=True)[:MOST_RECENT]
    return [
        {
            "question": text,
            "place": place,
            "title": index.snapshot.title(place.document)
            if index.snapshot.meta(place.document)
            else place.document,
            "at": f"{place.start}-{place.end}",
            "is_mine": place.by == who,
            "url": Look(c=look.c, doc=place.document, at=(place.start or 0, place.end or 0)).url(
                "/read"
            ),
        }
        for _, text, place in latest
    ]


_corpora: WeakKeyDictionary[IndexReader, Corpus] = WeakKeyDictionary()
_lock = Lock()


def _corpus(index: IndexReader) -> Corpus:
    """Return the index as judgements see it; it remembers documents as long as the index lives."""
    with _lock:
        return _corpora.setdefault(index, Corpus(index.snapshot))
