"""What the tests of all commands need."""

from __future__ import annotations

import pytest


@pytest.fixture(autouse=True)
def _unwrapped(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let no command wrap its lines because the processes of pytest-xdist ask for it."""
    monkeypatch.delenv("COLUMNS", raising=False)
