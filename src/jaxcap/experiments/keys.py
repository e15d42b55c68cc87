"""What random keys cost: split by hand or drawn from a stream, one by one or all at once."""

from __future__ import annotations

from functools import partial

import jax

from jaxcap.kernels.keys import next_each, split_each
from jaxcap.measure.experiment import Experiment, grid
from jaxcap.measure.sampling import Variants
from jaxcap.tools.prng import KeyStream

SPLIT_EACH, NEXT_EACH = "split one by one", "next(stream)"
SPLIT_BATCH, STREAM_BATCH = "split into all", "stream(n)"


def prepare(keys: int) -> Variants:
    """Prepare four ways to make ``keys`` fresh keys: two return a list, two an array of keys."""
    key, stream = jax.random.key(0), KeyStream(0)
    return {
        SPLIT_EACH: partial(split_each, key, keys),
        NEXT_EACH: partial(next_each, stream, keys),
        SPLIT_BATCH: partial(jax.random.split, key, keys),
        STREAM_BATCH: partial(stream, keys),
    }


KEYS = Experiment(
    name="keys",
    title="Random keys, one by one and at once",
    prepare=prepare,
    quick=grid(keys=(1, 100)),
    full=grid(keys=(1, 10, 100, 1000)),
)
