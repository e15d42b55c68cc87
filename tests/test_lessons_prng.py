"""What the page on random numbers claims, found by running the page's own cells."""

from __future__ import annotations

import runpy
from pathlib import Path
from typing import Any

import jax
import numpy as np
import pytest

PAGE = Path(__file__).parents[1] / "gallery" / "basics" / "random_numbers.py"


@pytest.fixture(scope="module")
def page() -> dict[str, Any]:
    """Variables of the page after all of its cells."""
    return runpy.run_path(str(PAGE))


def test_with_hidden_state_the_order_of_a_sum_decides(page: dict[str, Any]) -> None:
    assert page["single_first"] == pytest.approx(1.9791922366721637, rel=1e-15)
    assert page["doubled_first"] == pytest.approx(1.812816374227069, rel=1e-15)


@pytest.mark.parametrize(
    ("name", "expected"), [("since_0_5", 1.8121928), ("before_0_5", 2.3250647)]
)
def test_with_keys_it_does_not(page: dict[str, Any], name: str, expected: float) -> None:
    single_first, doubled_first = page[name]
    eps = float(np.finfo(np.float32).eps)
    assert single_first == doubled_first == pytest.approx(expected, rel=eps)


def test_the_setting_is_as_it_was(page: dict[str, Any]) -> None:
    assert jax.config.jax_threefry_partitionable  # type: ignore[attr-defined]
