"""The page of public issues on performance: in which releases this site's machine sees them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from html import escape

from docutils import nodes
from sphinx.environment import BuildEnvironment

from jaxcap.releases.changes.comparison import Releases
from jaxcap.releases.changes.replays import (
    REPLAYS,
    Replay,
    ReplayOutcome,
    ReplayStanding,
    ReplayVerdict,
    judge,
    standing,
    summary,
)
from jaxcap.releases.recorded import TOPICS
from jaxcap.releases.recording.files import TWIN
from jaxcap.results.files import slug
from jaxcap_docs.read.elements import listed, raw_html
from jaxcap_docs.read.releases.addresses import link_to_benchmark
from jaxcap_docs.read.releases.directives import ReleasesDirective

# The style sheet gives each a shape, which says what its colour says too.
MARKS: tuple[ReplayOutcome, ...] = ("reproduced", "smaller", "not seen", "undecided")

# What is said at the top of each group of issues, in the order of the groups.
GROUPS: Mapping[ReplayStanding, str] = {
    "still there": "The newest release shows these slowdowns, or at least a part of them.",
    "fixed": "An earlier release showed these slowdowns. The newest shows no clear sign of them any "
    "more, though a small part may remain.",
    "undecided": "Our measurements scatter too much to tell whether the newest release shows these.",
    "not seen": "No release clearly showed these slowdowns on this machine.",
    "not measured": "No recorded release lets us tell.",
}


class Replays(ReleasesDirective):
    """Count all replayed issues by what became of them, and list them with a mark for each release."""

    required_arguments = 0

    def show(self, releases: Releases) -> list[nodes.Node]:
        """Return the counts, the meaning of the marks, and a section for each group of issues."""
        recorded = {name: part for name, part in releases.sets.items() if not name.endswith(TWIN)}
        groups: dict[ReplayStanding, list[str]] = {group: [] for group in GROUPS}
        for replay in REPLAYS:
            verdicts = judge(replay, recorded)
            item = _item(self.env, replay, verdicts, releases.names)
            groups[standing(verdicts)].append(item)
        counts = {group: len(items) for group, items in groups.items() if items}
        key = ", ".join(f"{_mark(outcome)} {outcome}" for outcome in MARKS)
        return [
            raw_html(f"<p><strong>{counted(counts, releases)}</strong></p>"),
            raw_html(f"<p>Each row of marks has one for each release, oldest first: {key}.</p>"),
            *(_section(group, groups[group]) for group in counts),
        ]


def counted(counts: Mapping[ReplayStanding, int], releases: Releases) -> str:
    """Say in HTML how many replayed slowdowns there are, and what became of how many.

    Parameters
    ----------
    counts
        How many there are of each kind, of which there is at least one.
    releases
        What was recorded.
    """
    threads = len({replay.thread for replay in REPLAYS})
    parts = [f'{count} <a href="#{slug(group)}">{group}</a>' for group, count in counts.items()]
    is_one = next(iter(counts.values())) == 1
    parts[0] = parts[0].replace(" ", " is " if is_one else " are ", 1)
    return (
        f"We replayed {sum(counts.values())} slowdowns from {threads} threads on "
        f"{escape(releases.device)}. Under JAX {releases.newest}, {listed(parts)}."
    )


def _section(group: ReplayStanding, items: Sequence[str]) -> nodes.section:
    title = nodes.title(text=group.capitalize())
    content = raw_html(f"<p>{GROUPS[group]}</p>{''.join(items)}")
    return nodes.section("", title, content, ids=[slug(group)], names=[group])


def _item(
    env: BuildEnvironment,
    replay: Replay,
    verdicts: Mapping[str, ReplayVerdict],
    names: Sequence[str],
) -> str:
    """Describe an issue: what was reported, the marks of all releases, and what they say."""
    benchmark = link_to_benchmark(replay.benchmark, TOPICS[replay.benchmark], env)
    finding = summary(verdicts)
    return (
        '<div class="jaxcap-replay">'
        f'<p><a href="{escape(replay.url)}">{escape(replay.thread)}</a> {escape(replay.report)}</p>'
        f"{_row(verdicts, names)}"
        f'<p>Our benchmark <a href="{benchmark.href}">{escape(benchmark)}</a>: '
        f'<span class="jaxcap-outcome">{escape(finding)}</span>.{_newest(replay, verdicts)}</p></div>'
    )


def _newest(replay: Replay, verdicts: Mapping[str, ReplayVerdict]) -> str:
    """Say how large the slowdown is in the newest release that the report is about."""
    if not verdicts:
        return ""
    release, verdict = list(verdicts.items())[-1]
    over = escape(verdict.over)
    rival = f"the variant <em>{over}</em>" if replay.alternative else f"under {over}"
    slowdown = verdict.slowdown
    return (
        f" Under {escape(release)}, it takes {slowdown.short} times as long as {rival} "
        f"({slowdown.range}; <em>f</em> is {replay.factor:.3g})."
    )


def _row(verdicts: Mapping[str, ReplayVerdict], names: Sequence[str]) -> str:
    """Show a mark for each release. The sentence below says the same to those who can't see it.

    All releases have a place, so that the rows of all issues share their axis.
    """
    if not verdicts:
        return ""
    marks = "".join(
        _mark(verdicts[name].outcome, f"{name}: {verdicts[name].outcome}")
        if name in verdicts
        else "<span></span>"
        for name in names
    )
    ends = f"<span>{escape(names[0])}</span><span>{escape(names[-1])}</span>"
    return f'<div class="jaxcap-verdicts" aria-hidden="true"><p>{marks}</p><p>{ends}</p></div>'


def _mark(outcome: ReplayOutcome, title: str = "") -> str:
    return f'<span class="jaxcap-mark-{slug(outcome)}" title="{escape(title)}"></span>'
