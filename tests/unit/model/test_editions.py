"""Which edition is in force on a day."""

from __future__ import annotations

from datetime import date, timedelta

from hypothesis import given
from hypothesis import strategies as st

from pincite.model.editions import Edition, edition_of, in_force, parse_date

DAY = date(2022, 1, 1)
days = st.dates(date(2015, 1, 1), date(2030, 12, 31))
editions = st.lists(
    st.builds(
        Edition,
        st.integers(0, 30).map(str),
        st.sampled_from(["code", "manual"]),
        st.none() | days,
        st.none() | days,
    ),
    unique_by=lambda each: each.doc_id,
    max_size=8,
)


def test_the_newest_that_has_begun_is_in_force() -> None:
    works = [
        Edition("a-2018", "a", date(2018, 1, 1)),
        Edition("a-2021", "a", date(2021, 1, 1)),
        Edition("a-2024", "a", date(2024, 1, 1)),
        Edition("b", "b"),
        Edition("c-2024", "c", date(2024, 1, 1)),
    ]
    assert in_force(works, DAY) == {"a-2021", "b"}
    assert in_force(works, date(2024, 1, 1)) == {"a-2024", "b", "c-2024"}
    assert in_force(works, date(2017, 12, 31)) == {"b"}


def test_an_edition_that_ended_is_out_and_brings_no_older_one_back() -> None:
    works = [
        Edition("old", "a", date(2018, 1, 1)),
        Edition("new", "a", date(2020, 1, 1), date(2021, 12, 31)),
        Edition("undated", "b", None, date(2021, 12, 31)),
    ]
    assert in_force(works, DAY) == set()
    assert in_force(works, date(2021, 12, 31)) == {"new", "undated"}


def test_documents_without_a_work_do_not_replace_each_other() -> None:
    works = [Edition("2020.md", "", date(2020, 1, 1)), Edition("2021.md", "", date(2021, 1, 1))]
    assert in_force(works, DAY) == {"2020.md", "2021.md"}


@given(editions, days)
def test_laws_of_being_in_force(works: list[Edition], day: date) -> None:
    found = in_force(works, day)
    assert found == in_force(works[::-1], day)
    for each in works:
        if each.doc_id in found:
            assert each.effective is None or each.effective <= day
            assert each.until is None or each.until >= day
    for work in ("code", "manual"):
        begun = {e.effective for e in works if e.work == work and e.doc_id in found} - {None}
        assert len(begun) <= 1
    unchanged = [e for e in works if day + timedelta(1) not in (e.effective, e.until)]
    unchanged = [e for e in unchanged if e.until != day]
    assert in_force(unchanged, day) == in_force(unchanged, day + timedelta(1))


def test_what_is_stated_comes_before_what_the_name_says() -> None:
    def effective(title: str, doc_id: str, **meta: str) -> date | None:
        return edition_of(doc_id, title, meta).effective

    assert effective("Code 2021", "x/2024.md", effective="2022-05") == date(2022, 5, 1)
    assert effective("Code, 2021 Edition of 2022", "2024.md") == date(2022, 1, 1)
    assert effective("Code", "2019/code-2021.md", kind="code") == date(2021, 1, 1)
    assert effective("Code", "2019/code.md", kind="code", effective="soon") == date(2019, 1, 1)
    assert effective("Code", "code.md", kind="code") is None
    assert effective("Notes", "notes-2021.md") is None  # of no kind that has editions


def test_filings_and_contracts_are_no_editions_of_each_other() -> None:
    titles = ("Tug Inc., Form 10-K for the year ended May 1, 2019", "Tug Inc., Form 10-K for 2020")
    ten_ks = [edition_of(f"{n}.pdf", title, {"kind": "10-K"}) for n, title in enumerate(titles)]
    assert [each.effective for each in ten_ks] == [None, None]
    assert len({each.work for each in ten_ks}) == 2
    lease = edition_of("a-2018.pdf", "Lease, 2019", {"kind": "contract", "effective": "2020-02-01"})
    assert lease.effective == date(2020, 2, 1)


def test_days_that_do_not_exist_are_no_dates() -> None:
    assert parse_date("2023-02-29") is None
    assert parse_date("20240101") is None
    assert parse_date("2024-2-29") == date(2024, 2, 29)
