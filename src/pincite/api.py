"""The front door: open an index, put documents in, search, ask, show a place, look up a cell.

The rooms below read with :class:`~pincite.search.reader.IndexReader`; the verbs that need those
rooms (ingest, ask, evaluate) import them when they are called.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pincite.index.filters import NOTHING
from pincite.model.errors import StoreError, redact_url
from pincite.model.settings import Settings
from pincite.model.types import Filters
from pincite.search.reader import IndexReader
from pincite.store.location import exists

if TYPE_CHECKING:
    from pincite.answer.asker import Asker
    from pincite.answer.values import Answer, Event
    from pincite.check.support import Support
    from pincite.check.values import CheckReport
    from pincite.maintain.editions import EditionChange
    from pincite.measure.summary import Evaluation
    from pincite.update import IngestReport, Outcome


def open(location: str | Path, settings: Settings | None = None) -> Index:
    """Return the index in a folder, or in the server of a URL.

    One that is not there yet is made when it is first written to.

    >>> import tempfile
    >>> with open(tempfile.mkdtemp()) as index:
    ...     done = index.ingest_text("3.1 Rods shall be 2.4 m apart.", id="memo", title="Memo")
    ...     [passage.citation for passage in index.search("how far apart are rods")]
    ['Memo']
    """
    settings = settings or Settings()
    if exists(location, settings.store):
        return Index.open(location, settings)
    return Index._unwritten(location, settings)


class Index(IndexReader):
    """An index to read and to write.

    It sees the generation that was current when it was opened, or that this object wrote last.
    """

    @classmethod
    def _unwritten(cls, location: str | Path, settings: Settings) -> Index:
        """Return an index that can be written to, and has nothing to read yet."""
        index = cls.__new__(cls)
        index.location, index.settings = location, settings
        return index

    if not TYPE_CHECKING:  # a checker would take any name for an attribute

        def __getattr__(self, name: str) -> Any:
            if "opened" in vars(self) or name.startswith("__"):
                raise AttributeError(f"an index has no {name!r}", name=name, obj=self)
            raise StoreError(
                f"there is no index in {redact_url(self.location)} yet",
                hint="put documents in: index.ingest(FILES), or pincite ingest FILES",
            )

    def ask(self, question: str, *, filters: Filters = NOTHING, k: int | None = None) -> Answer:
        """Return the answer to a question: quoted word for word, or written and checked."""
        return self._asker.answer(question, filters=filters, k=k)

    def ask_stream(
        self, question: str, *, filters: Filters = NOTHING, k: int | None = None
    ) -> Iterator[Event]:
        """Yield what happens while a question is answered; the last event has the answer."""
        yield from self._asker.ask(question, filters=filters, k=k)

    def check(self, text: str, *, support: Support | None = None) -> CheckReport:
        """Return a verdict for every quotation, citation and cited statement of a text.

        ``support`` may be a function that says how probable it is that evidence bears out a claim.
        """
        from pincite.check.checker import Checker

        return Checker(self, support).check(text)

    def compare(self, old: str, new: str, place: str = "") -> list[EditionChange]:
        """Return what changed from one edition of a document to another, or in a place of it."""
        from pincite.maintain.editions import diff

        return diff(self.snapshot, old, new, place)

    @cached_property
    def _asker(self) -> Asker:
        from pincite.answer.asker import Asker

        return Asker(self)

    def evaluate(
        self, questions: str | Path, measures: Iterable[str] = (), *, k: int = 10, depth: int = 50
    ) -> Evaluation:
        """Return how good this index is on judged questions: a value for each measure."""
        from pincite.measure.summary import evaluate

        return evaluate(self, Path(questions), measures, k=k, depth=depth)

    def ingest(
        self,
        paths: str | Path | Iterable[str | Path],
        *,
        rebuild: bool = False,
        prune: bool = False,
    ) -> IngestReport:
        """Read files and folders, compute vectors, and return what became of each file.

        Only what is new or changed costs time. This object searches the new state afterwards; no
        other thread may search it meanwhile.
        """
        from pincite.update import ingest_files

        done = ingest_files(paths, self._home, self.settings, rebuild=rebuild, prune=prune)
        return replace(done, vectors=self._encode())

    def iter_ingest(
        self,
        paths: str | Path | Iterable[str | Path],
        *,
        rebuild: bool = False,
        prune: bool = False,
    ) -> Iterator[Outcome]:
        """Do what ``ingest`` does and yield each file as it is done; vectors come at the end.

        Nothing happens before it is iterated.
        """
        from pincite.update import iter_ingest

        yield from iter_ingest(paths, self._home, self.settings, rebuild=rebuild, prune=prune)
        self._encode()

    def ingest_text(self, text: str, *, id: str, title: str = "") -> Outcome:
        """Put a text into the index as a document of its own; one of the same id is replaced."""
        from pincite.update import ingest_text

        done = ingest_text(text, id, self._home, self.settings, title=title)
        self._encode()
        return done

    def remove(self, documents: str | Iterable[str]) -> list[str]:
        """Take documents out of the index and return the ids of those that were in it."""
        from pincite.update import remove

        named = [documents] if isinstance(documents, str) else documents
        gone = remove(self._home, named, self.settings.store)
        self._reopen()
        return gone

    @property
    def _home(self) -> str | Path:
        if not self.location:
            raise StoreError("this index was not opened by its place", hint="use pincite.open")
        return self.location

    def _encode(self) -> int:
        """Compute the vectors that are missing, show the new state, and return how many."""
        from pincite.update import embed_index

        count = 0
        if exists(self._home, self.settings.store):
            for step in embed_index(self._home, self.settings):
                count = step.done - step.without
            self._reopen()
        return count

    def _reopen(self) -> None:
        """Read what was written last."""
        before = vars(self).get("snapshot")
        fresh = Index.open(self._home, self.settings)
        vars(self).clear()
        vars(self).update(vars(fresh))
        if before is not None:
            before.close()
