"""What a step costs by the number of arrays that hold its parameters."""

from __future__ import annotations

from functools import partial

import jax
import numpy as np

from jaxcap.kernels.pytrees import descend, nested, parts
from jaxcap.measure.experiment import Experiment, grid
from jaxcap.measure.sampling import Variants

LIST, DICT, ARRAY = "list", "nested dict", "one array"
LEAVES = (1, 10, 100, 1000)


def prepare(leaves: int, numbers: int) -> Variants:
    """Prepare a step for ``numbers`` random float32 parameters in ``leaves`` equal parts.

    The one array stays whole, whatever ``leaves`` is.
    """
    both = np.random.default_rng(0).standard_normal((2, numbers), dtype=np.float32)
    lists = [parts(array, leaves) for array in both]
    step = jax.jit(descend)
    return {
        LIST: partial(step, *lists),
        DICT: partial(step, *map(nested, lists)),
        ARRAY: partial(step, *jax.device_put(list(both))),
    }


#: A call looks at each leaf, and so does the compiled program.
PYTREES = Experiment(
    name="pytrees",
    title="The same parameters in few arrays and in many",
    prepare=prepare,
    quick=grid(leaves=LEAVES, numbers=(100_000,)),
    full=grid(leaves=LEAVES, numbers=(10_000_000,)),
    empty_caches=False,  # another structure is another program
)
