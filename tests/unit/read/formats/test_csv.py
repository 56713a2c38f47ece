"""CSV: one table with a caption, whatever cuts its cells."""

from __future__ import annotations

import pytest

from pincite.model.errors import SourceError
from pincite.read.formats import csv
from pincite.read.structure.clauses import clause_tree

EXPECTED = "**Table 7. sizes**\n\n| Size | Depth |\n| --- | --- |\n| 1,5 | a b |\n| 2 | x\\|y |\n"


@pytest.mark.parametrize(
    "source",
    [
        'Size,Depth\r\n"1,5","a\r\nb"\r\n2,x|y\r\n',
        'Size;Depth\n1,5;"a\nb"\n\n2;x|y',
        "\ufeffSize\tDepth\n1,5\ta b\n2\tx|y\n",
        'Size|Depth\n1,5|a b\n2|"x|y"\n',
    ],
)
def test_one_table_by_any_delimiter(source: str) -> None:
    parsed = csv.read(source.encode(), "data/Table_7_sizes.csv")
    assert (parsed.text, parsed.title) == (EXPECTED, "Table 7. sizes")
    tree = clause_tree(parsed.text, parsed.blocks, parsed.title)
    assert [(c.kind, c.locator) for c in tree][1:] == [("table", "Table 7")]


def test_rows_of_numbers_get_names_for_their_columns() -> None:
    text = csv.read(b"1,2\n3\n", "x.csv").text
    assert text == "**x**\n\n| Column 1 | Column 2 |\n| --- | --- |\n| 1 | 2 |\n| 3 |  |\n"


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (b"", "empty"),
        (b",,\n,,\n", "no text"),
        ("größe,tiefe\n1,2\n".encode("cp1252"), "not UTF-8"),
        (b'a,b\n"open,1\n', "not a table"),
        (b"a,b\n" + b"x" * 200_000 + b",1\n", "not a table"),
        (b"," * 2_000 + b"x\n", "columns"),
        (b"a,b\n" * 200_001, "rows"),
    ],
)
def test_what_is_no_table_is_explained(data: bytes, reason: str) -> None:
    with pytest.raises(SourceError, match=reason):
        csv.read(data, "x.csv")
