"""What a device can do at most: the ceilings of its roofline."""

from __future__ import annotations

from jaxcap.experiment import Experiment, Points, grid
from jaxcap.roofline import CALL, DTYPES, TRANSFER, points, prepare

REDUCED = "bfloat16"

_OTHERS = (REDUCED, "tf32")


def _all(device: str, dtypes: tuple[str, ...]) -> Points:
    """List bandwidth, products, the shortest call, and 64 MiB from NumPy to the device."""
    return [
        *points(device, dtypes),
        *grid(limit=(CALL,), dtype=("float32",), size=(1,), device=(device,)),
        *grid(limit=(TRANSFER,), dtype=("float32",), size=(2**26,), device=(device,)),
    ]


#: Of the CPU, and of the GPU where there is one, there also in formats of fewer digits.
CEILINGS = Experiment(
    name="ceilings",
    prepare=prepare,
    quick=_all("cpu", (*DTYPES, REDUCED)),
    full=[*_all("gpu", (*DTYPES, *_OTHERS)), *_all("cpu", DTYPES)],
)
