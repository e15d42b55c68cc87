"""At the end of the build: says for how much of its time experiments were measured, and how well."""

from __future__ import annotations

import logging
import time
from collections.abc import Iterable, Sequence
from itertools import groupby
from operator import attrgetter
from statistics import fmean, median

from sphinx.application import Sphinx
from sphinx.util import logging as sphinx_logging

from jaxcap.results import ResultSet
from jaxcap.results.statistics import Estimate
from jaxcap_docs.page_records import BUILD_START, results_of_build

logger = sphinx_logging.getLogger(__name__)


class MeasuredTime(logging.Handler):
    """Adds up what `jaxcap.measure` logs of each experiment.

    Attributes
    ----------
    measured_s
        From the first call to the last sample of an experiment, over all experiments.
    watched_s
        The part of it in which fresh processes took turns, and the machine was watched.
    other_work_s
        The part of that which other work took.
    """

    def __init__(self) -> None:
        super().__init__()
        self.measured_s = self.watched_s = self.other_work_s = 0.0

    def emit(self, record: logging.LogRecord) -> None:
        """Add the time of one experiment, or print what went wrong with kept results."""
        if record.levelno >= logging.WARNING:
            logger.info("%s", record.getMessage())  # measured again, it is no fault of the site
        seconds: float = getattr(record, "measured_s", 0.0)
        other_work: float | None = getattr(record, "other_work", None)
        self.measured_s += seconds
        if other_work is not None:
            self.watched_s += seconds
            self.other_work_s += seconds * other_work

    def summary(self, total_s: float) -> str:
        """Say which share of a time it was, and how busy the machine was with other work."""
        measured = (
            f"Measured for {self.measured_s / 60:.1f} of {total_s / 60:.1f} minutes "
            f"({self.measured_s / total_s:.0%})"
        )
        if not self.watched_s:
            return measured
        return f"{measured}; other work took {self.other_work_s / self.watched_s:.0%} of the CPU"


def width_summary(sets: Iterable[ResultSet]) -> str:
    """Say how wide the intervals are that predict the next run, of times and of speed-ups."""
    times: list[Estimate] = []
    speedups: list[Estimate] = []
    for results in sets:
        times += [result.time for result in results]
        for _, together in groupby(results, key=attrgetter("comparison")):
            first, *others = together
            speedups += [other.speedup(first) for other in others]
    parts = _widths("times", times), _widths("speed-ups", speedups)
    return f"Intervals (upper end over lower, median): {'; '.join(filter(None, parts))}"


def _widths(name: str, estimates: Sequence[Estimate]) -> str:
    widths = [e.high / e.low for e in estimates if e.kind == "prediction" and e.low > 0]
    if not widths:
        return ""
    wide = fmean(width > 2 for width in widths)
    return f"{median(widths):.2f} of {len(widths)} {name}, {wide:.1%} above 2"


_measured = MeasuredTime()


def listen() -> None:
    """Hear of each experiment that scripts measure."""
    source = logging.getLogger("jaxcap.measure")
    source.setLevel(logging.INFO)
    source.addHandler(_measured)
    source.propagate = False  # or other extensions would print each


def on_build_finished(_: Sphinx, __: Exception | None) -> None:
    """Print the share, if anything was measured, and how wide the intervals are."""
    if _measured.measured_s:
        logger.info(_measured.summary(time.time() - BUILD_START.timestamp()))
        logger.info(width_summary(results for _, results in results_of_build().values()))
