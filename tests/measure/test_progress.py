"""Progress bars: on terminals, unless they are hidden."""

from __future__ import annotations

import pytest

from jaxcap.measure.progress import progress_bar


def test_a_terminal_shows_progress_and_forgets_it(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("FORCE_COLOR", "1")  # makes rich take any file for a terminal
    with progress_bar() as bar:
        assert list(bar.track(range(3), description="three steps")) == [0, 1, 2]
    printed = capsys.readouterr()
    assert printed.out == ""
    assert "three steps" in printed.err
    assert "67%" in printed.err


@pytest.mark.parametrize(("color", "hidden"), [("", False), ("1", True)])
def test_files_and_quiet_commands_get_no_bar(
    color: str,
    hidden: bool,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setenv("FORCE_COLOR", color)
    with progress_bar(hidden=hidden) as bar:
        assert list(bar.track(range(3))) == [0, 1, 2]
    assert capsys.readouterr() == ("", "")
