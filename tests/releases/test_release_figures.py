from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import matplotlib.pyplot as plt
import pytest
import releases_made_up
from matplotlib.text import Text
from releases_made_up import MODES, NAMES, REGRESSES, UNCHANGED, record

from jaxcap.releases import figures
from jaxcap.releases.changes.comparison import Releases
from jaxcap.releases.changes.series import Series


@pytest.fixture(autouse=True)
def _closed() -> Iterator[None]:
    yield
    plt.close("all")


@pytest.fixture(scope="module")
def releases(tmp_path_factory: pytest.TempPathFactory) -> Releases:
    topics = {UNCHANGED: "reductions", REGRESSES: "loops"}
    found = Releases.load(record(tmp_path_factory.mktemp("machine") / "releases"), topics, {})
    assert found
    return found


def series(releases: Releases, benchmark: str) -> Series:
    return next(one for one in releases.of_jax() if one.benchmark == benchmark)


def finding(releases: Releases, benchmark: str) -> str:
    changes = [change for change in releases.changes if change.series.benchmark == benchmark]
    return figures.finding(series(releases, benchmark), changes)


def test_titles_state_what_was_found(releases: Releases) -> None:
    assert finding(releases, REGRESSES) == "3.0 times slower since 0.4.33"
    assert finding(releases, UNCHANGED) == "no certain change in any release"
    assert finding(releases, MODES) == (
        "no certain change: runs of one release differ by up to 327 times"
    )


def test_a_title_names_a_regression_that_its_changes_do_not_explain(releases: Releases) -> None:
    (regression,) = releases.regressions
    (change,) = releases.changes
    measured = change.series
    slower = "3.0 times slower than in 0.4.31"
    assert figures.finding(measured, [], regression) == slower
    alone = figures.finding(measured, [change])
    assert figures.finding(measured, [change], regression) == alone
    assert figures.finding(measured, [change] * 2, regression).endswith(f"; now {slower}")
    small_step = replace(change, ratio=1.5)
    title = figures.finding(measured, [small_step], regression)
    assert title == f"1.50 times slower since 0.4.33; now {slower}"
    figure = figures.course(measured, [], NAMES, so_far=regression)
    assert any(slower in text.get_text() for text in figure.findobj(Text))


@pytest.mark.parametrize(
    ("levels_us", "title"),
    [
        ([60, 60, 900, 60, 60, 60], "slower in 0.5.0, since 0.6.0 about as before"),
        ([60, 60, 900, 120, 120, 120], "slower in 0.5.0; faster in 0.6.0"),
        # It was as before, but isn't any more.
        (
            [60, 900, 60, 60, 60, 120],
            "3 changes, the largest in 0.4.33: slower; the last in 0.8.0: slower",
        ),
    ],
)
def test_a_title_ends_with_the_state_under_the_newest_release(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, levels_us: list[int], title: str
) -> None:
    level: releases_made_up.Level = lambda place, _: 1e-6 * levels_us[place]
    monkeypatch.setitem(releases_made_up.LEVELS, (REGRESSES, "JAX"), level)
    releases = Releases.load(record(tmp_path / "releases"), {}, {})
    assert releases
    assert re.sub(r"[\d.]+ times ", "", finding(releases, REGRESSES)) == title


def test_title_of_one_process_claims_nothing(tmp_path: Path) -> None:
    releases = Releases.load(record(tmp_path / "releases", processes=1), {}, {})
    assert releases
    assert "no change can be told from noise" in finding(releases, REGRESSES)


def test_titles_of_few_processes_do_not_deny_a_change(tmp_path: Path) -> None:
    releases = Releases.load(record(tmp_path / "releases", processes=2), {}, {})
    assert releases
    assert finding(releases, MODES) == "too few processes to be certain of a change"


def test_where_few_releases_have_a_label_those_that_changed_most_do() -> None:
    _, axes = plt.subplots()
    names = [f"0.4.{number}" for number in range(10)]
    figures._label_releases(axes, names, 5, first=["0.4.4", "0.4.5", "0.3.0"])
    shown = [label.get_text() for label in axes.get_xticklabels()]
    assert shown == ["0.4.1", "0.4.4", "0.4.7", "0.4.9"]
    plt.close()


def test_heat_map_names_all_benchmarks_and_releases(releases: Releases) -> None:
    figure = figures.heat_map(releases)
    axes = figure.axes[0]
    assert [label.get_text() for label in axes.get_xticklabels()] == NAMES
    assert [label.get_text() for label in axes.get_yticklabels()][:2] == [UNCHANGED, REGRESSES]


def test_heat_map_of_a_topic_names_its_benchmarks_only(releases: Releases) -> None:
    for topic, all_series in releases.by_topic().items():
        axes = figures.heat_map(releases, topic).axes[0]
        labels = [label.get_text() for label in axes.get_yticklabels()]
        assert labels == [series.benchmark for series in all_series]
    assert len(releases.by_topic()) > 1


def test_map_is_summed_up_in_a_sentence(releases: Releases) -> None:
    assert figures.then_and_now(releases) == (
        "Of 4 benchmarks, 0 do better under JAX 0.8.0 than under 0.4.31, and 1 do worse"
    )  # of another one, NumPy's time changed as well


def test_course_of_a_benchmark_names_its_own_changes_only(releases: Releases) -> None:
    changed, unchanged = (
        [text.get_text() for text in figures.course_of(releases, name).findobj(Text)]
        for name in (REGRESSES, UNCHANGED)
    )
    assert "3.0 times slower since 0.4.33" in changed
    assert "No certain change in any release" in unchanged
    with pytest.raises(ValueError, match="no benchmark 'sort of nothing'"):
        figures.course_of(releases, "sort of nothing")


def test_course_has_a_dot_for_each_process(releases: Releases) -> None:
    figure = figures.course(series(releases, REGRESSES), releases.changes, NAMES)
    line, dots, *_ = figure.axes[0].get_lines()
    assert len(line.get_xdata()) == len(NAMES)  # type: ignore[arg-type]
    assert len(dots.get_xdata()) == 5 * len(NAMES)  # type: ignore[arg-type]
    assert "under 0.4.31" in str(figure.get_label())


def test_a_course_below_a_heading_does_not_repeat_it(releases: Releases) -> None:
    unnamed = figures.course(series(releases, UNCHANGED), [], NAMES, is_named=False)
    assert UNCHANGED not in [text.get_text() for text in unnamed.findobj(Text)]
    assert UNCHANGED in str(unnamed.get_label())


def test_course_of_memory_has_no_processes(releases: Releases) -> None:
    memory, *_ = releases.of_jax("temporary memory")
    figure = figures.course(memory, [], NAMES)
    assert figure.get_suptitle() == "No certain change in any release"
    assert figure.axes[0].get_title(loc="left") == memory.benchmark


def test_a_dotted_line_says_slower_of_time_and_more_of_memory(releases: Releases) -> None:
    memory, *_ = releases.of_jax("temporary memory")
    for measured, word in ((series(releases, REGRESSES), "slower"), (memory, "more")):
        axes, *_ = figures.course(measured, releases.changes, NAMES).axes
        assert f"orange: {word}" in axes.get_xlabel()
