"""Reading one model's vectors of one segment."""

from __future__ import annotations

from pathlib import Path

from pincite.core.errors import MALFORMED, StoreError
from pincite.store.array_files import Array, read_arrays
from pincite.store.manifest import VectorEntry, check_files, home_of


class Vectors:
    """The vectors of a segment's rows, mapped into memory.

    ``rows`` names the row of each window, in rising order; ``exact`` holds the vectors as float16,
    ``codes`` times ``scales`` nearly the same in half the memory. If there are many, codes and
    scales stand in lists: list ``n`` from ``starts[n]`` on, ``order`` names each one's window.
    ``tokens`` are the codes of the windows' tokens and where each window's begin, if there are any.
    """

    def __init__(self, folder: Path, entry: VectorEntry) -> None:
        self.folder = folder
        self.entry = entry
        self.check(full=False)
        try:
            arrays = read_arrays(home_of(folder, entry))
            self.rows: Array = arrays["rows"]
            self.codes: Array = arrays["codes"]
            self.scales: Array = arrays["scales"]
            self.exact: Array = arrays["exact"]
            self.tokens: tuple[Array, Array] | None = None
            if "token_codes" in arrays:
                self.tokens = arrays["token_codes"], arrays["token_starts"]
            self.centres: Array | None = arrays.get("centres")
            if self.centres is not None:
                self.order: Array = arrays["order"]
                self.starts: Array = arrays["starts"]
        except MALFORMED as error:
            raise StoreError(
                f"vectors {entry.name} cannot be opened: {error}", hint="run: pincite doctor"
            ) from error

    def check(self, *, full: bool) -> None:
        """Raise StoreError if a file is missing or has another size or, if full, checksum."""
        problems = check_files(self.folder, self.entry, full=full)
        if problems:
            raise StoreError(f"the index is damaged: {problems[0]}", hint="run: pincite doctor")
