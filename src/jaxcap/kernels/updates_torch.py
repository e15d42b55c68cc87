"""Changed elements and sums by group by PyTorch.

This is a module of its own because importing PyTorch takes long. All functions take tensors of one
dimension: numbers of a floating-point dtype, which is kept, and indices.
"""

from torch import Tensor


def change_in_place(x: Tensor, i: Tensor, value: Tensor) -> Tensor:
    """Put values at indices of ``x``, and return ``x``."""
    return x.index_put_((i,), value)


def sums_by_index_add(values: Tensor, groups: Tensor, count: int) -> Tensor:
    """Compute the same as `jaxcap.kernels.updates.sums_by_scatter`."""
    return values.new_zeros(count).index_add_(0, groups, values)
