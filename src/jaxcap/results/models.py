"""What was measured, in a form that can be kept, sent, selected from and compared.

Raw samples are stored and statistics derived from them, so that a better statistic can be applied
to old files. All times are seconds for one call.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from statistics import median
from typing import Annotated, Literal, NamedTuple, Self

from pydantic import (
    AfterValidator,
    Field,
    NonNegativeFloat,
    NonNegativeInt,
    PositiveInt,
    StrictBool,
    StrictFloat,
    StrictInt,
    field_validator,
    model_validator,
)
from typing_extensions import TypeAliasType

from jaxcap.results.base import FrozenModel, PrintableText
from jaxcap.results.environment import Device
from jaxcap.results.statistics import Estimate, Speedup, modes

# A sample is disturbed if other work took more than this share of the machine's CPU time. Estimates
# are made without such samples where each process has enough others.
DISTURBED_SHARE = 0.05
MIN_UNDISTURBED = 6

# Plots could not show larger numbers.
_MAX_NUMBER = 10**20
#: A setting that a variant ran with.
Parameter = TypeAliasType(
    "Parameter",
    StrictBool
    | Annotated[StrictInt, Field(ge=-_MAX_NUMBER, le=_MAX_NUMBER)]
    | Annotated[StrictFloat, Field(ge=-_MAX_NUMBER, le=_MAX_NUMBER)]
    | PrintableText,
)
Allocator = Literal["steady", "default"]


class ResultsError(ValueError):
    """A result file or a selection that cannot be used, and what to do about it."""


Share = Annotated[float, Field(ge=0, le=1), AfterValidator(lambda share: round(share, 2))]
# A longer time was not given in seconds. No clock gives more than six digits, and files become half
# as large.
Seconds = Annotated[
    NonNegativeFloat, Field(le=1e6), AfterValidator(lambda seconds: float(f"{seconds:.6g}"))
]


class Cost(NamedTuple):
    """What one call of a compiled function does, as XLA counts it.

    Attributes
    ----------
    flops
        Floating-point operations.
    bytes_moved
        Memory traffic.
    """

    flops: float
    bytes_moved: float


class ProcessSamples(FrozenModel):
    """What one process measured of one variant. Its tuples have the same length or are empty.

    Attributes
    ----------
    first_call_s
        Time of the very first call: tracing and compilation included.
    calls_per_sample
        How many calls each sample averages over.
    samples_s
        Time of a call until its result was there, by sample.
    dispatch_s
        Time of a call until it returned, by sample.
    minor_faults
        Memory pages that the kernel had to map during a sample, all calls together. Empty where
        they were not counted.
    other_work
        The share of the machine's CPU time that other work took, stolen time included, in the
        stretch of time that each sample lies in. Empty where it was not measured.
    """

    first_call_s: Seconds
    calls_per_sample: PositiveInt
    samples_s: tuple[Seconds, ...] = Field(min_length=1)
    dispatch_s: tuple[Seconds, ...]
    minor_faults: tuple[NonNegativeInt, ...]
    other_work: tuple[Share, ...] = ()

    @model_validator(mode="after")
    def _same_length(self) -> Self:
        optional = [values for values in (self.minor_faults, self.other_work) if values]
        lengths = {len(values) for values in (self.samples_s, self.dispatch_s, *optional)}
        if len(lengths) > 1:
            raise ValueError("samples_s, dispatch_s, minor_faults and other_work differ in length")
        return self

    @property
    def undisturbed(self) -> tuple[bool, ...]:
        """Whether other work left each sample alone. True where that is not known."""
        if not self.other_work:
            return (True,) * len(self.samples_s)
        return tuple(share <= DISTURBED_SHARE for share in self.other_work)


class Result(FrozenModel):
    """One variant of an experiment, measured with one set of parameters.

    Attributes
    ----------
    experiment
        The name of the question.
    variant
        The name of the implementation, which is compared with others.
    parameters
        Settings that the variant ran with, such as ``{"size": 1000}``.
    device
        The device that held the results of the call.
    comparison
        Identifies the comparison in which this result was measured. Only results of the same
        comparison took turns: sample ``i`` of each was taken in the same round.
    code
        Digest of the code that the experiment imports from jaxcap. With another digest it is
        another experiment. None where the code was not an experiment's.
    allocator
        ``"steady"`` if the process kept the memory that it freed, ``"default"`` if malloc decided.
    working_set_bytes
        Size of the arrays that go in and come out.
    flops
        Floating-point operations of one call, where XLA's cost analysis knows them.
    bytes_moved
        Memory traffic of one call in bytes, where XLA's cost analysis knows it.
    runs
        The samples of each process.
    """

    experiment: PrintableText
    variant: PrintableText
    parameters: dict[PrintableText, Parameter]
    device: Device
    comparison: PrintableText
    code: PrintableText | None = None
    allocator: Allocator
    working_set_bytes: NonNegativeInt = Field(le=_MAX_NUMBER)
    flops: NonNegativeFloat | None = Field(default=None, le=_MAX_NUMBER)
    bytes_moved: NonNegativeFloat | None = Field(default=None, le=_MAX_NUMBER)
    runs: tuple[ProcessSamples, ...] = Field(min_length=1)

    @field_validator("experiment")
    @classmethod
    def _is_not_a_path(cls, name: str) -> str:
        if "/" in name or "\\" in name:
            raise ValueError("files are named after experiments, so the name must have no slash")
        return name

    @property
    def key(self) -> tuple[Hashable, ...]:
        """What makes this result distinct from all others of its machine.

        Experiment, variant, parameters in alphabetical order, device and allocator.
        """
        parameters = tuple(sorted(self.parameters.items()))
        return self.experiment, self.variant, parameters, self.device, self.allocator

    @property
    def time(self) -> Estimate:
        """Time of a call until its result is there."""
        return self._estimate([self._kept(run, run.samples_s) for run in self.runs])

    @property
    def dispatch(self) -> Estimate:
        """Time until the call returns, which may be before its result is there."""
        return self._estimate([self._kept(run, run.dispatch_s) for run in self.runs])

    @property
    def first_call(self) -> Estimate:
        """Time of the first call, compilation included."""
        return self._estimate([[run.first_call_s] for run in self.runs])

    @property
    def faults_per_call(self) -> float | None:
        """Minor page faults of a typical call, if they were counted."""
        counted = [run for run in self.runs if run.minor_faults]
        faults = [median(run.minor_faults) / run.calls_per_sample for run in counted]
        return median(faults) if faults else None

    @property
    def modes(self) -> dict[float, float]:
        """The share of samples by the time in seconds that they lie around, in all processes."""
        return modes([sample for run in self.runs for sample in self._kept(run, run.samples_s)])

    def speedup(self, over: Result) -> Speedup:
        """How many times as fast as ``over`` this variant is, from rounds that both took part in.

        Raises
        ------
        ResultsError
            If the two did not take turns, because a ratio of separate measurements has no honest
            interval on a machine that drifts; or if the clock was too coarse for this variant.
        """
        if over.comparison != self.comparison or over._sample_counts != self._sample_counts:
            raise not_in_turns(self.variant, over.variant)
        if min(min(run.samples_s) for run in self.runs) == 0:
            raise ResultsError(
                f"a sample of {self.variant!r} took no time by this machine's clock: "
                "measure a larger input"
            )
        ratios = [
            self._kept(
                b, [slow / fast for slow, fast in zip(a.samples_s, b.samples_s, strict=True)]
            )
            for a, b in zip(over.runs, self.runs, strict=True)
        ]
        return Speedup.from_runs(ratios, devices=tuple(dict.fromkeys((self.device, over.device))))

    def pays_off_after(self, over: Result) -> Estimate | None:
        """After how many calls this variant, compilation included, is ahead of a warm ``over``.

        The ``n`` at which ``first + (n - 1) later = n other``, where ``first`` and ``later`` are
        this variant's times and ``other`` is that of later calls of ``over``.

        Returns
        -------
        Estimate or None
            None if the verdict on the speed-up is not ``"faster"``, or one process disagrees.

        Raises
        ------
        ResultsError
            As `speedup` does.
        """
        speedup = self.speedup(over)
        if speedup.verdict != "faster":
            return None
        calls = []
        for ours, theirs in zip(self.runs, over.runs, strict=True):
            later = median(self._kept(ours, ours.samples_s))
            saving = median(self._kept(ours, theirs.samples_s)) - later
            if saving <= 0:
                return None
            calls.append([max((ours.first_call_s - later) / saving, 1.0)])
        return Estimate.from_runs(calls, devices=speedup.devices)

    def __repr__(self) -> str:
        parameters = ", ".join(f"{name}={value}" for name, value in self.parameters.items())
        return f"<{self.variant}{parameters and f' ({parameters})'} on {self.device}: {self.time}>"

    __str__ = __repr__

    def _estimate(self, times_s: Sequence[Sequence[float]]) -> Estimate:
        return Estimate.from_runs(times_s, unit="s", devices=(self.device,))

    @property
    def disturbed_share(self) -> float:
        """The share of the samples that other work disturbed, from 0 to 1."""
        undisturbed = [flag for run in self.runs for flag in run.undisturbed]
        return 1 - sum(undisturbed) / len(undisturbed)

    @property
    def leaves_disturbed_out(self) -> bool:
        """Whether each process has enough undisturbed samples to do without the others."""
        return all(sum(run.undisturbed) >= MIN_UNDISTURBED for run in self.runs)

    def _kept(self, run: ProcessSamples, samples: Sequence[float]) -> Sequence[float]:
        """Select the samples that estimates are made of."""
        if not self.leaves_disturbed_out:
            return samples
        pairs = zip(samples, run.undisturbed, strict=True)
        return [sample for sample, undisturbed in pairs if undisturbed]

    @property
    def _sample_counts(self) -> list[int]:
        return [len(run.samples_s) for run in self.runs]


def not_in_turns(variant: str, over: str) -> ResultsError:
    """Explain why two variants cannot be compared."""
    return ResultsError(
        f"{variant!r} and {over!r} were not measured in the same rounds: pass both to one call of "
        "jaxcap.measure.timing.compare"
    )
