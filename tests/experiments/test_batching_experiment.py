"""The batching experiment prepares what it says, and all its variants agree."""

from __future__ import annotations

import numpy as np

from jaxcap.experiments import batching
from jaxcap.experiments.batching import BATCHING, prepare

LOOPS = {batching.LOOP, batching.COMPILED_LOOP}
BATCHED = {batching.VMAP, batching.BY_HAND}


def test_all_variants_agree() -> None:
    variants = prepare(batch=100)
    assert set(variants) == LOOPS | BATCHED
    weights, features, labels = (
        np.asarray(a, float)
        for a in variants[batching.VMAP].args  # type: ignore[attr-defined]
    )
    scores = features @ weights
    expected = np.logaddexp(0, scores) - labels * scores
    assert set(labels) == {0, 1}
    for name, call in variants.items():
        losses = np.asarray(call())
        assert losses.dtype == np.float32
        np.testing.assert_allclose(losses, expected, rtol=1e-4, atol=1e-4, err_msg=name)


def test_gradients_agree_with_those_by_hand() -> None:
    variants = prepare(batch=100, of=batching.GRADIENTS)
    assert set(variants) == {
        batching.GRADIENT_LOOP,
        batching.GRADIENT_VMAP,
        batching.GRADIENT_BY_HAND,
    }
    expected = np.asarray(variants[batching.GRADIENT_BY_HAND]())
    assert expected.shape == (100, batching.FEATURES)
    for name, call in variants.items():
        np.testing.assert_allclose(np.asarray(call()), expected, atol=1e-5, err_msg=name)


def test_large_batches_are_not_looped_over() -> None:
    assert set(prepare(batch=1001)) == BATCHED


def test_points_reach_beyond_the_loops() -> None:
    for points in (BATCHING.quick, BATCHING.full):
        sizes = [point["batch"] for point in points if "of" not in point]
        assert sizes == sorted(sizes)
        assert sizes[0] == 1
        assert int(sizes[-1]) > batching.MAX_LOOPED
