"""Claims of the tutorials, checked under each release.

The tutorials check them under one release, by experiments. Here the nearest benchmarks stand in for those.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import groupby
from math import isnan

from jaxcap.releases.changes.comparison import Releases
from jaxcap.releases.changes.series import (
    FALSE_SHARE,
    MeanRatio,
    Series,
    compare_logs,
    false_discovery_control,
)
from jaxcap.releases.changes.spans import name_span
from jaxcap.releases.quantities import JAX, NUMPY, Quantity
from jaxcap.report.claims import Outcome

# With more changes of the outcome than this, a list of spans says less than a count.
_MOST_SPANS = 3


@dataclass(frozen=True)
class ReleaseClaim:
    """A claim that one program takes less time than another.

    Attributes
    ----------
    text
        The claim, as it follows "that".
    tutorial
        Where it is made, such as ``"performance/dispatch_overhead"``.
    quicker
        The benchmark and the variant that are claimed to take less time.
    slower
        Those that are claimed to take more.
    quantity
        Which time that is.
    """

    text: str
    tutorial: str
    quicker: tuple[str, str]
    slower: tuple[str, str]
    quantity: Quantity = "time"


CLAIMS = (
    ReleaseClaim(
        "adding ten numbers takes longer in JAX than in NumPy",
        "performance/dispatch_overhead",
        ("jnp.add of 10 numbers", NUMPY),
        ("jnp.add of 10 numbers", JAX),
    ),
    ReleaseClaim(
        "five operations on ten numbers take longer op by op in JAX than in NumPy",
        "performance/dispatch_overhead",
        ("five operations on 10 numbers, not compiled", NUMPY),
        ("five operations on 10 numbers, not compiled", JAX),
    ),
    ReleaseClaim(
        "a compiled call takes less time than one operation of jnp",
        "performance/dispatch_overhead",
        ("compiled call with one array", JAX),
        ("jnp.add of 10 numbers", JAX),
    ),
    ReleaseClaim(
        "a compiled call takes longer with NumPy's array than with JAX's",
        "performance/timing",
        ("compiled call with one array", JAX),
        ("compiled call with a NumPy array", JAX),
    ),
    ReleaseClaim(
        "four operations on 100,000 numbers are faster compiled than op by op",
        "transformations/jit",
        ("four operations on 100,000 numbers, fused", JAX),
        ("four operations on 100,000 numbers, not compiled", JAX),
    ),
    ReleaseClaim(
        "two hundred steps compile faster as a scan than unrolled",
        "transformations/loops",
        ("compilation of a scan of 200 steps", JAX),
        ("compilation of 200 unrolled steps", JAX),
        "first call",
    ),
    ReleaseClaim(
        "sorting 10,000 numbers takes longer in JAX than in NumPy",
        "transformations/indexing",
        ("sort of 10,000 numbers", NUMPY),
        ("sort of 10,000 numbers", JAX),
    ),
    ReleaseClaim(
        "a sum of a million numbers takes longer in JAX than in NumPy",
        "basics/jnp_and_numpy",
        ("sum of a million numbers", NUMPY),
        ("sum of a million numbers", JAX),
    ),
    ReleaseClaim(
        "JAX draws 100,000 normal numbers faster than NumPy",
        "basics/random_numbers",
        ("100,000 normal numbers", JAX),
        ("100,000 normal numbers", NUMPY),
    ),
    ReleaseClaim(
        "a product of 500 × 500 matrices takes longer in JAX than in NumPy",
        "performance/linear_algebra",
        ("product of 500 × 500 matrices", NUMPY),
        ("product of 500 × 500 matrices", JAX),
    ),
)


@dataclass(frozen=True)
class ClaimByRelease:
    """A claim, and what became of it under each release that measured it.

    Attributes
    ----------
    claim
        What was checked.
    outcomes
        By release, oldest first.
    ratios
        By release, the time of the program that is claimed to be slower, divided by the other's.
    """

    claim: ReleaseClaim
    outcomes: Mapping[str, Outcome]
    ratios: Mapping[str, float]

    @property
    def words(self) -> str:
        """What became of it, such as ``"holds up to 0.4.31 and since 0.6.0"``."""
        releases = list(self.outcomes)
        outcomes: tuple[Outcome, ...] = ("holds", "fails", "undecided")
        spans: dict[Outcome, list[str]] = {o: [] for o in outcomes if o in self.outcomes.values()}
        for outcome, span in groupby(releases, key=self.outcomes.__getitem__):
            spans[outcome].append(name_span(list(span), releases))
        if len(spans) == 1:
            (outcome,) = spans
            return f"{outcome} under all {len(releases)} releases"
        if sum(map(len, spans.values())) > _MOST_SPANS:
            counts = [list(self.outcomes.values()).count(outcome) for outcome in spans]
            return ", ".join(
                f"{outcome} under {count}" for outcome, count in zip(spans, counts, strict=True)
            )
        return "; ".join(f"{outcome} {' and '.join(texts)}" for outcome, texts in spans.items())


def check(releases: Releases) -> list[ClaimByRelease]:
    """Check all claims under each release, correcting for how many checks that makes.

    Claims are left out whose benchmarks weren't recorded.
    """
    series = {(s.benchmark, s.variant, s.quantity): s for s in releases.series}
    pairs = {
        claim: (quicker, slower)
        for claim in CLAIMS
        if (quicker := series.get((*claim.quicker, claim.quantity)))
        and (slower := series.get((*claim.slower, claim.quantity)))
    }
    comparisons = {
        (claim, release): _compare(quicker, slower, release)
        for claim, (quicker, slower) in pairs.items()
        for release in quicker.releases
        if release in slower.estimates
    }
    corrected = false_discovery_control([mean.p for mean in comparisons.values()])
    outcomes: dict[ReleaseClaim, dict[str, Outcome]] = {claim: {} for claim in pairs}
    ratios: dict[ReleaseClaim, dict[str, float]] = {claim: {} for claim in pairs}
    for ((claim, release), mean), p in zip(comparisons.items(), corrected, strict=True):
        quicker_s, slower_s = (each.estimates[release].value for each in pairs[claim])
        ratios[claim][release] = slower_s / quicker_s
        outcomes[claim][release] = _outcome(mean.value, p)
    return [
        ClaimByRelease(claim, outcomes[claim], ratios[claim]) for claim in pairs if ratios[claim]
    ]


def _compare(quicker: Series, slower: Series, release: str) -> MeanRatio:
    """Compare two programs under a release, by the larger of their deviations."""
    deviation = max(quicker.deviation, slower.deviation)
    return compare_logs(quicker.logs[release], slower.logs[release], *deviation)


def _outcome(ratio: float, p: float) -> Outcome:
    """Judge a claim by the ratio that the probability is about, which isn't that of medians."""
    if isnan(p) or p > FALSE_SHARE:
        return "undecided"
    return "holds" if ratio > 1 else "fails"
