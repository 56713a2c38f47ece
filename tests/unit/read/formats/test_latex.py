r"""LaTeX of other readers: tables, headings and lists are found, and all else stays as it was."""

from __future__ import annotations

import json
import re
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pincite.model.settings import IngestSettings
from pincite.model.tables import find_cells, groups_of, parse_table
from pincite.read.formats.latex import read_latex
from pincite.read.formats.latex_words import plain_latex
from pincite.read.load import parse

STATEMENT = r"""Harbour Works Ltd.
Statement of Income
(in thousands)
\begin{tabular}{|c|c|c|c|c|}
\hline
\multirow[t]{2}{*}{Item} & \multicolumn{4}{|c|}{Year ended June 30,} \\
 & \multicolumn{2}{|r|}{2021} & \multicolumn{2}{|r|}{2020} \\
\multicolumn{5}{|l|}{Sales} \\
Berths ${ }^{(a)}$ & \$ & 1,250 & \$ & $(1,288)$ \\
Cranes \& tugs & & 480 & & $\mathbf{7 2 9 . 3}$ \\
Share & & $13 \%$ & & 14\% \\
\hline
\end{tabular}
(a) Without fees.

The port is open all year.
"""


def table(latex: str) -> list[str]:
    text, blocks = read_latex(latex)
    found = [text[block.start : block.end] for block in blocks if block.kind == "table"]
    return found[0].split("\n") if found else []


def test_a_statement_is_one_table_with_one_head() -> None:
    assert table(STATEMENT) == [
        "| Item | Year ended June 30, – 2021 | Year ended June 30, – 2020 |",
        "| --- | --- | --- |",
        "| Sales |  |  |",
        "| Berths (a) | $1,250 | $(1,288) |",
        "| Cranes & tugs | 480 | 729.3 |",
        "| Share | 13% | 14% |",
    ]


def test_cells_groups_scale_and_period_are_known() -> None:
    pages = json.dumps([{"text": STATEMENT, "page_idx": 3}]).encode()
    parsed = parse(pages, "income.json", IngestSettings())
    (found,) = [chunk for chunk in parsed.chunks if chunk.kind == "table"]
    assert (found.title, found.page) == ("Statement of Income", 3)
    assert found.text.startswith("Statement of Income\n(in thousands)\n\n| Item")
    assert found.text.endswith("| 14% |\n\n(a) Without fees.\n\n")
    read = parse_table(found.text)
    assert read is not None
    (cell,) = find_cells(read, "Berths", "2021")
    assert (cell.value, cell.unit, cell.scale) == ("$1,250", "$", "thousands")
    assert cell.period == "Year ended June 30, 2021"
    assert groups_of(read)[1] == ("Sales",)
    rows = [chunk.locator for chunk in parsed.chunks if chunk.kind == "row"]
    assert any("Cranes & tugs" in row for row in rows)


def test_a_cell_of_several_rows_stands_in_each_until_another_has_words() -> None:
    rows = table(
        r"\begin{tabular}{lll}"
        r"Port & Berth & Depth \\ \multirow{3}{*}{North} & A & deep \\ & B & flat \\"
        r"South & C & deep \\ \end{tabular}"
    )
    assert rows[2:] == ["| North | A | deep |", "| North | B | flat |", "| South | C | deep |"]


@pytest.mark.parametrize(
    ("first", "head"),
    [
        (r"Pier & 2020 & 2021", "| Pier | 2020 | 2021 |"),
        (r"Pier & 1,200 & 9.5", "|  |  |  |"),  # values: no names of columns
        (r"No. & 1 & 2 & 3", "| No. | 1 | 2 | 3 |"),
        (r"Order & 5952-37", "|  |  |"),  # as all numbers of its column
        (r"Owner: & The town", "|  |  |"),
    ],
)
def test_the_first_row_is_the_head_unless_it_has_values(first: str, head: str) -> None:
    rows = f"{first} \\\\ East & 4441-02 \\\\ West & 4442-11 \\\\"
    assert table(f"\\begin{{tabular}}{{llll}} {rows} \\end{{tabular}}")[0] == head


def test_labels_are_set_in_as_the_source_says() -> None:
    rows = table(
        r"\begin{tabular}{ll} Cover & Sum \\ Harbour & \\ \hspace{1cm} Fire & \$5 \\"
        r" $\quad$ Flood & \$6 \\ Ships & \$7 \\ \end{tabular}"
    )
    assert rows[2:] == [
        "| Harbour |  |",
        "| \u00a0\u00a0Fire | $5 |",
        "| \u00a0Flood | $6 |",
        "| Ships | $7 |",
    ]


def test_a_rule_says_where_the_head_ends() -> None:
    rows = table(
        r"\begin{tabular}{ll}\toprule Ship & Flag \\ of the line & now \\ \midrule"
        r" Ada & red \\ Bea & blue \\ Cy & white \\ \bottomrule\end{tabular}"
    )
    assert rows[0] == "| Ship – of the line | Flag – now |"
    assert len(rows) == 5


def test_titles_captions_and_notes_stand_outside_the_grid() -> None:
    text, blocks = read_latex(
        "Before.\n\\begin{table}[h]\n\\centering\n\\begin{tabular}{lr}\n"
        r"\multicolumn{2}{c}{Dues of the port} \\ Ship & Dues \\ Ada & 5 \\"
        "\n\\multicolumn{2}{l}{Note: without tax.} \\\\\n\\end{tabular}\n"
        "\\caption{What a \\textbf{ship} pays}\n\\end{table}\nAfter."
    )
    assert text == (
        "Before.\n\n**What a ship pays Dues of the port**\n\n"
        "| Ship | Dues |\n| --- | --- |\n| Ada | 5 |\n\nNote: without tax.\n\nAfter."
    )
    assert [block.kind for block in blocks] == ["paragraph", "table", "paragraph"]


def test_tables_in_cells_are_broken_lines() -> None:
    rows = table(
        r"\begin{tabular}{ll} Ship & \begin{tabular}{l} Length \\ (m) \end{tabular} \\"
        r" Ada & 9 \\ \end{tabular}"
    )
    assert rows == ["| Ship | Length (m) |", "| --- | --- |", "| Ada | 9 |"]


def test_headings_and_lists() -> None:
    text, blocks = read_latex(
        "\\section*{Rules of \\\\ the port}\nWords.\n\\begin{itemize}\n\\item Ada\n  and Bea\n"
        "\\item Cy\n\\begin{enumerate}\\item one\\item two\\end{enumerate}\n\\end{itemize}\nMore."
    )
    assert text == (
        "## Rules of the port\n\nWords.\n\n- Ada and Bea\n- Cy\n   1. one\n   2. two\n\nMore."
    )
    assert [(block.kind, block.level) for block in blocks] == [("heading", 2), ("list", 0)]


def test_rows_that_were_cut_out_of_a_table() -> None:
    loose = "Words.\nAda & 5 & red \\\\\nBea & 6 & blue \\\\\nMore words & no row."
    assert table(loose)[2:] == ["| Ada | 5 | red |", "| Bea | 6 | blue |"]
    cut = "\\begin{tabular}{l}\nShip & Age & Flag \\\\\n\\multicolumn{3}{l}{Old} \\\\\nA & 5 \\\\\n"
    assert table(cut)[0] == "| Ship | Age | Flag |"
    uneven = "A & b \\\\\nC & d & e \\\\\n"
    formula = "$$\\begin{aligned}\nA &= b \\\\\nC &= d \\\\\n\\end{aligned}$$"
    for text in (uneven, formula):
        assert read_latex(text) == (text, [])


@pytest.mark.parametrize(
    "text",
    [
        r"\begin{tabular}{ll} a & b",
        r"\end{tabular} a & b \\ \begin{tabular}",
        r"\begin{tabular}{ll} a & $$\begin{aligned} b \multicolumn{2}{c}{lost} 5 \end{tabular}",
        r"\begin{tabular}{ll} \multicolumn{9999}{c}{a} & b \\ \end{tabular}",
        r"\begin{itemize} no item \begin{tabular} \end{itemize}",
        r"\section*{never closed",
        r"In \LaTeX a table is \begin{tabular} to \end{array}.",
        "No LaTeX at all: 5 & 6, $5 to $10.",
    ],
)
def test_what_is_broken_stays_as_it_was(text: str) -> None:
    assert read_latex(text) == (text, [])


def test_text_and_markdown_files_have_the_same_table() -> None:
    words = f"Rules of the port\n\nThey follow.\n\n{STATEMENT}\nThe end.\n"
    for name in ("port.txt", "port.md"):
        parsed = parse(words.encode(), name, IngestSettings())
        (found,) = [chunk for chunk in parsed.chunks if chunk.kind == "table"]
        assert "| Berths (a) | $1,250 | $(1,288) |" in found.text, name
    fenced = f"# How to\n\n```latex\n{STATEMENT}```\n"
    assert parse(fenced.encode(), "a.md", IngestSettings()).document.text == fenced


@pytest.mark.parametrize(
    ("latex", "words"),
    [
        (r"$\underline{\mathbf{1 2 . 5}}$", "12.5"),
        (r"$$\begin{gathered} \text { May 31, } 2022$$", "May 31, 2022"),
        (r"$-4 \mathrm{~m}^{2}$", "-4 m²"),
        (r"$12^{\text {th }}$ AT\&T", "12th AT&T"),
        (r"$\frac{1}{2}$", "1/2"),
        (r"Ada ${ }^{1}$", "Ada ^1^"),
        (r"\makecell{a \\ b} {\bf c}", "a b c"),
        (r"$5 to $10, \$ 6", "$5 to $10, $6"),
        (r"$x_{1}+y^{2}$", r"$x_{1}+y^{2}$"),
        (r"$10^{5}$", r"$10^{5}$"),
    ],
)
def test_plain_words_of_cells(latex: str, words: str) -> None:
    assert plain_latex(latex) == words


PARTS = st.sampled_from(
    [
        *("\\begin{tabular}{ll}", "\\end{tabular}", "\\begin{table}[h]", "\\end{table}", " & "),
        *(
            "\\\\\n",
            "\\\\",
            "{",
            "}",
            "$",
            "$$",
            "\\$ ",
            "\\multicolumn{2}{c}{",
            "\\multirow{2}{*}{",
        ),
        *("\\hline ", "\\section*{", "\\begin{itemize}", "\\item ", "\\end{itemize}", "\\caption{"),
        *(
            "\\textbf{",
            "^{",
            "_{",
            "\\begin{aligned}",
            "\\end{aligned}",
            "\n",
            "\n\n",
            " ",
            "\\",
            "|",
        ),
        *("ada", "bea", "5", "1,288", "%", "(a)", "*", "[", "]", "2021", "\u00a0", "長さ"),
    ]
)


@given(st.lists(PARTS, max_size=60).map("".join))
def test_nothing_raises_and_blocks_stand_in_order(text: str) -> None:
    read, blocks = read_latex(text)
    ends = [0]
    for block in blocks:
        assert ends[-1] <= block.start < block.end <= len(read)
        ends.append(block.end)
    if "\\" not in text:
        assert read == text
    words = re.compile(r"ada|bea|長さ")
    assert set(words.findall(read)) == set(words.findall(text))


CELL = st.text("abcde 0123.,%*()|", max_size=12).map(str.strip)


@given(st.lists(st.tuples(CELL, CELL, CELL), min_size=1, max_size=8))
def test_words_of_all_cells_are_kept(rows: list[tuple[str, str, str]]) -> None:
    body = "".join(f"{' & '.join(row)} \\\\\n" for row in rows)
    text, _ = read_latex(f"Top.\n\\begin{{tabular}}{{lll}}\n{body}\\end{{tabular}}\nEnd.")
    words = re.compile(r"[a-e0-9]+")
    assert set(words.findall(text)) == set(words.findall(f"Top.\n{body}\nEnd."))


@pytest.mark.parametrize(
    "unit",
    [
        *(
            "\\begin{tabular}",
            "\\begin{tabular}{l} a & b \\\\ ",
            "a & b \\\\\n",
            "\\section*{",
            "$",
        ),
        *(
            "\\begin{tabular}{l} a & b \\\\ \\end{tabular}\n\\section{a}\n",
            "\\title{ a & b \\\\\n}\n",
        ),
        *("\\begin{itemize}\\item ", "\\multicolumn{2}{c}{", "\\(", "{", "\\end{tabular}", "^{ }"),
    ],
)
def test_time_grows_with_the_length(unit: str) -> None:
    def seconds(count: int) -> float:
        text = unit * count
        start = time.process_time()
        read_latex(text)
        read_latex(f"\\begin{{tabular}}{{ll}} {text} & b \\\\ c & d \\\\ \\end{{tabular}}")
        return time.process_time() - start

    seconds(100)
    assert seconds(8_000) < 40 * max(seconds(1_000), 0.005)
