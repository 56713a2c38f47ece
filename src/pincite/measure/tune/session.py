"""A tuning from its request to its result; can be interrupted and taken up again."""

from __future__ import annotations

import json
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from hashlib import sha256
from pathlib import Path
from typing import Any

from pincite.encode.models import spec_of
from pincite.index.opened import OpenIndex
from pincite.index.vectors import TokenIndex
from pincite.measure.grades import Measure
from pincite.measure.questions import Question, QuestionSet
from pincite.measure.statistics import Comparison, compare
from pincite.measure.tune.nested import DEFAULT, Cost, Costs, TrialOptions, TrialRunner, Tuned, tune
from pincite.measure.tune.shared import MIN_EXAMPLES, Ground, folded
from pincite.measure.tune.space import (
    AXES,
    EXAMPLES,
    FILES,
    PRESETS,
    TOKENS,
    VECTORS,
    Axis,
    RememberedPairs,
    State,
    Trial,
    Watcher,
    undoings,
)
from pincite.model.errors import MALFORMED, ConfigError, MissingExtra, SourceError, require
from pincite.model.settings import USUAL_WEIGHT, Settings
from pincite.read.load import find_files
from pincite.search.learned import RankerModel
from pincite.search.pair_scorers import open_scorer
from pincite.store.files import write_durably
from pincite.store.location import exists
from pincite.store.manifest import current, pointer_text
from pincite.update import embed_index, iter_ingest

Tell = Callable[[str], None]


class Sources:
    """Opens an index for every shape that settings give it; files are read into the folder."""

    def __init__(self, paths: Sequence[Path], folder: Path, settings: Settings, tell: Tell) -> None:
        self.folder = folder
        self.tell = tell
        self.settings = settings
        indexes = [path for path in paths if exists(path)]
        if indexes and len(paths) > 1:
            raise ConfigError(
                f"{indexes[0]} is an index, and there are other sources beside it",
                hint="give one index, or any number of files and folders",
            )
        self.index = indexes[0] if indexes else None
        # What a tuning wrote is not among the documents of the next one.
        written = folder.resolve()
        found = [] if indexes else find_files(list(paths))
        self.files = [(file, name) for file, name in found if written not in file.resolve().parents]
        if not indexes and not self.files:
            raise SourceError(
                f"no documents in {', '.join(map(str, paths))}",
                hint="give files or folders that have some, or an index",
            )
        self._folders: dict[str, Path] = {}
        self._grounds: dict[str, Ground] = {}
        if self.index is not None:  # it is cut already, whatever the settings say
            shape = current(self.index).shape
            own = Settings.from_shape(shape, origin=str(self.index))
            self.settings = settings.shaped_as(own)

    def identity(self) -> str:
        """Return what changes when the documents do: the current generation with its hash."""
        return pointer_text(self.index or self._made(self.settings))

    def ground(
        self, settings: Settings, questions: Sequence[Question], scorer: RememberedPairs | None
    ) -> Ground:
        """Return the index that the settings shape, with the questions' places in it."""
        name = self._name(settings)
        if name not in self._grounds:
            folder = self.index or self._made(settings)
            self._grounds[name] = Ground(OpenIndex.open(folder), questions, scorer)
        return self._grounds[name]

    def _name(self, settings: Settings) -> str:
        if self.index is not None:
            return ""
        shape = json.dumps(settings.shape(), sort_keys=True)
        return sha256(shape.encode()).hexdigest()[:12]

    def _made(self, settings: Settings) -> Path:
        """Return an index of the files in this shape, made now or brought up to date."""
        name = self._name(settings)
        if name in self._folders:
            return self._folders[name]
        folder = self.folder / f"index-{name}"
        self.tell(f"reading {len(self.files)} files into {folder}")
        for outcome in iter_ingest(self.files, folder, settings, prune=True):
            if outcome.status == "rejected":
                self.tell(f"skipped: {outcome.reason}")
        # Codes of tokens are kept too: late interaction is one of the things to try.
        wanted = settings
        spec = spec_of(settings.embedding)
        if spec is not None and spec.has_tokens and not settings.search.late_weight:
            search = replace(settings.search, late_weight=USUAL_WEIGHT)
            wanted = replace(settings, search=search)
        deque(embed_index(folder, wanted), maxlen=0)
        self._folders[name] = folder
        return folder

    def close(self) -> None:
        for ground in self._grounds.values():
            with suppress(OSError):
                ground.opened.snapshot.close()


def missing(axis: Axis, sources: Sources, ground: Ground) -> str:
    """Return why an axis cannot be tried here; empty if it can."""
    spec = spec_of(sources.settings.embedding)
    has_vectors = spec is not None and ground.opened.has_vectors(spec.id, spec.stand_in)
    if axis.needs == FILES and sources.index is not None:
        return "needs the files: an index is cut already"
    if axis.needs in (VECTORS, TOKENS) and not has_vectors:
        return "the index has no vectors"
    if axis.needs == TOKENS and (
        spec is None or not spec.has_tokens or TokenIndex(ground.opened.snapshot, spec.id).is_empty
    ):
        return "the index has no codes of tokens (ingest with --set search.late_weight=0.3)"
    examples = sum(gold.is_evaluable for gold in ground.golds)
    if axis.needs == EXAMPLES and examples < MIN_EXAMPLES:
        return f"{examples} questions are too few to learn from ({MIN_EXAMPLES} at least)"
    if axis.needs == EXAMPLES and sources.settings.search.ranker:
        return "search.ranker is set already"
    return ""


MAX_BYTES = 64_000_000


def counter_of(file: Path) -> Path:
    """Return where the looks at a file of questions are counted."""
    return file.with_name(f"{file.name}.peeks.json")


def look(file: Path, questions: QuestionSet, made: str) -> int:
    """Count a look, before anything is asked, and return how many there were with this one."""
    counter = counter_of(file)
    looks = _looks(counter)
    own = [_short(question) for question in questions.questions]
    looks.append({"hash": questions.hash, "made": made, "questions": own})
    try:
        write_durably(counter, f"{json.dumps({'looks': looks}, indent=1)}\n".encode())
    except OSError as error:
        raise SourceError(
            f"the look at {file} cannot be counted: {error}",
            hint="put the hold-out into a folder that can be written",
        ) from error
    return sum(not set(own).isdisjoint(each["questions"]) for each in looks)


def _looks(counter: Path) -> list[dict[str, Any]]:
    """Return the looks so far; a file that cannot be read is not taken for none."""
    if not counter.exists():
        return []
    try:
        if counter.stat().st_size > MAX_BYTES:
            raise ValueError("it is too large")
        looks = json.loads(counter.read_text(encoding="utf-8"))["looks"]
        return [{**each, "questions": list(map(str, each["questions"]))} for each in looks]
    except (OSError, *MALFORMED) as error:
        raise SourceError(
            f"{counter} does not say how often the hold-out was looked at: {error}",
            hint="mend it, or remove it and say so wherever the figure is quoted",
        ) from error


def apart(tuning: Sequence[Question], held_out: Sequence[Question]) -> None:
    """Raise ConfigError if a question to tune on is in the hold-out."""
    known = {_short(question) for question in tuning}
    both = [question for question in held_out if _short(question) in known]
    if both:
        raise ConfigError(
            f"{len(both)} of the hold-out's questions are tuned on, as {both[0].id!r}",
            hint="take them out of one of the files",
        )


def _short(question: Question) -> str:
    """Return a short hash of a question's words."""
    return sha256(question.wording.encode()).hexdigest()[:16]


# These look at the ranks of hits alone; others need words or flags of hits.
MEASURES = ("nDCG", "Recall", "RR", "hit", "all", "P", "AP")
SHAPING = ("chunking", "tokens")  # axes that need an index of their own for every value


@dataclass(frozen=True, slots=True)
class Wish:
    """What a tuning is asked for."""

    measure: Measure
    folds: int = 5
    skipped: Sequence[str] = ()
    with_chunking: bool = False
    budget_ms: float = 0.0
    passes: int = 1


@dataclass(frozen=True, slots=True)
class Ablation:
    """What one changed setting is worth, all others being as chosen."""

    change: str
    gain: Comparison
    ms: float  # what the median search takes more because of it


@dataclass(frozen=True)
class Session:
    """A tuning that is done, with all that a report needs."""

    questions: QuestionSet
    wish: Wish
    tuned: Tuned
    bench: TrialRunner
    untried: Mapping[str, str]  # axes with the reason why they were not tried
    costs: Mapping[str, Cost]  # of the fixed pipelines and the choice, by name
    ablations: Sequence[Ablation]
    model: RankerModel | None = None  # the learned ranker of the choice
    held_out: Mapping[str, Any] = field(default_factory=dict)


def check(questions: QuestionSet, wish: Wish) -> list[Question]:
    """Return the questions that count; an error with a remedy if the wish cannot be met."""
    if wish.measure.name not in MEASURES:
        known = f"one of {', '.join(MEASURES)}"
        raise ConfigError(f"{wish.measure} cannot be tuned for", hint=known)
    names = [axis.name for axis in AXES]
    for name in wish.skipped:
        if name not in names:
            known = f"known: {', '.join(names)}"
            raise ConfigError(f"nothing called {name!r} is tried", hint=known)
    asked = [question for question in questions.questions if question.needs]
    if not asked:
        what = f"{questions.name} has no question with an answer"
        raise SourceError(what, hint="see docs/evaluate.md")
    return asked


def about(questions: QuestionSet, sources: Sources, wish: Wish) -> dict[str, Any]:
    """Return what the state belongs to: with any other of it, its numbers mean nothing."""
    found = {"questions": questions.hash, "documents": sources.identity()}
    found |= {"measure": str(wish.measure), "settings": sources.settings.fingerprint()}
    return {**found, "folds": wish.folds}


def run(
    sources: Sources, questions: QuestionSet, wish: Wish, state: State, watcher: Watcher | None
) -> Session:
    """Tune: everything that was worked out before comes from the state."""
    asked = check(questions, wish)
    base = sources.settings
    inner = open_scorer(replace(base.reranking, enabled=True))
    scorer = RememberedPairs(inner, state.pairs()) if inner else None
    ground = sources.ground(base, asked, scorer)
    folds = folded(ground.golds, ground.corpus, wish.folds)
    asking = TrialOptions(wish.measure, folds, lambda s: sources.ground(s, asked, scorer))
    bench = TrialRunner(asking, state, scorer, watcher)
    axes, untried = _axes(sources, wish, ground)
    fixed = _fixed(base, axes)
    costs = Costs(bench, [question.text for question in asked])
    # The search begins with the settings in the pipeline that has everything.
    start = replace(base, search=replace(base.search, preset="default"))
    tuned = tune(bench, start, axes, fixed, costs.together, wish.budget_ms, wish.passes)
    model = None
    if tuned.choice.learned:
        about_it = {"questions": len(asked), "settings": tuned.choice.settings.fingerprint()}
        own = asking.ground_of(tuned.choice.settings)
        model = bench.learned.model(own, tuned.choice, about_it)
    undone = undoings(tuned.choice, tuned.default.settings)
    spent = costs.together([*fixed.values(), tuned.choice, *undone.values()])
    named = {**fixed, "choice": tuned.choice}
    by_name = {name: spent[trial.key] for name, trial in named.items()}
    ablations = _ablations(bench, tuned, undone, spent)
    return Session(questions, wish, tuned, bench, untried, by_name, ablations, model)


def _axes(sources: Sources, wish: Wish, ground: Ground) -> tuple[tuple[Axis, ...], dict[str, str]]:
    """Return the axes that can be tried, and why the others cannot."""
    untried: dict[str, str] = {}
    for axis in AXES:
        if axis.name in wish.skipped:
            untried[axis.name] = "skipped"
        elif axis.name in SHAPING and not wish.with_chunking:
            untried[axis.name] = "not asked for (--chunking)"
        elif why := missing(axis, sources, ground):
            untried[axis.name] = why
    axes = [each for each in AXES if each.name not in untried]
    try:
        if any(each.learned for each in axes):
            require("lightgbm", extra="learn")
    except MissingExtra:  # no ranker whose library is not there is tried
        kinds = [tuple(kind for kind in each.learned if kind != "lambdamart") for each in axes]
        axes = [replace(each, learned=some) for each, some in zip(axes, kinds, strict=True)]
    return tuple(axes), untried


def _fixed(base: Settings, axes: Sequence[Axis]) -> dict[str, Trial]:
    """Return the pipelines that nobody tuned: the settings as they are, and every preset."""
    names = {axis.name for axis in axes}
    needs = {"dense": "fusion", "hybrid+late": "late interaction", "hybrid+rerank": "cross-encoder"}
    found = {DEFAULT: Trial(base)}
    for preset in PRESETS:
        is_there = preset not in needs or needs[preset] in names
        if is_there and preset != base.search.preset:
            found[preset] = Trial(replace(base, search=replace(base.search, preset=preset)))
    return found


def _ablations(
    bench: TrialRunner, tuned: Tuned, undone: Mapping[str, Trial], spent: Mapping[str, Cost]
) -> list[Ablation]:
    """Return what each change is worth: the choice beside itself without it."""
    own, *others = bench.values([tuned.choice, *undone.values()])
    found = []
    for (words, trial), values in zip(undone.items(), others, strict=True):
        more = spent[tuned.choice.key].p50 - spent[trial.key].p50
        gain = compare(values, own, tuned.folds.groups)
        found.append(Ablation(words, gain, round(more, 2)))
    return found


def state_file(folder: Path) -> Path:
    """Return where a tuning in this folder keeps what it has worked out."""
    return folder / "state.sqlite"
