"""What a tuning is worth on questions that were kept apart, asked once."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np

from pincite.core.errors import SourceError
from pincite.evaluate.grades import tabulated
from pincite.evaluate.judgements.questions import Question, QuestionSet
from pincite.evaluate.statistics import compare, mean_with_interval
from pincite.index.postings import Array
from pincite.learn.features import Features
from pincite.learn.model import Model
from pincite.search.learned import Learned
from pincite.tune.ground import Ground
from pincite.tune.groups import folded
from pincite.tune.holdout import look
from pincite.tune.session import Session
from pincite.tune.space import Trial


def looked_at(session: Session, file: Path, questions: QuestionSet, made: str) -> Session:
    """Return the tuning with the hold-out's figures of the default and of what is written down."""
    asked = [question for question in questions.questions if question.needs]
    if len(asked) < 2:
        raise SourceError(f"{file} has no two questions with an answer", hint="give more of them")
    peeks = look(file, questions, made)
    tuned = session.tuned
    before = _values(session, asked, tuned.default, None)
    model = session.model if tuned.kept.learned else None
    after = _values(session, asked, tuned.kept, model)
    ground = _ground(session, asked, tuned.default)
    groups = folded(ground.golds, ground.corpus, 2).groups
    figures = {
        "peeks": peeks.count,
        "counter": str(peeks.file),
        "warning": peeks.warning,
        "default": mean_with_interval(before, groups),
        "kept": mean_with_interval(after, groups),
        **compare(before, after, groups).plain(),
    }
    return replace(session, held_out=figures)


def _ground(session: Session, asked: list[Question], trial: Trial) -> Ground:
    own = session.bench.asking.ground_of(trial.settings)
    return Ground(own.opened, asked, own.scorer)


def _values(session: Session, asked: list[Question], trial: Trial, model: Model | None) -> Array:
    ground = _ground(session, asked, trial)
    depth = session.bench.asking.depth
    plan = ground.plan(trial.settings, max(depth, model.k if model else 0))
    stage = Learned(model, Features(ground.opened)) if model else None
    lines = []
    for at in range(len(asked)):
        table = ground.table(at, plan)
        if stage:
            table = stage(ground.query(asked[at].text, plan), table)
        lines.append(ground.line(at, table.best(depth).names()))
    return np.asarray(session.wish.measure.of(tabulated(lines)))
