"""Checks of the values that commands compute, made before the computations are timed.

This module imports JAX, so commands import it only when they run.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import jax
import numpy as np

from jaxcap.cli.run import Value
from jaxcap.experiments import calibration as optimisers
from jaxcap.experiments import dispatch, linear_algebra
from jaxcap.kernels import calibration, linalg
from jaxcap.kernels.autodiff import wave_derivative
from jaxcap.kernels.elementwise import wave
from jaxcap.tools.transforms import typed_jit

_ROUNDING = 1e-5  # error of a few float32 operations, relative to the largest value
_DEVIATIONS = 6  # a mean that is further off is wrong, not unlucky
_FIT = 1e-3  # finite differences end near the minimum, not at it


def matrix_values(library: linear_algebra.Library, size: int) -> Iterator[Value]:
    """Check the mean and the sum of a random matrix against expectation, and its inverse."""
    x = library.tasks[linear_algebra.GENERATE](size)
    expected = linalg.uniform_moments(size)
    moments = map(float, library.tasks[linear_algebra.MEAN_AND_SUM](x))
    for moment, (name, (mean, deviation)) in zip(moments, expected.items(), strict=True):
        most = _DEVIATIONS * deviation
        yield Value(name, f"{moment:,.6g}", f"{mean:,} ± {most:,.2g}", abs(moment - mean) <= most)
    inverse = library.tasks[linear_algebra.INVERSE](x)
    identity = linear_algebra.as_numpy(library.tasks[linear_algebra.PRODUCT](x, inverse))
    error = float(linalg.offsets_from_identity(identity).max())
    norms = [np.linalg.norm(linear_algebra.as_numpy(matrix)) for matrix in (x, inverse)]
    bound = float(size * np.finfo(np.float64).eps * np.prod(norms))
    yield Value("largest error of the inverse", f"{error:.1e}", f"below {bound:.1e}", error < bound)


def compiled_values(x: Any) -> Iterator[Value]:
    """Check the wave, op by op and compiled, against NumPy."""
    functions: dict[str, Any] = {
        "f(x)": wave,
        "jit(f)(x)": jax.jit(wave),
        "typed_jit(f)(x)": typed_jit(wave),
    }
    for name, function in functions.items():
        yield _close(name, function(jax.numpy.asarray(x)), wave(x.astype(np.float64), np))


def fit_values(library: str, size: int) -> Iterator[Value]:
    """Check a fit to sensors' readings against least squares."""
    (fit,) = optimisers.prepare_fit(library, size).values()
    result = fit()
    report = f"{'success' if result.success else 'failure'} after {result.nit} steps"
    yield Value("BFGS reports", report, "success", bool(result.success))
    reference, reading = calibration.sensors(size=size)
    exact = calibration.least_squares(reference, reading)
    minimum = calibration.rmse(exact, reference, reading)
    names = ("slope", "offset", "error there")
    for name, value, best in zip(names, (*result.x, result.fun), (*exact, minimum), strict=True):
        yield Value(name, f"{value:.6g}", f"{best:.6g}", abs(value - best) <= _FIT * abs(best))


def slope_values(library: str, x: Any) -> Iterator[Value]:
    """Check the wave and its slope, in float32 by PyTorch or JAX, against NumPy in float64."""
    single = x.astype(np.float32)
    if library == "pytorch":
        import torch

        from jaxcap.kernels.autodiff_torch import derivatives_by_backward, wave_torch

        tensor = torch.from_numpy(single)
        y, slope = wave_torch(tensor).numpy(), derivatives_by_backward(tensor).numpy()
    else:
        y, slope = wave(jax.numpy.asarray(single)), jax.vmap(jax.grad(wave))(single)
    yield _close("f(x)", y, wave(x, np))
    yield _close("f'(x)", slope, wave_derivative(x, np))


def dispatch_values(chosen: str | None = None) -> Iterator[Value]:
    """Check all operations on small arrays, or the one that is chosen, against NumPy's."""
    numbers_of: dict[str, Callable[[Any], Any]] = {
        "dot": np.sum,
        "einsum": np.sum,
        "eig": _trace,
        "svd": _nuclear_norm,
    }
    for operation, number in numbers_of.items():
        if chosen not in {None, operation}:
            continue
        variants = dispatch.prepare(operation, dispatch.NUMPY_ARRAYS, 10)
        numbers = {name: number(variant()) for name, variant in variants.items()}
        expected = numbers.pop(dispatch.NUMPY)
        for name, value in numbers.items():
            yield _close(f"{operation}, {name}", value, expected)


def text(x: Any) -> str:
    """Format an array on one line, and abbreviate a long one."""
    return np.array2string(np.asarray(x), precision=4, floatmode="fixed", threshold=8, edgeitems=2)


def _trace(eigen: Any) -> Any:
    """Add up eigenvalues, since libraries may order them differently."""
    values, _ = eigen
    return values.sum().real


def _nuclear_norm(factors: Any) -> Any:
    """Add up singular values: unlike the vectors, they are unique."""
    _, values, _ = factors
    return values.sum()


def _close(name: str, computed: Any, expected: Any) -> Value:
    error = np.abs(np.asarray(computed, np.float64) - expected).max()
    agrees = bool(error <= _ROUNDING * np.abs(expected).max())
    return Value(name, text(computed), text(expected), agrees)
