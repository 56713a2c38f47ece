"""Where the documents come from: an index that is there, or files that are read for tuning."""

from __future__ import annotations

import json
from collections import deque
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import replace
from hashlib import sha256
from pathlib import Path

from pincite.core.errors import ConfigError, SourceError
from pincite.core.late_settings import USUAL_WEIGHT
from pincite.core.settings import Settings
from pincite.embed.models import spec_of
from pincite.evaluate.judgements.questions import Question
from pincite.index.opened import OpenIndex
from pincite.index.token_index import TokenIndex
from pincite.store.location import exists
from pincite.store.manifest import current, pointer_text
from pincite.tune.ground import Ground
from pincite.tune.space import EXAMPLES, FILES, TOKENS, VECTORS, Axis
from pincite.tune.state import RememberedPairs
from pincite.update import find_files, iter_ingest
from pincite.vectorise import embed_index

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
            self.settings = replace(settings, ingest=own.ingest, tokens=own.tokens)

    @property
    def reads_files(self) -> bool:
        return self.index is None

    def identity(self) -> str:
        """Return what changes when the documents do: the current generation with its hash."""
        folder = self.index or self._made(self.settings)
        return pointer_text(folder)

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
        if spec is not None and spec.has_tokens and not settings.late.weight:
            wanted = replace(settings, late=replace(settings.late, weight=USUAL_WEIGHT))
        deque(embed_index(folder, wanted), maxlen=0)
        self._folders[name] = folder
        return folder

    def close(self) -> None:
        for ground in self._grounds.values():
            with suppress(OSError):
                ground.opened.snapshot.close()


def missing(axis: Axis, sources: Sources, ground: Ground, examples: int, fewest: int) -> str:
    """Return why an axis cannot be tried here; empty if it can."""
    spec = spec_of(sources.settings.embedding)
    has_vectors = spec is not None and ground.opened.has_vectors(spec.id)
    if axis.needs == FILES and not sources.reads_files:
        return "needs the files: an index is cut already"
    if axis.needs in (VECTORS, TOKENS) and not has_vectors:
        return "the index has no vectors"
    if axis.needs == TOKENS and (
        spec is None or not spec.has_tokens or TokenIndex(ground.opened.snapshot, spec.id).is_empty
    ):
        return "the index has no codes of tokens (pincite ingest --set late.weight=0.3 adds them)"
    if axis.needs == EXAMPLES and examples < fewest:
        return f"{examples} questions are too few to learn from ({fewest} at least)"
    if axis.needs == EXAMPLES and sources.settings.learn.model:
        return "learn.model is set already"
    return ""
