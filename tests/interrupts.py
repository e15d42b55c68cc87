"""For tests that press Ctrl-C."""

from __future__ import annotations

import signal
from collections.abc import Iterator

import pytest


@pytest.fixture
def _heeding_ctrl_c() -> Iterator[None]:
    """Undo what shells do to background jobs: these ignore Ctrl-C, and so do their children."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)
