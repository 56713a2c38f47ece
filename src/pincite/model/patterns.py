"""Regular expressions that are compiled when they are first used.

A command looks for few of the things that the modules it loads could look for, and compiling all of
them took a tenth of the time of a search from start to end.
"""

from __future__ import annotations

import re
from typing import Any, cast


class LazyPattern:
    """What ``re.compile`` would return, once anybody asks for something of it."""

    def __init__(self, pattern: str, flags: int) -> None:
        self._source = pattern, flags

    def __getattr__(self, name: str) -> Any:
        compiled = re.compile(*self._source)
        # From now on its methods are found here, and cost no more than its own.
        for each in ("search", "match", "fullmatch", "finditer", "findall", "sub", "split"):
            setattr(self, each, getattr(compiled, each))
        return getattr(compiled, name)


def lazy_pattern(pattern: str, flags: int = 0) -> re.Pattern[str]:
    """Return a pattern that is compiled at its first use."""
    return cast("re.Pattern[str]", LazyPattern(pattern, flags))
