"""What is known about a single release, from a made-up recording."""

from __future__ import annotations

import pytest
from releases_made_up import NAMES, REGRESSES, record

from jaxcap.releases.changes.claims import check
from jaxcap.releases.changes.comparison import Releases
from jaxcap.releases.changes.outlook import Outlook
from jaxcap.releases.recorded import load


@pytest.fixture(scope="module")
def releases(tmp_path_factory: pytest.TempPathFactory) -> Releases:
    made = load(record(tmp_path_factory.mktemp("releases")))
    assert made
    return made


def outlook(version: str, releases: Releases) -> Outlook:
    found = Outlook.of(version, releases, check(releases))
    assert found
    return found


def test_a_change_came_with_one_release_and_lies_ahead_of_the_earlier_ones(
    releases: Releases,
) -> None:
    before, after = outlook(NAMES[0], releases), outlook(NAMES[1], releases)
    assert [change.series.benchmark for change in before.ahead] == [REGRESSES]
    assert not before.arrived
    assert [change.series.benchmark for change in after.arrived] == [REGRESSES]
    assert not after.ahead


@pytest.mark.parametrize(
    ("version", "release"),
    [("0.5.0", "0.5.0"), ("0.5.1", "0.5.0"), ("0.99.0", NAMES[-1]), ("0.7.0.dev1", "0.7.0")],
)
def test_a_release_that_was_not_recorded_is_taken_for_the_one_before(
    releases: Releases, version: str, release: str
) -> None:
    assert outlook(version, releases).release == release


def test_nothing_is_known_about_releases_before_the_first_recorded(releases: Releases) -> None:
    assert Outlook.of("0.4.1", releases, check(releases)) is None


def test_claims_are_those_under_that_release(releases: Releases) -> None:
    (checked,) = check(releases)
    for release in NAMES:
        assert outlook(release, releases).claims == {checked.claim.text: checked.outcomes[release]}
