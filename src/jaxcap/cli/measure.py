"""Commands that measure what the tutorials measure: ``xla``, ``jit``, ``scipy`` and so on."""

from __future__ import annotations

from functools import partial

import click

from jaxcap.cli.options import LIBRARIES, require_library, require_memory
from jaxcap.cli.run import CommandRun, measuring_command


@click.command(epilog="Example: jaxcap xla jax --matrix-size 1000")
@click.argument("library", type=click.Choice(("numpy", "pytorch", "jax")))
@click.option(
    "--matrix-size",
    type=click.IntRange(min=1),
    default=5000,
    show_default=True,
    help="Number of rows, and of columns, of each matrix.",
)
@measuring_command
def xla(run: CommandRun, library: str, matrix_size: int) -> None:
    """Measure how fast a library does linear algebra.

    Times four tasks on large random matrices in float64: generating one, taking its mean and its
    sum, multiplying two, and inverting one.
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
    """Measure what compiling a function with jax.jit gains.

    Times the function 0.2 x + sin x + cos 2x op by op and compiled, on arrays of ten thousand to ten
    million numbers.
    """
    import numpy as np

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
    help="Number of readings from each sensor.",
)
@measuring_command
def scipy(run: CommandRun, library: str, array_length: int) -> None:
    """Measure how fast BFGS calibrates a sensor, in SciPy or in JAX.

    BFGS, a method of optimisation, finds the slope and the offset that bring the readings of a
    sensor closest to those of a reference sensor. What it minimises is the root mean square error,
    whose evaluations are timed as well. The library chooses whose: SciPy with NumPy, or JAX.
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
    """Measure how fast PyTorch or JAX computes derivatives.

    Times the ways to differentiate 0.2 x + sin x + cos 2x automatically, at a thousand points.
    """
    require_library(library)
    import numpy as np

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


@click.command(epilog="Example: jaxcap dispatch --operation dot --budget 0.1")
@click.option(
    "--operation",
    type=click.Choice(("dot", "einsum", "eig", "svd")),
    help="Measure only this one.",
)
@measuring_command
def dispatch(run: CommandRun, operation: str | None) -> None:
    """Measure the overhead of a call.

    Times products of vectors, elementwise products, eigenvalues and singular values on arrays so small
    that there is little to compute. NumPy, JAX and whatever else is installed take arrays of NumPy,
    then of JAX.
    """
    from jaxcap.cli import checks
    from jaxcap.experiments.dispatch import DISPATCH, NUMPY

    run.check(
        "Sums of results, of eigenvalues and of singular values, beside NumPy's",
        checks.dispatch_values(operation),
    )
    points = [p for p in DISPATCH.points if operation in {None, p["operation"]}]
    run.finish(run.measure(DISPATCH.name, DISPATCH.prepare, points), over=NUMPY)
