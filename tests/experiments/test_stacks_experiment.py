"""All three ways to take a step return the same loss, and only the module keeps what it learned."""

from __future__ import annotations

import jax
import pytest

from jaxcap.experiments.stacks import DICT, MODULE, SPLIT, STACKS, prepare


def test_all_ways_return_the_same_loss() -> None:
    ways = prepare(layers=3)
    losses = {name: float(way()) for name, way in ways.items()}
    assert list(losses) == [MODULE, SPLIT, DICT]
    assert losses[MODULE] == pytest.approx(losses[DICT], rel=1e-5)
    assert losses[SPLIT] == pytest.approx(losses[DICT], rel=1e-5)
    again = {name: float(way()) for name, way in ways.items()}
    assert again[MODULE] < losses[MODULE]
    assert again[SPLIT] == losses[SPLIT]
    assert again[DICT] == losses[DICT]


def test_clock_waits_for_one_array() -> None:
    """Otherwise, it would also measure how long it takes to walk a tree of results."""
    for way in prepare(layers=2).values():
        assert isinstance(way(), jax.Array)


def test_the_claim_is_about_a_point_of_every_device() -> None:
    assert {"layers": 20} in STACKS.quick
    assert not STACKS.full
