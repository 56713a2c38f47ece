"""HTML: what a page shows is read, in its order, and nothing else."""

from __future__ import annotations

import time

import pytest

from pincite.model.errors import SourceError
from pincite.model.tables import groups_of, parse_table
from pincite.read.extracted import ExtractedText
from pincite.read.formats import html
from pincite.read.structure.clauses import clause_tree


def page(body: str, head: str = "") -> ExtractedText:
    return html.read(f"<!doctype html><html><head>{head}</head><body>{body}".encode(), "page.html")


def text(body: str) -> str:
    return page(body).text.rstrip("\n")


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ("<h2>4.2 <em>Fees</em><br>today</h2>", "## 4.2 Fees today"),
        ("<p>one\n  two<br>(a) three", "one two\n(a) three"),
        ("<p>a &lt; b &amp; c&nbsp;d &#167; 5", "a < b & c d § 5"),
        (
            "<p><b>Bold </b>and <i>slanted</i>, <b><i>both</i></b>",
            "**Bold** and *slanted*, ***both***",
        ),
        ("<p>3 m<sup>2</sup> CO<sub>2</sub> E<sub>t</sub>", "3 m² CO₂ E_t"),
        ("<p>sixty<sup>1</sup> and <sup><a href='#n'>2</a></sup>", "sixty^1^ and [^2]"),
        ("<ol type=a start=3><li>x<li>y</ol>", "c. x\n\nd. y"),
        ("<ol type=i><li>x<li value=4>y</ol>", "i. x\n\niv. y"),
        ("<ol style='list-style-type: upper-roman'><li>x</ol>", "I. x"),
        ("<ol reversed><li>x<li>y</ol>", "2. x\n1. y"),
        ("<ol><li>x<ul><li>y<p>z</ul><li>w</ol>", "1. x\n   - y\n      z\n2. w"),
        ("<ol><li>(a) x<li>(b) y</ol>", "(a) x\n\n(b) y"),
        ("<ul style='list-style: none'><li>x</ul>", "x"),
        ("<dl><dt>Berth<dd>A place.<dt>(a)<dd>One.</dl>", "**Berth** A place.\n\n(a) One."),
        ("<blockquote><p>one<br>two</blockquote>", "> one\n> two"),
        ("<pre><code>a\n  b</code></pre>", "```\na\n  b\n```"),
        ("<pre>(a) one\n(b) two\n\nthree</pre>", "(a) one\n(b) two\n\nthree"),
        ("<div>one<div>two</div>three</div>", "one\n\ntwo\n\nthree"),
        ("<article><header><h1>T</h1></header>x</article>", "# T\n\nx"),
        ("<p>x<!-- no --><script>no</script><style>no</style><template>no</template>", "x"),
        ("<p>x <a href='#y'>link</a> <img alt=no> <button>no</button>", "x link"),
    ],
)
def test_elements(body: str, expected: str) -> None:
    assert text(body) == expected


def test_a_table_with_spans_head_caption_and_note() -> None:
    body = """<table><caption>Table 3. <b>Sizes</b></caption>
      <thead><tr><th rowspan=2>Size<th colspan=2>Depth<tr><th>mm<th>in</thead>
      <tr><td>a|b<td>1<td>2<tr><td colspan=2>x<td>3
      <tfoot><tr><td colspan=3>* As built.</tfoot></table><p>After."""
    parsed = page(body)
    assert parsed.text == (
        "**Table 3. Sizes**\n\n"
        "| Size | Depth – mm | Depth – in |\n| --- | --- | --- |\n"
        "| a\\|b | 1 | 2 |\n| x | x | 3 |\n\n\\* As built.\n\nAfter.\n"
    )
    tree = clause_tree(parsed.text, parsed.blocks, "")
    (table,) = (clause for clause in tree if clause.kind == "table")
    assert (table.locator, table.title) == ("Table 3", "Sizes")
    assert parsed.text[table.start : table.end].rstrip().endswith("As built.")


def test_a_head_row_over_all_columns_is_the_caption() -> None:
    body = "<table><tr><th colspan=2>Table 7 Weights<tr><th>a<th>b<tr><td>1<td>2</table>"
    assert text(body).startswith("**Table 7 Weights**\n\n| a | b |")


def test_a_table_that_only_arranges_the_page_is_unwrapped() -> None:
    body = "<table><tr><td><h2>Left</h2>x<td><table><tr><th>a<tr><td>1</table></table>"
    assert text(body) == "## Left\n\nx\n\n| a |\n| --- |\n| 1 |"


def test_what_stands_beside_the_text_and_what_is_hidden_is_reported() -> None:
    parsed = page(
        "<header>Site</header><nav>Menu</nav><p>Text<aside>Ad</aside><div class='box toc'>1</div>"
        "<p hidden>secret<p style='Display: none'>more<span style='font-size:0'>x</span>"
        "<table><tr><td>a<tr style='display:none'><td>cell</table>"
    )
    assert parsed.text == "Text\n\n|  |\n| --- |\n| a |\n"
    kinds = {finding.kind: finding.message for finding in parsed.findings}
    assert "15 characters" in kinds["hidden_text"]
    assert "1 header, 1 nav, 1 aside, 1 div" in kinds["skipped_content"]


def test_the_title_is_the_only_main_heading_else_the_title_of_the_page() -> None:
    assert page("<h1>Rules</h1>x", "<title>Site</title>").title == "Rules"
    assert page("<h1>A</h1><h1>B</h1>x", "<title>Site &amp; Co</title>").title == "Site & Co"
    assert page("x").title == "page"


@pytest.mark.parametrize("declared", ["windows-1252", "ISO-8859-1"])
def test_the_declared_encoding_counts(declared: str) -> None:
    source = f'<meta charset="{declared}"><p>café § 5'
    assert html.read(source.encode("cp1252"), "x.html").text == "café § 5\n"


def test_a_wrong_encoding_is_explained() -> None:
    with pytest.raises(SourceError, match="not UTF-8"):
        html.read("<p>café".encode("cp1252"), "x.html")
    with pytest.raises(SourceError, match="not UTF-8"):
        html.read("<meta charset=utf-8><p>café".encode("cp1252"), "x.html")


@pytest.mark.parametrize(
    "hostile",
    [
        "<div>" * 100_000 + "x",
        "<div></span>" * 100_000 + "x",
        "<div><!--</div>-->" * 100_000 + "x",
        '<div title="</div>">' * 100_000 + "x",
        "<b>" * 100_000 + "x",
    ],
)
def test_bottomless_nesting_is_refused_at_once(hostile: str) -> None:
    started = time.process_time()
    with pytest.raises(SourceError, match="nests more than"):
        html.read(hostile.encode(), "x.html")
    assert time.process_time() - started < 5


@pytest.mark.parametrize(
    "hostile",
    [
        "<div>" * 4_000 + "x" + "</div>" * 4_000,
        "<p>" * 50_000 + "x",
        "<a '" * 50_000 + "<p>x",
        "<ul><li>" * 1_000 + "x",
        "<table><tr><td>" * 1_000 + "x",
        "<sup>" * 4_000 + "x",
        "<!--" * 50_000,
        "<script>" * 50_000,
    ],
)
def test_odd_pages_give_text_or_a_reason(hostile: str) -> None:
    started = time.process_time()
    try:
        html.read(hostile.encode(), "x.html")
    except SourceError as error:
        assert "no text" in str(error)
    assert time.process_time() - started < 20


def test_a_table_that_would_fill_the_memory_is_refused() -> None:
    cell = "<td colspan=1000 rowspan=65534>" + "x" * 100
    with pytest.raises(SourceError, match="cells"):
        page("<table>" + f"<tr>{cell}" * 5_000 + "</table>")


def links(count: int, *, to: str = "p{}.html") -> str:
    return "".join(f"<li><a href='{to.format(n)}'>{n}. Name</a>" for n in range(count))


@pytest.mark.parametrize(
    "bar",
    [
        "<div class='nav-panel'><p>Next: <a href=b>B</a></div>",
        "<div class=navheader><table><tr><th>Chapter 4<tr><td><a href=b>P</a></table></div>",
        "<p>Next: <a href=b rel=next>Fees</a>, Up: <a href=c rel=up>Top</a> [<a href=d>Index</a>]",
        "<table><tr><td><a accesskey=p href=b>Previous</a><td><a accesskey=n href=c>N</a></table>",
        "<div role=contentinfo>Made by a program.</div>",
        f"<ul>{links(9)}</ul>",
        f"<h2>Table of Contents</h2><div class=list><ul>{links(2)}</ul></div>",
        f"<ol><li><a href=a>1. Berths</a><ol>{links(3)}</ol></ol>",
        f"<ul class='mini-toc'>{links(2)}</ul>",
        "<table><tr><td>Jump to:<td>"
        + "".join(f"<a href='#{c}'>{c}</a> " for c in "abcdefghijklmnopq")
        + "</table>",
    ],
)
def test_what_only_leads_elsewhere_is_left_out(bar: str) -> None:
    found = page(f"<div>{bar}</div><h1>4. Fees</h1><p>Words of the page.")
    assert found.text == "# 4. Fees\n\nWords of the page.\n"
    assert [each.kind for each in found.findings] == ["skipped_content"]


@pytest.mark.parametrize(
    "words",
    [
        f"<p>See:<ul>{links(3)}</ul>",
        f"<p>See:<ul>{links(20, to='https://example.org/{}')}</ul>",
        "<ul>"
        + "".join(f"<li><a href=p>Fees</a> are paid on day {n} of each year." for n in range(9)),
        "<h2>Contents</h2><p>The contents of a barrel are measured.",
        "<div><p>The <a rel=next href=b>next rule</a> holds for every ship in the harbour.</div>",
    ],
)
def test_links_that_are_words_of_the_page_stay(words: str) -> None:
    assert not page(f"<h1>4. Fees</h1>{words}").findings


def test_a_link_to_the_heading_itself_is_no_word_of_it() -> None:
    body = "<h2><span>2.1. </span>Fees<a href='#fees'>¶</a></h2><p>See <a href='#x'>§ 3</a>."
    assert text(body) == "## 2.1. Fees\n\nSee § 3."


def test_lines_of_programs_are_code() -> None:
    assert text("<pre class=programlisting>1. a\n2. b</pre>") == "```\n1. a\n2. b\n```"


def test_many_links_to_the_next_page_take_no_time() -> None:
    deep = "<div><a rel=next href=x></a>" * 2000
    started = time.monotonic()
    assert "Words" in text(f"{deep}<p>Words{'</div>' * 2000}<ul>" + "<ul><li>" * 900)
    assert time.monotonic() - started < 5


@pytest.mark.parametrize(
    "set_in", ["<td style='padding-left: 9pt'>", "<td><p style='margin-left:1em'>", "<td>&nbsp; "]
)
def test_labels_that_are_set_in_are_rows_of_the_group_above(set_in: str) -> None:
    rows = f"<tr><td>Sales:<td><td><tr>{set_in}Goods<td>9<td>8<tr><td>Total<td>9<td>8"
    parsed = page(f"<table><tr><th><th>2021<th>2020{rows}</table>")
    table = parse_table(parsed.text)
    assert table is not None
    assert groups_of(table) == [(), ("Sales",), ()]
    assert [row[0] for row in table.rows] == ["Sales:", "Goods", "Total"]
