"""Causes of changes, as far as somebody found them out, from the file ``causes.csv``."""

from __future__ import annotations

import csv
from dataclasses import dataclass
from pathlib import Path

from jaxcap.releases.changes.series import ReleaseChange
from jaxcap.releases.recording.files import version_key


@dataclass(frozen=True)
class Cause:
    """What somebody found out about a change, written by hand.

    Attributes
    ----------
    release
        The first one with the change.
    topic
        What changed, if all benchmarks of a topic did; else empty.
    benchmark
        What changed, if a single benchmark did; else empty.
    cause
        A sentence.
    link
        Where it is shown.
    direction
        ``"slower"`` or ``"faster"``, if it is the cause of such changes only; else empty.
    """

    release: str
    topic: str
    benchmark: str
    cause: str
    link: str
    direction: str = ""

    def explains(self, change: ReleaseChange) -> bool:
        """Tell whether a change is of this kind, and the release lies between those compared."""
        series = change.series
        is_meant = series.benchmark == self.benchmark or series.topic == self.topic
        if self.direction:
            is_meant &= (self.direction == "slower") == (change.ratio > 1)
        return is_meant and self.lies_between(change.before, change.after)

    def lies_between(self, older: str, newer: str) -> bool:
        """Tell whether its release comes after one and isn't later than the other."""
        return version_key(older) < version_key(self.release) <= version_key(newer)


def causes() -> list[Cause]:
    """Read the known causes of changes."""
    path = Path(__file__).with_name("causes.csv")
    with path.open(encoding="utf-8", newline="") as file:
        return [Cause(**row) for row in csv.DictReader(file)]
