"""The built site, as files."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from bs4 import BeautifulSoup

ROOT = Path(__file__).parents[2]
HTML = ROOT / "docs" / "_build" / "html"
TUTORIALS = sorted(
    path.relative_to(ROOT / "gallery").with_suffix("").as_posix()
    for path in ROOT.glob("gallery/*/*.py")
)

Read = Callable[[str], Any]  # BeautifulSoup, whose types make each step optional


@pytest.fixture(scope="session")
def html() -> Path:
    """Folder of the built site."""
    if not (HTML / "index.html").exists():
        pytest.fail(f"there is no site in {HTML.relative_to(ROOT)}: build it with `nox -s docs`")
    return HTML


@pytest.fixture(scope="session")
def read(html: Path) -> Read:
    """Parse a page, named like ``"tutorials/basics/introduction"``."""

    @cache
    def parse(page: str) -> BeautifulSoup:
        return BeautifulSoup((html / f"{page}.html").read_text(encoding="utf-8"), "html.parser")

    return parse
