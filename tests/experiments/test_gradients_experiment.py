"""The gradients experiment prepares what it says, and all its variants agree."""

from __future__ import annotations

import jax
import numpy as np
import pytest
from libraries import needs_torch

from jaxcap.experiments import gradients
from jaxcap.experiments.gradients import GRADIENTS, prepare

OURS = {gradients.OP_BY_OP, gradients.INNER_JIT, gradients.JIT}
THEIRS = {gradients.LOOP, gradients.BACKWARD, gradients.FUNC}


@needs_torch
def test_all_variants_agree() -> None:
    variants = prepare(points=1000, device="cpu")
    results = {name: np.asarray(call()) for name, call in variants.items()}
    assert set(results) == OURS | THEIRS
    x = np.linspace(0, 10 * np.pi, 1000, dtype=np.float32).astype(float)
    expected = 0.2 + np.cos(x) - 2 * np.sin(2 * x)
    for name, slopes in results.items():
        assert slopes.dtype == np.float32
        np.testing.assert_allclose(slopes, expected, rtol=0, atol=3e-6, err_msg=name)


@needs_torch
def test_results_are_of_the_library_that_the_name_says() -> None:
    import torch

    kinds = {name: type(call()) for name, call in prepare(points=3, device="cpu").items()}
    for name in OURS:
        assert issubclass(kinds[name], jax.Array)
    assert {kinds[name] for name in THEIRS} == {torch.Tensor}


@needs_torch
def test_many_points_are_not_looped_over() -> None:
    assert set(prepare(points=1001, device="cpu")) == OURS | THEIRS - {gradients.LOOP}


@needs_torch
def test_pytorch_without_a_gpu_is_left_out_there(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(jax, "devices", lambda _: jax.local_devices(backend="cpu"))
    monkeypatch.setattr("torch.cuda.is_available", lambda: False)
    assert set(prepare(points=10, device="gpu")) == OURS


def test_points_are_a_thousand_and_more() -> None:
    for points in (GRADIENTS.quick, GRADIENTS.full):
        assert 1000 in {point["points"] for point in points}
    assert {point["device"] for point in GRADIENTS.quick} == {"cpu"}
    assert {point["device"] for point in GRADIENTS.full} == {"gpu", "cpu"}
