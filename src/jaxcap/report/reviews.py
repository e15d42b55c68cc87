"""What one folder of recordings adds to another, in Markdown for those who review it.

The files may come from anyone, and the text may become a comment on a public page. So what is written
in the files stands in code alone, where nothing becomes a link, a mention or HTML.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from html import escape
from itertools import groupby
from pathlib import Path

from jaxcap.report.exports import side_by_side
from jaxcap.results.recordings import Recording
from jaxcap.results.sets import ResultSet
from jaxcap.results.statistics import Speedup

# GitHub takes 65,536 letters. Tables that would not fit are left out, the least different first.
MOST_LETTERS = 50_000
_ANY_WIDTH = 10_000  # in columns, for a text that may be scrolled sideways
RELEASES = "releases"  # the folder of a machine that holds what it recorded of them


@dataclass(frozen=True)
class Addition:
    """Results that are new, or not those that there were.

    Attributes
    ----------
    machine
        Of the results.
    results
        Of one experiment.
    earlier
        What a device of the same model measured before, and its folder and day; None if none did.
    """

    machine: Recording
    results: ResultSet
    earlier: tuple[str, ResultSet] | None

    def ratios(self) -> list[Speedup]:
        """Compare each time with the earlier one of the same call."""
        if self.earlier is None:
            return []
        before = {result.key: result.time for result in self.earlier[1]}
        pairs = [(r.time, before[r.key]) for r in self.results if r.key in before]
        # A coarse clock shows zeros.
        return [
            Speedup.from_separate_times(time, over=over)
            for time, over in pairs
            if min(time.low, over.low) > 0
        ]

    def differing(self) -> list[Speedup]:
        """Return the ratios whose intervals rule out that nothing has changed."""
        return [ratio for ratio in self.ratios() if ratio.verdict != "undecided"]


def additions(before: Sequence[Recording], now: Sequence[Recording]) -> list[Addition]:
    """Find the results of `now` that `before` lacks, by machine.

    They are compared with what the folder held, or else with another machine's whose device is of the
    same model: the one that comes first, as devices of a model should not differ.
    """
    held = {machine.folder: machine.sets for machine in before}
    return [
        Addition(machine, results, _earlier(machine, experiment, before))
        for machine in now
        for experiment, results in machine.sets.items()
        if held.get(machine.folder, {}).get(experiment) != results
    ]


def _earlier(
    machine: Recording, experiment: str, before: Sequence[Recording]
) -> tuple[str, ResultSet] | None:
    alike = [
        other for other in before if other.device == machine.device and experiment in other.sets
    ]
    alike.sort(key=lambda other: other.folder != machine.folder)
    for other in alike[:1]:
        results = other.sets[experiment]
        return f"{other.folder}, {results.environment.measured_at.date()}", results
    return None


def review(
    before: Sequence[Recording],
    now: Sequence[Recording],
    *,
    releases: Mapping[str, int],
    invalid: Sequence[str],
) -> str:
    """Say in Markdown what is new, what is gone, and what differs from earlier files.

    Parameters
    ----------
    before, now
        All recordings without and with those to review.
    releases
        How many files of results on JAX's releases are new or changed, by the machine's folder.
    invalid
        Why files could not be used.
    """
    added = additions(before, now)
    parts = [_invalid(invalid)] if invalid else []
    for _, group in groupby(added, key=lambda addition: addition.machine.folder):
        parts.append(_of_machine(list(group), {machine.folder for machine in before}))
    parts += [
        f"{_code(folder)} has {count} new or changed files of releases of JAX."
        for folder, count in releases.items()
    ]
    if gone := list(_gone(before, now)):
        parts.append(f"No longer there: {', '.join(map(_code, gone))}.")
    text = "\n\n".join(parts or ["No recording differs from those that there are."])
    return f"{text}\n\n{''.join(_tables(added, MOST_LETTERS - len(text)))}".rstrip() + "\n"


def changed_releases(before: Path, now: Path) -> dict[str, int]:
    """Count the files of results on JAX's releases that are new or changed, by the machine's folder."""
    counts: dict[str, int] = {}
    for path in sorted(now.glob(f"*/{RELEASES}/*.json")):
        earlier = before / path.relative_to(now)
        if not earlier.exists() or earlier.read_bytes() != path.read_bytes():
            counts[path.parts[-3]] = counts.get(path.parts[-3], 0) + 1
    return counts


def _invalid(reasons: Sequence[str]) -> str:
    return "\n".join(["Not valid, and so left out:", "", *(f"- {_code(r)}" for r in reasons)])


def _of_machine(added: Sequence[Addition], known: set[str]) -> str:
    """Say what a machine is, what it adds, and how that compares with earlier files."""
    machine = added[0].machine
    here = machine.environment
    title = "More of" if machine.folder in known else "New:"
    versions = here.versions.get("jax", "of unknown version")
    names = ", ".join(_code(addition.results[0].experiment) for addition in added)
    return (
        f"### {title} {_code(machine.name)}\n\n"
        f"In {_code(machine.folder)}: CPU {_code(here.cpu)}, {here.cores} cores in use, "
        f"JAX {_code(versions)}, measured {machine.days}.\n\n"
        f"- New or changed experiments ({len(added)}): {names}\n"
        f"- {_compared(added)}"
    )


def _compared(added: Sequence[Addition]) -> str:
    verdicts = Counter(ratio.verdict for addition in added for ratio in addition.ratios())
    if not verdicts:
        return "No earlier times of this model to compare with"
    return (
        f"Times that earlier files of this model have as well: {verdicts.total()}, of which "
        f"{verdicts['faster']} became certainly faster and {verdicts['slower']} certainly slower"
    )


def _gone(before: Sequence[Recording], now: Sequence[Recording]) -> Iterator[str]:
    held = {machine.folder: machine.sets for machine in now}
    for machine in before:
        for experiment in machine.sets:
            if experiment not in held.get(machine.folder, {}):
                yield f"{machine.folder}: {experiment}"


def _tables(added: Sequence[Addition], room: int) -> Iterator[str]:
    """Yield tables of what differs, folded away, as long as there is room."""
    differing = [addition for addition in added if addition.differing()]
    differing.sort(key=lambda addition: len(addition.differing()), reverse=True)
    for position, addition in enumerate(differing):
        table = _table(addition)
        room -= len(table)
        if room < 0:
            yield f"There is no room for {len(differing) - position} more tables.\n"
            return
        yield table


def _table(addition: Addition) -> str:
    assert addition.earlier is not None  # or nothing differed
    name, earlier = addition.earlier
    sets = {"earlier": earlier, "now": addition.results}
    lines = "\n\n".join(table.text(_ANY_WIDTH) for table in side_by_side(sets))
    # Longer than any in the text, which could otherwise end it.
    fence = "`" * max(3, 1 + max(map(len, re.findall("`+", lines)), default=0))
    differing = f"{len(addition.differing())} of {len(addition.ratios())} times differ"
    experiment = escape(addition.results[0].experiment)
    summary = f"<code>{experiment}</code>: {differing} from <code>{escape(name)}</code>"
    return (
        f"<details><summary>{summary}</summary>\n\n{fence}text\n{lines}\n{fence}\n\n</details>\n\n"
    )


def _code(text: str) -> str:
    """Return a text as code, which no text can end."""
    return f"`{text.replace('`', chr(39))}`"
