"""The examples in docstrings do what they show."""

from __future__ import annotations

import doctest
from importlib import import_module

import pytest


@pytest.mark.parametrize(
    "module", ["jaxcap.measure.experiment", "jaxcap.measure.timing", "jaxcap.prng"]
)
def test_examples_show_what_they_print(module: str) -> None:
    results = doctest.testmod(import_module(module), extraglobs={"jax": import_module("jax")})
    assert results.attempted
    assert not results.failed
