"""The experiment on checkpoints prepares gradients that agree and differ in what they remember."""

from __future__ import annotations

import jax
import numpy as np

from jaxcap.experiments.memory import EVERYTHING, INPUTS, PRODUCTS, WHOLE, losses, prepare
from jaxcap.kernels.memory import layer
from jaxcap.measure.compilation import compiled_call, temporary_bytes

POINT = {"layers": 8, "width": 16, "batch": 64}


def test_all_ways_compute_the_same_gradient() -> None:
    gradients = {name: call() for name, call in prepare(**POINT).items()}
    assert list(gradients) == [EVERYTHING, WHOLE, PRODUCTS, INPUTS] == list(losses())
    for name, gradient in gradients.items():
        shapes = [slope.shape for slope in gradient]
        assert shapes == [(8, 16, 64), (8, 64, 16)]
        for slope, expected in zip(gradient, gradients[EVERYTHING], strict=True):
            np.testing.assert_allclose(slope, expected, atol=1e-6, err_msg=name)


def test_layers_that_remember_less_need_less() -> None:
    sizes = {}
    for name, call in prepare(**POINT).items():
        compiled = compiled_call(call)
        assert compiled
        sizes[name] = temporary_bytes(compiled) or 0
    assert 0 < sizes[INPUTS] < sizes[PRODUCTS] < sizes[EVERYTHING]


def test_a_checkpointed_layer_remembers_its_arguments() -> None:
    x, weights = np.ones((5, 4), np.float32), (np.ones((4, 16)), np.ones((16, 4)))
    _, backwards = jax.vjp(jax.checkpoint(layer), x, weights)
    assert {leaf.shape for leaf in jax.tree.leaves(backwards)} == {(5, 4), (4, 16), (16, 4)}
