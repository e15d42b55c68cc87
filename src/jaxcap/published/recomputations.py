"""Published values that are not times, computed again."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cache, partial
from math import isclose
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from jaxcap.kernels.elementwise import wave
from jaxcap.kernels.precision import with_x64
from jaxcap.published.values import PublishedValue

#: Largest relative difference of equal values: the rounding of 32-bit numbers.
TOLERANCE = float(np.finfo(np.float32).eps)

#: How numbers are formatted: more digits than a 32-bit number has would only fill the column.
DIGITS = ".8g"

# Rows of the image after both convolutions, without padding ("valid") and with it ("same").
_VALID, _SAME = 24, 28
_LOGGED_PARAMETERS = 3_232_906  # in the document's log


class Recomputation(NamedTuple):
    """Our value in place of a published one.

    Attributes
    ----------
    text
        Our value, as pages show it; empty if it is of another kind than the published one.
    agrees
        Whether it equals the published one.
    reason
        A sentence on how it was computed.
    """

    text: str
    agrees: bool
    reason: str


def recompute(published: PublishedValue) -> Recomputation:
    """Run the computation that ``published.computation`` names, on JAX's default device."""
    if published.computation == "parameters":
        return _recount_parameters()
    ours, reason = _computed(published.computation)
    agrees = isclose(ours, published.value, rel_tol=TOLERANCE)
    return Recomputation(f"{ours:{DIGITS}}", agrees, reason)


@cache  # several pages quote the same
def _computed(name: str) -> tuple[float, str]:
    return COMPUTATIONS[name]()


def count_parameters(side: int) -> int:
    """Count the network's parameters if its convolutions yield images of ``side`` rows."""
    convolutions = (3 * 3 * 1 * 32 + 32) + (3 * 3 * 32 * 64 + 64)
    return convolutions + ((side // 2) ** 2 * 64 * 256 + 256) + (256 * 10 + 10)


def _recount_parameters() -> Recomputation:
    same, valid = count_parameters(_SAME), count_parameters(_VALID)
    reason = (
        f"with Flax's default padding it has {same:,} parameters, as its log says, and PyTorch's has "
        f"{valid:,}."
    )
    return Recomputation("", same == _LOGGED_PARAMETERS, reason)


def _at_3(fn: Callable[[Array], Array]) -> tuple[float, str]:
    return float(fn(jnp.float32(3))), "Computed again by JAX, in 32 bits."


def _jax_sum() -> tuple[float, str]:
    former, current = _sum_of_draws(False), _sum_of_draws(True)
    reason = (
        f"{former:.7f} with jax_threefry_partitionable=False, the default before JAX 0.5; today's "
        f"default gives {current:.7f}."
    )
    return former, reason


def _sum_of_draws(partitionable: bool) -> float:
    with jax.threefry_partitionable(partitionable):
        _, first, second = jax.random.split(jax.random.key(0), 3)
        return float(jax.random.uniform(first) + 2 * jax.random.uniform(second))


def _numpy_sum(first_weight: int, second_weight: int) -> tuple[float, str]:
    first, second = np.random.RandomState(0).uniform(size=2)
    total = float(first_weight * first + second_weight * second)
    return total, "Drawn again by NumPy's old generator, from seed 0."


def _optimum(index: int) -> tuple[float, str]:
    from jaxcap.kernels import calibration  # slow to import: with SciPy's optimisers

    data = calibration.sensors()
    fitted = calibration.least_squares(*data)
    ours = round(float((*fitted, calibration.rmse(fitted, *data))[index]), 4)
    return ours, f"on our own data, drawn to resemble them, it is {ours:.4f}."


def _count(library: str, count: str) -> tuple[float, str]:
    ours = int(getattr(_fit(library), count))
    return ours, f"on our own data, in 64 bits, there were {ours}."


@cache
def _fit(library: str) -> Any:
    from jaxcap.kernels import calibration

    data = calibration.sensors()
    if library == "SciPy":
        return calibration.fit_by_scipy(*data)
    return with_x64(jax.jit(calibration.fit_by_jax))(*data)


#: Computations by the name that a published value gives; each returns our value and an explanation.
COMPUTATIONS: Mapping[str, Callable[[], tuple[float, str]]] = {
    "value": lambda: _at_3(wave),
    "slope": lambda: _at_3(jax.grad(wave)),
    "draw": _jax_sum,
    "bar first": lambda: _numpy_sum(1, 2),
    "baz first": lambda: _numpy_sum(2, 1),
    "least error, slope": lambda: _optimum(0),
    "least error, offset": lambda: _optimum(1),
    "least error, error": lambda: _optimum(2),
    **{
        f"{library}, {counted}": partial(_count, library, name)
        for library in ("SciPy", "JAX")
        for counted, name in (("steps", "nit"), ("errors", "nfev"), ("gradients", "njev"))
    },
}
