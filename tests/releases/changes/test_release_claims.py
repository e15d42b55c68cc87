from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import releases_made_up
from releases_made_up import NAMES, record

from jaxcap.releases import figures
from jaxcap.releases.benchmarks import BENCHMARKS
from jaxcap.releases.changes.claims import CLAIMS, ClaimByRelease, check
from jaxcap.releases.changes.comparison import Releases
from jaxcap.releases.recorded import load
from jaxcap.report.claims import Outcome

GALLERY = Path(__file__).parents[3] / "gallery"
ADDING = CLAIMS[0]


def recording(folder: Path, *, processes: int = 5) -> Releases:
    releases = load(record(folder, processes=processes))
    assert releases
    return releases


def checked(*outcomes: Outcome) -> ClaimByRelease:
    by_release = dict(zip(NAMES, outcomes, strict=False))
    return ClaimByRelease(ADDING, by_release, dict.fromkeys(by_release, 2.0))


def test_claims_are_about_benchmarks_and_lessons_that_there_are() -> None:
    named = {name for claim in CLAIMS for name, _ in (claim.quicker, claim.slower)}
    assert named <= BENCHMARKS.keys()
    assert all((GALLERY / f"{claim.tutorial}.py").exists() for claim in CLAIMS)


def test_a_claim_is_checked_under_each_release(tmp_path: Path) -> None:
    (only,) = check(recording(tmp_path))
    assert only.claim is ADDING
    assert only.outcomes == dict.fromkeys(NAMES, "holds")
    assert only.ratios == pytest.approx(dict.fromkeys(NAMES, 6), rel=0.1)


@pytest.mark.parametrize(
    ("numpy_s", "outcome"), [(6e-6, "undecided"), (60e-6, "fails")], ids=["alike", "reversed"]
)
def test_a_claim_can_fail_or_stay_undecided(
    numpy_s: float, outcome: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    levels = {
        (releases_made_up.CONTROL_MOVES, "JAX"): lambda *_: 6e-6,
        (releases_made_up.CONTROL_MOVES, "NumPy"): lambda *_: numpy_s,
    }
    monkeypatch.setattr(releases_made_up, "LEVELS", levels)
    (only,) = check(recording(tmp_path))
    assert set(only.outcomes.values()) == {outcome}


def test_a_claim_holds_in_the_direction_that_the_test_is_about(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # The typical process is a little quicker, and on average they take longer.
    levels = {
        (releases_made_up.CONTROL_MOVES, "JAX"): lambda *_: 1.1e-6,
        (releases_made_up.CONTROL_MOVES, "NumPy"): lambda _, rng: float(
            rng.choice([1e-6, 9e-6], p=[0.7, 0.3])
        ),
    }
    monkeypatch.setattr(releases_made_up, "LEVELS", levels)
    (only,) = check(recording(tmp_path, processes=60))
    assert all(ratio > 1 for ratio in only.ratios.values())
    assert set(only.outcomes.values()) == {"fails"}


def test_single_processes_decide_nothing(tmp_path: Path) -> None:
    releases = load(record(tmp_path, processes=1))
    assert releases
    (only,) = check(releases)
    assert set(only.outcomes.values()) == {"undecided"}


@pytest.mark.parametrize(
    ("outcomes", "words"),
    [
        (("holds",) * 6, "holds under all 6 releases"),
        (("holds", "holds", "fails", "fails"), "holds up to 0.4.33; fails since 0.5.0"),
        (
            ("holds", "undecided", "undecided", "holds"),
            "holds in 0.4.31 and since 0.6.0; undecided from 0.4.33 to 0.5.0",
        ),
        (("fails", "holds", "fails"), "holds in 0.4.33; fails in 0.4.31 and since 0.5.0"),
        (("holds", "fails", "holds", "fails", "holds"), "holds under 3, fails under 2"),
    ],
)
def test_outcomes_are_put_into_words(outcomes: tuple[Outcome, ...], words: str) -> None:
    assert checked(*outcomes).words == words


def test_claims_are_drawn_where_releases_are_missing() -> None:
    figure = figures.claims([checked("holds", "fails")], NAMES)
    (mesh,) = figure.axes[0].collections[:1]
    values = mesh.get_array()
    assert values is not None
    outcomes = np.ma.filled(values.reshape(-1, len(NAMES))[0], np.nan)
    assert list(outcomes[:2]) == [2, 0]
    assert np.isnan(outcomes[2:]).all()
