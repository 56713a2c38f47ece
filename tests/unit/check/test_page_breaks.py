"""Numbers and repeated lines between pages are no part of a quotation; all else is."""

from __future__ import annotations

import pytest

from pincite.check.page_breaks import PageBreaks
from pincite.model.types import Pages

PAGES = [
    "Pipes are laid in trenches that are at least one metre deep and\n\nHarbour Code, draft",
    "covered with sand. Whoever opens a trench tells the harbour master\n\nHarbour Code, draft",
    "before the work begins and after it ends. A fence of 14 metres is\n\nHarbour Code, draft",
    "put up around it. It is lit at night.\n\nHarbour Code, draft",
]
TEXT = "\n\n".join(PAGES)
STARTS = [TEXT.index(page) for page in PAGES]
BREAKS = PageBreaks(TEXT, Pages(STARTS, [11, 12, 13, 14]), "CONFIDENTIAL COPY No. #")


@pytest.mark.parametrize(
    "quote",
    [
        # a line that the reader left in the text
        "at least one metre deep and covered with sand.",
        # what the pages print, in the quotation: a number, two, a line that was left out
        "at least one metre deep and 11 covered with sand.",
        "11 12 covered with sand. Whoever opens a trench",
        "CONFIDENTIAL COPY No. 7 covered with sand. Whoever opens a trench",
        "and 11 CONFIDENTIAL COPY No. 3 covered with sand. Whoever opens",
        "tells the harbour master 12 before the work begins and after it ends",
        "deep and 11 covered with sand. Whoever opens a trench tells the harbour master 12 before",
    ],
)
def test_what_pages_put_between_words_is_no_change(quote: str) -> None:
    assert len(BREAKS.find(quote)) == 1


@pytest.mark.parametrize(
    "quote",
    [
        "at least one metre deep and 9 covered with sand.",  # no number of these pages
        "at least one metre deep and covered 12 with sand.",  # no page begins there
        "at least one metre deep and damp covered with sand.",  # a word that no page has there
        "CONFIDENTIAL COPY Whoever opens a trench tells the harbour master",  # inside a page
        "A fence of metres is put up around it.",  # the figure is of the sentence
        "A fence of 13 metres is put up around it.",
        "11 12",
    ],
)
def test_anything_else_is_one(quote: str) -> None:
    assert not BREAKS.find(quote)


def test_numbers_of_the_pages_that_a_file_was_made_from_run_along_in_it() -> None:
    parts = [f"Part {name} of the lease names what is rented and\n\n{n}\n\nthe rent of {name}."
             for n, name in enumerate(("Aft", "Bow", "Cove", "Deck", "Eel"), 3)]  # fmt: skip
    lease = PageBreaks("\n\n".join(parts), Pages())
    assert lease.find("Part Bow of the lease names what is rented and the rent of Bow.")
    assert lease.find("names what is rented and 3 4 the rent of Bow.")
    assert not lease.find("names what is rented and 8 the rent of Bow.")
