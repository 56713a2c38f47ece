"""Groups to train on from a user's own judged questions: the rivals are what search finds."""

from __future__ import annotations

from collections.abc import Iterator

from pincite.api import Index
from pincite.measure.coverage import Corpus
from pincite.measure.questions import QuestionSet
from pincite.search.windows import windows_of
from training.groups import Group

DEPTH, RIVALS, WINDOW_TOKENS = 30, 7, 144


def groups_of(index: Index, questions: QuestionSet) -> Iterator[Group]:
    """Yield a group for every passage that answers a question; what nobody judged is a rival."""
    corpus = Corpus(index.snapshot)
    for question in questions.questions:
        gold = corpus.gold(question)
        found = index.search_ranking(question.text, DEPTH).ids
        rivals = [each for each in found if each not in gold.chunks][:RIVALS]
        # Those that a person turned down are surer than those that nobody looked at.
        rivals = [*sorted(gold.rejected), *rivals][:RIVALS]
        texts = [windows_of(chunk, WINDOW_TOKENS)[:1] for chunk in index.snapshot.get(rivals)]
        against = tuple(text for each in texts for text in each)
        for chunk in index.snapshot.get(sorted(gold.chunks)):
            answer = windows_of(chunk, WINDOW_TOKENS)
            if answer and against:
                yield Group(question.text, (answer[0], *against), chunk.span.doc_id)
