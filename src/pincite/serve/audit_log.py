"""Who did what, one JSON line a request. The words of questions are in it only if allowed."""

from __future__ import annotations

import json
import logging
from datetime import UTC, datetime
from logging.handlers import WatchedFileHandler
from pathlib import Path
from typing import Any

from pincite.core.errors import ConfigError


class AuditLog:
    """Appends to a file that may be rotated meanwhile; several processes may share it."""

    def __init__(self, file: Path | None, *, log_queries: bool = False) -> None:
        self.log_queries = log_queries
        self._handler: logging.Handler | None = None
        if file is not None:
            is_new = not file.exists()
            try:
                self._handler = WatchedFileHandler(file, encoding="utf-8", delay=False)
                if is_new:  # a file that was there is as its owner wants it
                    file.chmod(0o600)
            except OSError as error:
                raise ConfigError(f"cannot write {file}: {error.strerror}") from error

    def write(self, **fields: Any) -> None:
        """Append one line; fields that are None are left out."""
        if self._handler is None:
            return
        now = datetime.now(UTC).isoformat(timespec="milliseconds")
        known = {name: value for name, value in fields.items() if value is not None}
        line = json.dumps({"time": now, **known})  # ASCII: no text can end a line
        record = logging.LogRecord("pincite.audit", logging.INFO, "", 0, line, None, None)
        self._handler.handle(record)

    def close(self) -> None:
        if self._handler is not None:
            self._handler.close()
