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
    ReplayVerdict,
    judge,
    summary,
)
from jaxcap.releases.recorded import TOPICS
from jaxcap.releases.recording.files import TWIN
from jaxcap.results.files import slug
from jaxcap_docs.read.elements import raw_html
from jaxcap_docs.read.releases.addresses import link_to_benchmark
from jaxcap_docs.read.releases.directives import ReleasesDirective

# The style sheet gives each a shape, which says what its colour says too.
MARKS: tuple[ReplayOutcome, ...] = ("reproduced", "smaller", "not seen", "undecided")


class Replays(ReleasesDirective):
    """List all replayed issues, with a mark for each release."""

    required_arguments = 0

    def show(self, releases: Releases) -> list[nodes.Node]:
        """Return the issues in a list, below the meaning of the marks."""
        recorded = {name: part for name, part in releases.sets.items() if not name.endswith(TWIN)}
        key = ", ".join(f"{_mark(outcome)} {outcome}" for outcome in MARKS)
        items = [
            _item(self.env, replay, judge(replay, recorded), releases.names) for replay in REPLAYS
        ]
        return [raw_html(f"<p>{key}</p>{''.join(items)}")]


def _item(
    env: BuildEnvironment,
    replay: Replay,
    verdicts: Mapping[str, ReplayVerdict],
    names: Sequence[str],
) -> str:
    """Describe an issue: what was reported, the marks of all releases, and what they say."""
    benchmark = link_to_benchmark(replay.benchmark, TOPICS[replay.benchmark], env)
    finding = summary(verdicts)
    other = escape(replay.alternative)
    opponent = f", compared with the variant <em>{other}</em>" if other else ""
    return (
        '<div class="jaxcap-replay">'
        f'<p><a href="{escape(replay.url)}">{escape(replay.thread)}</a> {escape(replay.report)}</p>'
        f"{_row(verdicts, names)}"
        f'<p><span class="jaxcap-outcome">{escape(finding[0].upper() + finding[1:])}</span>, with '
        f'<a href="{benchmark.href}">{escape(benchmark)}</a>{opponent}.</p></div>'
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
