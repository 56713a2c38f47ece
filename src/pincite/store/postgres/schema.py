"""The tables in PostgreSQL, in numbered steps."""

from __future__ import annotations

from importlib.resources import files

from pincite.store.postgres.connections import Connection


def migrations() -> list[str]:
    """Return the statements of all versions, oldest first."""
    folder = files("pincite.store.postgres") / "migrations"
    names = sorted(each.name for each in folder.iterdir() if each.name.endswith(".sql"))
    return [(folder / name).read_text(encoding="utf-8") for name in names]


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
    for number, sql in enumerate(migrations(), 1):
        if number > done:
            with connection.transaction():
                connection.execute(sql.encode())
                connection.execute("INSERT INTO migrations VALUES (%s)", (number,))
