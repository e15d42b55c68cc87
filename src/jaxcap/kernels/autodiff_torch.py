"""The derivative of ``wave`` at many points by PyTorch: in a loop, and in one call.

This is a module of its own because importing PyTorch takes long. All functions take and return a
tensor of one dimension and of a floating-point dtype, which they keep.
"""

import torch
from torch import Tensor

from jaxcap.kernels.elementwise import wave


def wave_torch(x: Tensor) -> Tensor:
    """Evaluate `jaxcap.kernels.elementwise.wave` by PyTorch."""
    result: Tensor = wave(x, torch)
    return result


def derivatives_by_backward(x: Tensor) -> Tensor:
    """Differentiate the sum over all points, in one backward pass.

    Each summand depends on one point only, so the gradient of the sum holds all derivatives.
    """
    leaf = x.detach().requires_grad_()
    wave_torch(leaf).sum().backward()  # type: ignore[no-untyped-call]
    assert leaf.grad is not None
    return leaf.grad


def derivatives_by_loop(x: Tensor) -> Tensor:
    """Differentiate at one point after another, in a Python loop."""
    return torch.stack([derivatives_by_backward(point) for point in x])


def derivatives_by_func(x: Tensor) -> Tensor:
    """Differentiate and map with ``torch.func``, whose transformations are modelled on JAX's."""
    derivatives: Tensor = torch.func.vmap(torch.func.grad(wave_torch))(x)
    return derivatives
