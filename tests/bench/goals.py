"""Ratios that this project sets itself as goals, and whether they are met."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from math import inf
from subprocess import CalledProcessError

from rich.console import Console
from rich.progress import Progress

from jaxcap.measure.processes import ProcessError
from jaxcap.measure.progress import progress_bar
from jaxcap.results.statistics import CONFIDENCE, Estimate
from jaxcap.results.tables import Table

MET, MISSED, UNDECIDED, NO_GOAL = "yes", "NO", "undecided", ""


@dataclass(frozen=True)
class Comparison:
    """A ratio of ours to a peer's, and the range that it should lie in.

    Attributes
    ----------
    name
        What is compared.
    ours, peer
        What was measured of each, in words.
    ratio
        Ours over the peer's, with an interval.
    least, most
        The goal. Without either there is none.
    """

    name: str
    ours: str
    peer: str
    ratio: Estimate
    least: float = -inf
    most: float = inf

    @property
    def goal(self) -> str:
        """The goal in words."""
        least = f"at least {self.least:g}" if self.least > -inf else ""
        return least or (f"at most {self.most:g}" if self.most < inf else "")

    @property
    def verdict(self) -> str:
        """Whether the goal is met; undecided if only a part of the interval meets it."""
        if not self.goal:
            return NO_GOAL
        low, high = self.ratio.low, self.ratio.high
        if self.ratio.confidence < CONFIDENCE:
            return UNDECIDED
        if self.least <= low and high <= self.most:
            return MET
        return MISSED if high < self.least or low > self.most else UNDECIDED

    @property
    def row(self) -> tuple[str, ...]:
        """The cells of the table."""
        ratio = self.ratio
        # A deterministic ratio, such as that of sizes, has no interval.
        interval = ratio.range if ratio.low < ratio.high else ""
        return self.name, self.ours, self.peer, ratio.short, interval, self.goal, self.verdict


class NotMeasuredError(Exception):
    """Something can't be compared here; the message says why, and what to do."""


#: Compares, briefly if the second argument says so, and shows its progress.
Compare = Callable[[Progress, bool], Iterable[Comparison]]


def table(comparisons: Iterable[Comparison], missing: Iterable[tuple[str, str]] = ()) -> Table:
    """Tabulate comparisons, with the reason for each that is missing."""
    rows = [comparison.row for comparison in comparisons]
    headers = ("compared", "ours", "beside", "ratio", "interval", "goal", "met")
    notes = [f"Not measured: {name}: {reason}." for name, reason in missing]
    return Table("Ours beside others", headers, rows, notes, text_columns=(0, 1, 2, 5, 6))


def briefly(description: str | None) -> bool:
    """Read the arguments of a benchmark: whether it only tries everything out, in about a minute."""
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("--quick", action="store_true", help="try it out, in about a minute")
    return bool(parser.parse_args().quick)


def run(parts: dict[str, Compare], *, quick: bool) -> None:
    """Compare all parts, say at which one it is, and print the table.

    Exits with 1 if something couldn't be measured. So it does if a goal is missed, unless the
    comparison is a quick one, from which that can't be concluded.
    """
    comparisons: list[Comparison] = []
    missing: dict[str, str] = {}
    with progress_bar() as bar:
        for number, (name, compare) in enumerate(parts.items(), start=1):
            bar.console.print(f"{number} of {len(parts)}: {name}")
            try:
                comparisons += compare(bar, quick)
            except (NotMeasuredError, ProcessError, CalledProcessError) as error:
                missing[name] = str(error)
                bar.console.print(f"not measured: {error}")
            for task in bar.task_ids:
                bar.remove_task(task)
    Console(width=160).print(table(comparisons, missing.items()))
    is_missed = any(comparison.verdict == MISSED for comparison in comparisons)
    sys.exit(bool(missing) or (is_missed and not quick))
