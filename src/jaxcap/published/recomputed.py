"""Published figures that are no times, computed again."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from math import isclose
from types import MappingProxyType
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from jaxcap.kernels import calibration
from jaxcap.kernels.elementwise import wave
from jaxcap.published.values import Published

#: Largest relative difference of equal values: the rounding of 32-bit numbers.
TOLERANCE = float(np.finfo(np.float32).eps)

#: Side of the images that leave the network's convolutions, and of what comes in.
_VALID, _SAME = 24, 28
# The document's log counts these.
_PUBLISHED_PARAMETERS = 3_232_906


class Computed(NamedTuple):
    """What we get for a published value.

    Attributes
    ----------
    text
        To show.
    agrees
        Whether that is what was published.
    reason
        A sentence on how it came about.
    """

    text: str
    agrees: bool
    reason: str


def compute(figure: Published) -> Computed:
    """Compute what ``figure.computed`` names, on JAX's default device."""
    return VALUES[figure.computed](figure)


def parameters(side: int) -> int:
    """Count the network's weights if its convolutions leave images of so many pixels a side."""
    convolutions = (3 * 3 * 1 * 32 + 32) + (3 * 3 * 32 * 64 + 64)
    return convolutions + ((side // 2) ** 2 * 64 * 256 + 256) + (256 * 10 + 10)


def _number(figure: Published, ours: float, reason: str) -> Computed:
    return Computed(f"{ours!r}", isclose(ours, figure.value, rel_tol=TOLERANCE), reason)


def _value(figure: Published) -> Computed:
    return _number(figure, float(wave(jnp.float32(3))), "Computed again by JAX, in 32 bits.")


def _slope(figure: Published) -> Computed:
    return _number(
        figure, float(jax.grad(wave)(jnp.float32(3))), "Computed again by JAX, in 32 bits."
    )


def _draw(figure: Published) -> Computed:
    before, today = _sum_of_draws(False), _sum_of_draws(True)
    reason = (
        f"{before:.7f} with jax_threefry_partitionable=False, the default before JAX 0.5; today's "
        f"default gives {today:.7f}."
    )
    return _number(figure, before, reason)


def _sum_of_draws(partitionable: bool) -> float:
    with jax.threefry_partitionable(partitionable):
        _, first, second = jax.random.split(jax.random.key(0), 3)
        return float(jax.random.uniform(first) + 2 * jax.random.uniform(second))


def _numpy_sum(figure: Published) -> Computed:
    one, other = np.random.RandomState(0).uniform(size=2)
    ours = one + 2 * other if figure.computed == "bar first" else 2 * one + other
    return _number(figure, float(ours), "Drawn again by NumPy's old generator, from seed 0.")


def _optimum(figure: Published) -> Computed:
    slope, offset = calibration.least_squares(*calibration.sensors())
    ours = slope if figure.computed.endswith("slope") else offset
    reason = f"on data of ours, drawn to resemble them, it is {ours:.4f}."
    return Computed(f"{ours:.4f}", False, reason)


def _parameters(_: Published) -> Computed:
    same, valid = parameters(_SAME), parameters(_VALID)
    return Computed(
        f"{same:,} parameters",
        same == _PUBLISHED_PARAMETERS != valid,
        f"with Flax's default padding it has {same:,} parameters, as its log says, and PyTorch's has "
        f"{valid:,}.",
    )


#: By the name that a figure gives: what computes it.
VALUES: Mapping[str, Callable[[Published], Computed]] = MappingProxyType(
    {
        "value": _value,
        "slope": _slope,
        "draw": _draw,
        "bar first": _numpy_sum,
        "baz first": _numpy_sum,
        "least error, slope": _optimum,
        "least error, offset": _optimum,
        "parameters": _parameters,
    }
)
