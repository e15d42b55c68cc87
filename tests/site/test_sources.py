"""Parts of the site are made again only if what they are made from has changed."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from jaxcap_docs.sources import make_if_changed


class Made:
    """A file that is made from others, and how often it was."""

    def __init__(self, folder: Path) -> None:
        self.sources, self.target = folder / "sources", folder / "html" / "target.txt"
        self.doctrees = folder / "doctrees"
        for path in (self.sources, self.target.parent, self.doctrees):
            path.mkdir()
        (self.sources / "one.txt").write_text("1", encoding="utf-8")
        self.times = 0

    def write(self) -> None:
        self.times += 1
        self.target.write_text("made", encoding="utf-8")

    def build(self, write: Callable[[], object] | None = None) -> int:
        """Make it if need be, and return how often it was made."""
        app: Any = SimpleNamespace(doctreedir=self.doctrees)
        make_if_changed(app, self.target, self.sources.iterdir(), write or self.write)
        return self.times


@pytest.fixture
def made(tmp_path: Path) -> Made:
    result = Made(tmp_path)
    assert result.build() == 1
    return result


def test_the_same_sources_make_nothing_again(made: Made) -> None:
    assert made.build() == made.build() == 1


def test_a_target_may_lie_deep(made: Made) -> None:
    made.target = made.target.parent.joinpath(*2 * ("deep" * 40,), "target.txt")
    made.target.parent.mkdir(parents=True)
    assert made.build() == made.build() == 2


def later(path: Path) -> None:
    stat = path.stat()
    os.utime(path, ns=(stat.st_atime_ns, stat.st_mtime_ns + 1))


CHANGES: dict[str, Callable[[Made], object]] = {
    "a source is longer": lambda made: (made.sources / "one.txt").write_text("12"),
    "a source is younger": lambda made: later(made.sources / "one.txt"),
    "a source is new": lambda made: (made.sources / "two.txt").write_text(""),
    "a source is gone": lambda made: (made.sources / "one.txt").unlink(),
    "the target is gone": lambda made: made.target.unlink(),
}


@pytest.mark.parametrize("change", CHANGES)
def test_a_change_makes_it_again_once(made: Made, change: str) -> None:
    CHANGES[change](made)
    assert made.build() == made.build() == 2


def test_a_build_that_failed_meanwhile_makes_it_again(made: Made) -> None:
    def fail() -> None:
        raise OSError("No space left on device")

    new = made.sources / "two.txt"
    new.write_text("", encoding="utf-8")
    with pytest.raises(OSError, match="No space"):
        made.build(fail)
    new.unlink()  # the sources are those of the first build again, and the target may be half made
    assert made.build() == 2
