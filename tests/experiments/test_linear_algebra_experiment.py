"""The linear algebra experiment: three libraries, the same tasks, 64 bits."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from libraries import needs_torch

from jaxcap.experiments import linear_algebra
from jaxcap.experiments.linear_algebra import (
    GENERATE,
    INVERSE,
    JAX,
    LINEAR_ALGEBRA,
    MEAN_AND_SUM,
    NUMPY,
    PRODUCT,
    PYTORCH,
    as_numpy,
    least_cost,
    libraries,
    prepare,
)

TASKS = (GENERATE, MEAN_AND_SUM, PRODUCT, INVERSE)


@pytest.mark.parametrize("task", TASKS)
def test_results_of_all_libraries_are_float64_outside_of_the_64_bit_mode(task: str) -> None:
    assert jnp.ones(()).dtype == jnp.float32
    for call in prepare(task=task, size=8).values():
        leaves = jax.tree.leaves(call())
        assert {str(leaf.dtype).removeprefix("torch.") for leaf in leaves} == {"float64"}
    assert jnp.ones(()).dtype == jnp.float32


@pytest.mark.parametrize("task", [MEAN_AND_SUM, PRODUCT, INVERSE])
def test_all_libraries_agree(task: str) -> None:
    variants = prepare(task=task, size=50)
    expected, *others = (
        [as_numpy(leaf) for leaf in jax.tree.leaves(call())] for call in variants.values()
    )
    for other in others:
        for a, b in zip(other, expected, strict=True):
            # An inverse loses the digits of the condition number, a few thousand here.
            np.testing.assert_allclose(a, b, rtol=0, atol=1e-9 * abs(b).max())


def test_generated_matrices_are_uniform_and_square() -> None:
    for call in prepare(task=GENERATE, size=100).values():
        matrix = as_numpy(call())
        assert matrix.shape == (100, 100)
        assert len(np.unique(matrix)) == 100**2
        assert abs(matrix.mean() - 0.5) < 4 / 12**0.5 / 100


@needs_torch
def test_pytorch_takes_part_where_it_is_installed(monkeypatch: pytest.MonkeyPatch) -> None:
    def names() -> list[str]:
        return [library.name for library in libraries()]

    assert names() == [NUMPY, PYTORCH, JAX]
    monkeypatch.setattr(linear_algebra, "find_spec", lambda _: None)
    assert names() == [NUMPY, JAX]


def test_product_gets_its_matrix_twice_and_inverse_once() -> None:
    for task, count in ((PRODUCT, 2), (INVERSE, 1)):
        for call in prepare(task=task, size=3).values():
            assert len(call.args) == count  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    ("task", "expected"),
    [
        (GENERATE, (0, 800)),
        (MEAN_AND_SUM, (100, 800)),
        (PRODUCT, (2000, 2400)),
        (INVERSE, (2000, 1600)),
    ],
)
def test_least_work(task: str, expected: Any) -> None:
    assert least_cost(task, 10) == expected


def test_points_fit_and_full_size_is_that_of_the_seed() -> None:
    for points in (LINEAR_ALGEBRA.quick, LINEAR_ALGEBRA.full):
        assert {point["task"] for point in points} == set(TASKS)
        for point in points:
            least_cost(**point)  # type: ignore[arg-type]
    assert {point["size"] for point in LINEAR_ALGEBRA.full} == {5000}
