"""Tables of what changed: from one release to the next, and up to the newest."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from math import exp, log
from statistics import fmean

from docutils import nodes
from rich.filesize import decimal
from sphinx.environment import BuildEnvironment
from sphinx.util.docutils import SphinxDirective

from jaxcap.releases.changes.causes import Cause, causes
from jaxcap.releases.changes.comparison import Releases
from jaxcap.releases.changes.series import ReleaseChange, Series
from jaxcap.releases.recording.files import version_key
from jaxcap.results.tables import Table
from jaxcap_docs.read.elements import dropdown, raw_html, table_node
from jaxcap_docs.read.releases.addresses import link_to_series, link_to_topic

# The table of changes lists as many; of the others, those of such a factor can be unfolded.
MAX_ROWS, LARGE_FACTOR = 25, 2.0


def steps(directive: SphinxDirective, releases: Releases) -> list[nodes.Node]:
    """List the largest changes from one release to the next."""
    changes = releases.changes
    if not changes:
        return [nodes.paragraph(text="No two releases that follow each other differ enough.")]
    largest, others = changes[:MAX_ROWS], changes[MAX_ROWS:]
    caption = "Changes from one release to the next"
    if others:
        caption = (
            f"The {len(largest)} largest of {len(changes)} changes from one release to the next"
        )
    content = [_table(directive.env, releases, caption, largest)]
    if large := [change for change in others if change.factor >= LARGE_FACTOR]:
        title = f"{len(large)} more changes of a factor of {LARGE_FACTOR:g} or more"
        content.append(dropdown(title, [_table(directive.env, releases, title, large)]))
    return [
        *content,
        *explanations(changes),
        *_left_out(releases.moved_with_control, "NumPy's time changed at the same place"),
        *_left_out(releases.contradicted, "a second recording contradicts it"),
    ]


def explanations(changes: Sequence[ReleaseChange]) -> list[nodes.Node]:
    """Say what somebody found out about changes, as far as anybody did."""
    return [
        _explanation(cause, explained)
        for cause in causes()
        if (explained := list(filter(cause.explains, changes)))
    ]


def _explanation(cause: Cause, explained: Sequence[ReleaseChange]) -> nodes.raw:
    """Tell a cause, and where its changes show if that isn't in its own release."""
    shown = sorted({change.after for change in explained}, key=version_key)
    is_missing = cause.release not in shown
    where = f" (which wasn't measured; it shows in {' and '.join(shown)})" if is_missing else ""
    return raw_html(
        f'<p class="jaxcap-note">{escape(cause.topic or cause.benchmark)} in {cause.release}{where}: '
        f'{escape(cause.cause)} <a href="{escape(cause.link)}">Where that is shown</a></p>'
    )


def _left_out(changes: Sequence[ReleaseChange], why: str) -> list[nodes.Node]:
    if not changes:
        return []
    names = ", ".join(f"{change.series.benchmark} in {change.after}" for change in changes)
    return [nodes.paragraph(text=f"Left out, because {why}: {names}.")]


def _table(
    env: BuildEnvironment, releases: Releases, caption: str, changes: Sequence[ReleaseChange]
) -> nodes.Node:
    headers = (
        "benchmark",
        "release",
        "change",
        "95% interval of the factor",
        "before → since",
        "in a second recording",
    )
    rows = [
        (
            link_to_series(change.series, env),
            change.after,
            change.words,
            change.interval_of_factor,
            " → ".join(value_text(change.series, name) for name in (change.before, change.after)),
            second_words(releases, change),
        )
        for change in changes
    ]
    return table_node(Table(f"{caption}, on {releases.device}", headers, rows, text_columns=[0]))


def second_words(releases: Releases, change: ReleaseChange) -> str:
    """Say what a second recording shows of a change, and whether that is certain."""
    second = releases.change_in_second_recording(change)
    if second is None:
        return "not measured"
    is_undecided = releases.confirmation(change) == "undecided"
    return f"undecided ({second.words})" if is_undecided else second.words


def value_text(series: Series, release: str) -> str:
    """Return the time or the memory under a release, with its unit."""
    estimate = series.estimates[release]
    return decimal(round(estimate.value)) if series.is_exact else estimate.short


def regressions(directive: SphinxDirective, releases: Releases) -> list[nodes.Node]:
    """List what is slower under the newest release than it was under an earlier one."""
    changes = releases.regressions
    if not changes:
        return [nodes.paragraph(text="Nothing is, as far as these measurements can tell.")]
    caption = f"{len(changes)} of {len(releases.of_jax())} benchmarks, on {releases.device}"
    headers = ("benchmark", f"JAX {releases.newest}", "95% interval of the factor", "then", "now")
    rows = [
        (
            link_to_series(change.series, directive.env),
            f"{change.words} than in {change.before}",
            change.interval_of_factor,
            *(value_text(change.series, name) for name in (change.before, change.after)),
        )
        for change in changes
    ]
    return [table_node(Table(caption, headers, rows))]


def then_and_now(directive: SphinxDirective, releases: Releases) -> list[nodes.Node]:
    """Compare the oldest with the newest release, by topic."""
    topics: dict[str, list[ReleaseChange]] = {}
    for change in releases.then_and_now:
        topics.setdefault(change.series.topic, []).append(change)
    if not topics:
        return [nodes.paragraph(text="Only one release was recorded.")]
    rows = []
    for topic, changes in topics.items():
        own = list(filter(releases.is_own_change, changes))
        better = sum(change.ratio < 1 for change in own)
        worse = len(own) - better
        typical = exp(fmean(log(change.ratio) for change in changes))
        counts = map(str, (better, len(changes) - worse - better, worse))
        rows.append((link_to_topic(topic, directive.env), *counts, f"{typical:.2f}"))
    caption = f"JAX {releases.newest} compared with {releases.names[0]}, on {releases.device}"
    headers = ("topic", "better", "no clear change", "worse", "geometric mean of the ratios")
    return [table_node(Table(caption, headers, rows))]
