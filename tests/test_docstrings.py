"""The examples in docstrings print what they show."""

from __future__ import annotations

import doctest
from importlib import import_module

import jax
import pytest
from fakes import make_pair

MODULES = (
    "jaxcap.measure.experiment",
    "jaxcap.measure.timing",
    "jaxcap.tools.prng",
    "jaxcap.report.claims",
    "jaxcap.results.sets",
    "jaxcap.results.statistics",
)


@pytest.mark.parametrize("module", MODULES)
def test_examples_print_what_they_show(module: str) -> None:
    known = {"jax": jax, "results": make_pair([1e-3] * 6, [2e-3] * 6)}
    outcome = doctest.testmod(import_module(module), extraglobs=known)
    assert outcome.attempted
    assert not outcome.failed
