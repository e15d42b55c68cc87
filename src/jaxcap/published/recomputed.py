"""Published values that are not times, computed again."""

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
from jaxcap.published.values import PublishedValue

#: Largest relative difference of equal values: the rounding of 32-bit numbers.
TOLERANCE = float(np.finfo(np.float32).eps)

# Rows of the image after both convolutions, without padding ("valid") and with it ("same").
_VALID, _SAME = 24, 28
# The number of parameters in the document's log.
_PUBLISHED_PARAMETERS = 3_232_906


class Computed(NamedTuple):
    """What we get for a published value.

    Attributes
    ----------
    text
        Our value, as it is shown.
    agrees
        Whether it is the published one.
    reason
        A sentence on how it was computed.
    """

    text: str
    agrees: bool
    reason: str


def compute(published: PublishedValue) -> Computed:
    """Run the computation that ``published.computed`` names, on JAX's default device."""
    return COMPUTATIONS[published.computed](published)


def count_parameters(side: int) -> int:
    """Count the network's parameters if its convolutions yield images of ``side`` rows."""
    convolutions = (3 * 3 * 1 * 32 + 32) + (3 * 3 * 32 * 64 + 64)
    return convolutions + ((side // 2) ** 2 * 64 * 256 + 256) + (256 * 10 + 10)


def _compare(published: PublishedValue, ours: float, reason: str) -> Computed:
    return Computed(f"{ours!r}", isclose(ours, published.value, rel_tol=TOLERANCE), reason)


def _wave_at_3(published: PublishedValue) -> Computed:
    fn = jax.grad(wave) if published.computed == "slope" else wave
    return _compare(published, float(fn(jnp.float32(3))), "Computed again by JAX, in 32 bits.")


def _jax_sum(published: PublishedValue) -> Computed:
    former, current = _sum_of_draws(False), _sum_of_draws(True)
    reason = (
        f"{former:.7f} with jax_threefry_partitionable=False, the default before JAX 0.5; today's "
        f"default gives {current:.7f}."
    )
    return _compare(published, former, reason)


def _sum_of_draws(partitionable: bool) -> float:
    with jax.threefry_partitionable(partitionable):
        _, first, second = jax.random.split(jax.random.key(0), 3)
        return float(jax.random.uniform(first) + 2 * jax.random.uniform(second))


def _numpy_sum(published: PublishedValue) -> Computed:
    first, second = np.random.RandomState(0).uniform(size=2)
    ours = first + 2 * second if published.computed == "bar first" else 2 * first + second
    return _compare(published, float(ours), "Drawn again by NumPy's old generator, from seed 0.")


def _optimum(published: PublishedValue) -> Computed:
    slope, offset = calibration.least_squares(*calibration.sensors())
    ours = slope if published.computed.endswith("slope") else offset
    reason = f"on our own data, drawn to resemble them, it is {ours:.4f}."
    return Computed(f"{ours:.4f}", False, reason)


def _parameters(_: PublishedValue) -> Computed:
    same, valid = count_parameters(_SAME), count_parameters(_VALID)
    return Computed(
        f"{same:,} parameters",
        same == _PUBLISHED_PARAMETERS != valid,
        f"with Flax's default padding it has {same:,} parameters, as its log says, and PyTorch's has "
        f"{valid:,}.",
    )


#: The computations, by the name that a published value gives.
COMPUTATIONS: Mapping[str, Callable[[PublishedValue], Computed]] = MappingProxyType(
    {
        "value": _wave_at_3,
        "slope": _wave_at_3,
        "draw": _jax_sum,
        "bar first": _numpy_sum,
        "baz first": _numpy_sum,
        "least error, slope": _optimum,
        "least error, offset": _optimum,
        "parameters": _parameters,
    }
)
