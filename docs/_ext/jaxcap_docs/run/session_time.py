"""At the end of the build: says for how much of its time experiments were measured."""

from __future__ import annotations

import logging
import time

from sphinx.application import Sphinx
from sphinx.util import logging as sphinx_logging

from jaxcap_docs.page_records import BUILD_START

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


_measured = MeasuredTime()


def listen() -> None:
    """Hear of each experiment that scripts measure."""
    source = logging.getLogger("jaxcap.measure")
    source.setLevel(logging.INFO)
    source.addHandler(_measured)
    source.propagate = False  # or other extensions would print each


def on_build_finished(_: Sphinx, __: Exception | None) -> None:
    """Print the share, if anything was measured."""
    if _measured.measured_s:
        logger.info(_measured.summary(time.time() - BUILD_START.timestamp()))
