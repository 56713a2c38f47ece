"""What a release brings along: licences, exact versions, advisories, the bill of materials."""

from __future__ import annotations

import json
from typing import Any

import pytest
from scripts.release import audit, licences, lock, sbom


def test_all_licences_are_accepted(capsys: pytest.CaptureFixture[str]) -> None:
    assert licences.main() == 0, capsys.readouterr().out


@pytest.mark.parametrize(
    "licence",
    ["AGPL-3.0-or-later", "GPL-2.0-only", "MIT AND GPL-3.0-only", "", "Proprietary", "MIT AND ("],
)
def test_others_are_refused(licence: str) -> None:
    assert list(licences.problems("some-package", licence))


@pytest.mark.parametrize(
    "licence",
    ["MIT", "(MIT OR GPL-3.0-only)", "Apache-2.0 WITH LLVM-exception", '"BSD License" AND "MIT"'],
)
def test_these_are_accepted(licence: str) -> None:
    assert not list(licences.problems("some-package", licence))


def test_an_exception_is_for_one_licence_of_one_package() -> None:
    assert not list(licences.problems("psycopg", "LGPL-3.0-only"))
    assert list(licences.problems("psycopg", "AGPL-3.0-only"))
    assert list(licences.problems("psycopg2", "LGPL-3.0-only"))


def test_every_exception_is_needed() -> None:
    locked = lock.load()
    for name in licences.EXCEPTIONS:
        assert any(licences.fnmatchcase(each, name) for each in locked), name


def test_the_lock_fits_the_project() -> None:
    assert lock.problems() == [], "run: make lock"


def test_the_lock_says_no_addresses_and_both_files_agree() -> None:
    packages = json.loads(lock.PACKAGES.read_text(encoding="utf-8"))
    text = lock.REQUIREMENTS.read_text(encoding="utf-8")
    assert text == lock.requirements(packages["packages"], packages["platform"])
    assert "://" not in text + lock.PACKAGES.read_text(encoding="utf-8")


def test_who_needs_what_follows_extras_of_packages() -> None:
    packages = {
        "ours": {"requires": ["deep>=1", 'fast; extra == "speed"']},
        "deep": {"requires": ['never; python_version < "3"']},
        "fast": {"requires": []},
        "never": {"requires": []},
    }
    users, needs = lock.walked(packages, {"base": ["ours"], "quick": ["ours[speed]"]})
    assert users == {"ours": ["base", "quick"], "deep": ["base", "quick"], "fast": ["quick"]} | {
        "never": []
    }
    assert needs["ours"] == {"deep", "fast"} and needs["deep"] == set()


# As pip-audit 2.10 answers where the service knows the packages, and where there is none.
KNOWN: dict[str, Any] = {"name": "jinja2", "version": "2.10", "vulns": []}
BAD: dict[str, Any] = KNOWN | {"vulns": [{"id": "PYSEC-2019-217", "fix_versions": ["2.10.1"]}]}
SKIPPED = {"name": "numpy", "skip_reason": "Dependency not found on PyPI and could not be audited"}


@pytest.mark.parametrize(
    ("dependencies", "code", "said"),
    [
        ([KNOWN, KNOWN], audit.CLEAN, "no known vulnerability in 2 packages"),
        ([BAD, SKIPPED], audit.VULNERABLE, "jinja2 2.10: PYSEC-2019-217 (fixed in 2.10.1)"),
        ([KNOWN, SKIPPED], audit.NOT_CHECKED, "NOT CHECKED: 1 of 2 packages"),
        ([SKIPPED, SKIPPED], audit.NOT_CHECKED, "NOT CHECKED: 2 of 2 packages"),
        ([], audit.NOT_CHECKED, "NOT CHECKED: 2 of 2 packages"),
    ],
)
def test_what_was_not_looked_up_is_not_clean(
    dependencies: list[dict[str, Any]], code: int, said: str
) -> None:
    found, lines = audit.verdict({"dependencies": dependencies}, 2)
    assert found == code and said in lines[0]


def test_no_answer_is_not_clean() -> None:
    assert audit.verdict(None, 2)[0] == audit.NOT_CHECKED


def test_the_bill_names_every_package_once_with_its_checksum() -> None:
    first = sbom.written("1.2.3", "ab" * 32, "1700000000")
    assert first == sbom.written("1.2.3", "ab" * 32, "1700000000")
    bill = json.loads(first)
    named = {each["bom-ref"]: each for each in bill["components"]}
    assert len(named) == len(bill["components"]) == len(lock.load())
    assert all(len(each["hashes"][0]["content"]) == 64 for each in named.values())
    own = bill["metadata"]["component"]["bom-ref"]
    edges = {each["ref"]: each["dependsOn"] for each in bill["dependencies"]}
    assert set(edges) == {own, *named}
    reached, todo = set(), [own]
    while todo:
        todo += [
            each for each in edges[todo.pop()] if each not in reached and not reached.add(each)
        ]
    assert reached == set(named), "a package that nobody needs, or a name without a package"
