"""Commands that measure what the tutorials measure: xla, jit, scipy, autograd and dispatch."""

from __future__ import annotations

from functools import partial

import click
import numpy as np

from jaxcap.cli.options import LIBRARIES, require_library, require_memory
from jaxcap.cli.run import CommandRun, measuring_command


@click.command(epilog="Example: jaxcap xla jax --matrix-size 1000")
@click.argument("library", type=click.Choice(("numpy", "pytorch", "jax")))
@click.option(
    "--matrix-size",
    type=click.IntRange(min=1),
    default=5000,
    show_default=True,
    help="Rows and columns of each matrix.",
)
@measuring_command
def xla(run: CommandRun, library: str, matrix_size: int) -> None:
    """Measure linear algebra in float64.

    Generates a large random matrix, takes its mean and its sum, multiplies it and inverts it.
    """
    require_library(library)
    from jaxcap.cli import checks
    from jaxcap.experiments import linear_algebra
    from jaxcap.measure.experiment import grid

    # Five matrices: inputs, output, and the workspace of the inverse.
    platform = run.platforms(library)[0]
    require_memory(5 * 8 * matrix_size**2, platform, "--matrix-size", matrix_size)
    chosen = linear_algebra.library(LIBRARIES[library])
    run.check(f"{chosen.name}, {matrix_size:,} rows", checks.matrix_values(chosen, matrix_size))
    prepare = partial(linear_algebra.prepare, by=[chosen])
    points = grid(task=chosen.tasks, size=(matrix_size,))
    run.finish(run.measure(linear_algebra.LINEAR_ALGEBRA.name, prepare, points))


@click.command(epilog="Example: jaxcap jit --device cpu --json jit.json")
@measuring_command
def jit(run: CommandRun) -> None:
    """Measure what compiling gains.

    The function is 0.2 x + sin x + cos 2x, element by element, on ten thousand to ten million
    numbers, op by op and compiled.
    """
    from jaxcap.cli import checks
    from jaxcap.experiments.jit import JIT, OP_BY_OP, SIZES
    from jaxcap.measure.experiment import grid

    x = np.linspace(0, 4 * np.pi, 6, dtype=np.float32)
    caption = f"f(x) = 0.2 x + sin x + cos 2x at x = {checks.text(x)}"
    run.check(caption, checks.compiled_values(x))
    points = grid(function=("wave",), device=run.platforms(), size=SIZES)
    run.finish(run.measure(JIT.name, JIT.prepare, points), over=OP_BY_OP)


@click.command(epilog="Example: jaxcap scipy jax --array-length 1000000")
@click.argument("library", type=click.Choice(("numpy", "jax")))
@click.option(
    "--array-length",
    type=click.IntRange(min=10),
    default=10_000,
    show_default=True,
    help="Readings of each sensor.",
)
@measuring_command
def scipy(run: CommandRun, library: str, array_length: int) -> None:
    """Calibrate a sensor.

    BFGS, in SciPy or JAX, finds the slope and the offset that minimise the root mean square
    difference from a reference sensor.
    """
    from jaxcap.cli import checks
    from jaxcap.experiments import calibration

    platform = run.platforms(library)[0]
    require_memory(12 * 8 * array_length, platform, "--array-length", array_length)
    name = LIBRARIES[library]
    run.check(f"Best fit to {array_length:,} readings", checks.fit_values(name, array_length))
    points = [{"size": array_length}]
    errors = run.measure("calibration", partial(calibration.prepare_errors, name), points)
    fits = run.measure("optimisers", partial(calibration.prepare_fit, name), points)
    run.finish(errors + fits)


@click.command(epilog="Example: jaxcap autograd pytorch --json slopes.json")
@click.argument("library", type=click.Choice(("pytorch", "jax")))
@measuring_command
def autograd(run: CommandRun, library: str) -> None:
    """Measure derivatives by automatic differentiation.

    The function is 0.2 x + sin x + cos 2x, at a thousand points.
    """
    require_library(library)
    from jaxcap.cli import checks
    from jaxcap.experiments.gradients import GRADIENTS, prepare_jax, prepare_torch
    from jaxcap.measure.experiment import grid

    platforms = run.platforms(library)
    for caption, x in ("3", np.array([3.0])), ("20 points", np.linspace(0, 4 * np.pi, 20)):
        values = checks.slope_values(library, x)
        run.check(f"f(x) = 0.2 x + sin x + cos 2x at {caption}", values)
    prepare = prepare_torch if library == "pytorch" else prepare_jax
    points = grid(points=(1000,), device=platforms)
    run.finish(run.measure(GRADIENTS.name, prepare, points))


@click.command(epilog="Example: jaxcap dispatch --budget 0.1")
@measuring_command
def dispatch(run: CommandRun) -> None:
    """Measure the overhead of a call.

    Computes products of vectors, elementwise products, eigenvalues and singular values of small
    matrices, on NumPy's and JAX's arrays, with each library that is installed.
    """
    from jaxcap.cli import checks
    from jaxcap.experiments.dispatch import DISPATCH, NUMPY

    run.check(
        "Sums of results, of eigenvalues and of singular values, beside NumPy's",
        checks.dispatch_values(),
    )
    run.finish(run.measure(DISPATCH.name, DISPATCH.prepare, DISPATCH.points), over=NUMPY)
