"""Training a learned ranker from judged questions."""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from pincite.index.postings import Array
from pincite.measure.coverage import Corpus
from pincite.measure.questions import load
from pincite.model.errors import ConfigError, SourceError, require
from pincite.model.types import Chunk, Span, section_of
from pincite.search.build import features_of
from pincite.search.learned import (
    PLAIN,
    Linear,
    RankerModel,
    Trees,
    feature_lines,
    joined,
    prepared,
    trees_from,
)
from pincite.search.reader import IndexReader

REQUIRED = ("questions", "answers", "doc_name", "evidence_context")
# Scripts by the first words of their characters' Unicode names.
SCRIPTS: Mapping[str, tuple[str, ...]] = {
    "chinese": ("CJK",),
    "japanese": ("HIRAGANA", "KATAKANA"),
    "korean": ("HANGUL",),
    "arabic": ("ARABIC",),
    "cyrillic": ("CYRILLIC",),
}
_SPECIAL = re.compile(r"[^\w\s]|_")


@dataclass(frozen=True, slots=True)
class Cleaning:
    """The thresholds; the defaults are the published ones."""

    min_chars: int = 15
    max_chars: int = 500
    max_foreign_share: float = 0.05
    max_special_share: float = 0.35
    # Other languages are questions too: scripts to keep, "all" for every one.
    keep_scripts: tuple[str, ...] = ()


def clean(
    questions: Iterable[Mapping[str, Any]],
    rules: Cleaning | None = None,
    *,
    has_document: Callable[[str], bool] | None = None,
) -> tuple[list[Mapping[str, Any]], dict[str, int]]:
    """Return the questions that can be used, and how many each rule took.

    Args:
        has_document: says whether the document of a name is there; not asked if None.
    """
    rules = rules or Cleaning()
    found = [(item, _broken(item, rules, has_document)) for item in questions]
    counts = Counter(broken for _, broken in found)
    kept = [item for item, broken in found if broken is None]
    return kept, {rule: counts[rule] for rule in RULES}


def _broken(
    item: Mapping[str, Any], rules: Cleaning, has_document: Callable[[str], bool] | None
) -> str | None:
    """Return the first rule that a question breaks."""
    given = (item.get(name) for name in REQUIRED)
    if not all(each.strip() if isinstance(each, str) else each or each == 0 for each in given):
        return "missing_field"
    text = str(item["questions"]).strip()
    if foreign_share(text, rules.keep_scripts) > rules.max_foreign_share:
        return "other_script"
    if len(text) < rules.min_chars:
        return "too_short"
    if len(text) > rules.max_chars:
        return "too_long"
    if len(_SPECIAL.findall(text)) > rules.max_special_share * len(text):
        return "special_characters"
    if has_document is not None and not has_document(str(item["doc_name"])):
        return "no_document"
    return None


RULES = (
    "missing_field",
    "other_script",
    "too_short",
    "too_long",
    "special_characters",
    "no_document",
)


def check_scripts(names: Iterable[str]) -> tuple[str, ...]:
    """Return the names of scripts to keep; ConfigError for one that is not known."""
    kept = tuple(name.lower() for name in names)
    for name in kept:
        if name != "all" and name not in SCRIPTS:
            raise ConfigError(f"no script {name!r}", hint=f"known: all, {', '.join(SCRIPTS)}")
    return kept


def foreign_share(text: str, keep: Sequence[str] = ()) -> float:
    """Return the share of characters in scripts other than those of English and those kept.

    >>> foreign_share("что is")
    0.5
    >>> foreign_share("что is", keep=["cyrillic"])
    0.0
    """
    if "all" in keep or not text:
        return 0.0
    names = tuple(n for script, its in SCRIPTS.items() if script not in keep for n in its)
    others = (unicodedata.name(character, "") for character in text if ord(character) > 127)
    return sum(name.startswith(names) for name in others) / len(text) if names else 0.0


@dataclass(frozen=True, slots=True)
class AnswerPlace:
    """Where a question's answer stands: a page, a stretch of text, or a whole document."""

    doc_id: str
    page: int | None = None
    span: Span | None = None


def grade_by_place(chunk: Chunk, golds: Sequence[AnswerPlace]) -> int:
    """Return 2 for a chunk with most of an answer's stretch, or on its page; 1 for some; else 0."""
    found = [0]
    for gold in golds:
        if chunk.span.doc_id == gold.doc_id and gold.span is not None:
            shared, shorter = chunk.span.overlap(gold.span), min(len(gold.span), len(chunk.span))
            found.append(0 if not shared else 2 if 2 * shared >= shorter else 1)
        elif chunk.span.doc_id == gold.doc_id and gold.page in (None, chunk.page):
            found.append(2)
    return max(found)


SEED = 42


@dataclass(frozen=True)
class Examples:
    """The candidates of some questions, one after the other; ``k`` were asked for of each."""

    table: Array  # a line of features for each candidate
    grades: Array  # 0: does not answer; more is better
    sizes: Array  # candidates of each question
    groups: tuple[str, ...]  # the document of each question: never in two folds
    k: int

    def __post_init__(self) -> None:
        lines = int(self.sizes.sum())
        if not lines == len(self.table) == len(self.grades) or len(self.groups) != len(self.sizes):
            raise ValueError("every question has as many lines as candidates, and one group")
        if self.sizes.max(initial=0) > self.k:
            raise ValueError("a question has more candidates than were asked for")

    @property
    def starts(self) -> Array:
        return np.asarray(np.cumsum(self.sizes) - self.sizes)

    @property
    def question(self) -> Array:
        """The number of each line's question."""
        return np.repeat(np.arange(len(self.sizes)), self.sizes)

    def of(self, chosen: Array) -> Examples:
        """Return those questions that are chosen."""
        lines = chosen[self.question]
        groups = tuple(g for g, keep in zip(self.groups, chosen.tolist(), strict=True) if keep)
        return Examples(self.table[lines], self.grades[lines], self.sizes[chosen], groups, self.k)


def folds_by_group(groups: Sequence[str], count: int, seed: int = SEED) -> Array:
    """Return a fold for each question: those of one group in one, folds about the same size."""
    names, member, sizes = np.unique(np.asarray(groups), return_inverse=True, return_counts=True)
    order = np.random.default_rng(seed).permutation(len(names))
    order = order[np.argsort(-sizes[order], kind="stable")]
    home, filled = np.zeros(len(names), dtype=np.int64), np.zeros(count)
    for group in order.tolist():
        home[group] = int(np.argmin(filled))
        filled[home[group]] += sizes[group]
    return home[member]


def out_of_fold(
    examples: Examples, fit: Callable[[Examples], Callable[[Array], Array]], folds: Array
) -> Array:
    """Return a score for every line, by a model that saw no question of its document.

    Args:
        fit: learns from examples and returns what scores the lines of one question.
    """
    scores = np.zeros(len(examples.table))
    for fold in np.unique(folds).tolist():
        score = fit(examples.of(folds != fold))
        for number in np.flatnonzero(folds == fold).tolist():
            start = int(examples.starts[number])
            lines = slice(start, start + int(examples.sizes[number]))
            scores[lines] = score(examples.table[lines])
    return scores


def calibration(scores: Array, is_right: Array, steps: int = 50) -> tuple[float, float]:
    """Return slope and offset of the logistic curve from scores to frequencies (Platt 1999).

    Scores are to be out of fold: a model is too sure of what it has learned from. The targets are
    pulled in a little, as there, so that no number of examples makes a curve certain.
    """
    right = float(is_right.sum())
    wrong = len(scores) - right
    target = np.where(is_right > 0, (right + 1) / (right + 2), 1 / (wrong + 2))
    spread = float(scores.std()) or 1.0
    lines = np.stack([scores / spread, np.ones(len(scores))], axis=1)
    weights = np.zeros(2)
    for _ in range(steps):
        chance = 1 / (1 + np.exp(-np.clip(lines @ weights, -35, 35)))
        slope = lines.T @ (chance - target)
        curve = (lines * (chance * (1 - chance))[:, None]).T @ lines + 1e-6 * np.eye(2)
        weights -= np.clip(np.linalg.solve(curve, slope), -2, 2)
    # A curve that falls would turn the ranking round: then scores say nothing.
    return max(float(weights[0]), 1e-3) / spread, float(weights[1])


def importances(model: RankerModel) -> list[tuple[str, float]]:
    """Return each feature's share of what the model asks, largest first.

    Of trees, the share of their splits; of a weighted sum, that of the absolute weights. It says
    what a model looks at, not what would be lost without it.
    """
    count = len(model.features)
    if isinstance(model.scorer, Trees):
        trees = model.scorer
        is_split = trees.left != np.arange(len(trees.left))
        asked = np.bincount(trees.feature[is_split], minlength=count * len(model.inputs))
    else:
        asked = np.abs(model.scorer.weights)
    # A feature may be read several times: as it is, and beside the best candidate's.
    shares = np.asarray(asked, dtype=float).reshape(-1, count).sum(axis=0)
    total = float(shares.sum()) or 1.0
    found = zip(model.features, (shares / total).tolist(), strict=True)
    return sorted(found, key=lambda each: (-each[1], each[0]))


FOLDS = 5
# Few leaves, many lines in each: questions of one document are alike, and documents are few.
LAMBDAMART = {
    "objective": "lambdarank",
    "lambdarank_truncation_level": 5,
    "learning_rate": 0.03,
    "num_leaves": 7,
    "min_data_in_leaf": 100,
    "feature_fraction": 0.3,
    "bagging_fraction": 0.7,
    "bagging_freq": 1,
    "lambda_l2": 10.0,
    "use_missing": False,  # features are never missing: each has a value of nothing
    "deterministic": True,
    "force_row_wise": True,
    "num_threads": 1,
    "verbose": -1,
}
ROUNDS = 200
# As published.
FOREST = {
    "n_estimators": 150,
    "max_depth": 15,
    "min_samples_leaf": 5,
    "class_weight": "balanced",
    "random_state": 42,
}
RIDGE = 0.01
NEWTON_STEPS = 25


def fit(kind: str, examples: Examples, names: Sequence[str]) -> RankerModel:
    """Return a model of a kind, not calibrated."""
    if not (examples.grades > 0).any():
        raise SourceError(
            "no candidate answers any question: there is nothing to learn",
            hint="check that the questions belong to this index",
        )
    make, inputs = _FITS[kind]
    return RankerModel(kind, tuple(names), examples.k, make(with_inputs(examples, inputs)), inputs)


def with_inputs(examples: Examples, inputs: Sequence[str]) -> Examples:
    """Return the examples with what a scorer reads of them."""
    if tuple(inputs) == PLAIN:
        return examples
    lines = zip(examples.starts.tolist(), examples.sizes.tolist(), strict=True)
    parts = [prepared(examples.table[start : start + size], inputs) for start, size in lines]
    return replace(examples, table=np.concatenate(parts))


def fit_calibrated(
    kind: str, examples: Examples, names: Sequence[str], about: Mapping[str, Any]
) -> tuple[RankerModel, Array]:
    """Return a model of all examples with a calibration, and the out-of-fold scores behind it."""
    count = min(FOLDS, len(set(examples.groups)))
    if count < 2:
        raise SourceError(
            "all questions are about one document: nothing can be held out",
            hint="give questions about two documents at least",
        )
    folds = folds_by_group(examples.groups, count)
    scores = out_of_fold(examples, partial(scorer_of, kind, names), folds)
    slope, offset = calibration(scores, examples.grades > 0)
    model = fit(kind, examples, names)
    # What was 0 in all examples was not there to learn from, and need not be there to search.
    used = np.any(examples.table, axis=0).tolist()
    reads = [name for name, is_used in zip(names, used, strict=True) if is_used]
    whole = {**about, "reads": reads}
    return replace(model, slope=slope, offset=offset, about=whole), scores


def scorer_of(kind: str, names: Sequence[str], examples: Examples) -> Callable[[Array], Array]:
    """Learn from examples and return what scores the lines of one question."""
    return fit(kind, examples, names).scores_of


def _fit_lambdamart(examples: Examples) -> Trees:
    return trees_of(train_booster(examples))


def trees_of(booster: Any) -> Trees:
    """Return the trees of a model that LightGBM grew."""
    trees = [_from_lightgbm(tree["tree_structure"]) for tree in booster.dump_model()["tree_info"]]
    return trees_from(joined(trees), features=booster.num_feature(), single=False)


def train_booster(examples: Examples) -> Any:
    """Return LightGBM's own model of the examples."""
    lightgbm = require("lightgbm", extra="learn")
    data = lightgbm.Dataset(examples.table, label=examples.grades, group=examples.sizes)
    return lightgbm.train({**LAMBDAMART, "seed": SEED}, data, ROUNDS)


def _from_lightgbm(root: Mapping[str, Any]) -> dict[str, Array]:
    """Return one tree as arrays, parents before children."""
    columns: dict[str, list[float]] = {
        name: [] for name in ("feature", "threshold", "left", "right", "value")
    }
    waiting: list[tuple[Mapping[str, Any], int, str]] = [(root, -1, "")]
    while waiting:
        node, parent, side = waiting.pop()
        number = len(columns["feature"])
        if parent >= 0:
            columns[side][parent] = number
        is_leaf = "leaf_value" in node
        columns["feature"].append(0 if is_leaf else node["split_feature"])
        columns["threshold"].append(0.0 if is_leaf else node["threshold"])
        columns["left"].append(number)
        columns["right"].append(number)
        columns["value"].append(node["leaf_value"] if is_leaf else 0.0)
        if not is_leaf:
            waiting += [(node[f"{side}_child"], number, side) for side in ("right", "left")]
    return {name: np.array(values) for name, values in columns.items()}


def _fit_forest(examples: Examples) -> Trees:
    grown = train_forest(examples).estimators_
    trees = [_from_sklearn(each.tree_, 1 / len(grown)) for each in grown]
    return trees_from(joined(trees), features=examples.table.shape[1], single=True)


def train_forest(examples: Examples) -> Any:
    """Return scikit-learn's own forest of the examples."""
    ensemble = require("sklearn.ensemble", extra="learn")
    return ensemble.RandomForestClassifier(**FOREST).fit(examples.table, examples.grades > 0)


def _from_sklearn(tree: Any, weight: float) -> dict[str, Array]:
    own = np.arange(tree.node_count)
    is_leaf = tree.children_left < 0
    votes = tree.value[:, 0, :]
    chance = votes[:, 1] / votes.sum(axis=1) if votes.shape[1] > 1 else np.ones(len(votes))
    return {
        "feature": np.where(is_leaf, 0, tree.feature),
        "threshold": np.where(is_leaf, 0.0, tree.threshold),
        "left": np.where(is_leaf, own, tree.children_left),
        "right": np.where(is_leaf, own, tree.children_right),
        "value": np.where(is_leaf, chance * weight, 0.0),
    }


def _fit_logistic(examples: Examples) -> Linear:
    """Return the weights under which right candidates beat the others of their question.

    A logistic model of the choice among candidates (McFadden 1974) with a ridge, by Newton's
    method: what all candidates share drops out. It needs no library.
    """
    starts, question = examples.starts, examples.question
    scale = examples.table.std(axis=0)
    scale[scale == 0] = 1.0
    lines = examples.table / scale
    right = np.bincount(question, examples.grades, minlength=len(starts))
    target = np.divide(
        examples.grades, right[question], out=np.zeros(len(lines)), where=right[question] > 0
    )
    counts = right[question] > 0
    asked = max(1, int((right > 0).sum()))

    def loss(weights: Array) -> float:
        chance = _softmax(lines @ weights, starts, question)
        missed = -(target * np.log(np.maximum(chance, 1e-300))).sum() / asked
        return float(missed + RIDGE / 2 * weights @ weights)

    weights = np.zeros(lines.shape[1])
    for _ in range(NEWTON_STEPS):
        chance = _softmax(lines @ weights, starts, question) * counts
        slope = lines.T @ (chance - target) / asked + RIDGE * weights
        mean = np.add.reduceat(lines * chance[:, None], starts, axis=0)
        curve = (lines * chance[:, None]).T @ lines - mean.T @ mean
        step = np.linalg.solve(curve / asked + RIDGE * np.eye(len(weights)), slope)
        size, before = 1.0, loss(weights)
        while loss(weights - size * step) > before and size > 1e-6:
            size /= 2  # a whole step may lead too far
        weights = weights - size * step
        if np.abs(size * step).max() < 1e-8:
            break
    return Linear(weights / scale)


def _softmax(scores: Array, starts: Array, question: Array) -> Array:
    raised = np.exp(scores - np.maximum.reduceat(scores, starts)[question])
    return np.asarray(raised / np.add.reduceat(raised, starts)[question])


# How each kind learns, and what it reads.
_FITS: dict[str, tuple[Callable[[Examples], Trees | Linear], tuple[str, ...]]] = {
    "lambdamart": (_fit_lambdamart, ("plain", "relative")),
    "forest": (_fit_forest, PLAIN),
    "logistic": (_fit_logistic, ("relative",)),
}
KINDS = tuple(_FITS)


MAX_QUESTION_CHARS = 10_000


@dataclass(frozen=True, slots=True)
class Judged:
    """A question with the places that answer it."""

    text: str
    golds: tuple[AnswerPlace, ...]
    section: str  # of the first place


def read_judged(file: Path, index: IndexReader) -> list[Judged]:
    """Return the questions of a file of judgements that have a place in the index.

    Questions without an answer teach nothing here.
    """
    corpus = Corpus(index.snapshot)
    found = []
    for question in load(file).questions:
        places = [place for place in question.places if place.grade]
        golds: list[AnswerPlace] = []
        for place in places:
            if place.kind == "page" and place.document in corpus.snapshot.documents():
                golds.append(AnswerPlace(place.document, page=place.page))
            else:  # nothing in another edition of the documents
                golds += [AnswerPlace(span.doc_id, span=span) for span in corpus.spans(place)]
        if golds:
            first = places[0]
            section = section_of(first.locator or first.section or first.table or str(first.page))
            found.append(Judged(question.text[:MAX_QUESTION_CHARS], tuple(golds), section))
    if not found:
        raise SourceError(
            f"no question of {file} is answered by this index",
            hint="check the names of documents: pincite list",
        )
    return found


def examples_of(index: IndexReader, judged: Sequence[Judged], k: int) -> Examples:
    """Return the candidates of the index's pipeline for each question, with features and grades.

    Questions are kept together by document; where too few documents are asked about to hold some
    back, by section.
    """
    features = features_of(index.settings, index.opened)
    tables, grades, sizes = [], [], []
    for each in judged:
        query = index.parse(each.text)
        found = index.searcher.search(query.query, max(k, index.settings.tuning.depth))
        table = feature_lines(features, query, found, k)
        chunks = index.snapshot.get(found.names()[: len(table)])
        tables.append(table)
        grades += [grade_by_place(chunk, each.golds) for chunk in chunks]
        sizes.append(len(table))
    documents = [each.golds[0].doc_id for each in judged]
    if len(set(documents)) < FOLDS:
        documents = [f"{d}#{each.section}" for d, each in zip(documents, judged, strict=True)]
    return Examples(
        np.concatenate(tables), np.array(grades, float), np.array(sizes), tuple(documents), k
    )


def first_right(examples: Examples, scores: np.ndarray[Any, Any]) -> float:
    """Return the share of questions whose best candidate by these scores is a right one."""
    parts = zip(examples.starts.tolist(), examples.sizes.tolist(), strict=True)
    best = [start + int(np.argmax(scores[start : start + n])) for start, n in parts if n]
    return float((examples.grades[best] > 0).sum()) / max(1, len(examples.sizes))
