"""The awaiting experiment prepares what it says, at all of its points."""

from __future__ import annotations

import numpy as np

from jaxcap.experiments.awaiting import (
    AWAITED,
    COMPILED,
    OP_BY_OP,
    SCAN,
    STEP,
    VMAP,
    prepare,
)


def test_all_variants_return_all_values() -> None:
    values = {name: np.asarray(call()) for name, call in prepare(loops=7).items()}
    assert list(values) == [OP_BY_OP, COMPILED, AWAITED, STEP, SCAN, VMAP]
    assert {array.shape for array in values.values()} == {(7,)}
    for name in (COMPILED, AWAITED, STEP, SCAN):  # which use the same keys
        np.testing.assert_allclose(values[name], values[OP_BY_OP], rtol=1e-5)
