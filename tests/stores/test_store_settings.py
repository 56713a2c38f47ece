"""The store in pincite.toml: who decides, what doctor tells, and that no password is ever shown."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest
from click.testing import CliRunner
from tests.servers.postgres import Postgres
from tests.stores.documents import build, library, rules

from pincite.cli.main import app
from pincite.model.errors import ConfigError, PinciteError, StoreUnavailable, beside, redact_url
from pincite.model.settings import Settings, load_settings
from pincite.store.location import open_engine, open_snapshot
from pincite.store.server import snapshot as retention
from pincite.update import embed_index, without_vectors

SECRET = "pa55-w0rd"


def with_password(postgres: Postgres, schema: str) -> str:
    """Return the URL with a password, for which this server does not ask."""
    return postgres.url.replace("postgres@", f"postgres:{SECRET}@") + f"#{schema}"


def test_an_option_beats_the_environment_and_that_the_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    for name in ("PINCITE_INDEX", "PINCITE_STORE__URL"):
        monkeypatch.delenv(name, raising=False)

    def told(*options: str, **environment: str) -> dict[str, Any]:
        found = CliRunner().invoke(app, ["doctor", "--json", *options], env=environment)
        value: dict[str, Any] = json.loads(found.stdout)
        return value

    def used(*options: str, **environment: str) -> str:
        return str(told(*options, **environment)["facts"]["index"])

    assert used() == "pincite-index"
    (tmp_path / "pincite.toml").write_text('[store]\nurl = "of-file"\n')
    (tmp_path / "other.toml").write_text('[store]\nurl = "of-other-file"\n')
    assert used() == "of-file"
    assert used("--config", "other.toml") == "of-other-file"
    assert used(PINCITE_STORE__URL="of-setting") == "of-setting"
    both = {"PINCITE_INDEX": "of-environment", "PINCITE_STORE__URL": "of-setting"}
    assert used(**both) == "of-environment"
    assert used("--set", "store.url=of-set", **both) == "of-set"
    assert used("--set", "store.url=of-set", "--index", "of-option", **both) == "of-option"
    (tmp_path / "pincite.toml").write_text("[store]\nurl = 5\n")
    assert "store.url must be str" in told()["error"]["message"]


def test_commands_without_settings_use_the_store_of_the_file(
    postgres: Postgres, tmp_path: Path, pincite: Callable[..., Any]
) -> None:
    url = with_password(postgres, f"of_file_{uuid4().hex[:8]}")
    (tmp_path / "pincite.toml").write_text(f'[store]\nurl = "{url}"\n')
    (tmp_path / "rules.md").write_text(rules(1))
    told = [
        pincite("ingest", "rules.md", "--set", "embedding.model=none", cwd=tmp_path),
        pincite("list", cwd=tmp_path),
        pincite("show", "1.2", cwd=tmp_path),
        pincite("search", "boiler", "--save", "saved.json", cwd=tmp_path),
        pincite("replay", "saved.json", cwd=tmp_path),
        pincite("doctor", cwd=tmp_path),
        pincite("eval", "--synthetic", "--pipeline", "lexical", cwd=tmp_path),
        pincite("--version", cwd=tmp_path),
    ]
    assert [each.code for each in told] == [0] * len(told), told
    (runs,) = (tmp_path / "pincite-files").glob("*/runs/*.json")
    written = [file.read_text() for file in (runs, tmp_path / "saved.json")]
    assert SECRET not in "".join([*written, *(each.out + each.err for each in told)])
    assert "PostgreSQL 1" in told[5].out and "pgvector" in told[5].out
    facts = pincite("doctor", "--json", cwd=tmp_path).json["facts"]
    assert (facts["generation"], facts["documents"]) == ("1", "1") and int(facts["chunks"]) > 5


def test_doctor_tells_that_a_server_is_down_and_what_is_lost(
    postgres: Postgres, tmp_path: Path, pincite: Callable[..., Any]
) -> None:
    gone = pincite("doctor", "--json", "--index", f"postgresql://ann:{SECRET}@127.0.0.1:1/db")
    assert gone.code == 4 and not gone.json["ok"]
    assert "cannot be reached" in gone.json["problems"][0] and "running" in gone.json["hint"]
    assert SECRET not in gone.out + gone.err
    schema = f"lost_{uuid4().hex[:8]}"
    build(with_password(postgres, schema), library())
    postgres.admin(f"DELETE FROM {schema}.documents WHERE number = 0", "pincite")
    lost = pincite("doctor", "--json", "--index", f"{postgres.url}#{schema}")
    assert lost.code == 4 and "documents, not" in lost.json["problems"][0]


@pytest.mark.parametrize(
    "url",
    [
        f"postgresql://ann:{SECRET}@127.0.0.1:1/db",
        f"postgresql://127.0.0.1:1/db?password={SECRET}",
        f"postgresql://ann:x/{SECRET}@127.0.0.1:1/db",  # a sign that should have been escaped
        f"postgresql://ann:x#{SECRET}@127.0.0.1:1/db",
        f"postgresql://ann:x?{SECRET}@127.0.0.1:1/db",
        f"postgresql://ann:{SECRET}/x@127.0.0.1:1/db",
        f"postgresql://ann:{SECRET}",
        f"mongodb://ann:{SECRET}@127.0.0.1:1/db",
        f"mongodb://ann:{SECRET}",
        f"nosuch://ann:{SECRET}@host/db",
    ],
)
def test_no_error_shows_a_password(url: str) -> None:
    pytest.importorskip("psycopg", reason="PostgreSQL's driver is not installed")
    pytest.importorskip("pymongo", reason="MongoDB's driver is not installed")
    settings = load_settings(None, {"PINCITE_STORE__URL": url}, ["store.timeout_seconds=1"])
    assert settings.store.url == url
    assert SECRET not in repr(settings)
    with pytest.raises(PinciteError) as caught:
        open_snapshot(url, settings.store)
    error: BaseException | None = caught.value
    assert SECRET not in caught.value.hint
    while error is not None:
        assert SECRET not in str(error)
        error = error.__cause__
    if "@" in url:
        assert SECRET not in redact_url(url) and SECRET not in str(beside(url))
    with pytest.raises(ConfigError) as wrong:
        load_settings(None, {}, [f"store={url}"])
    assert SECRET not in wrong.value.message or "@" not in url


def test_the_store_changes_no_fingerprint() -> None:
    """A model that was trained on a folder is of use in a server."""
    store = replace(Settings().store, url="postgresql://ann:x@host/db", folder="elsewhere")
    assert replace(Settings(), store=store).fingerprint() == Settings().fingerprint()
    exact = replace(Settings().store, exact=True)
    assert replace(Settings(), store=exact).fingerprint() != Settings().fingerprint()


def test_a_reader_that_sleeps_too_long_is_told(
    postgres: Postgres, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What was swept must not look like what never was."""
    url = f"{postgres.url}#sleeps_{uuid4().hex[:8]}"
    build(url, {"a.md": rules(1)})
    with open_snapshot(url) as old:
        assert old.found_by(["1.2"])
        monkeypatch.setattr(retention, "LOOK_SECONDS", 0.0)
        assert old.found_by(["1.2"])  # still the current one
        build(url, {"a.md": rules(2)})
        assert old.found_by(["1.2"])  # replaced, and kept for a while
        build(url, {"a.md": rules(3)})
        build(url, {"a.md": rules(4)})
        engine = open_engine(url)
        with engine.lock():
            newest = max(engine.generations())
            with open_snapshot(url) as current:
                names = [entry.name for entry in current.manifest.segments]
            engine.sweep([newest], names)
        engine.close()
        with pytest.raises(StoreUnavailable, match="replaced long ago"):
            old.found_by(["1.2"])


def test_encoding_outlives_the_generations_that_it_makes(
    postgres: Postgres, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each segment's vectors are a generation, and those before are kept for a while only."""
    url = f"{postgres.url}#encodes_{uuid4().hex[:8]}"
    for number in range(3):
        build(url, {f"{number}.md": rules(number)})
    monkeypatch.setattr(retention, "LOOK_SECONDS", 0.0)
    monkeypatch.setattr(retention, "GRACE_SECONDS", 0.0)
    assert list(embed_index(url, Settings()))[-1].done
    assert without_vectors(url, Settings()) == (0, 0)


def test_the_folder_beside_is_one_for_all_who_read(tmp_path: Path) -> None:
    one, other = (
        "postgresql://ann:a@db/laws#acts",
        "postgresql://bob:b@db/laws?sslmode=require#acts",
    )
    assert beside(one) == beside(other) != beside("postgresql://db/laws")
    assert beside(one, str(tmp_path)).parent == tmp_path
    assert beside("folder") == Path("folder")
    assert os.sep not in beside(one).name
