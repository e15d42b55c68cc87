"""Every experiment can be repeated in a fresh process, which finds it by name."""

from __future__ import annotations

import inspect
import re
from dataclasses import replace
from pkgutil import resolve_name

import pytest

from jaxcap.experiments import catalogue, keys
from jaxcap.measure.experiment import Experiment

EXPERIMENTS = catalogue()


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
