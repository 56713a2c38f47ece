"""Tests of the service need its extra; where it is missing, this one says so."""

from __future__ import annotations

import pytest

from .conftest import MISSING


def test_what_the_service_needs_is_installed() -> None:
    if MISSING:
        pytest.skip(f'no {", ".join(MISSING)}: pip install "pincite[serve]" httpx')
