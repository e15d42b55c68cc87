"""Public issues on performance, replayed: what was reported, and in which releases it shows here.

Each replay runs a few lines of our own, in ``jaxcap.releases.benchmarks.issues``, with smaller inputs
than most reports had, and on another machine. So a report that is not seen here may still be right.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import groupby
from math import sqrt
from typing import Literal

from jaxcap.releases.benchmarks import BENCHMARKS
from jaxcap.releases.files import TWIN, version_key
from jaxcap.releases.quantities import JAX, NUMPY
from jaxcap.releases.spans import name_span
from jaxcap.results import Result, ResultSet
from jaxcap.results.statistics import CONFIDENCE, NO_DIFFERENCE, Speedup

ReplayOutcome = Literal["reproduced", "smaller", "not seen", "undecided"]


@dataclass(frozen=True, kw_only=True)
class Replay:
    """A report that something is slow, and how to tell whether it is.

    It was either compared with an earlier release (``good``) or with another way to compute the same
    (``alternative``).

    Attributes
    ----------
    thread
        Where it was reported, such as ``"jax-ml/jax#26145"``.
    report
        What was reported, in a sentence of our own.
    benchmark
        The name of the benchmark that replays it, whose quantity is what was reported to be slow.
    factor
        How many times slower it was reported to be. Where that grows with the size of the input, it
        is scaled down to ours.
    good
        The last release that was reported to be fast.
    alternative
        The variant of the benchmark that was reported to be faster.
    """

    thread: str
    report: str
    benchmark: str
    factor: float
    good: str = ""
    alternative: str = ""

    @property
    def url(self) -> str:
        """Address of the thread."""
        return "https://github.com/{}/issues/{}".format(*self.thread.split("#"))

    @property
    def threshold(self) -> float:
        """How many times slower it has to be to count as reproduced.

        The root of the reported factor, which is half of it on a log scale, because another machine
        rarely shows the same factor; and at least what other comparisons call a difference.
        """
        return max(sqrt(self.factor), NO_DIFFERENCE)


@dataclass(frozen=True)
class ReplayVerdict:
    """Whether a release shows what was reported.

    Attributes
    ----------
    speedup
        How many times as fast it is as what it is compared with, so that a number below 1 confirms
        the report.
    threshold
        From `Replay`.
    """

    speedup: Speedup
    threshold: float

    @property
    def outcome(self) -> ReplayOutcome:
        """The verdict, which holds for the whole interval of the speed-up.

        ``"smaller"`` is less than the threshold, though at least a quarter of the reported factor on
        a log scale. It is ``"undecided"`` where the interval includes the threshold.
        """
        least, most = 1 / self.speedup.high, 1 / self.speedup.low
        if self.speedup.confidence < CONFIDENCE or least < self.threshold <= most:
            return "undecided"
        if least >= self.threshold:
            return "reproduced"
        return "smaller" if least >= max(sqrt(self.threshold), NO_DIFFERENCE) else "not seen"


def judge(replay: Replay, recorded: Mapping[str, ResultSet]) -> dict[str, ReplayVerdict]:
    """Compare all releases with what was reported.

    Parameters
    ----------
    replay
        The report.
    recorded
        The results of each release.

    Returns
    -------
    dict
        The verdicts by release, oldest first. Releases without results of the benchmark are left
        out, as are twins. It is empty if no release is as old as the last good one.

    Raises
    ------
    ResultsError
        If the clock was too coarse for a variant.
    """
    releases = sorted((r for r in recorded if not r.endswith(TWIN)), key=version_key)
    slow = {r: _find(recorded[r], replay.benchmark, JAX) for r in releases}
    if replay.alternative:
        fast = {r: _find(recorded[r], replay.benchmark, replay.alternative) for r in releases}
    else:
        # The nearest release that was not yet slow. The fastest one of all would be fast by chance.
        good = [r for r in releases if version_key(r) <= version_key(replay.good) and slow[r]]
        fast = dict.fromkeys(releases, slow[good[-1]] if good else None)
    is_first_call = BENCHMARKS[replay.benchmark].quantity == "first call"
    return {
        release: ReplayVerdict(
            _speedup(result, other, is_first_call=is_first_call), replay.threshold
        )
        for release, result in slow.items()
        if result and (other := fast[release])
    }


def _find(results: ResultSet, benchmark: str, variant: str) -> Result | None:
    for result in results:
        if result.parameters["benchmark"] == benchmark and result.variant == variant:
            return result
    return None


def _speedup(result: Result, other: Result, *, is_first_call: bool) -> Speedup:
    """Divide the times of ``other`` by those of a result.

    Processes with the same number ran in the same round of the recording, so that what slows the
    machine for a while slows both.
    """
    if is_first_call:
        times = [run.first_call_s for run in result.runs]
        others = [run.first_call_s for run in other.runs]
    elif result.comparison == other.comparison:
        return result.speedup(other)
    else:
        times, others = list(result.time.medians), list(other.time.medians)
    # One that was interrupted may have fewer processes.
    ratios = [[slow / fast] for fast, slow in zip(times, others, strict=False)]
    return Speedup.from_runs(ratios, devices=(result.device,))


def summary(verdicts: Mapping[str, ReplayVerdict]) -> str:
    """Say in which releases it shows, such as ``"reproduced from 0.4.32 to 0.5.0, fixed in 0.5.3"``.

    Undecided releases between others with the same verdict are passed over.

    Parameters
    ----------
    verdicts
        By release, oldest first.
    """
    releases = list(verdicts)
    decided = [
        (r, verdict.outcome) for r, verdict in verdicts.items() if verdict.outcome != "undecided"
    ]
    if not decided:
        return "undecided" if verdicts else "not measured"
    phrases: list[str] = []
    for outcome, group in groupby(decided, key=lambda item: item[1]):
        span = [release for release, _ in group]
        if outcome != "not seen":
            what = "reproduced" if outcome == "reproduced" else "smaller than reported"
            phrases.append(f"{what} {name_span(span, releases)}")
        elif phrases:
            # Where the release before is undecided, it may have been fixed there already.
            before = releases[releases.index(span[0]) - 1]
            phrases.append(f"fixed {_in_or_by(before, verdicts)} {span[0]}")
    if phrases or len(decided) == len(releases):
        return ", ".join(phrases) or "not seen here"
    return f"not seen in {len(decided)} of {len(releases)} releases, undecided in the others"


def _in_or_by(before: str, verdicts: Mapping[str, ReplayVerdict]) -> str:
    return "by" if verdicts[before].outcome == "undecided" else "in"


REPLAYS = (
    # Slower than an earlier release.
    Replay(
        thread="jax-ml/jax#26145",
        report="A simulator of neurons takes 11.3 s in 0.5.0, and took 2.1 s in 0.4.31.",
        benchmark="simulation of a neuron in float64",
        factor=5.5,
        good="0.4.31",
    ),
    Replay(
        thread="jax-ml/jax#25190",
        report="A while_loop takes 42 s in 0.4.33, and took 2 s in 0.4.31.",
        benchmark="while_loop of 10,000 maxima",
        factor=21,
        good="0.4.31",
    ),
    Replay(
        thread="jax-ml/jax#26021",
        report="Control of a robot runs at a third of the speed from 0.4.32 on.",
        benchmark="mass matrix of a robot arm in float64",
        factor=3,
        good="0.4.31",
    ),
    Replay(
        thread="jax-ml/jax#36799",
        report=(
            "A scan that carries a 3 × 3 matrix in float64 is about ten times slower in 0.4.33 than "
            "in 0.4.31."
        ),
        benchmark="scan of 1,000 products of 3 × 3 in float64",
        factor=10,
        good="0.4.31",
    ),
    Replay(
        thread="jax-ml/jax#36799",
        report="Many small systems take twice as long to solve in 0.4.33 as in 0.4.31.",
        benchmark="solutions of 10,000 small systems",
        factor=2,
        good="0.4.31",
    ),
    Replay(
        thread="jax-ml/jax#36927",
        report="Solving many 3 × 3 systems takes 87 ms in 0.10.0, and took 33 ms in 0.9.2.",
        benchmark="solutions of 10,000 small systems",
        factor=2.6,
        good="0.9.2",
    ),
    Replay(
        thread="jax-ml/jax#40150",
        report=(
            "The gradient of a scan that carries many scalars is 60 times slower in 0.4.32 than in "
            "0.4.31."
        ),
        benchmark="gradient of a scan that carries 20 scalars",
        factor=60,
        good="0.4.31",
    ),
    Replay(
        thread="jax-ml/jax#37465",
        report="The gradient of squared differences is 1.8 times slower in 0.5.3 than in 0.5.0.",
        benchmark="gradient of squared differences in an image",
        factor=1.8,
        good="0.5.0",
    ),
    Replay(
        thread="jax-ml/jax#37465",
        report="The same gradient is another 1.4 times slower in 0.8.0 than in 0.7.2.",
        benchmark="gradient of squared differences in an image",
        factor=1.4,
        good="0.7.2",
    ),
    Replay(
        thread="patrick-kidger/diffrax#518",
        report=(
            "Solving a differential equation in many steps takes up to eight times as long in "
            "nightly builds of 0.4.32."
        ),
        benchmark="while_loop of 2,000 Runge-Kutta steps",
        factor=8,
        good="0.4.31",
    ),
    Replay(
        thread="kemasuda/jnkepler#18",
        report="The gradient of planets' orbits takes 100 ms in 0.4.32, and took 7 ms in 0.4.31.",
        benchmark="gradient of orbits in float64",
        factor=14,
        good="0.4.31",
    ),
    Replay(
        thread="jax-ml/jax#31284",
        report=(
            "A while_loop of 10,000 updates, each from a random place, copies its array in 0.7.1: 41 "
            "ms instead of 7.5 ms in 0.7.0."
        ),
        benchmark="while_loop of 10,000 updates from random places",
        factor=5.5,
        good="0.7.0",
    ),
    Replay(
        thread="jax-ml/jax#40101",
        report=(
            "A loop that writes single elements rewrites its whole array in 0.11.1: with 200,000 "
            "steps it is 9,400 times slower than in 0.11.0."
        ),
        benchmark="fori_loop of 5,000 updates of a path",
        factor=9400 / 40,  # in proportion to the number of steps
        good="0.11.0",
    ),
    # Slower than another way.
    Replay(
        thread="jax-ml/jax#10434",
        report="jnp.argsort is five times slower than NumPy's.",
        benchmark="argsort of columns",
        factor=5,
        alternative=NUMPY,
    ),
    Replay(
        thread="jax-ml/jax#4135",
        report="jnp.cumsum is several times slower than NumPy's on one core.",
        benchmark="cumulative sums of columns",
        factor=3,
        alternative=NUMPY,
    ),
    Replay(
        thread="jax-ml/jax#28097",
        report="jnp.cumsum is four times slower than a loop over rows.",
        benchmark="cumulative sums of columns",
        factor=4,
        alternative="scan",
    ),
    Replay(
        thread="jax-ml/jax#25187",
        report="A sum along the first of three axes is six times slower than NumPy's.",
        benchmark="sum along the first of three axes",
        factor=6,
        alternative=NUMPY,
    ),
    Replay(
        thread="jax-ml/jax#27460",
        report="jnp.array of an array of one number takes about 200 times as long as np.array.",
        benchmark="copy of an array of one number",
        factor=177,
        alternative=NUMPY,
    ),
    Replay(
        thread="jax-ml/jax#19500",
        report="jnp.array of a long list is 20 times slower than through a NumPy array.",
        benchmark="array from a list of 5,000 numbers",
        factor=20,
        alternative="through NumPy",
    ),
    Replay(
        thread="jax-ml/jax#8192",
        report=(
            "Under vmap, each update under a condition copies the whole array: two of 10,000 "
            "elements take 660 times as long as one."
        ),
        benchmark="vmap of 3,000 updates under a condition",
        factor=660 * 0.3,
        alternative="without vmap",
    ),
    Replay(
        thread="jax-ml/jax#13522",
        report=(
            "Under vmap, each update in a while_loop copies the whole array: with 10,000 elements it "
            "takes 1,900 times as long."
        ),
        benchmark="vmap of 3,000 updates in a while_loop",
        factor=1900 * 0.3,
        alternative="without vmap",
    ),
    Replay(
        thread="jax-ml/jax#2160",
        report="An einsum is slower than the transposed matrix product that it stands for.",
        benchmark="einsum over channels",
        factor=1.5,  # not given
        alternative="transposed product",
    ),
    Replay(
        thread="jax-ml/jax#11321",
        report="jnp.linalg.inv takes 30 times as long for many 3 × 3 matrices as the formula.",
        benchmark="inverses of 5,000 small matrices",
        factor=30,
        alternative="by cofactors",
    ),
    Replay(
        thread="jax-ml/jax#402",
        report="A recurrent network in a fori_loop is three times slower than unrolled.",
        benchmark="fori_loop of 25 products with a matrix",
        factor=3,
        alternative="unrolled",
    ),
    Replay(
        thread="jax-ml/jax#2301",
        report="A random shuffle is 40 times slower than NumPy's.",
        benchmark="shuffle of 20,000 numbers",
        factor=40,
        alternative=NUMPY,
    ),
    Replay(
        thread="jax-ml/jax#968",
        report="Splitting a key to draw three numbers takes 290 times as long as NumPy's draw.",
        benchmark="three random numbers from a new key",
        factor=290,
        alternative=NUMPY,
    ),
    Replay(
        thread="jax-ml/jax#13572",
        report="A Python loop that reads elements of an array is 13 times slower for it.",
        benchmark="20 elements as weights, not compiled",
        factor=13,
        alternative="list of weights",
    ),
    Replay(
        thread="jax-ml/jax#4865",
        report="jnp.concatenate of two short arrays is 23 times slower than NumPy's.",
        benchmark="concatenation of two short arrays",
        factor=23,
        alternative=NUMPY,
    ),
    Replay(
        thread="jax-ml/jax#3832",
        report="A matrix product in float64 is 3.8 times slower than NumPy's.",
        benchmark="product of 256 × 256 matrices in float64",
        factor=3.8,
        alternative=NUMPY,
    ),
    Replay(
        thread="jax-ml/jax#23783",
        report="A transposed convolution is much slower than a convolution.",
        benchmark="transposed convolution of four images",
        factor=2,  # not given
        alternative="convolution",
    ),
    Replay(
        thread="jax-ml/jax#5684",
        report=(
            "A function with a list of 3,000 indices takes 350 times as long to compile as with an "
            "array of them."
        ),
        benchmark="compilation with a list of 1,000 indices",
        factor=350 / 3,
        alternative="array of indices",
    ),
    Replay(
        thread="jax-ml/jax#12789",
        report=(
            "The compiler computes an array that a function makes and updates, which takes "
            "seconds for a large one."
        ),
        benchmark="compilation of an update of a new array",
        factor=10,  # not given
        alternative="array from outside",
    ),
)
