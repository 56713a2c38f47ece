"""What was said in chats, each key's own; bounded, and gone when the service ends."""

from __future__ import annotations

import sqlite3
import time
from pathlib import Path
from threading import Lock

from pincite.ask.asker import Message

_TABLE = """CREATE TABLE IF NOT EXISTS messages (
    owner TEXT NOT NULL, session TEXT NOT NULL, at REAL NOT NULL, role TEXT NOT NULL,
    text TEXT NOT NULL)"""


class Sessions:
    """Messages by owner and session. In a file, several worker processes share them."""

    def __init__(self, file: Path | None, sessions: int, messages: int) -> None:
        self._most, self._messages = max(1, sessions), max(2, messages)
        self._lock = Lock()
        self._file = file
        self._opened: sqlite3.Connection | None = None

    @property
    def _database(self) -> sqlite3.Connection:
        """The open database; whoever asks holds the lock."""
        if self._opened is None:
            name = ":memory:" if self._file is None else str(self._file)
            self._opened = sqlite3.connect(name, check_same_thread=False, timeout=10)
            with self._opened as database:
                database.execute(_TABLE)
                database.execute("CREATE INDEX IF NOT EXISTS one ON messages (owner, session)")
        return self._opened

    def history(self, owner: str, session: str) -> list[Message]:
        """Return what was said, oldest first."""
        sql = "SELECT role, text FROM messages WHERE owner = ? AND session = ? ORDER BY rowid"
        with self._lock:
            rows = self._database.execute(sql, (owner, session)).fetchall()
        return [Message(role, text) for role, text in rows]

    def add(self, owner: str, session: str, question: str, answer: str) -> None:
        """Remember a question and its answer; the oldest of too many are forgotten."""
        now = time.time()
        new = [(owner, session, now, "user", question), (owner, session, now, "assistant", answer)]
        with self._lock, self._database as database:
            database.executemany("INSERT INTO messages VALUES (?, ?, ?, ?, ?)", new)
            database.execute(
                "DELETE FROM messages WHERE owner = ? AND session = ? AND rowid NOT IN (SELECT "
                "rowid FROM messages WHERE owner = ? AND session = ? ORDER BY rowid DESC LIMIT ?)",
                (owner, session, owner, session, self._messages),
            )
            database.execute(
                "DELETE FROM messages WHERE (owner, session) NOT IN (SELECT owner, session FROM "
                "messages GROUP BY owner, session ORDER BY max(rowid) DESC LIMIT ?)",
                (self._most,),
            )

    def forget(self, owner: str, session: str) -> bool:
        """Forget a session; False if there was none."""
        with self._lock, self._database as database:
            sql = "DELETE FROM messages WHERE owner = ? AND session = ?"
            return database.execute(sql, (owner, session)).rowcount > 0

    def close(self) -> None:
        with self._lock:
            if self._opened is not None:
                self._opened.close()
