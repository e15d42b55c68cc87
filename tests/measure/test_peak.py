"""A call that fills an array of known size makes the peak of its process grow by that."""

from __future__ import annotations

from functools import partial

import jax
import jax.numpy as jnp
import pytest

from jaxcap.experiments.memory import CHECKPOINTS, EVERYTHING
from jaxcap.measure import fresh, peak
from jaxcap.measure.experiment import Experiment
from jaxcap.measure.sampling import Variants

MB = 1_000_000


def prepare(megabytes: int) -> Variants:
    """Prepare an array of ones."""
    ones = jax.jit(lambda x: jnp.ones(megabytes * MB // 4) * x)
    return {"ones": partial(ones, jnp.float32(1))}


ONES = Experiment(name="ones", prepare=prepare, quick=[{"megabytes": 100}])


def test_peak_grows_by_the_result() -> None:
    analysed, seen = peak.growth_in_fresh_process(ONES, "ones", megabytes=100)
    assert analysed == pytest.approx(100 * MB, rel=1e-3)
    if seen is not None:  # as it is on some systems
        assert 99 * MB <= seen < 150 * MB  # pages may have been there before


def test_keywords_of_a_call_count() -> None:
    scaled = jax.jit(lambda x, *, factor: jnp.ones(MB // 4) * x * factor)
    call = partial(scaled, jnp.float32(1), factor=jnp.float32(2))
    assert peak.growth(call).analysed_bytes == pytest.approx(MB, rel=1e-2)


def test_peak_of_a_large_call_hides_that_of_a_small_one() -> None:
    large, small = (prepare(size)["ones"] for size in (100, 20))
    assert isinstance(large, partial)
    assert isinstance(small, partial)
    peak.growth(large)
    analysed, seen = peak.growth(small)
    assert analysed == pytest.approx(20 * MB, rel=1e-3)
    assert seen is None or seen < 10 * MB


def test_failure_of_the_process_is_an_error() -> None:
    with pytest.raises(fresh.FreshProcessError):
        peak.growth_in_fresh_process(CHECKPOINTS, EVERYTHING, layers=0)
