"""Every experiment can be repeated in a fresh process, which finds it by name."""

from __future__ import annotations

import inspect
import re
from dataclasses import replace
from pathlib import Path
from pkgutil import resolve_name

import pytest

from jaxcap.experiments import catalogue, keys
from jaxcap.measure import settings
from jaxcap.measure.experiment import Experiment

EXPERIMENTS = catalogue()
RECORDED = Path(__file__).parents[2] / "docs" / "recorded" / "amd-epyc"


@pytest.mark.parametrize("experiment", EXPERIMENTS.values(), ids=EXPERIMENTS)
def test_reference_leads_to_the_function_that_prepares_all_points(experiment: Experiment) -> None:
    prepare = resolve_name(experiment.reference)
    assert prepare is experiment.prepare
    for point in (*experiment.quick, *experiment.full):
        inspect.signature(prepare).bind(**point)


def test_two_experiments_of_one_name_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    same_name = replace(keys.KEYS, title="Another experiment")
    monkeypatch.setattr(keys, "MORE_KEYS", same_name, raising=False)
    with pytest.raises(ValueError, match=r"two experiments are named 'keys', .*experiments\.keys"):
        catalogue()


@pytest.mark.parametrize("name", EXPERIMENTS)
def test_each_says_what_it_prepares(name: str) -> None:
    """Its page turns the line into one on what it measures."""
    assert re.match(
        r"Prepare \S.*\.$", (EXPERIMENTS[name].prepare.__doc__ or "").partition("\n")[0]
    )


@pytest.mark.parametrize("experiment", EXPERIMENTS.values(), ids=EXPERIMENTS)
def test_each_is_recorded_on_the_machine_whose_files_are_enough_for_a_site(
    experiment: Experiment, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A build from these files alone would end with a `NotRecordedError`."""
    monkeypatch.setenv(settings.MACHINE, str(RECORDED))
    results = experiment.run()
    at = [result.parameters for result in results]
    assert all(dict(point) in at for point in experiment.points)
