"""The tables in PostgreSQL, in numbered steps."""

from __future__ import annotations

from importlib.resources import files

from pincite.core.errors import StaleIndex
from pincite.store.postgres.connections import Connection


def migrations() -> list[str]:
    """Return the statements of all versions, oldest first."""
    folder = files("pincite.store.postgres") / "migrations"
    names = sorted(each.name for each in folder.iterdir() if each.name.endswith(".sql"))
    return [(folder / name).read_text(encoding="utf-8") for name in names]


def check_version(version: int, where: str, *, is_writer: bool = False) -> None:
    """Raise StaleIndex if tables are of another version; a writer brings older ones up to date."""
    newest = len(migrations())
    if version > newest or (version < newest and not is_writer):
        raise StaleIndex(
            f"{where} has tables of version {version}, this Pincite has {newest}",
            hint="use the newest Pincite; one that writes brings older tables up to date",
        )


def migrate(connection: Connection, schema: str) -> None:
    """Bring the tables to the version of this program, each step as a whole."""
    with connection.transaction():
        connection.execute(f"CREATE SCHEMA IF NOT EXISTS {schema}".encode())
        connection.execute(
            f"CREATE TABLE IF NOT EXISTS {schema}.migrations (number int PRIMARY KEY, "
            "made timestamptz NOT NULL DEFAULT clock_timestamp())".encode()
        )
    row = connection.execute("SELECT coalesce(max(number), 0) FROM migrations").fetchone()
    done = row[0] if row else 0
    check_version(done, schema, is_writer=True)
    for number, sql in enumerate(migrations(), 1):
        if number > done:
            with connection.transaction():
                connection.execute(sql.encode())
                connection.execute("INSERT INTO migrations VALUES (%s)", (number,))
