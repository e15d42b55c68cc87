"""Arrays of all three libraries are told apart and waited for."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from fakes import FakeClock, Late
from libraries import needs_torch

from jaxcap.measure.arrays import device_of_result, size_bytes, waiter
from jaxcap.measure.machine.description import cpu
from jaxcap.results import Device


@pytest.fixture
def clock() -> FakeClock:
    return FakeClock()


@pytest.fixture
def cuda_tensor(monkeypatch: pytest.MonkeyPatch, clock: FakeClock) -> SimpleNamespace:
    """A tensor on a GPU that needs a second to finish."""
    pytest.importorskip("torch", reason="needs PyTorch")
    monkeypatch.setattr("torch.cuda.synchronize", lambda: clock.advance(1.0))
    monkeypatch.setattr("torch.cuda.get_device_name", lambda device: f"Test GPU at {device}")
    return SimpleNamespace(is_cuda=True, device="cuda:0", nbytes=40)


@pytest.mark.parametrize(
    ("tree", "expected"),
    [
        (np.zeros((3, 5)), 120),
        (jnp.zeros((3, 5)), 60),
        ({"a": np.zeros(2), "b": [jnp.zeros(3)]}, 16 + 12),
        ((1.0, "text", None), 0),
    ],
)
def test_size_counts_the_arrays_of_a_tree(tree: Any, expected: int) -> None:
    assert size_bytes(tree) == expected


@needs_torch
def test_tensors_on_the_cpu_are_counted_and_ready() -> None:
    import torch

    tensor = torch.zeros((3, 5))
    assert size_bytes(tensor) == 60
    assert size_bytes({"a": np.zeros(2), "b": [jnp.zeros(3), tensor]}) == 16 + 12 + 60
    assert device_of_result(tensor) == cpu()
    assert waiter(tensor) is None


@pytest.mark.parametrize("result", [np.zeros(3), jnp.zeros(3), [jnp.ones(1)], 2.0])
def test_results_on_the_cpu_are_located_there(result: Any) -> None:
    assert device_of_result(result) == cpu()


def test_tensors_on_a_gpu_are_located_there(cuda_tensor: SimpleNamespace) -> None:
    assert device_of_result([cuda_tensor]) == Device(platform="gpu", name="Test GPU at cuda:0")


@pytest.mark.parametrize("result", [np.zeros(3), (1, "text"), None])
def test_what_is_ready_is_not_waited_for(result: Any) -> None:
    assert waiter(result) is None


@pytest.mark.parametrize(
    "wrap", [lambda late: late, lambda late: {"a": [1, late]}], ids=["bare", "tree"]
)
def test_late_results_are_waited_for(wrap: Any, clock: FakeClock) -> None:
    result = wrap(Late(clock, 1.0))
    wait = waiter(result)
    assert wait is not None
    assert clock.now_s == 0  # to make a waiter is not to wait
    wait(result)
    assert clock.now_s == 1.0


@pytest.mark.parametrize("result", [jnp.zeros(3), (jnp.zeros(3), jnp.zeros(2))])
def test_jax_arrays_are_waited_for(result: Any) -> None:
    wait = waiter(result)
    assert wait is not None
    assert jax.tree.leaves(wait(result))[0] is jax.tree.leaves(result)[0]


def test_tensors_on_a_gpu_are_waited_for(cuda_tensor: SimpleNamespace, clock: FakeClock) -> None:
    wait = waiter({"a": cuda_tensor})
    assert wait is not None
    wait(None)
    assert clock.now_s == 1.0


def test_both_libraries_are_waited_for(cuda_tensor: SimpleNamespace, clock: FakeClock) -> None:
    result = (cuda_tensor, Late(clock, 10.0))
    wait = waiter(result)
    assert wait is not None
    wait(result)
    assert clock.now_s == 11.0
