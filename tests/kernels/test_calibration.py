"""The calibration problem: its optimum, result in four ways, and an estimator without its bias."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from jaxcap.kernels.calibration import (
    OFFSET,
    SLOPE,
    corrected,
    deming,
    fit_by_gradient,
    fit_by_jax,
    fit_by_scipy,
    least_squares,
    least_squares_limit,
    noise_ratio,
    rmse,
    rmse_by_loop,
    sensors,
)

TRUE = np.array([SLOPE, OFFSET])
START = np.array([1.5, 2.0])
SEEDS = range(20)
EPS = float(np.finfo(np.float32).eps)


def test_sensors_are_those_of_their_seed() -> None:
    reference, reading = sensors(seed=3, size=100)
    assert reference.shape == reading.shape == (100,)
    assert reference.dtype == reading.dtype == np.float64
    np.testing.assert_array_equal((reference, reading), sensors(seed=3, size=100))
    assert (reference != sensors(seed=4, size=100)[0]).all()


def test_correction_undoes_the_law() -> None:
    truth = np.linspace(1, 11, 7)
    np.testing.assert_allclose(corrected(TRUE, SLOPE * truth + OFFSET), truth, rtol=1e-14)


def test_further_parameters_are_coefficients_of_a_polynomial() -> None:
    reading = np.linspace(1, 20, 7)
    z = (reading - 3) / 1.5
    bent = corrected(np.array([1.5, 3.0, 0.2, -0.1]), reading)
    np.testing.assert_allclose(bent, np.polyval([-0.1, 0.2, 1, 0], z), rtol=1e-13)


@pytest.mark.parametrize("length", [2, 3, 4])
def test_all_ways_to_compute_the_error_agree(length: int) -> None:
    data = sensors(size=1000)
    parameters = np.array([1.4, 2.8, 0.01, -0.001][:length])
    expected = np.sqrt(np.mean((data[0] - corrected(parameters, data[1])) ** 2))
    assert rmse(parameters, *data) == pytest.approx(expected, rel=1e-14)
    assert rmse_by_loop(parameters, *data) == pytest.approx(expected, rel=1e-12)
    in_32_bits = [jnp.asarray(array, jnp.float32) for array in (parameters, *data)]
    for fn in (rmse, jax.jit(rmse)):
        result = fn(*in_32_bits)
        assert result.dtype == jnp.float32
        # Numbers up to about 20 are rounded, then squared, averaged and rooted.
        assert float(result) == pytest.approx(expected, rel=20 * EPS)


def test_numpy_keeps_its_type() -> None:
    arrays = [array.astype(np.float32) for array in (TRUE, *sensors(size=10))]
    assert rmse(*arrays).dtype == np.float32
    assert rmse_by_loop(*arrays).dtype == np.float32


def test_compiles_once_for_each_number_of_parameters() -> None:
    traced: list[tuple[int, ...]] = []

    @jax.jit
    def counted(parameters: jax.Array, reference: jax.Array, reading: jax.Array) -> jax.Array:
        traced.append(parameters.shape)
        error: jax.Array = rmse(parameters, reference, reading)
        return error

    data = tuple(map(jnp.asarray, sensors(size=10)))
    parameters = jnp.array([1.5, 3, 0, 0])
    errors = [float(counted(parameters[:length], *data)) for length in (2, 2, 3, 3, 4, 4)]
    assert traced == [(2,), (3,), (4,)]
    assert errors == pytest.approx([errors[0]] * 6, rel=1e-6)


@pytest.mark.parametrize("optimiser", [fit_by_scipy, fit_by_gradient, fit_by_jax])
def test_optimisers_find_the_closed_form_in_64_bits(optimiser: Any) -> None:
    data = sensors()
    with jax.enable_x64(True):
        fit = optimiser(*data)
        result = np.asarray(fit.x)
    assert bool(fit.success)
    assert result.dtype == np.float64
    np.testing.assert_allclose(result, least_squares(*data), rtol=1e-5)
    # Other noise moves the optimum by about 0.002 in slope and 0.011 in offset; the published error
    # was 0.445.
    np.testing.assert_allclose(result, [1.535, 2.79], rtol=5e-3)
    assert float(fit.fun) == pytest.approx(0.44, abs=0.01)


@pytest.mark.parametrize("optimiser", [fit_by_scipy, fit_by_gradient])
def test_callback_follows_the_steps_of_scipy(optimiser: Any) -> None:
    steps: list[Any] = []
    with jax.enable_x64(True):
        fit = optimiser(*sensors(size=100), START, callback=steps.append)
    assert len(steps) == fit.nit
    np.testing.assert_array_equal(steps[-1], fit.x)


def test_optimiser_in_jax_stops_after_so_many_steps() -> None:
    with jax.enable_x64(True):
        fit = jax.jit(fit_by_jax)
        paths = [fit(*sensors(size=100), START, steps) for steps in (0, 1, 2)]
    assert [int(path.nit) for path in paths] == [0, 1, 2]
    np.testing.assert_array_equal(paths[0].x, START)


def test_differences_smaller_than_the_rounding_stop_the_search_at_its_start() -> None:
    reference, reading = (array.astype(np.float32) for array in sensors(size=1000))
    start = np.array([2.0, 1.0])
    fit = fit_by_scipy(reference, reading, start, step=1e-12)
    assert fit.success
    np.testing.assert_array_equal(fit.x, start)


def test_least_squares_has_the_least_error() -> None:
    data = sensors(size=1000)
    best = least_squares(*data)
    least = rmse(best, *data)
    for step in ([1e-3, 0], [-1e-3, 0], [0, 1e-3], [0, -1e-3]):
        assert rmse(best + step, *data) > least


def test_least_squares_tends_to_its_limit_and_not_to_the_truth() -> None:
    result = np.array([least_squares(*sensors(seed)) for seed in SEEDS])
    error = result.std(axis=0, ddof=1) / np.sqrt(len(SEEDS))
    assert (abs(result.mean(axis=0) - least_squares_limit()) < 4 * error).all()
    assert (abs(result.mean(axis=0) - TRUE) > 20 * error).all()
    np.testing.assert_allclose(least_squares_limit(), [1.535, 2.79], atol=0.005)


def test_deming_has_no_bias() -> None:
    data = [sensors(seed) for seed in SEEDS]
    across = np.array([deming(*pair, noise_ratio(pair[0])) for pair in data])
    down = np.array([least_squares(*pair) for pair in data])
    error = across.std(axis=0, ddof=1) / np.sqrt(len(SEEDS))
    assert (abs(across.mean(axis=0) - TRUE) < 4 * error).all()
    assert (abs(across - TRUE) < abs(down - TRUE)).all()


@pytest.mark.parametrize("ratio", [0.1, 1.0, 10.0, 178.0])
def test_deming_is_the_first_principal_axis(ratio: float) -> None:
    reference, reading = sensors(size=1000)
    # In units of each sensor's noise all directions are alike, and the nearest line is that of the
    # largest variance.
    scale = np.array([1, np.sqrt(ratio)])
    points = np.stack([reference, reading], axis=1) / scale
    _, _, axes = np.linalg.svd(points - points.mean(axis=0))
    along = axes[0] * scale
    slope = along[1] / along[0]
    expected = [slope, reading.mean() - slope * reference.mean()]
    np.testing.assert_allclose(deming(reference, reading, ratio), expected, rtol=1e-9)


def test_noise_ratio_is_that_of_the_noise() -> None:
    rng = np.random.default_rng(0)
    truth = rng.uniform(1, 11, 1_000_000)
    noise = rng.normal(1.5, 0.1, truth.size) * truth + rng.normal(0, 0.05, truth.size) - 1.5 * truth
    reference = truth + rng.normal(0, 0.05, truth.size)
    # A sample variance of so many heavy-tailed numbers is known to about 0.2 %.
    assert noise_ratio(reference) == pytest.approx(noise.var() / 0.05**2, rel=0.01)
