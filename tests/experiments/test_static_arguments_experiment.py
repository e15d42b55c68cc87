"""The loops experiment prepares what it says, and calls are timed in their order."""

from __future__ import annotations

import numpy as np
import pytest

from jaxcap.experiments.static_arguments import (
    EXACT,
    MEANS,
    PADDED,
    ROLLED,
    UNROLLED,
    prepare,
)


@pytest.mark.parametrize("steps", [1, 10])
def test_both_loops_agree(steps: int) -> None:
    unrolled, rolled = (np.asarray(prepare(steps=steps)[name]()) for name in (UNROLLED, ROLLED))
    assert unrolled.shape == rolled.shape == (1000,)
    np.testing.assert_allclose(rolled, unrolled, rtol=0, atol=(steps + 1) * 2e-7)


def test_padding_keeps_the_means() -> None:
    exact, padded = (np.array(prepare(5, of=MEANS)[name]()) for name in (EXACT, PADDED))
    assert exact.shape == padded.shape == (5,)
    np.testing.assert_allclose(padded, exact, rtol=0, atol=1e-5)
