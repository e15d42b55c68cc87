"""What a device can do at most: the ceilings of its roofline."""

from __future__ import annotations

from jaxcap.experiment import Experiment, Points, grid
from jaxcap.roofline import CALL, DTYPES, TRANSFER, points, prepare

REDUCED = "bfloat16"


def _all(device: str, *others: str) -> Points:
    """List bandwidth, products in three and more dtypes, and the shortest call."""
    return [
        *points(device, (*DTYPES, REDUCED, *others)),
        *grid(limit=(CALL,), dtype=("float32",), size=(1,), device=(device,)),
    ]


#: Of the CPU, and of a GPU: there also with TF32, and 64 MiB on their way to it.
CEILINGS = Experiment(
    name="ceilings",
    title="What the device can do at most",
    prepare=prepare,
    quick=_all("cpu"),
    full=[
        *_all("gpu", "tf32"),
        *grid(limit=(TRANSFER,), dtype=("float32",), size=(2**26,), device=("gpu",)),
        *_all("cpu"),
    ],
)
