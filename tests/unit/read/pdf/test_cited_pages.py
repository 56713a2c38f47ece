"""The page of a citation is the page of the words, wherever one asks, called as printed."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from click.testing import CliRunner
from pdf_writer import Pdf

from pincite.adapters.retrieved import retrieve
from pincite.answer.asker import Asker
from pincite.answer.verify import Verifier
from pincite.api import Index
from pincite.cli.main import app
from pincite.model.types import Filters
from pincite.read.load import find_files
from pincite.search.passages import passage_values
from pincite.update import ingest_files

PLAIN = "Nothing of any weight is said on this line, which only fills the width of the page,"
RODS = "Two copper rods shall stand at least three metres apart from one another."
WIRES = "Every bonding wire shall be as short as the furniture allows."


@pytest.fixture(scope="module")
def index(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Index]:
    """One section, which is one chunk, over four pages that are numbered from 11."""
    folder = tmp_path_factory.mktemp("pages")
    pdf = Pdf(title="The Code of Rods")
    said = {1: RODS, 3: WIRES}
    for page in range(4):
        pdf.page()
        if page == 0:
            pdf.text(72, 80, "1.1 Electrodes", size=16, font="Helvetica-Bold")
        pdf.lines(72, 120, [PLAIN] * 4)
        pdf.text(72, 168, said.get(page, "And that is all of it."))
        pdf.text(300, 760, str(11 + page))
    (folder / "rods.pdf").write_bytes(pdf.bytes())
    ingest_files(find_files([folder / "rods.pdf"]), folder / "index")
    with Index.open(folder / "index") as opened:
        yield opened


def test_a_hit_and_its_citation_name_the_page_of_the_snippet(index: Index) -> None:
    hit = index.search("copper rods metres apart")[0]
    assert RODS.split()[1] in hit.snippet
    assert (hit.page, hit.page_label) == (2, "12")
    assert hit.citation.endswith(", p. 12 (PDF 2)")
    assert index.cite(hit, "markdown").endswith(", p. 12 (PDF 2)")
    assert "pages = {12}" in index.cite(hit, "bibtex")
    values = passage_values(hit)
    assert (values["page"], values["page_label"]) == (2, "12")


def test_a_quotation_names_its_own_page(index: Index) -> None:
    answer = Asker(index).answer("How far apart shall two copper rods stand?")
    cited = [each for each in answer.citations if RODS in each.quote]
    assert cited and {(each.page, each.page_label) for each in cited} == {(2, "12")}
    source = answer.sources[cited[0].source - 1]
    assert source.cited(cited[0]).endswith(", p. 12 (PDF 2)")
    assert cited[0].plain()["page_label"] == "12"


def test_a_sentence_of_a_model_that_takes_words_over_names_their_page(index: Index) -> None:
    answer = Asker(index).answer("How short shall a bonding wire be?")
    source = next(each for each in answer.sources if WIRES in each.text)
    verifier = Verifier([source], index.opened.analyzer_of("rods.pdf"))
    sentence, _ = verifier.check(WIRES, [source.number])
    assert [(each.page, each.page_label) for each in sentence.citations] == [(4, "14")]


def test_a_place_is_cited_with_the_page_it_begins_on(index: Index) -> None:
    assert index.cite("1.1").endswith(", p. 11 (PDF 1)")
    (found,) = index.show("1.1")
    assert found.page == 1 and index.snapshot.page_of(found).label == "11"


def test_other_frameworks_and_the_command_line_get_the_same(index: Index) -> None:
    first = next(retrieve(index, "copper rods metres apart", 1, Filters()))
    assert (first.facts["page"], first.facts["page_label"]) == (2, "12")
    for command, page in ((["search", "copper rods apart"], 2), (["show", "1.1"], 1)):
        done = CliRunner().invoke(app, [*command, "--index", str(index.location), "--json=full"])
        told = json.loads(done.stdout)
        line = told["hits"][0] if command[0] == "search" else told[0]
        assert (line["page"], line["page_label"]) == (page, str(10 + page))


def test_the_address_of_a_hit_opens_the_page_that_it_names(index: Index) -> None:
    pytest.importorskip("fastapi", reason='needs: pip install "pincite[serve]"')
    from pincite.serve.page.look import Look
    from pincite.serve.page.search_page import shown

    hit = index.search("copper rods metres apart")[0]
    assert "page=2" in shown(index, passage_values(hit), Look())["url"]
    first = replace(hit, page=hit.place.page)
    assert "page=" not in shown(index, passage_values(first), Look())["url"]


def test_filters_go_by_the_page_that_a_place_begins_on(index: Index) -> None:
    assert index.search("bonding wire", filters=Filters(pages=(1, 1)))
    assert not index.search("bonding wire", filters=Filters(pages=(2, 4)))


def test_an_index_of_an_older_version_knows_where_its_chunks_begin(index: Index) -> None:
    (chunk,) = index.show("1.1")
    snapshot = index.snapshot.hiding(frozenset())
    snapshot.meta = lambda doc_id: {}  # type: ignore[method-assign]
    assert snapshot.page_of(replace(chunk, page=3)) == (3, "")
    assert snapshot.page_of(replace(chunk, page=None)) == (None, "")


def test_pages_of_a_text_with_form_feeds(tmp_path: Path) -> None:
    text = "1.1 Rods\n\nOne rod is enough. " + "\f" + "But two stand apart.\n"
    (tmp_path / "rods.txt").write_text(text)
    ingest_files(find_files([tmp_path / "rods.txt"]), tmp_path / "index")
    with Index.open(tmp_path / "index") as opened:
        answer = Asker(opened).answer("Do two rods stand apart?")
        assert {each.page for each in answer.citations if "two" in each.quote} == {2}


def test_a_report_of_a_check_shows_the_page(index: Index, tmp_path: Path) -> None:
    draft, page = tmp_path / "draft.md", tmp_path / "draft.html"
    draft.write_text(f"It says “{RODS}”.", encoding="utf-8")
    asked = ["check", str(draft), "--html", str(page), "--index", str(index.location)]
    told = CliRunner().invoke(app, asked)
    assert told.exit_code == 0, told.output
    shown = page.read_text(encoding="utf-8")
    assert "Page 12 of rods.pdf" in shown and "data:image/png;base64,iVBOR" in shown
