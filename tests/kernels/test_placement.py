"""Distances, stress and steps against NumPy in 64 bits, and the gradients where points coincide."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import numpy.typing as npt
import pytest

from jaxcap.kernels import placement

Numbers = npt.NDArray[np.float64]
START, TABLE = placement.random_table(12)


def numpy_stress(positions: Numbers, limit: float) -> float:
    """Compare distances with the table, one pair after another."""
    total = 0.0
    for i, one in enumerate(positions):
        for j, other in enumerate(positions):
            error = abs(float(np.hypot(*(one - other))) - float(TABLE[i, j]))
            total += error**2 / 2 if error < limit else limit * (error - limit / 2)
    return total / len(positions) ** 2


def typical_error(positions: Numbers) -> float:
    measured = np.linalg.norm(positions[:, None] - positions, axis=-1)
    return float(np.abs(measured - np.asarray(TABLE)).mean())


def test_a_tenth_of_the_table_is_three_times_too_large() -> None:
    _, table = placement.random_table(200)
    places = np.random.default_rng(0).standard_normal((2, 200, 2), dtype=np.float32)[1]
    true = np.linalg.norm(places[:, None] - places, axis=-1)
    pairs = np.triu_indices(200, k=1)
    factors = np.asarray(table)[pairs] / true[pairs]
    assert set(factors.round(3)) == {1.0, 3.0}
    assert 0.08 < (factors > 2).mean() < 0.12
    np.testing.assert_array_equal(table, table.T)


@pytest.mark.parametrize("measure", [placement.distances, placement.safe_distances])
def test_distances(measure: placement.Distances) -> None:
    positions = jnp.array([[0.0, 0.0], [3.0, 4.0], [0.0, 0.0]])
    np.testing.assert_array_equal(measure(positions), [[0, 5, 0], [5, 0, 5], [0, 5, 0]])


def test_only_safe_distances_have_a_gradient() -> None:
    slopes = [
        jax.grad(placement.stress)(START, TABLE, measure)
        for measure in (placement.distances, placement.safe_distances)
    ]
    assert np.isnan(slopes[0]).all()
    assert np.isfinite(slopes[1]).all()


def test_a_step_goes_down_the_slope_of_the_stress() -> None:
    moved, value = placement.step(START, TABLE)
    positions = np.asarray(START, np.float64)
    limit = typical_error(positions)
    assert float(value) == pytest.approx(numpy_stress(positions, limit), rel=1e-5)
    direction = np.random.default_rng(1).standard_normal(positions.shape)
    sides = [numpy_stress(positions + step * direction, limit) for step in (1e-6, -1e-6)]
    slope = np.asarray(START - moved, np.float64) / (len(positions) / 2)
    assert (slope * direction).sum() == pytest.approx((sides[0] - sides[1]) / 2e-6, rel=1e-3)


def test_steps_bring_most_distances_near_the_table() -> None:
    positions, table = placement.random_table(30)
    step = jax.jit(placement.step)
    values = []
    for _ in range(300):
        positions, value = step(positions, table)
        values.append(float(value))
    assert values[-1] < values[0] / 2
