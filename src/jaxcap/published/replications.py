"""Our measurements of the work behind a published value, and the limits of the published device."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from jaxcap.experiments.jit import JIT
from jaxcap.experiments.linear_algebra import LINEAR_ALGEBRA, least_cost
from jaxcap.published.values import FIRST_COUNTED, NOT_AWAITED, PublishedValue, load
from jaxcap.results import Cost, Device, Result
from jaxcap.results.ceilings import Ceilings
from jaxcap.results.recordings import Recording
from jaxcap.results.statistics import Estimate

#: What a published device can do at most. The RTX 3060 Ti has 4864 cores, each of which does two
#: operations in a cycle at 1.665 GHz, 1/64 as many in float64, and, in its faster variant, 608 GB/s:
#: https://www.nvidia.com/en-us/geforce/graphics-cards/30-series/rtx-3060-3060ti/ and, for float64,
#: https://www.nvidia.com/content/PDF/nvidia-ampere-ga-102-gpu-architecture-whitepaper-v2.1.pdf.
CEILINGS: Mapping[str, Ceilings] = {
    "RTX 3060 Ti": Ceilings(
        device=Device(platform="gpu", name="RTX 3060 Ti"),
        bytes_per_s=608e9,
        flops_per_s={"float32": 4864 * 2 * 1.665e9, "float64": 4864 * 2 * 1.665e9 / 64},
    )
}


@dataclass(frozen=True)
class Replication:
    """Our measurement of the work behind a published value, on one device.

    Attributes
    ----------
    device
        The device.
    correct_time
        Time of a call without the document's mistakes.
    mistaken_time
        Time of a call with the document's mistakes; the same if it made none.
    reference_ratios
        For each of the value's references that this device has measured, the published time over ours.
    """

    device: Device
    correct_time: Estimate
    mistaken_time: Estimate
    reference_ratios: Sequence[float]


def find_replications(
    published: PublishedValue, recordings: Sequence[Recording]
) -> list[Replication]:
    """Find our measurement of a published value on each device, in the first recording that has one."""
    replications: dict[Device, Replication] = {}
    for recording in recordings:
        repeated = _find_result(published, published.variant, recording)
        corrected_variant = published.corrected_variant or published.variant
        corrected = _find_result(published, corrected_variant, recording)
        if not (repeated and corrected) or repeated.device in replications:
            continue
        device, mistaken_time = repeated.device, _time_with_mistakes(published, repeated)
        if min(corrected.time.low, mistaken_time.low) > 0:  # a coarse clock shows zeros
            # Another machine may have a device of the same name.
            ratios = _reference_ratios(published, device, [recording, *recordings])
            replications[device] = Replication(device, corrected.time, mistaken_time, ratios)
    return list(replications.values())


def _find_result(published: PublishedValue, variant: str, recording: Recording) -> Result | None:
    for result in recording.sets.get(published.experiment, ()):
        if (
            result.variant == variant
            and result.device.platform == published.platform
            and published.parameters.items() <= result.parameters.items()
        ):
            return result
    return None


def _time_with_mistakes(published: PublishedValue, result: Result) -> Estimate:
    later = result.dispatch if NOT_AWAITED in published.mistakes else result.time
    if FIRST_COUNTED not in published.mistakes:
        return later
    first, calls = result.first_call, published.calls
    means = {
        name: (getattr(first, name) + (calls - 1) * getattr(later, name)) / calls
        for name in ("value", "low", "high")
    }
    return replace(first, **means, medians=())  # which are those of the first calls alone


def _reference_ratios(
    published: PublishedValue, device: Device, recordings: Sequence[Recording]
) -> list[float]:
    """Divide the published times of the references by ours, both with the same mistakes."""
    return [
        reference.time_s / replication.mistaken_time.value
        for reference in map(load().__getitem__, published.reference_numbers)
        for replication in find_replications(reference, recordings)
        if reference.time_s is not None and replication.device == device
    ]


def least_time_s(published: PublishedValue) -> float | None:
    """Least seconds that a call takes on the published device, or None without its data sheet."""
    ceilings = CEILINGS.get(published.device)
    if ceilings and published.experiment == LINEAR_ALGEBRA.name:
        task, size = str(published.parameters["task"]), int(published.parameters["size"])
        return ceilings.least_time_s(least_cost(task, size), "float64")
    if ceilings and published.experiment == JIT.name:
        bytes_moved = 2 * 4 * int(published.parameters["size"])  # in and out, in float32
        return ceilings.least_time_s(Cost(0, bytes_moved), "float32")
    return None
