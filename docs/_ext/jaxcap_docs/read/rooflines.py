"""The rooflines of all devices, with the kernels that were measured there and what limits them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import suppress
from html import escape
from operator import attrgetter
from typing import NamedTuple

from docutils import nodes
from sphinx.util.docutils import SphinxDirective

from jaxcap.experiments import linear_algebra
from jaxcap.experiments.ceilings import CEILINGS
from jaxcap.report import roofline
from jaxcap.report.roofline import Ceilings
from jaxcap.results import Cost, Result, ResultSet
from jaxcap.results.recordings import Recording, slug
from jaxcap.results.tables import Table
from jaxcap_docs import records
from jaxcap_docs.read.elements import note, plot, raw_html, table_node
from jaxcap_docs.read.experiments import without_device

REASONS = {
    "memory": "bandwidth of memory",
    "arithmetic": "rate of arithmetic",
    "launch": "starting the call",
    "transfer": "transfer from NumPy's memory",
    "neither": "none of these",
}


class _Kernel(NamedTuple):
    """A result of known cost, what limits it, and how much of that limit it reaches."""

    result: Result
    cost: Cost
    reason: str
    share: str


class Rooflines(SphinxDirective):
    """Draw each device's roofline with all kernels whose cost is known, and say what limits them."""

    def run(self) -> list[nodes.Node]:
        """Return plots and tables."""
        self.env.note_reread()
        content = [
            node
            for machine in records.recordings()
            for where, measured in machine.on_each_device(CEILINGS.name).items()
            for node in self._roofline(where, measured, machine)
        ]
        return content or [note("No ceilings were measured yet.")]

    def _roofline(self, where: str, measured: ResultSet, machine: Recording) -> list[nodes.Node]:
        try:
            ceilings = Ceilings.of(measured, measured[0].device)
        except ValueError as error:
            return [note(str(error))]
        kernels = list(_kernels(machine, ceilings))
        figure = roofline.figure(
            ceilings,
            [(kernel.result, kernel.cost) for kernel in kernels],
            title=where,
            label=attrgetter("experiment"),
        )
        return [
            nodes.rubric("", where),
            *plot(self, f"roofline-{slug(where)}", figure),
            table_node(_counts(ceilings, kernels)),
            _folded(_shares(kernels)),
        ]


def _kernels(machine: Recording, ceilings: Ceilings) -> Iterator[_Kernel]:
    """Go through the results of a device whose cost is known."""
    for results in machine.sets.values():
        for result in results:
            cost, dtype = _cost(result)
            here = result.device == ceilings.device and result.experiment != CEILINGS.name
            if here and dtype in ceilings.flops_per_s and min(cost) >= 0 < cost.bytes_moved:
                reason = roofline.bottleneck(result, ceilings, dtype=dtype, cost=cost)
                share = roofline.roofline_fraction(result, ceilings, dtype=dtype, cost=cost)
                yield _Kernel(result, cost, REASONS[reason], share.short)


def _cost(result: Result) -> tuple[Cost, str]:
    """Return the cost of a call, and the dtype that it computes with."""
    if result.experiment == linear_algebra.LINEAR_ALGEBRA.name:
        with suppress(KeyError, ValueError):  # a file may hold a task that is unknown here
            task, size = str(result.parameters["task"]), int(result.parameters["size"])
            return linear_algebra.least_cost(task, size), "float64"
    return Cost(result.flops or 0.0, result.bytes_moved or 0.0), "float32"


def _counts(ceilings: Ceilings, kernels: Sequence[_Kernel]) -> Table:
    """Count kernels by what limits them."""
    limits = [f"{ceilings.bytes_per_s / 1e9:,.0f} GB/s"]
    limits += [f"{rate / 1e9:,.0f} GFLOP/s in {dt}" for dt, rate in ceilings.flops_per_s.items()]
    if ceilings.call_s:
        limits.append(f"{ceilings.call_s * 1e6:.3g} µs for a call that does nothing")
    counts = Counter(kernel.reason for kernel in kernels)
    rows = [(reason, str(counts[reason])) for reason in REASONS.values() if counts[reason]]
    caption = "What limits the kernels that this machine measured"
    return Table(caption, ("limited by", "kernels"), rows, [", ".join(limits)])


def _shares(kernels: Sequence[_Kernel]) -> Table:
    """List kernels."""
    rows = []
    for result, _, reason, share in kernels:
        parameters = (f"{name} {value}" for name, value in without_device(result).items())
        row = (result.experiment, result.variant, ", ".join(parameters), share, reason)
        rows.append(row)
    headers = ("experiment", "variant", "with", "share", "limited by")
    return Table("Each kernel's share of the limit", headers, rows)


def _folded(table: Table) -> nodes.raw:
    """Put a long table on a page, folded."""
    summary = f"<summary>{escape(table.caption)}</summary>"
    return raw_html(f'<details class="jaxcap-folded">{summary}{table._repr_html_()}</details>')
