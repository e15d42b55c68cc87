"""The rooflines of all devices, with the kernels measured on each and what limits them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from html import escape
from typing import NamedTuple

from docutils import nodes
from sphinx.util.docutils import SphinxDirective

from jaxcap.experiments import asynchronous, bits, linear_algebra, mistakes
from jaxcap.experiments.ceilings import CEILINGS, TF32
from jaxcap.report import figures
from jaxcap.report.roofline import bottleneck, roofline_fraction
from jaxcap.results import Cost, Result, ResultSet
from jaxcap.results.ceilings import Ceilings
from jaxcap.results.files import slug
from jaxcap.results.recordings import Recording
from jaxcap.results.statistics import Estimate
from jaxcap.results.tables import Table
from jaxcap_docs import page_records
from jaxcap_docs.read.dependencies import note_all_results
from jaxcap_docs.read.elements import note, pick, plot, raw_html, table_node
from jaxcap_docs.read.results.experiments import without_device

# By bottleneck: in a table, and in a sentence.
REASONS = {
    "memory": "bandwidth of memory",
    "arithmetic": "rate of arithmetic",
    "launch": "starting the call",
    "sines": "sines and cosines",
    "transfer": "transfer from NumPy's memory",
    "fixed": "what doesn't grow with the work",
    "way": "the way it is computed",
    "together": "memory, arithmetic and start, added up",
    "neither": "none of these",
}
# Above a panel, which is narrow.
TITLES = {
    **REASONS,
    "sines": "sines, cosines",
    "transfer": "sending NumPy's arrays",
    "fixed": "what doesn't grow",
    "way": "way of computing",
    "together": "several added up",
}
# The variants of these do different work, so they are no rivals.
DIFFERENT_WORK = {asynchronous.ASYNCHRONOUS.name}
# XLA calls LAPACK for these and doesn't count what it does.
BY_LAPACK = {"eig", "svd"}
# What `jaxcap.kernels.elementwise.wave` takes of each number.
SINES_OF_WAVE = 2


class CostedResult(NamedTuple):
    """A result with the cost of a call, the type of its numbers, and other ways to do the same work."""

    result: Result
    cost: Cost
    dtype: str
    sines: float = 0.0
    rivals: Sequence[Result] = ()


class Rooflines(SphinxDirective):
    """Draw each device's roofline with all kernels whose cost is known, and say what limits them."""

    def run(self) -> list[nodes.Node]:
        """Return plots and tables."""
        note_all_results(self.env)
        content: list[nodes.Node] = []
        devices: list[tuple[str, Ceilings, list[CostedResult], list[str]]] = []
        for machine in page_records.recordings():
            for part in machine.on_each_device(CEILINGS.name):
                try:
                    ceilings = Ceilings.from_results(part.results, part.device)
                except ValueError as error:
                    content.append(note(str(error)))
                else:
                    kernels = list(_costed_results(machine, ceilings))
                    judged = [k for k in kernels if k.dtype in ceilings.flops_per_s]
                    left_out = _without_roof(ceilings, kernels)
                    devices.append((part.label, ceilings, judged, left_out))
        rates = [
            kernel.cost.flops / kernel.result.time.value
            for _, _, kernels, _ in devices
            for kernel in kernels
            if kernel.cost.flops > 0
        ]
        rates += [max(ceilings.flops_per_s.values()) for _, ceilings, *_ in devices]
        for device in devices:
            content += self._roofline(*device, rates)
        return content or [note("No ceilings were measured yet.")]

    def _roofline(
        self,
        title: str,
        ceilings: Ceilings,
        kernels: Sequence[CostedResult],
        left_out: Sequence[str],
        rates: Sequence[float],
    ) -> Iterator[nodes.Node]:
        dtypes = {kernel.result.key: kernel.dtype for kernel in kernels}
        limits = [_limit(kernel, ceilings, kernels) for kernel in kernels]
        # The panels are in the order of the tables.
        ordered = sorted(zip(limits, kernels, strict=True), key=lambda p: [*REASONS].index(p[0]))
        costs = [(kernel.result, kernel.cost) for _, kernel in ordered]
        counts = Counter(limits)
        titles = {k.result.key: f"{TITLES[limit]} ({counts[limit]})" for limit, k in ordered}
        shares = [
            roofline_fraction(result, ceilings, dtype=dtype, cost=cost)
            for result, cost, dtype, *_ in kernels
        ]
        figure = figures.roofline(
            ceilings,
            costs,
            title=title,
            label=lambda result: titles[result.key],
            dtype=lambda result: dtypes[result.key],
            finding=_finding(shares),
            rates=rates,
        )
        yield nodes.rubric("", title)
        yield from plot(self, f"roofline-{slug(title)}", figure)
        reasons = [REASONS[limit] for limit in limits]
        notes = [*_beyond([share.value for share in shares]), *left_out]
        yield table_node(_counts(ceilings, reasons, notes))
        table = _table_of_shares(kernels, shares, reasons)
        experiments = dict.fromkeys((result.experiment for result, *_ in kernels), "")
        choice = pick("Experiment", "experiment", experiments)
        folded = f"<summary>{escape(table.caption)}</summary>{choice}{table._repr_html_()}"
        yield raw_html(f'<details class="jaxcap-folded">{folded}</details>')


def _costed_results(machine: Recording, ceilings: Ceilings) -> Iterator[CostedResult]:
    """Yield the results of a device and of one allocator whose cost is known."""
    for name in machine.sets:
        for part in machine.on_each_device(name):
            if name == CEILINGS.name or part.device != ceilings.device:
                continue
            for result in part.results.select(allocator=part.results[0].allocator):
                if result.parameters.get("operation") in BY_LAPACK:
                    continue
                kernel = _costed(result, ceilings)
                if kernel.cost.flops >= 0 and kernel.cost.bytes_moved > 0:
                    yield kernel._replace(rivals=_rivals(result, part.results))


def _rivals(result: Result, results: ResultSet) -> Sequence[Result]:
    """Find the other ways to do the same work."""
    if result.experiment in DIFFERENT_WORK:
        return ()
    return results.select(allocator=result.allocator, **result.parameters).results


def _limit(kernel: CostedResult, ceilings: Ceilings, kernels: Iterable[CostedResult]) -> str:
    """Find what limits a kernel, among all of its device."""
    result, cost, dtype, sines, rivals = kernel
    smaller = [(k.result, k.cost) for k in kernels if _differ_in_size(k.result, result)]
    return bottleneck(
        result, ceilings, dtype=dtype, cost=cost, smaller=smaller, rivals=rivals, sines=sines
    )


def _differ_in_size(one: Result, other: Result) -> bool:
    """Whether two results are of one call, with another value for one numerical parameter."""
    if (one.experiment, one.variant) != (other.experiment, other.variant):
        return False
    pairs = zip(one.parameters.items(), other.parameters.items(), strict=False)
    different = [value for (name, value), pair in pairs if (name, value) != pair]
    return len(different) == 1 and isinstance(different[0], (int, float))


def _costed(result: Result, ceilings: Ceilings) -> CostedResult:
    """Find the cost of a call and its type of numbers, which has no roof if it can't be told."""
    if result.experiment == linear_algebra.LINEAR_ALGEBRA.name:
        with suppress(KeyError, ValueError):  # a file may name a task that this build doesn't know
            task, size = str(result.parameters["task"]), int(result.parameters["size"])
            return CostedResult(result, linear_algebra.least_cost(task, size), "float64")
    cost = Cost(result.flops or 0.0, result.bytes_moved or 0.0)
    if result.experiment == bits.BITS.name:
        return CostedResult(result, cost, result.variant)  # which is named after its format
    # By default, JAX multiplies matrices of float32 in TF32 where the device can. A file doesn't say
    # which calls do so. It makes no difference to those that memory limits in either case.
    roofs = {"float32", TF32} & ceilings.flops_per_s.keys()
    is_told = len({ceilings.least_time_s(cost, dtype) for dtype in roofs}) < 2
    dtype = "float32" if is_told else "float32 or TF32"
    return CostedResult(result, cost, dtype, sines=_sines(result))


def _sines(result: Result) -> float:
    """Count the sines that a call takes, if it computes the wave."""
    compiled_wave = (mistakes.MISTAKES.name, mistakes.COMPILING)
    is_wave = (
        result.parameters.get("function") == "wave"
        or (result.experiment, result.parameters.get("question")) == compiled_wave
    )
    return SINES_OF_WAVE * float(result.parameters["size"]) if is_wave else 0.0


def _finding(shares: Sequence[Estimate]) -> str:
    """Say how many calls come near their limit."""
    near = sum(share.value >= 0.5 for share in shares)
    return f"{near} of {len(shares)} calls reach at least half of their limit. What limits each?"


def _beyond(shares: Sequence[float]) -> list[str]:
    """Explain shares above 1, if there are any."""
    beyond = [share for share in shares if share > 1]
    if not beyond:
        return []
    note = (
        f"{len(beyond)} of {len(shares)} go beyond the roof, by up to {max(beyond) - 1:.0%}. The roof is "
        "the best that was measured, not the best possible: data in a cache arrive faster than those "
        "in memory."
    )
    return [note]


def _without_roof(ceilings: Ceilings, kernels: Sequence[CostedResult]) -> list[str]:
    """Say which calls have no share, if there are any."""
    counts = Counter(k.dtype for k in kernels if k.dtype not in ceilings.flops_per_s)
    if not counts:
        return []
    listed = ", ".join(f"{count} in {dtype}" for dtype, count in counts.items())
    return [f"Calls whose number type has no measured peak are left out: {listed}."]


def _counts(ceilings: Ceilings, reasons: Sequence[str], notes: Sequence[str]) -> Table:
    """Count kernels by what limits them."""
    limits = [f"{ceilings.bytes_per_s / 1e9:,.0f} GB/s"]
    for dtype, rate in ceilings.flops_per_s.items():
        limits.append(f"{rate / 1e9:,.0f} GFLOP/s in {dtype}")
    if ceilings.call_s:
        limits.append(f"{ceilings.call_s * 1e6:.3g} µs for a call that does nothing")
    if ceilings.handed_over_s:
        limits.append(f"{ceilings.handed_over_s * 1e6:.3g} µs if it is handed to another thread")
    if ceilings.sines_per_s:
        limits.append(f"{ceilings.sines_per_s / 1e9:.2g} billion sines a second")
    counts = Counter(reasons)
    rows = [(reason, str(counts[reason])) for reason in REASONS.values() if counts[reason]]
    caption = "What limits the calls that this machine measured"
    return Table(caption, ("limited by", "calls"), rows, [", ".join(limits), *notes])


def _table_of_shares(
    kernels: Sequence[CostedResult], shares: Sequence[Estimate], reasons: Sequence[str]
) -> Table:
    """List kernels, each with the fraction of its limit that it reaches."""
    rows = []
    for (result, *_), share, reason in zip(kernels, shares, reasons, strict=True):
        parameters = (f"{name} {value}" for name, value in without_device(result).items())
        rows.append((result.experiment, result.variant, ", ".join(parameters), share.short, reason))
    headers = ("experiment", "variant", "with", "share", "limited by")
    return Table("Each call's share of the limit", headers, rows)
