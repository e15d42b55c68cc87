"""What was measured, in a form that can be kept, sent, selected from and compared.

Raw samples are stored and statistics derived from them, so that a better statistic can be applied
to old files. All times are seconds for one call.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import replace
from itertools import chain, compress, repeat
from math import exp, hypot, log
from operator import and_
from statistics import median
from typing import Annotated, Literal, NamedTuple, Self

from pydantic import (
    AfterValidator,
    Field,
    NonNegativeFloat,
    NonNegativeInt,
    PositiveFloat,
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

# A sample is disturbed if other work took more than this share of the CPU time, or if the machine
# computed this many times more slowly than at its best. Estimates are made without such samples
# where each process has enough others.
DISTURBED_SHARE = 0.05
SLOW = 1.35
MIN_UNDISTURBED = 3

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
Slowness = Annotated[float, Field(ge=1), AfterValidator(lambda ratio: round(ratio, 2))]
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
        Time of the first call: tracing and compilation included.
    calls_per_sample
        How many calls each sample averages over.
    samples_s
        Time of a call until its result was there, by sample.
    dispatch_s
        Time of a call until it returned, by sample.
    minor_faults
        Memory pages that the kernel had to map during a sample, all calls together. Empty where
        they were not counted.
    involuntary_switches
        How often the kernel took a core from a thread of the process during a sample, all calls
        together. Empty where that was not counted. It doesn't decide whether a sample is
        disturbed, because threads of one call also take cores from each other.
    other_work
        The share of the CPU time that other work took, stolen time included, in the stretch of
        time that each sample lies in (see `jaxcap.measure.machine.disturbance`). Empty where it
        was not measured.
    slowness
        How many times longer than at best a fixed piece of work took beside each sample, in this
        process (see `jaxcap.measure.machine.speed`). Empty where it was not measured.
    """

    first_call_s: Seconds
    calls_per_sample: PositiveInt
    samples_s: tuple[Seconds, ...] = Field(min_length=1)
    dispatch_s: tuple[Seconds, ...]
    minor_faults: tuple[NonNegativeInt, ...]
    involuntary_switches: tuple[NonNegativeInt, ...] = ()
    other_work: tuple[Share, ...] = ()
    slowness: tuple[Slowness, ...] = ()

    @model_validator(mode="after")
    def _same_length(self) -> Self:
        counted = self.minor_faults, self.involuntary_switches, self.other_work, self.slowness
        optional = filter(None, counted)
        lengths = {len(values) for values in (self.samples_s, self.dispatch_s, *optional)}
        if len(lengths) > 1:
            raise ValueError(
                "samples_s, dispatch_s, minor_faults, involuntary_switches, other_work and slowness "
                "differ in length"
            )
        return self

    @property
    def undisturbed(self) -> tuple[bool, ...]:
        """Whether nothing disturbed a sample, by sample. True where that is not known."""
        shares = self.other_work or repeat(0.0)
        slowness = self.slowness or repeat(1.0)
        return tuple(
            share <= DISTURBED_SHARE and slow <= SLOW
            for _, share, slow in zip(self.samples_s, shares, slowness, strict=False)
        )


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
    planned_processes
        How many processes were to measure: more than did if not all of them fitted into memory.
        None where that is not known.
    budget_s
        Seconds of sampling that each variant was given, in each process and at each point. None
        where that is not known.
    working_set_bytes
        Size of the arrays that go in and come out.
    flops
        Floating-point operations of one call, where XLA's cost analysis knows them.
    bytes_moved
        Memory traffic of one call in bytes, where XLA's cost analysis knows it.
    temporary_bytes
        Memory that a compiled call needs besides its inputs and results, where XLA says so.
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
    planned_processes: PositiveInt | None = None
    budget_s: PositiveFloat | None = Field(default=None, le=1e6)
    working_set_bytes: NonNegativeInt = Field(le=_MAX_NUMBER)
    flops: NonNegativeFloat | None = Field(default=None, le=_MAX_NUMBER)
    bytes_moved: NonNegativeFloat | None = Field(default=None, le=_MAX_NUMBER)
    temporary_bytes: NonNegativeInt | None = Field(default=None, le=_MAX_NUMBER)
    runs: tuple[ProcessSamples, ...] = Field(min_length=1)

    @field_validator("experiment")
    @classmethod
    def _is_not_a_path(cls, name: str) -> str:
        if "/" in name or "\\" in name:
            raise ValueError("the name must not contain a slash, because files are named after it")
        return name

    @property
    def key(self) -> tuple[Hashable, ...]:
        """What makes this result distinct from all others of its machine.

        Experiment, variant, parameters in alphabetical order, device and allocator.
        """
        parameters = tuple((n, identity(self.parameters[n])) for n in sorted(self.parameters))
        return self.experiment, self.variant, parameters, self.device, self.allocator

    @property
    def time(self) -> Estimate:
        """Time of a call until its result is there."""
        return self._estimate([run.samples_s for run in self.runs])

    @property
    def dispatch(self) -> Estimate:
        """Time until the call returns, which may be before its result is there."""
        return self._estimate([run.dispatch_s for run in self.runs])

    @property
    def first_call(self) -> Estimate:
        """Time of the first call, compilation included."""
        first_calls = [[run.first_call_s] for run in self.runs]
        return Estimate.from_runs(first_calls, unit="s", devices=(self.device,))

    @property
    def faults_per_call(self) -> float | None:
        """Minor page faults of a typical call, if they were counted."""
        counted = [run for run in self.runs if run.minor_faults]
        faults = [median(run.minor_faults) / run.calls_per_sample for run in counted]
        return median(faults) if faults else None

    @property
    def modes(self) -> dict[float, float]:
        """The share of the samples around each mode, by the mode's time in seconds, in all processes."""
        return modes(list(chain(*self._kept([run.samples_s for run in self.runs]))))

    def speedup(self, over: Result) -> Speedup:
        """How many times as fast as ``over`` this variant is, from rounds that both took part in.

        Raises
        ------
        ResultsError
            If the two did not take turns, because a ratio of separate measurements has no honest
            interval on a machine that drifts; or if the clock was too coarse for either.
        """
        if over.comparison != self.comparison or over._sample_counts != self._sample_counts:
            raise not_in_turns(self.variant, over.variant)
        if min(min(run.samples_s) for run in self.runs) == 0:
            raise _too_short_for_the_clock(self.variant)
        runs = list(zip(over.runs, self.runs, strict=True))
        ratios = [
            [slow / fast for slow, fast in zip(a.samples_s, b.samples_s, strict=True)]
            for a, b in runs
        ]
        undisturbed = [list(map(and_, a.undisturbed, b.undisturbed)) for a, b in runs]
        speedup = Speedup.from_runs(
            without_disturbed(ratios, undisturbed),
            devices=tuple(dict.fromkeys((self.device, over.device))),
        )
        if speedup.low == 0:  # single zeros of `over` don't reach the interval
            raise _too_short_for_the_clock(over.variant)
        return speedup

    def pays_off_after(self, over: Result) -> Estimate | None:
        """After how many calls this variant, compilation included, is ahead of a warm ``over``.

        The ``n`` at which ``first + (n - 1) later = n other``, where ``first`` and ``later`` are
        this variant's times and ``other`` is that of later calls of ``over``.

        The closer the speed-up is to 1, the more calls a small change of it makes. So the interval is
        put together from that of the first call and that of the speed-up.

        Returns
        -------
        Estimate or None
            None if the verdict on the speed-up is not ``"faster"``, or one process disagrees: then
            the variant may never be ahead.

        Raises
        ------
        ResultsError
            As `speedup` does.

        References
        ----------
        R. G. Newcombe, "Propagating imprecision: combining confidence intervals from independent
        sources", Communications in Statistics - Theory and Methods 40 (2011), 3154-3180.
        """
        speedup = self.speedup(over)
        if speedup.verdict != "faster" or min(speedup.medians) <= 1:
            return None
        firsts = [
            run.first_call_s / later
            for run, later in zip(self.runs, self.time.medians, strict=True)
        ]
        first = Estimate.from_runs([[in_calls] for in_calls in firsts])
        calls = _calls_until_ahead(first.value, speedup.value)
        fewer = (
            _calls_until_ahead(first.low, speedup.value),
            _calls_until_ahead(first.value, speedup.high),
        )
        more = (
            _calls_until_ahead(first.high, speedup.value),
            _calls_until_ahead(first.value, speedup.low),
        )
        return replace(
            first,
            value=calls,
            low=max(calls / exp(hypot(*(log(calls / end) for end in fewer))), 1.0),
            high=calls * exp(hypot(*(log(end / calls) for end in more))),
            confidence=min(first.confidence, speedup.confidence),
            devices=speedup.devices,
            medians=tuple(map(_calls_until_ahead, firsts, speedup.medians)),
        )

    def __repr__(self) -> str:
        parameters = ", ".join(f"{name}={value}" for name, value in self.parameters.items())
        return f"<{self.variant}{parameters and f' ({parameters})'} on {self.device}: {self.time}>"

    __str__ = __repr__

    def _estimate(self, times_s: Sequence[Sequence[float]]) -> Estimate:
        return Estimate.from_runs(self._kept(times_s), unit="s", devices=(self.device,))

    @property
    def disturbed_share(self) -> float:
        """The share of the samples that are disturbed, from 0 to 1."""
        undisturbed = [flag for run in self.runs for flag in run.undisturbed]
        return 1 - sum(undisturbed) / len(undisturbed)

    @property
    def leaves_disturbed_out(self) -> bool:
        """Whether each process has enough undisturbed samples to do without the others."""
        return all(sum(run.undisturbed) >= MIN_UNDISTURBED for run in self.runs)

    def _kept(self, runs: Sequence[Sequence[float]]) -> Sequence[Sequence[float]]:
        """Select the samples of each process that estimates are made of."""
        return without_disturbed(runs, [run.undisturbed for run in self.runs])

    @property
    def _sample_counts(self) -> list[int]:
        return [len(run.samples_s) for run in self.runs]


def _calls_until_ahead(first: float, speedup: float) -> float:
    """Return after how many calls a first call is earned back that takes as long as ``first`` others."""
    return max((first - 1) / (speedup - 1), 1.0)


def without_disturbed(
    runs: Sequence[Sequence[float]], undisturbed: Sequence[Sequence[bool]]
) -> Sequence[Sequence[float]]:
    """Leave the disturbed samples of each process out, if all processes have enough others."""
    kept = list(map(list, map(compress, runs, undisturbed)))
    return kept if min(map(len, kept)) >= MIN_UNDISTURBED else runs


def identity(parameter: Hashable) -> Hashable:
    """Return what equal parameters share: for Python, ``True`` equals 1."""
    return isinstance(parameter, bool), parameter


def _too_short_for_the_clock(variant: str) -> ResultsError:
    return ResultsError(
        f"a sample of {variant!r} was too short for this machine's clock: measure a larger input"
    )


def not_in_turns(variant: str, over: str) -> ResultsError:
    """Explain why two variants cannot be compared."""
    return ResultsError(
        f"{variant!r} and {over!r} were not measured in the same rounds: pass both to one call of "
        "jaxcap.measure.timing.compare"
    )
