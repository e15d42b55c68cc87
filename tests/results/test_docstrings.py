"""The examples in docstrings."""

from __future__ import annotations

import doctest
from typing import Any

import pytest
from fakes import make_pair

from jaxcap import prng
from jaxcap.results import sets, statistics


@pytest.mark.parametrize("module", [prng, sets, statistics], ids=lambda module: module.__name__)
def test_examples_give_what_they_show(module: Any) -> None:
    results = make_pair([1e-3] * 6, [2e-3] * 6)
    outcome = doctest.testmod(module, extraglobs={"results": results})
    assert outcome.attempted
    assert not outcome.failed
