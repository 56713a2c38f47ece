"""URLs of stores that cannot be opened: one clear error, and never a password."""

from __future__ import annotations

import pytest

from pincite.model.errors import ConfigError
from pincite.store.location import open_engine


@pytest.mark.parametrize(
    ("url", "told", "hint"),
    [
        ("milvus://ann:secret@host:19530/library#laws", "Milvus", "postgresql://"),
        ("redis://ann:secret@host/0", "no store for redis://", "chroma, mongodb"),
        ("ann:secret@host://laws", "no store for this URL", "or a folder"),
        ("postgresql://ann:sec/ret@host/laws", "no host and port", "%2F"),
    ],
)
def test_what_nobody_opens_is_told_without_a_password(url: str, told: str, hint: str) -> None:
    with pytest.raises(ConfigError, match=told) as caught:
        open_engine(url)
    assert hint in caught.value.hint
    assert "sec" not in caught.value.message + caught.value.hint
