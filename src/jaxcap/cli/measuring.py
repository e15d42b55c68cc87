"""Commands that measure what the tutorials measure, with their kernels and experiments."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import TYPE_CHECKING, Any

import click

from jaxcap.cli.running import (
    LIBRARIES,
    CommandRun,
    Value,
    measuring,
    require_library,
    require_memory,
)

if TYPE_CHECKING:
    from jaxcap.experiments.linear_algebra import Library

_ROUNDING = 1e-5  # error of a few float32 operations, relative to the largest value
_DEVIATIONS = 6  # a mean that is more standard deviations off is wrong, not unlucky
_FIT = 1e-3  # finite differences end near the minimum, not at it
_MIN_READINGS = 10


def _library(*names: str) -> Callable[..., Any]:
    return click.argument("library", type=click.Choice(names))


def _size(option: str, default: int, description: str, minimum: int = 1) -> Callable[..., Any]:
    kind = click.IntRange(min=minimum)
    return click.option(option, type=kind, default=default, show_default=True, help=description)


@click.command(epilog="Example: jaxcap xla jax --matrix-size 1000")
@_library("numpy", "pytorch", "jax")
@_size("--matrix-size", 5000, "Rows and columns of each matrix.")
@measuring
def xla(run: CommandRun, library: str, matrix_size: int) -> None:
    """Measure linear algebra in float64.

    Generates a large random matrix, takes its mean and its sum, multiplies it and inverts it.
    """
    require_library(library)
    from jaxcap.experiments import linear_algebra
    from jaxcap.measure.experiment import grid

    # Five matrices: inputs, output, and the workspace of the inverse.
    platform = run.platforms(library)[0]
    require_memory(5 * 8 * matrix_size**2, platform, "--matrix-size", matrix_size)
    chosen = linear_algebra.library(LIBRARIES[library].name)
    run.check(f"{chosen.name}, {matrix_size:,} rows", _matrix_values(chosen, matrix_size))
    prepare = partial(linear_algebra.prepare, by=[chosen])
    points = grid(task=chosen.tasks, size=(matrix_size,))
    run.finish(run.measure(linear_algebra.LINEAR_ALGEBRA.name, prepare, points))


@click.command(epilog="Example: jaxcap jit --device cpu --json jit.json")
@measuring
def jit(run: CommandRun) -> None:
    """Measure what compiling buys.

    The function is 0.2 x + sin x + cos 2x, element by element, on ten thousand to ten million
    numbers, op by op and compiled.
    """
    import jax
    import jax.numpy as jnp
    import numpy as np

    from jaxcap.experiments.jit import JIT, OP_BY_OP, SIZES
    from jaxcap.kernels.elementwise import wave
    from jaxcap.measure.experiment import grid
    from jaxcap.transforms import typed_jit

    x = jnp.linspace(0, 4 * np.pi, 6)
    functions: dict[str, Any] = {
        "f(x)": wave,
        "jit(f)(x)": jax.jit(wave),
        "typed_jit(f)(x)": typed_jit(wave),
    }
    expected = _wave(np.asarray(x, np.float64))
    values = (_close(name, fn(x), expected) for name, fn in functions.items())
    run.check(f"f(x) = 0.2 x + sin x + cos 2x at x = {_text(x)}", values)
    points = grid(function=("wave",), device=run.platforms(), size=SIZES)
    run.finish(run.measure(JIT.name, JIT.prepare, points), over=OP_BY_OP)


@click.command(epilog="Example: jaxcap scipy jax --array-length 1000000")
@_library("numpy", "jax")
@_size("--array-length", 10_000, "Readings of each sensor.", minimum=_MIN_READINGS)
@measuring
def scipy(run: CommandRun, library: str, array_length: int) -> None:
    """Calibrate a sensor.

    The error is the root of the mean squared difference from a reference sensor. BFGS, of SciPy or
    of JAX, looks for the slope and the offset at which it is least.
    """
    from jaxcap.experiments import calibration

    platform = run.platforms(library)[0]
    require_memory(12 * 8 * array_length, platform, "--array-length", array_length)
    run.check(f"Best fit to {array_length:,} readings", _fit_values(library, array_length))
    name = LIBRARIES[library].name
    points = [{"size": array_length}]
    errors = run.measure("calibration", partial(calibration.prepare_errors, name), points)
    fits = run.measure("optimisers", partial(calibration.prepare_fit, name), points)
    run.finish(errors + fits)


@click.command(epilog="Example: jaxcap autograd pytorch --json slopes.json")
@_library("pytorch", "jax")
@measuring
def autograd(run: CommandRun, library: str) -> None:
    """Measure slopes by gradients.

    The function is 0.2 x + sin x + cos 2x, at a thousand points.
    """
    require_library(library)
    platforms = run.platforms(library)
    import numpy as np

    from jaxcap.experiments.gradients import GRADIENTS, prepare_jax, prepare_torch
    from jaxcap.measure.experiment import grid

    evaluate = _slopes_by_torch if library == "pytorch" else _slopes_by_jax
    for caption, x in ("3", np.array([3.0])), ("20 points", np.linspace(0, 4 * np.pi, 20)):
        y, slope = evaluate(x.astype(np.float32))
        values = [_close("f(x)", y, _wave(x)), _close("f'(x)", slope, _wave_slope(x))]
        run.check(f"f(x) = 0.2 x + sin x + cos 2x at {caption}", values)
    prepare = prepare_torch if library == "pytorch" else prepare_jax
    points = grid(points=(1000,), device=platforms)
    run.finish(run.measure(GRADIENTS.name, prepare, points))


@click.command(epilog="Example: jaxcap dispatch --budget 0.1")
@measuring
def dispatch(run: CommandRun) -> None:
    """Measure what a call costs by itself.

    Products of vectors, elementwise products and eigenvalues of small matrices, on arrays of NumPy
    and of JAX, by each library that is installed.
    """
    from jaxcap.experiments.dispatch import DISPATCH, NUMPY

    run.check("Sums of results and of eigenvalues, beside NumPy's", _dispatch_values())
    run.finish(run.measure(DISPATCH.name, DISPATCH.prepare, DISPATCH.points), over=NUMPY)


def _matrix_values(library: Library, size: int) -> Iterator[Value]:
    import numpy as np

    from jaxcap.experiments import linear_algebra as tasks
    from jaxcap.kernels import linalg

    x = library.tasks[tasks.GENERATE](size)
    expected = linalg.uniform_moments(size)
    moments = map(float, library.tasks[tasks.MEAN_AND_SUM](x))
    for moment, (name, (mean, deviation)) in zip(moments, expected.items(), strict=True):
        is_chance = abs(moment - mean) <= _DEVIATIONS * deviation
        yield Value(name, f"{moment:,.6g}", f"{mean:,} ± {deviation:.2g}", is_chance)
    inverse = library.tasks[tasks.INVERSE](x)
    identity = tasks.as_numpy(library.tasks[tasks.PRODUCT](x, inverse))
    error = float(linalg.offsets_from_identity(identity).max())
    norms = np.linalg.norm(tasks.as_numpy(x)) * np.linalg.norm(tasks.as_numpy(inverse))
    bound = float(size * np.finfo(np.float64).eps * norms)
    yield Value("largest error of the inverse", f"{error:.1e}", f"below {bound:.1e}", error < bound)


def _fit_values(library: str, size: int) -> Iterator[Value]:
    from jaxcap.experiments import calibration as experiments
    from jaxcap.kernels import calibration

    (fit,) = experiments.prepare_fit(LIBRARIES[library].name, size).values()
    result = fit()
    report = f"{'success' if result.success else 'failure'} after {result.nit} steps"
    yield Value("BFGS reports", report, "success", bool(result.success))
    reference, reading = calibration.sensors(size=size)
    exact = calibration.least_squares(reference, reading)
    minimum = calibration.rmse(exact, reference, reading)
    names = ("slope", "offset", "error there")
    for name, value, best in zip(names, (*result.x, result.fun), (*exact, minimum), strict=True):
        yield Value(name, f"{value:.6g}", f"{best:.6g}", abs(value - best) <= _FIT * abs(best))


def _dispatch_values() -> Iterator[Value]:
    import numpy as np

    from jaxcap.experiments.dispatch import NUMPY, NUMPY_ARRAYS, prepare

    for operation, number in ("dot", np.sum), ("einsum", np.sum), ("eig", _trace):
        variants = prepare(operation, NUMPY_ARRAYS, 10)
        numbers = {name: number(variant()) for name, variant in variants.items()}
        expected = numbers.pop(NUMPY)
        for name, value in numbers.items():
            yield _close(f"{operation}, {name}", value, expected)


def _slopes_by_jax(x: Any) -> tuple[Any, Any]:
    import jax

    from jaxcap.kernels.elementwise import wave

    return wave(jax.numpy.asarray(x)), jax.vmap(jax.grad(wave))(x)


def _slopes_by_torch(x: Any) -> tuple[Any, Any]:
    import torch

    from jaxcap.kernels.autodiff_torch import derivatives_by_backward, wave_torch

    tensor = torch.from_numpy(x)
    return wave_torch(tensor).numpy(), derivatives_by_backward(tensor).numpy()


def _wave(x: Any) -> Any:
    """Evaluate 0.2 x + sin x + cos 2x by NumPy, which checks the other libraries."""
    import numpy as np

    return 0.2 * x + np.sin(x) + np.cos(2 * x)


def _wave_slope(x: Any) -> Any:
    import numpy as np

    return 0.2 + np.cos(x) - 2 * np.sin(2 * x)


def _trace(eigen: Any) -> Any:
    """Add up eigenvalues, since libraries may order them differently."""
    values, _ = eigen
    return values.sum().real


def _close(name: str, found: Any, expected: Any) -> Value:
    import numpy as np

    error = np.abs(np.asarray(found, np.float64) - expected).max()
    holds = bool(error <= _ROUNDING * np.abs(expected).max())
    return Value(name, _text(found), _text(expected), holds)


def _text(x: Any) -> str:
    import numpy as np

    return np.array2string(np.asarray(x), precision=4, floatmode="fixed", threshold=8, edgeitems=2)
