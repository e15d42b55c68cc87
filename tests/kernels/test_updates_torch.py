"""PyTorch's updates and sums by group against NumPy."""

from __future__ import annotations

import numpy as np
import pytest

pytest.importorskip("torch", reason="needs PyTorch")

import torch

from jaxcap.kernels.updates_torch import change_in_place, sums_by_index_add


def test_elements_are_changed_in_place() -> None:
    x = torch.arange(4.0)
    assert change_in_place(x, torch.tensor([3, 1]), torch.tensor([7.0, 8.0])) is x
    assert x.tolist() == [0, 8, 2, 7]


def test_sums_add_at_each_index() -> None:
    rng = np.random.default_rng(0)
    values = rng.standard_normal(500, dtype=np.float32)
    groups = rng.choice([0, 1, 3], size=500)  # none in group 2
    result = sums_by_index_add(torch.from_numpy(values), torch.from_numpy(groups), 4)
    assert result.dtype == torch.float32
    expected = [values[groups == group].sum(dtype=float) for group in range(4)]
    np.testing.assert_allclose(result, expected, rtol=0, atol=500 * 4 * 6e-8)
