"""Large matrices in float64, by NumPy, PyTorch and JAX."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from importlib.util import find_spec
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from jaxcap.kernels import linalg
from jaxcap.kernels.precision import with_x64
from jaxcap.measure.experiment import Experiment, grid
from jaxcap.measure.sampling import Variants
from jaxcap.results import Cost

NUMPY, PYTORCH, JAX = "NumPy", "PyTorch", "JAX"
GENERATE, MEAN_AND_SUM, PRODUCT, INVERSE = "generate", "mean and sum", "product", "inverse"


class Library(NamedTuple):
    """How a library does each task.

    Attributes
    ----------
    name
        Name of the library.
    tasks
        Functions by name of the task: ``"generate"`` takes a size and returns a square matrix,
        ``"mean and sum"`` and ``"inverse"`` take a matrix, and ``"product"`` takes two.
    array
        Copies a NumPy array to the device on which the library computes.
    """

    name: str
    tasks: Mapping[str, Callable[..., Any]]
    array: Callable[[linalg.NumPyMatrix], Any]


def libraries() -> list[Library]:
    """NumPy, PyTorch (where it is installed) and JAX, all in float64.

    PyTorch computes on the GPU if JAX does. JAX's functions are compiled.
    """
    names = (NUMPY, *([PYTORCH] if find_spec("torch") else []), JAX)
    return [library(name) for name in names]


def library(name: str) -> Library:
    """Return one of the `libraries` by its name."""
    return {NUMPY: _numpy, PYTORCH: _pytorch, JAX: _jax}[name]()


def prepare(task: str, size: int, *, by: Sequence[Library] | None = None) -> Variants:
    """Prepare a task on a ``(size, size)`` matrix, the same for all libraries.

    Parameters
    ----------
    task
        Name of the task.
    size
        Rows and columns of the matrix.
    by
        Libraries; by default all `libraries`.
    """
    by = libraries() if by is None else by
    if task == GENERATE:
        return {library.name: partial(library.tasks[task], size) for library in by}
    x = np.random.default_rng(0).random((size, size))
    count = 2 if task == PRODUCT else 1
    return {
        library.name: partial(library.tasks[task], *(library.array(x),) * count) for library in by
    }


def least_cost(task: str, size: int) -> Cost:
    """Least operations and memory traffic in bytes of a task in float64, in any library.

    Each input matrix is read once, and each output matrix is written once. Generating random numbers
    counts as no floating-point operation.
    """
    flops, matrices = {
        GENERATE: (0, 1),
        MEAN_AND_SUM: (size**2, 1),
        PRODUCT: (linalg.product_flops(size, size, size), 3),
        INVERSE: (linalg.inverse_flops(size), 2),
    }[task]
    return Cost(float(flops), 8.0 * matrices * size**2)


def as_numpy(array: Any) -> linalg.NumPyMatrix:
    """Copy an array of any of the libraries from any device to NumPy."""
    return np.asarray(array.cpu() if hasattr(array, "cpu") else array)


#: On a CPU, tasks limited by memory get larger matrices, which exceed its caches.
LINEAR_ALGEBRA = Experiment(
    name="linear algebra",
    title="Large matrices by three libraries",
    prepare=prepare,
    quick=[
        *grid(task=(GENERATE, MEAN_AND_SUM), size=(2500,)),
        *grid(task=(PRODUCT, INVERSE), size=(1000,)),
    ],
    full=grid(task=(GENERATE, MEAN_AND_SUM, PRODUCT, INVERSE), size=(5000,)),
    empty_caches=False,  # the variants share no compiled function
)


def _numpy() -> Library:
    generator = np.random.default_rng(0)
    return Library(
        NUMPY,
        {
            GENERATE: lambda size: generator.random((size, size)),
            MEAN_AND_SUM: linalg.mean_and_sum,
            PRODUCT: np.matmul,
            INVERSE: np.linalg.inv,
        },
        np.asarray,
    )


def _pytorch() -> Library:
    import torch

    on_gpu = jax.default_backend() == "gpu" and torch.cuda.is_available()
    device = "cuda" if on_gpu else "cpu"
    generator = torch.Generator(device).manual_seed(0)
    generate = partial(torch.rand, dtype=torch.float64, device=device, generator=generator)
    return Library(
        PYTORCH,
        {
            GENERATE: lambda size: generate((size, size)),
            MEAN_AND_SUM: linalg.mean_and_sum,
            PRODUCT: torch.matmul,
            INVERSE: torch.linalg.inv,
        },
        lambda x: torch.from_numpy(x).to(device),
    )


def _jax() -> Library:
    key = jax.random.key(0)
    uniform = jax.jit(partial(linalg.uniform, dtype="float64"), static_argnames="size")
    return Library(
        JAX,
        {
            GENERATE: with_x64(lambda size: uniform(key, size=size)),
            MEAN_AND_SUM: with_x64(jax.jit(linalg.mean_and_sum)),
            PRODUCT: with_x64(jax.jit(linalg.product)),
            INVERSE: with_x64(jax.jit(jnp.linalg.inv)),
        },
        with_x64(jnp.asarray),
    )
