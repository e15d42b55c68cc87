"""What a build leaves for the builds after it: its headline results, and what became of its claims."""

from __future__ import annotations

from datetime import datetime

from jaxcap.measure.machine.description import capture
from jaxcap.report.claims import Outcome
from jaxcap.results.base import FrozenModel
from jaxcap_docs import page_records
from jaxcap_docs.lessons import TUTORIALS
from jaxcap_docs.page_records import Interval, PageRecord

FILE = "history.json"  # in the site's folder
# Variables that the home page quotes, and what each of them compares.
HEADLINES = {
    "transformations/jit#wave_speedup": (
        "Compiling a function of a million numbers, instead of running it op by op"
    ),
    "transformations/vmap#speedup": (
        "Mapping over a batch of a thousand, instead of a compiled call for each"
    ),
    "transformations/asynchronous_dispatch#lead": (
        "Reading data while the device works, instead of waiting for it first"
    ),
}


class HistoryRow(FrozenModel):
    """A headline result, or a claim.

    Attributes
    ----------
    page
        The tutorial that measured it.
    text
        What is measured, or what is claimed.
    needs
        What the ratio has to be for the claim to hold, such as ``"faster"``; None for a headline.
    outcome
        Of the claim; None for a headline.
    interval
        The ratio or the other number that was measured; None if it is not finite.
    """

    page: str
    text: str
    needs: str | None = None
    outcome: Outcome | None
    interval: Interval | None


class BuildEntry(FrozenModel):
    """A build in the history of all builds.

    Attributes
    ----------
    schema_version
        Of this format.
    built_at
        When the site was built.
    commit
        What it was built from; None outside a checkout.
    machine
        The best device of the machine that measured.
    jax
        The version of JAX there.
    findings
        The headline results, and then all claims in reading order.
    """

    schema_version: int = 1
    built_at: datetime
    commit: str | None
    machine: str
    jax: str | None
    findings: tuple[HistoryRow, ...]


def entry_of_build() -> BuildEntry | None:
    """Collect what this build measured, or None if it ran no tutorial."""
    records = {page: record for page in TUTORIALS if (record := page_records.load(page))}
    if not records:
        return None
    environment = next(iter(records.values())).environment
    now = capture()
    return BuildEntry(
        built_at=now.measured_at,
        commit=now.commit,
        machine=str(environment.device),
        jax=environment.versions.get("jax"),
        findings=(*_headlines(records), *_claims(records)),
    )


def _headlines(records: dict[str, PageRecord]) -> list[HistoryRow]:
    findings = []
    for variable, text in HEADLINES.items():
        page, _, name = variable.partition("#")
        if page in records and (number := records[page].numbers.get(name)):
            findings.append(
                HistoryRow(page=page, text=text, outcome=None, interval=number.interval)
            )
    return findings


def _claims(records: dict[str, PageRecord]) -> list[HistoryRow]:
    findings = []
    for page, record in records.items():
        for claim in record.checked_claims():
            text = f"{claim.statement.text[0].upper()}{claim.statement.text[1:]}"
            interval = Interval.of(claim.estimate)
            findings.append(
                HistoryRow(
                    page=page,
                    text=text,
                    needs=claim.statement.needs,
                    outcome=claim.outcome,
                    interval=interval,
                )
            )
    return findings
