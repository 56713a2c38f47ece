"""What fuzzing found, each with the smallest input that showed it."""

from __future__ import annotations

import io
import json
import time
import zipfile
from contextlib import suppress
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from multiple_choice.questions import read_exam
from pincite.answer.sentences import Ended, SentenceReader
from pincite.measure.imports import read_citing_questions
from pincite.model.errors import ConfigError, PinciteError, SourceError, StoreError
from pincite.model.profiles import compiled_pattern
from pincite.model.settings import IngestSettings, Settings, load_settings
from pincite.read.enrich.profile import parse_profile
from pincite.read.load import parse
from pincite.read.workers import from_json, to_json
from pincite.store.files import read_arrays
from pincite.store.manifest import manifest_of

DEEP = 100_000


def test_an_archive_whose_members_lie_before_its_start() -> None:
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w") as archive:
        archive.writestr("word/document.xml", "<w:document/>" * 20)
    # The end of the archive says where its members are counted from.
    data = stream.getvalue()[40:]
    with pytest.raises(SourceError, match="not a whole DOCX"):
        parse(data, "x.docx", IngestSettings())


def test_a_page_of_infinite_number() -> None:
    with pytest.raises(SourceError, match="no page's number"):
        parse(b'[{"text": "x", "page_idx": 1e999}]', "x.json", IngestSettings())


def good() -> dict[str, Any]:
    text = b"# T\n\n## 1.1 A\n\n(a) One.\n\n(b) Two, see 1.1(a).\n"
    loaded = parse(text, "x.md", IngestSettings())
    values: dict[str, Any] = json.loads(to_json(loaded))
    return values


@pytest.mark.parametrize(
    "change",
    [
        {"document": ["y.md", "text", "", {}]},  # not the one that was asked for
        {"document": ["x.md", 5, "", {}]},
        {"document": ["x.md", "", "", {}]},  # its chunks lie outside
        {"chunks": [[0, 1]]},
        {"chunks": None},
        {"links": [["nobody", "refers_to", "1.1", 0, 1]]},
        {"facts": {"nobody": {}}},
        {"boxes": [[0, 1, "page", 0, 0, 0, 0]]},
        {"findings": [{"kind": "x"}]},
        {"error": "no pair"},
    ],
)
def test_a_child_that_was_taken_over_spoils_its_own_file_only(change: dict[str, Any]) -> None:
    told = from_json(json.dumps({**good(), **change}).encode(), "x.md")
    assert isinstance(told, SourceError) and "x.md" in told.message
    assert not isinstance(from_json(json.dumps(good()).encode(), "x.md"), SourceError)


@pytest.mark.parametrize("data", [b"", b"\xff", b"[]", b"null", b"[" * DEEP, b'{"document": 1}'])
def test_a_child_that_sends_anything_but_a_document(data: bytes) -> None:
    assert isinstance(from_json(data, "x.md"), SourceError)


@pytest.mark.parametrize("at", [1, 5, 1000])
def test_a_sentence_is_the_same_however_it_arrives(at: int) -> None:
    text = "See www.a.b| | |\nand  https://a.b  then [1] end."
    reader = SentenceReader()
    told = [piece for i in range(0, len(text), at) for piece in reader.feed(text[i : i + at])]
    told += reader.close()
    assert [each for each in told if isinstance(each, Ended)] == [
        Ended("See | |", ()),
        Ended("and  then end.", (1,)),
    ]


def test_leaving_addresses_out_takes_time_in_proportion() -> None:
    reader = SentenceReader()
    started = time.process_time()
    told = [*reader.feed(" " * 300_000 + "x"), *reader.close()]
    assert told[-1] == Ended("x", ())
    assert time.process_time() - started < 5


@pytest.mark.parametrize(
    "told",
    [
        '{"message": "m", "hint": "h", "kind": "k", "status": 1e999}',
        "[" * DEEP,
        "[]",
        "5",
    ],
)
def test_events_that_are_none_are_unreadable(told: str) -> None:
    streams = pytest.importorskip("pincite.client.calls")
    with pytest.raises(PinciteError, match="not understood"):
        list(streams.EventReader().feed(f"event: error\ndata: {told}\n\n".encode()))


@pytest.mark.parametrize("span", ["[7, 3]", "[-1, 3]", "[1e999, 3]", "[1]", "[true, 2]", '"ab"'])
def test_places_of_events_that_are_none(span: str) -> None:
    streams = pytest.importorskip("pincite.client.calls")
    citation = (
        '{"source": 1, "locator": "1", "page": null, "quote": "", "ok": true, "reason": "",'
        f' "document": "d", "span": {span}, "sentence": 0}}'
    )
    with pytest.raises(PinciteError, match="not understood"):
        list(streams.EventReader().feed(f"event: citation\ndata: {citation}\n\n".encode()))


@pytest.mark.parametrize("kind", ["8)4", "|O", "O", "<U4", "V8", "i4,i4", "", "<i4\n", "M8[ns]"])
def test_arrays_of_a_kind_that_is_none(tmp_path: Path, kind: str) -> None:
    layout = {"x": {"dtype": kind, "shape": [1], "offset": 0}}
    (tmp_path / "segment.json").write_text(json.dumps({"files": {}, "arrays": layout}))
    (tmp_path / "arrays.bin").write_bytes(bytes(64))
    with pytest.raises(ValueError, match="no array of plain values"):
        read_arrays(tmp_path)


@pytest.mark.parametrize("question", ["null", "true", "5", "[]"])
def test_an_exam_question_that_is_no_text(tmp_path: Path, question: str) -> None:
    file = tmp_path / "q.jsonl"
    file.write_text(
        f'{{"pool": "t", "id": "1", "question": {question}, "gold_sections": [], "cited": ""}}'
    )
    with pytest.raises(SourceError, match="Part 97"):
        read_citing_questions(file)


def test_a_question_of_many_ranges_is_looked_up_for_a_few(make_index: Any) -> None:
    """Each range reads the chunks of a document: two hundred of them took seconds."""
    index = make_index({"a.md": "# T\n\n" + "".join(f"## 1.{n} A\n\nWords.\n\n" for n in range(9))})
    read = []
    real = index.snapshot.chunks
    index.snapshot.chunks = lambda doc_id: read.append(doc_id) or real(doc_id)
    assert index.parse("".join(f"1.{n % 8} through 1.{n % 7 + 1}, " for n in range(200))).places
    assert len(read) <= 20


def test_an_empty_field_of_a_form_is_no_name() -> None:
    pytest.importorskip("fastapi")
    from starlette.datastructures import QueryParams

    from pincite.serve.page.look import look_of

    request: Any = SimpleNamespace(query_params=QueryParams("q=rod&in=&kind=&tag=a"))
    look = look_of(request)
    assert (look.within, look.kind, look.tag) == ((), (), ("a",))


@pytest.mark.parametrize(
    "text",
    [
        f"[search]\nk = {'9' * 5000}\n",  # more digits than Python converts
        f"[tuning.lexical]\nk1 = {'9' * 400}\n",  # a whole number that is no float
        f"x = {'[' * 5000}",
    ],
)
def test_settings_beyond_all_measure(tmp_path: Path, text: str) -> None:
    file = tmp_path / "pincite.toml"
    file.write_text(text)
    with pytest.raises(ConfigError):
        load_settings(file)
    with pytest.raises(ConfigError):
        parse_profile(text, origin="x.toml")


@pytest.mark.parametrize("value", ["9" * 5000, "9" * 400, "[" * 5000])
def test_settings_of_the_command_line_beyond_all_measure(value: str) -> None:
    for key in ("search.k", "tuning.lexical.k1"):
        with pytest.raises(ConfigError):
            load_settings(overrides=[f"{key}={value}"])


def test_patterns_that_nest_without_end() -> None:
    for pattern in ("(" * 490, "(?:" * 150 + ")" * 150, "[[a]", "a{99999999999}"):
        with suppress(ConfigError):
            compiled_pattern(pattern, where="x")


def test_numbers_of_a_profile_beyond_all_measure() -> None:
    for number in ("9" * 400, "-" + "9" * 400):
        with pytest.raises(ConfigError, match="base must be from 0"):
            parse_profile(f'name = "x"\nbase = {number}\n', origin="x.toml")
    with pytest.raises(ConfigError):
        Settings().changed({"tuning.lexical.k1": 10**400})


def test_an_exam_whose_gold_nests_without_end(tmp_path: Path) -> None:
    file = tmp_path / "exam.json"
    gold = "[" * 900 + '"1.1"' + "]" * 900
    file.write_text(f'[{{"question": "?", "options": ["a", "b"], "gold": {gold}}}]')
    with suppress(SourceError):  # where the interpreter's stack is shorter: an error of ours
        assert read_exam(file)[0].sections == ("1.1",)


ENTRY = {"name": "000001-0", "sha256": "0", "documents": 1, "chunks": 1, "dropped": []}


@pytest.mark.parametrize(
    "change",
    [
        {"name": "../../secret"},
        {"name": "/etc"},
        {"name": ""},
        {"name": 5},
        {"documents": "many"},
        {"dropped": [1]},
        {"dropped": "abc"},
    ],
)
def test_a_manifest_names_nothing_outside_its_folder(change: dict[str, Any]) -> None:
    values = {"format": 2, "generation": 1, "shape": {}, "segments": [{**ENTRY, **change}]}
    with pytest.raises(StoreError, match="damaged"):
        manifest_of(json.dumps(values).encode(), origin="x")
    with pytest.raises(StoreError):
        manifest_of(b"[" * DEEP, origin="x")
