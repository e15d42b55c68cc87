"""What several sections share."""

from __future__ import annotations

from math import isfinite

from jaxcap.report.document import Section
from jaxcap.results.statistics import Estimate

MISSING = "not measured"


def not_measured(name: str, heading: str, reason: str, what: str = "Not measured") -> Section:
    """Make a section that says why it has nothing to say."""
    return Section(
        name=name, heading=heading, sentences=[f"{what}: {reason}."], data={"missing": reason}
    )


def numbers(estimate: Estimate) -> dict[str, float | str | None]:
    """Return an estimate for JSON, which has no infinity."""
    return {
        "value": finite(estimate.value),
        "low": finite(estimate.low),
        "high": finite(estimate.high),
        "confidence": estimate.confidence,
        "basis": estimate.basis,
    }


def finite(number: float) -> float | None:
    """Return a number, or None in place of an infinite one."""
    return number if isfinite(number) else None
