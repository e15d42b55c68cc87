"""What recordings say about the release of JAX that is installed."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from jaxcap.cli.report.sections.parts import not_measured
from jaxcap.measure.machine.doctor import Facts
from jaxcap.report.claims import WORDS
from jaxcap.report.document import Section
from jaxcap.results.tables import Table

if TYPE_CHECKING:
    from jaxcap.releases.changes.outlook import Outlook
    from jaxcap.releases.changes.series import ReleaseChange

# Changes that are listed; the rest are counted.
_MOST_CHANGES = 5


def release(facts: Facts) -> Section:
    """Tell what came with the release, what the newest one would change, and which claims hold."""
    heading = f"What is known about JAX {facts.jax}"
    try:
        outlook = _look_up(facts.jax)
    except Exception as error:  # noqa: BLE001 (JAX may be broken in any way)
        reason = str(error).strip().partition("\n")[0]
        return not_measured("release", heading, reason, "Nothing can be said")
    if outlook is None:
        reason = f"only later releases than {facts.jax} were recorded"
        return not_measured("release", heading, reason, "Nothing is known")
    sentences = [
        f"This is what recordings of the releases up to {outlook.newest} say, made on {outlook.device}."
    ]
    if outlook.release != facts.jax:
        sentences.append(f"The last one before yours among them is {outlook.release}.")
    tables = []
    came, comes = f"Came with {outlook.release}", f"Would come with {outlook.newest}"
    for changes, what in ((outlook.arrived, came), (outlook.ahead, comes)):
        if changes:
            tables.append(_table_of_changes(changes, what))
        elif outlook.release != outlook.newest or what == came:
            sentences.append(f"{what}: no change that was measured.")
    claimed = [(text, WORDS[outcome]) for text, outcome in outlook.claims.items()]
    return Section(
        name="release",
        heading=heading,
        sentences=sentences,
        tables=tables,
        details=[
            Table(f"Claims under {outlook.release}", ("It is claimed that", "outcome"), claimed)
        ],
        data={
            "installed": facts.jax,
            "recorded": outlook.release,
            "newest": outlook.newest,
            "device": outlook.device,
            "arrived": [*map(_change, outlook.arrived)],
            "ahead": [*map(_change, outlook.ahead)],
            "claims": dict(outlook.claims),
        },
    )


def _look_up(version: str) -> Outlook | None:
    # Imported here because JAX may be missing.
    from jaxcap.releases.changes import claims
    from jaxcap.releases.changes.outlook import Outlook
    from jaxcap.releases.recorded import recorded

    releases = recorded()
    return Outlook.of(version, releases, claims.check(releases))


def _table_of_changes(changes: Sequence[ReleaseChange], what: str) -> Table:
    listed = changes[:_MOST_CHANGES]
    rows = [(change.series.benchmark, change.words, change.interval) for change in listed]
    more = len(changes) - len(rows)
    notes = [f"Smaller changes, not listed: {more}."] if more else []
    return Table(what, ("benchmark", "change", "ratio of times"), rows, notes)


def _change(change: ReleaseChange) -> dict[str, object]:
    return {
        "benchmark": change.series.benchmark,
        "before": change.before,
        "after": change.after,
        "ratio": change.ratio,
    }
