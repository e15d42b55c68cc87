"""The convolution experiment prepares the same gradient in four ways."""

from __future__ import annotations

import numpy as np

from jaxcap.experiments.convolution import AT_ONCE, IN_A_LOOP, PARTS, PATCHES, XLA, prepare

PLACES = (AT_ONCE, IN_A_LOOP)


def test_all_variants_agree() -> None:
    gradients = {name: np.asarray(call()) for name, call in prepare(images=4).items()}
    assert list(gradients) == [f"{way}, {place}" for way in (XLA, PATCHES) for place in PLACES]
    expected = gradients[f"{XLA}, {AT_ONCE}"]
    assert expected.shape == (3, 3, 32, 64)
    for way in (XLA, PATCHES):
        parts = gradients[f"{way}, {IN_A_LOOP}"]
        assert len(parts) == PARTS
        for gradient in (gradients[f"{way}, {AT_ONCE}"], parts.sum(axis=0)):
            np.testing.assert_allclose(gradient, expected, rtol=1e-4)
