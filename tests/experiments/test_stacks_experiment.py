"""All three ways to take a step return the same loss, and only the module keeps what it learned."""

from __future__ import annotations

from functools import partial

import jax
import numpy as np
import pytest
from flax import nnx

from jaxcap.experiments.stacks import DICT, MODULE, SPLIT, STACKS, prepare
from jaxcap.kernels.stacks import Stack, step_dict, step_module, step_split


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


def test_xla_gets_the_same_work_from_all_ways() -> None:
    x, y = np.ones((2, 16, 8), np.float32)
    graph, params = nnx.split(Stack(2, width=8))
    in_dict = nnx.to_pure_dict(params)
    programs = (
        nnx.jit(step_module).lower(Stack(2, width=8), x, y),
        jax.jit(partial(step_split, graph)).lower(params, x, y),
        jax.jit(step_dict).lower(in_dict, x, y),
    )
    costs = [program.compile().cost_analysis() or {} for program in programs]
    assert len({cost["flops"] for cost in costs}) == 1, costs


def test_clock_waits_for_one_array() -> None:
    """Otherwise, it would also measure how long it takes to walk a tree of results."""
    for way in prepare(layers=2).values():
        assert isinstance(way(), jax.Array)


def test_the_claim_is_about_a_point_of_every_device() -> None:
    assert {"layers": 10} in STACKS.quick
    assert not STACKS.full
