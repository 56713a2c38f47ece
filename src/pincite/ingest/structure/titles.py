"""Titles that open an item on its own line: ``(1) Amateur operator. A person named …``."""

from __future__ import annotations

import re

from pincite.model.locators import plain_words

# Words of a title, then a period and more words, or a period or colon and the first sub-item.
_TITLE = re.compile(
    r"[*_]{0,3}[ \t]+(?P<signs>[*_]{0,3})(?P<words>[A-Z0-9À-Þ][^\r\n]{0,90}?)(?:"
    r"[*_]{0,3}[.](?=[*_]{0,3}(?:—|[ \t]+\(?[*_“\"]{0,3}[A-Z0-9À-Þ§]"
    r"|[ \t]*\r?\n[ \t]*[A-ZÀ-Þ][a-z ]))"
    r"|[:.][*_]{0,3}[ \t]*(?=\((?:1|a|A|i|I)\)))"
)
# A short sentence is no title: it has one of these, or an abbreviation made it look short.
_SENTENCE = re.compile(
    r"\b(?:may|must|shall|is|are|was|were|has|have|can|cannot|will|does?|should|see|No|Nos|vs)\b"
    r"|[.;:!?](?:\s|$)",
    re.IGNORECASE,
)


def run_in_title(text: str, start: int, *, is_step: bool = False) -> str:
    """Return the title that opens an item, or nothing when the item begins with a sentence.

    Numbered steps begin with short commands, so a title is believed there only in bold or italics.

    >>> run_in_title("(1) Amateur operator. A person named in a grant.", 3)
    'Amateur operator'
    >>> run_in_title("(d) A repeater may be automatic. It must identify.", 3)
    ''
    """
    match = _TITLE.match(text, start)
    if not match or (is_step and not match["signs"]):
        return ""
    words = plain_words(match["words"])
    is_title = len(words.split()) <= 8 and not _SENTENCE.search(words)
    return words if is_title else ""
