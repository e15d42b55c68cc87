"""Medians, their intervals and modes, and how to format them.

Timings are skewed, bounded below and sometimes have several modes. Inside a process, therefore,
only order statistics are used: nothing assumes a normal distribution, or that a mean exists. A
handful of processes is too few for that, and they are not independent samples: see
`prediction_interval`.

Only the functions that compute import NumPy and SciPy, which take longer to import than files of
results take to read.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import ceil, hypot, inf, isfinite, log10, pi, sqrt
from typing import ClassVar, Literal, Self

from jaxcap.results.environment import Device

CONFIDENCE = 0.95
# From one run to the next, the logarithms of numbers drift by these standard deviations, beyond what
# the processes of a run show, because the machine changes. Ratios of calls that took turns drift less,
# since most of what slows one side slows the other. With these, intervals of builds an hour apart
# held each other's numbers; the audit measures the drift within an hour.
DRIFT, DRIFT_OF_RATIOS = 0.05, 0.025

# Two groups of samples are called modes if each holds at least this share of all samples, their
# medians are this far apart, and the gap between them is this many times their typical deviation.
MODE_SHARE = 0.15
MODE_RATIO = 1.2
MODE_SEPARATION = 8.0
MODE_SAMPLES = 40  # chance would split up to a tenth of smaller sets

# No number is typical of processes whose medians differ by more than this factor.
DISAGREEMENT = 3.0

# Prose quotes a number only if the ends of its interval differ by at most this factor.
QUOTABLE_SPREAD = 3.0
# What is undecided is "about as fast" if its whole interval lies within this factor of 1.
NO_DIFFERENCE = 1.25

Verdict = Literal["faster", "slower", "undecided"]
Kind = Literal["median", "prediction"]

_UNITS_OF_TIME = {0: "s", -3: "ms", -6: "µs", -9: "ns"}  # by power of ten


@dataclass(frozen=True, slots=True)
class Estimate:
    """A measured number and how well it is known.

    Examples
    --------
    >>> time = Estimate.from_runs([[0.0011, 0.0012, 0.0013, 0.0012, 0.0014, 0.0012]], unit="s")
    >>> print(time)
    1.20 ms (95% interval 1.14 to 1.36, one process)
    >>> time.rate(1000, "images").short
    '830,000 images/s'

    Attributes
    ----------
    value
        The median.
    low
        Lower end of its interval, in the unit of ``value``.
    high
        Upper end of the interval.
    confidence
        The confidence that the interval reaches, between 0 and 1. It is below 0.95 where there
        are too few samples.
    unit
        ``"s"`` for a time, ``""`` for a ratio or a count, or another for a rate.
    basis
        What the interval is over, such as ``"6 processes"`` or ``"one process"``.
    kind
        What lies in the interval with that confidence: the ``"median"`` that repeats would
        approach, or what the next process will measure, a ``"prediction"``.
    devices
        Where the measured calls ran. Empty for a number that was not measured.
    medians
        What each process measured, in the unit of ``value``: its median. Empty for a number that
        was made of separate measurements.
    """

    value: float
    low: float
    high: float
    confidence: float
    unit: str
    basis: str
    kind: Kind = "median"
    devices: tuple[Device, ...] = ()
    medians: tuple[float, ...] = ()
    _drift: ClassVar[float] = DRIFT

    @classmethod
    def from_runs(
        cls, runs: Sequence[Sequence[float]], *, unit: str = "", devices: tuple[Device, ...] = ()
    ) -> Self:
        """Estimate a number from what each process measured of it.

        Parameters
        ----------
        runs
            At least one sample for each of one or more processes.
        unit
            Of the samples: ``"s"`` for times, ``""`` for ratios.
        devices
            Where the measured calls ran.

        Raises
        ------
        ValueError
            If the first process has no sample.

        Returns
        -------
        Estimate
            The median of the processes' medians, with their `prediction_interval`. For a single
            process, and where a coarse clock saw no time, it has a `median_interval`: of the
            samples in the former case, of the medians in the latter.
        """
        import numpy as np

        if not len(runs[0]):  # which may be an array
            raise ValueError("an estimate needs at least one sample, got none")
        medians = tuple(float(np.median(run)) for run in runs)
        numbers = runs[0] if len(runs) == 1 else medians
        basis = "one process" if len(runs) == 1 else f"{len(runs)} processes"
        kind: Kind = "prediction" if len(runs) > 1 and min(medians) > 0 else "median"
        low, high, confidence = (
            prediction_interval(medians, drift=cls._drift)
            if kind == "prediction"
            else median_interval(numbers)
        )
        value = float(np.median(numbers))
        return cls(value, low, high, confidence, unit, basis, kind, devices, medians)

    @property
    def short(self) -> str:
        """The value with its unit, in no more digits than the interval supports."""
        scale, unit = self._scale()
        return f"{_rounded(self.value / scale, self._places())} {unit}".rstrip()

    @property
    def range(self) -> str:
        """The interval, in the unit that `short` shows."""
        return self._as_range(self.low, self.high)

    @property
    def observed(self) -> tuple[float, float]:
        """The smallest and the largest of several ``medians``, else the ends of the interval."""
        if len(self.medians) > 1:
            return min(self.medians), max(self.medians)
        return self.low, self.high

    @property
    def is_typical(self) -> bool:
        """Whether no two ``medians`` differ by more than a factor of three."""
        return not self.medians or max(self.medians) <= DISAGREEMENT * min(self.medians)

    @property
    def spread(self) -> str:
        """The ends of `observed`, in the unit that `short` shows."""
        return self._as_range(*self.observed)

    @property
    def short_with_range(self) -> str:
        """Value and interval, such as ``"1.23 ms (1.20 to 1.27)"``."""
        return f"{self.short} ({self.range})"

    @property
    def words(self) -> str:
        """How a sentence quotes the number, such as ``"took 1.2 ms"``.

        If the ends of its interval differ by more than a factor of three, no single number can be
        relied on, and only the interval is quoted, as ``"somewhere from 1.2 to 9.0 ms"``.
        """
        return self._quotation(hedge="somewhere from ")

    def __str__(self) -> str:
        if not self.confidence:
            return f"{self.short} (a single sample, {self.basis})"
        return f"{self.short} ({self.confidence:.0%} interval {self.range}, {self.basis})"

    @property
    def interval_name(self) -> str:
        """What the interval is called, such as ``"95% confidence interval (one process)"``."""
        if not self.confidence:
            return f"range ({self.basis})"
        kind = "prediction" if self.kind == "prediction" else "confidence"
        return f"{self.confidence:.0%} {kind} interval ({self.basis})"

    def rate(self, amount: float, unit: str) -> Estimate:
        """Return the rate per second if this is the time for an amount; of no time, infinity."""
        return replace(self.ratio_of(amount), unit=f"{unit}/s")

    def ratio_of(self, numerator: float) -> Estimate:
        """Return the ratio of an exact number in the same unit to this; to zero, infinity."""
        value, low, high = (
            numerator / number if number else inf for number in (self.value, self.high, self.low)
        )
        medians = tuple(numerator / median if median else inf for median in self.medians)
        return replace(self, value=value, low=low, high=high, unit="", medians=medians)

    def _as_range(self, low: float, high: float, unit: str = "") -> str:
        """Return two numbers in the unit and with the decimal places of `short`, then ``unit``.

        A lower end that would round to 0 has its own unit and places, and the upper end its unit.
        """
        scale, own_unit = self._scale()
        places = self._range_places()
        start, end = (_rounded(number / scale, places) for number in (low, high))
        if low > 0 == round(low / scale, places):
            start = Estimate.from_runs([[low]], unit=self.unit).short
            unit = own_unit
        return f"{start} to {end} {unit}".rstrip()

    @property
    def is_settled(self) -> bool:
        """Whether a headline may quote it, as several processes agree within a narrow interval."""
        return self._is_quotable and self.kind == "prediction" and self.confidence >= CONFIDENCE

    @property
    def _is_quotable(self) -> bool:
        return self.high <= QUOTABLE_SPREAD * self.low

    def _quotation(self, *, hedge: str = "") -> str:
        if self._is_quotable:
            return self.short
        _, unit = self._scale()
        return f"{hedge}{self._as_range(self.low, self.high, unit)}"

    def _scale(self) -> tuple[float, str]:
        if self.unit != "s":
            return 1.0, self.unit
        magnitude = self._power_of_ten(round(self.value, -self._last_digit()))
        power = next((power for power in _UNITS_OF_TIME if magnitude >= power), -9)
        return 10.0**power, _UNITS_OF_TIME[power]

    def _last_digit(self) -> int:
        """Find the power of ten of the last digit that the interval supports.

        Its unit is at most a third of the interval, so that rounding moves the value by at most a
        sixth of it. But no more than four digits are shown, at least two, and two of a single sample.
        """
        first = self._power_of_ten(self.value)
        width = self.high - self.low
        if isfinite(width) and width > 0:
            return min(max(self._power_of_ten(width / 3), first - 3), first - 1)
        return first - (3 if self.confidence and isfinite(width) else 1)

    def _power_of_ten(self, number: float) -> int:
        """Find the power of ten of the first digit of a number rounded to two; 0 is taken for 1 ns."""
        if not number or not isfinite(number):
            return -9 if self.unit == "s" else 0
        return int(f"{number:.1e}".partition("e")[2])

    def _places(self) -> int:
        """Decimal places. Negative ones stand for zeros before the decimal point."""
        scale, _ = self._scale()
        return round(log10(scale)) - self._last_digit()

    def _range_places(self) -> int:
        return self._places()


class Speedup(Estimate):
    """How many times as fast one variant is as another: the ratio of their times.

    Its words follow its direction, so that a ratio below 1 is never called a speed-up.

    Examples
    --------
    >>> ratio = Speedup.from_runs([[0.53, 0.52, 0.55, 0.53, 0.52, 0.54]])
    >>> print(ratio)
    1.89 times slower (95% interval 1.83 to 1.92, one process)
    >>> f"Compared with NumPy, JAX came out {ratio.words}."
    'Compared with NumPy, JAX came out 1.89 times slower.'
    """

    __slots__ = ()
    _drift = DRIFT_OF_RATIOS

    @classmethod
    def from_separate_times(cls, time: Estimate, *, over: Estimate) -> Self:
        """Divide two positive times that were not measured in turns: ``over`` by ``time``.

        The interval reaches from the smallest to the largest quotient of their intervals' ends. It
        is wide, because the machines may have drifted between the two measurements.
        """
        return cls(
            value=over.value / time.value,
            low=over.low / time.high,
            high=over.high / time.low,
            confidence=min(time.confidence, over.confidence),
            unit="",
            basis="separate measurements",
            kind="prediction" if time.kind == over.kind == "prediction" else "median",
            devices=tuple(dict.fromkeys((*time.devices, *over.devices))),
        )

    @property
    def verdict(self) -> Verdict:
        """Whether it is ``"faster"``, ``"slower"`` or ``"undecided"``.

        It is undecided where the interval includes 1, or where so few samples were taken that its
        confidence is below 0.95.
        """
        if self.confidence < CONFIDENCE or self.low <= 1 <= self.high:
            return "undecided"
        return "faster" if self.low > 1 else "slower"

    @property
    def verdict_in_words(self) -> str:
        """The verdict with its factor, for the cell of a table, such as ``"1.9 times slower"``.

        The factor is its interval if that is wide, as in ``"1.4 to 9.0 times faster"``. What is
        undecided has no factor. It is ``"about as fast"`` if its interval is narrow enough to rule out
        a difference of more than a quarter, otherwise ``"undecided"``.
        """
        if self.verdict != "undecided":
            return self._in_its_direction()._quotation()
        is_sure = self.confidence >= CONFIDENCE
        is_narrow = self.low * NO_DIFFERENCE >= 1 and self.high <= NO_DIFFERENCE
        return "about as fast" if is_sure and is_narrow else "undecided"

    @property
    def words(self) -> str:
        """The verdict as a sentence quotes it, with the interval if it is undecided.

        For example ``"2.0 times faster"``, ``"1.9 times slower"``, ``"somewhere from 1.4 to 9.0
        times faster"``, ``"about as fast (0.9 to 1.2)"`` or ``"undecided (0.5 to 3.1)"``. All of them
        can follow "compared with NumPy, JAX came out".
        """
        if self.verdict == "undecided":
            return f"{self.verdict_in_words} ({self.range})"
        return self._in_its_direction()._quotation(hedge="somewhere from ")

    def __str__(self) -> str:
        if self.verdict == "undecided":
            # A claim with another bound than 1 may be decided where this is not.
            whether = " whether faster" if self.verdict_in_words == "undecided" else ""
            return f"{self.verdict_in_words}{whether}, {self.factor_in_full}"
        return self.factor_in_full

    @property
    def factor_in_full(self) -> str:
        """The factor with its interval, but no verdict, to stand beside that of a claim."""
        if self.verdict != "undecided" and not self._is_quotable:
            return f"{self.words}, {self.interval_name}"
        return Estimate.__str__(self._in_its_direction())

    def _in_its_direction(self) -> Estimate:
        """Return the factor that its verdict speaks of, with words for a unit."""
        if self.verdict == "slower":
            return replace(self.ratio_of(1), unit="times slower")
        return replace(self, unit="times faster" if self.verdict == "faster" else "times as fast")

    def _places(self) -> int:
        places = super()._places()
        if self.verdict != "undecided":
            while round(self.value, places) == 1 != self.value:
                places += 1  # no factor of 1.0 is faster
        return places

    def _range_places(self) -> int:
        places = self._places()
        while any(
            _side_of_1(round(end, places)) != _side_of_1(end) for end in (self.low, self.high)
        ):
            places += 1  # readers must see whether the interval includes 1
        return places


def _side_of_1(number: float) -> int:
    return (number > 1) - (number < 1)


def _rounded(number: float, places: int) -> str:
    return f"{round(number, places):,.{max(places, 0)}f}"


def median_interval(samples: Sequence[float]) -> tuple[float, float, float]:
    """Find an interval for the median of the distribution that ``samples`` come from.

    It lies between two pairs of order statistics, interpolated so that its coverage is close to
    95% for any continuous distribution and any number of samples from six on. Order statistics
    alone would be conservative by up to several per cent.

    Parameters
    ----------
    samples
        At least one finite number, in any order.

    Returns
    -------
    tuple
        Lower end, upper end and confidence. From fewer than six samples, the interval reaches from
        the smallest to the largest, and has a confidence of less than 0.95.

    References
    ----------
    T. P. Hettmansperger and S. J. Sheather, "Confidence intervals based on interpolated order
    statistics", Statistics & Probability Letters 4 (1986), 75-79.
    """
    import numpy as np
    from scipy.special import bdtr

    ordered = np.sort(np.asarray(samples, dtype=float))
    n = len(ordered)
    # coverage[d - 1] is that of the interval from the d-th smallest to the d-th largest sample.
    coverage = 1 - 2 * bdtr(np.arange(max(n // 2, 1)), n, 0.5)
    d = int(np.count_nonzero(coverage >= CONFIDENCE))
    if d == 0:
        return (float(ordered[0]), float(ordered[-1]), max(float(coverage[0]), 0.0))
    # The innermost interval covers less than CONFIDENCE, so there is always a next one.
    share = (coverage[d - 1] - CONFIDENCE) / (coverage[d - 1] - coverage[d])
    inward = (n - d) * share / (d + (n - 2 * d) * share)
    low = ordered[d - 1] + inward * (ordered[d] - ordered[d - 1])
    high = ordered[n - d] - inward * (ordered[n - d] - ordered[n - d - 1])
    return (float(low), float(high), CONFIDENCE)


def prediction_interval(
    medians: Sequence[float], *, processes: int | None = None, drift: float = DRIFT
) -> tuple[float, float, float]:
    """Find where the median of further processes will lie, with a confidence of 0.95.

    The interval is for somebody who measures again: it contains the number that they will get, not
    just the true one. It assumes that the logarithms of processes' medians are normally distributed
    around a mean that drifts from one run to the next. A median scatters more around that mean than
    the mean of as many processes would, which the interval allows for. In simulations of such
    processes it contains at least 94.8% of the numbers, and up to 98.7% where few processes scatter
    as much as the machine drifts. Where each process has one of two modes, which no normal
    distribution describes, it contains 92 to 93%.

    Parameters
    ----------
    medians
        The median of each process: at least two positive numbers, in any order.
    processes
        How many processes will measure again; by default as many as did.
    drift
        Standard deviation of the drift of that mean; by default that of times.

    Returns
    -------
    tuple
        Lower end, upper end and confidence.

    References
    ----------
    G. A. Whitmore, "Prediction limits for a univariate normal observation", The American
    Statistician 40 (1986), 141-143.
    """
    import numpy as np
    from scipy.special import ndtri, stdtrit

    n = len(medians)
    logs = np.log(medians)
    quantile = (1 + CONFIDENCE) / 2
    t = stdtrit(n - 1, quantile)
    by_chance = t * logs.std(ddof=1) * sqrt(1 / n + _variance_of_median(processes or n))
    reach = hypot(by_chance, ndtri(quantile) * sqrt(2) * drift)
    middle = np.median(medians)
    # Where the median is far from the mean, or the exponential of a logarithm differs in its last
    # digit, the interval is extended to hold its own value.
    low = min(np.exp(logs.mean() - reach), middle)
    high = max(np.exp(logs.mean() + reach), middle)
    return (float(low), float(high), CONFIDENCE)


def _variance_of_median(n: int) -> float:
    """Return the variance of the median of ``n`` normal numbers whose own variance is 1.

    It approaches that of many numbers, pi / (2 n). The terms beside ``n`` make it exact for one and
    for two numbers, whose median is their mean; for others it is right to within 3%.
    """
    return pi / (2 * n + (pi - 2 if n % 2 else 2 * pi - 4))


def modes(samples: Sequence[float]) -> dict[float, float]:
    """Find the groups that samples form: usually one, sometimes two.

    The time of a kernel may depend on what the memory allocator happens to do. It then has two
    modes, which the median alone does not show. The samples are split, on a log scale, where the variance
    within the two groups is least (Otsu's threshold); the split counts if both groups are large
    enough and clearly apart. A long tail does not count: its group is as wide as the gap.

    Parameters
    ----------
    samples
        Positive numbers, in any order. Fewer than forty are never split.

    Returns
    -------
    dict
        The share of the samples that are in a group, by its median, in ascending order.

    References
    ----------
    N. Otsu, "A threshold selection method from gray-level histograms", IEEE Transactions on
    Systems, Man, and Cybernetics 9 (1979), 62-66.
    """
    import numpy as np

    ordered = np.sort(np.asarray(samples, dtype=float))
    middle = {float(np.median(ordered)): 1.0}
    n = len(ordered)
    least = ceil(MODE_SHARE * n)
    if n < MODE_SAMPLES or ordered[0] <= 0:
        return middle
    logs = np.log(ordered)
    sizes = np.arange(1, n)
    sums = np.cumsum(logs)[:-1]
    difference = sums / sizes - (logs.sum() - sums) / (n - sizes)
    between_variance = sizes * (n - sizes) * difference**2
    between_variance[: least - 1] = between_variance[n - least :] = 0
    split = int(np.argmax(between_variance)) + 1
    groups = logs[:split], logs[split:]
    centres = [float(np.median(group)) for group in groups]
    deviation = sum(float(np.median(abs(g - c))) for g, c in zip(groups, centres, strict=True)) / 2
    # A group that is too small alone would be filled up with samples of the other.
    if not logs[split - 1] < sum(centres) / 2 < logs[split]:
        return middle
    gap = centres[1] - centres[0]
    if gap < np.log(MODE_RATIO) or gap < MODE_SEPARATION * deviation:
        return middle
    return {
        float(np.exp(centre)): len(group) / n for centre, group in zip(centres, groups, strict=True)
    }
