"""The derivative of ``wave`` by PyTorch, at many points: as a loop, and as one should.

A module of its own, because importing PyTorch takes longer than importing JAX. All functions take
and return a tensor of one dimension and of a floating-point dtype, which they keep.
"""

import torch
from torch import Tensor


def wave_torch(x: Tensor) -> Tensor:
    """Evaluate ``0.2 x + sin x + cos 2x``, as `jaxcap.kernels.elementwise.wave` does."""
    return 0.2 * x + torch.sin(x) + torch.cos(2 * x)


def slopes_by_backward(x: Tensor) -> Tensor:
    """Differentiate the sum over all points, backwards, in one go.

    No point has a part in another one's summand, so the gradient of the sum holds the slopes.
    """
    leaf = x.detach().requires_grad_()
    wave_torch(leaf).sum().backward()  # type: ignore[no-untyped-call]
    assert leaf.grad is not None
    return leaf.grad


def slopes_by_loop(x: Tensor) -> Tensor:
    """Differentiate at one point after another, in a loop in Python."""
    return torch.stack([slopes_by_backward(point) for point in x])


def slopes_by_func(x: Tensor) -> Tensor:
    """Differentiate and map with ``torch.func``, whose transformations are modelled on JAX's."""
    slopes: Tensor = torch.func.vmap(torch.func.grad(wave_torch))(x)
    return slopes
