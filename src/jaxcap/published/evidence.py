"""What we measured of the work behind a published figure, and what its own device could do."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from types import MappingProxyType

from jaxcap.experiments.jit import JIT
from jaxcap.experiments.linear_algebra import LINEAR_ALGEBRA, least_work
from jaxcap.published.values import FIRST_COUNTED, NOT_AWAITED, Published, load
from jaxcap.report.roofline import Ceilings
from jaxcap.results import Cost, Result
from jaxcap.results.environment import Device
from jaxcap.results.recordings import Recording
from jaxcap.results.statistics import Estimate

#: What a published device can do at most. The RTX 3060 Ti has 4864 cores, two operations of which
#: count in a cycle at 1.665 GHz, a 64th of that in float64, and, in its faster variant, 608 GB/s:
#: https://www.nvidia.com/en-us/geforce/graphics-cards/30-series/rtx-3060-3060ti/ and, for float64,
#: https://www.nvidia.com/content/PDF/nvidia-ampere-ga-102-gpu-architecture-whitepaper-v2.1.pdf.
CEILINGS: Mapping[str, Ceilings] = MappingProxyType(
    {
        "RTX 3060 Ti": Ceilings(
            device=Device(platform="gpu", name="RTX 3060 Ti"),
            bytes_per_s=608e9,
            flops_per_s={
                "float32": 4864 * 2 * 1.665e9,
                "float64": 4864 * 2 * 1.665e9 / 64,
            },
        )
    }
)


@dataclass(frozen=True)
class Evidence:
    """What we measured of the work behind a figure, on one device: times of a call.

    Attributes
    ----------
    device
        Where.
    right
        Measured well.
    as_done
        With the document's mistakes; the same if it made none.
    control
        How many times as long as here the figure's control took there, if both are known.
    """

    device: Device
    right: Estimate
    as_done: Estimate
    control: float | None


def evidence(figure: Published, recordings: Sequence[Recording]) -> list[Evidence]:
    """Find what was measured on each device; of a device that is there twice, the first."""
    found: dict[Device, Evidence] = {}
    for recording in recordings if figure.variant else ():
        done = _result(figure, figure.variant, recording)
        better = _result(figure, figure.instead or figure.variant, recording)
        if not (done and better) or done.device in found:
            continue
        as_done = _as_done(figure, done)
        right = as_done if figure.statistic else better.time
        if min(right.low, as_done.low) > 0:  # a coarse clock shows zeros
            control = _control(figure, done.device, recordings)
            found[done.device] = Evidence(done.device, right, as_done, control)
    return list(found.values())


def _result(figure: Published, variant: str, recording: Recording) -> Result | None:
    results = recording.sets.get(figure.experiment)
    wanted = figure.parameters.items()
    return next(
        (
            one
            for one in (results.results if results else ())
            if one.variant == variant
            and one.device.platform == figure.platform
            and wanted <= one.parameters.items()
        ),
        None,
    )


def _as_done(figure: Published, result: Result) -> Estimate:
    """Time of a call with the mistakes of the document."""
    if figure.statistic:
        return result.first_call
    later = result.dispatch if NOT_AWAITED in figure.mistakes else result.time
    if FIRST_COUNTED not in figure.mistakes:
        return later
    first, calls = result.first_call, figure.calls

    def mean(once: float, again: float) -> float:
        return (once + (calls - 1) * again) / calls

    return replace(
        first,
        value=mean(first.value, later.value),
        low=mean(first.low, later.low),
        high=mean(first.high, later.high),
    )


def _control(figure: Published, device: Device, recordings: Sequence[Recording]) -> float | None:
    """How many times as long as on this device the control took there, with the same mistakes."""
    control = load().get(figure.control)
    if control is None or control.time_s is None:
        return None
    found = (one for one in evidence(control, recordings) if one.device == device)
    return next((control.time_s / one.as_done.value for one in found), None)


def least_time_s(figure: Published) -> float | None:
    """Seconds that a call takes at least on the published device, if its data sheet is known."""
    ceilings = CEILINGS.get(figure.device)
    if ceilings and figure.experiment == LINEAR_ALGEBRA.name:
        task, size = str(figure.parameters["task"]), int(figure.parameters["size"])
        return ceilings.least_time_s(least_work(task, size), "float64")
    if ceilings and figure.experiment == JIT.name:
        moved = 2 * 4 * int(figure.parameters["size"])  # in and out, in float32
        return ceilings.least_time_s(Cost(0, moved), "float32")
    return None
