"""What is odd about a set of judgements, alone and in an index; and do several people agree?"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from pincite.evaluate.agreement import krippendorff_alpha
from pincite.evaluate.judgements.coverage import Corpus
from pincite.evaluate.judgements.questions import Place, Question, QuestionSet
from pincite.evaluate.trec import Qrels


@dataclass(frozen=True, slots=True)
class Oddity:
    """Something about a question that its author should look at."""

    question: str
    kind: str
    message: str


def oddities(questions: QuestionSet) -> Iterator[Oddity]:
    """Yield what can be seen without an index."""
    words = Counter(each.wording for each in questions.questions)
    for each in questions.questions:
        if words[each.wording] > 1:
            yield Oddity(each.id, "same question", "another question has the same words")
        # Several people may judge one place; one person does so once.
        listed = Counter(replace(p, grade=1, when="") for p in (*each.places, *each.rejected))
        for place, times in listed.items():
            if times > 1:
                yield Oddity(each.id, "place twice", f"{place} is listed {times} times")


def in_index(question: Question, corpus: Corpus) -> Iterator[Oddity]:
    """Yield what an index shows: places that it lacks, names that lead elsewhere."""
    for place in question.places:
        spans = corpus.spans(place)
        if not spans:
            yield Oddity(question.id, "not in the index", f"{place} is not in the index")
        elif not corpus.covered(spans):
            yield Oddity(question.id, "not searched", f"no chunk that is searched covers {place}")
        elif place.kind == "span" and place.locator:
            named = corpus.spans(replace(place, start=None, end=None))
            if not any(one.overlap(other) for one in named for other in spans):
                yield Oddity(
                    question.id, "moved", f"{place.locator} does not stand at its characters now"
                )


def qrels(questions: QuestionSet, corpus: Corpus) -> Qrels:
    """Return grades of the chunks of an index, for programs that know only those."""
    found = {}
    for question in questions.questions:
        gold = corpus.gold(question)
        grades = {chunk: round(max(met.values())) for chunk, met in sorted(gold.chunks.items())}
        found[question.id] = grades | dict.fromkeys(sorted(gold.rejected), 0)
    return found


@dataclass(frozen=True, slots=True)
class Agreement:
    """How far people agree on the grades of the same places."""

    places: int  # judged by two or more
    nominal: float
    ordinal: float
    disputed: Sequence[tuple[str, str, tuple[int | None, ...]]]  # question, place, grades


def agreement(sets: Sequence[QuestionSet]) -> Agreement:
    """Return how far the authors of several files agree; a place not listed is not judged."""
    judged: defaultdict[tuple[str, Place], list[int | None]] = defaultdict(
        lambda: [None] * len(sets)
    )
    for at, each in enumerate(sets):
        for question in each.questions:
            for place in (*question.places, *question.rejected):
                judged[question.id, place.unsigned(grade=1)][at] = place.grade
    rows = sorted(judged.items(), key=lambda item: (item[0][0], str(item[0][1])))
    shared = [(k, v) for k, v in rows if sum(grade is not None for grade in v) > 1]
    ratings = [[grades[at] for _, grades in shared] for at in range(len(sets))]
    disputed = [
        (question, str(place), tuple(grades))
        for (question, place), grades in shared
        if len({grade for grade in grades if grade is not None}) > 1
    ]
    nominal, ordinal = (krippendorff_alpha(ratings, kind) for kind in ("nominal", "ordinal"))
    return Agreement(len(shared), nominal, ordinal, disputed)


def by_person(questions: QuestionSet) -> dict[str, QuestionSet]:
    """Return what each person judged, as sets of their own; what nobody signed is in none."""
    people = sorted({p.by for q in questions.questions for p in (*q.places, *q.rejected)} - {""})
    return {
        who: replace(questions, questions=[_said_by(who, each) for each in questions.questions])
        for who in people
    }


def _said_by(who: str, question: Question) -> Question:
    needs = tuple(tuple(place for place in need if place.by == who) for need in question.needs)
    rejected = tuple(place for place in question.rejected if place.by == who)
    return replace(question, needs=needs, rejected=rejected)
