"""Parts of the pages about the releases: the machine, the map, noise, claims, failures and files."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from statistics import median

from docutils import nodes
from sphinx.util.docutils import SphinxDirective

from jaxcap.published import NEAREST_BENCHMARKS
from jaxcap.releases import figures
from jaxcap.releases.changes import claims
from jaxcap.releases.changes.comparison import Releases
from jaxcap.releases.changes.series import FALSE_SHARE, FEW_PROCESSES
from jaxcap.results.tables import Table
from jaxcap_docs.read.elements import listed, note, plot, raw_html, stamp, table_node
from jaxcap_docs.read.releases.addresses import (
    link_to_series,
    link_to_tutorial,
    links_to_files,
    root,
)
from jaxcap_docs.read.releases.changes import value_text
from jaxcap_docs.release_records import MAP, recorded

BUSIEST = 3  # releases are named below the map


def machine(_: SphinxDirective, releases: Releases) -> list[nodes.Node]:
    """Say where and how the releases were measured."""
    least, most = releases.processes
    processes = f"{least} to {most} of each release" if least < most else f"{most} of each release"
    environments = {name: releases.sets[name].environment for name in releases.names}
    numpys = Counter(e.versions.get("numpy", "?") for e in environments.values())
    facts = {
        "Releases": f"{len(releases.names)}, from {releases.names[0]} to {releases.newest}",
        "Processes": processes,
        "NumPy": ", ".join(
            f"{version} ({count} of the releases)" if count > 1 else version
            for version, count in numpys.items()
        ),
    }
    return [stamp("Recorded on", environments[releases.newest], facts), *_warning(most)]


def _warning(processes: int) -> list[nodes.Node]:
    """Say what can't be concluded from so few processes, if they are too few."""
    if processes >= FEW_PROCESSES:
        return []
    if processes == 1:
        text = "One process measured each release: there are no intervals, and no changes."
    else:
        text = (
            f"Only {processes} processes measured each release so far. The map and the plots show "
            "large differences, but hardly any of them is certain enough to be called a change."
        )
    return [note(text)]


def answer(_: SphinxDirective, releases: Releases) -> list[nodes.Node]:
    """Say how many benchmarks do better under the newest release than under the oldest, and worse."""
    finding = figures.then_and_now(releases)
    return [nodes.paragraph("", "", nodes.strong(text=f"{finding}."))] if finding else []


def overview(directive: SphinxDirective, releases: Releases) -> list[nodes.Node]:
    """Draw all benchmarks under all releases; releases.js can make a table of it to walk through."""
    images = plot(directive, "releases", figures.heat_map(releases))
    still = nodes.container("", *images, classes=["jaxcap-releases-static"])
    source = f"{root(directive.env)}results/{MAP}"
    button = raw_html(f'<button type="button" data-source="{source}">Explore the map</button>')
    content: list[nodes.Node] = [nodes.container("", button, still, classes=["jaxcap-releases"])]
    if releases.changes:
        content.append(nodes.paragraph(text=_busiest(releases)))
    return content


def _busiest(releases: Releases) -> str:
    """Name the releases with the most changes, and count those for the worse and for the better."""
    worse = Counter(change.after for change in releases.changes if change.ratio > 1)
    better = Counter(change.after for change in releases.changes if change.ratio < 1)
    most = [
        f"{name} ({worse[name] or 'none'} for the worse, {better[name] or 'none'} for the better)"
        for name, _ in (worse + better).most_common(BUSIEST)
    ]
    return f"The releases with the most changes were {listed(most)}."


def noise(directive: SphinxDirective, releases: Releases) -> list[nodes.Node]:
    """Say how far the newest release differs from itself."""
    compared = [change for change in releases.twin_comparisons if change.p == change.p]
    if not compared:
        return [
            nodes.paragraph(
                text="In this recording the newest release wasn't measured twice, or by one process "
                "only, so the noise isn't known."
            )
        ]
    by_factor = sorted(compared, key=lambda change: change.factor, reverse=True)
    typical = median(change.factor for change in compared)
    below = sum(change.p <= FALSE_SHARE for change in compared)
    false_alarms = sum(change.is_change for change in compared)
    text = (
        f"JAX {releases.newest} was compared with itself in {len(compared)} benchmarks. The rules above "
        f"call {false_alarms or 'none'} of these comparisons a change. Before correcting for multiple "
        f"comparisons, {below} p-value{'s' * (below != 1)} of {len(compared)} came out at most "
        f"{FALSE_SHARE:g}; chance alone would give about {FALSE_SHARE * len(compared):.1f}. Half of the ratios lie within {100 * (typical - 1):.1f}% of 1."
    )
    rows = [
        (
            link_to_series(change.series, directive.env),
            f"{change.ratio:.3f}",
            change.interval,
            f"{change.p:.2g}",
            "yes" if change.is_change else "no",
        )
        for change in by_factor[:5]
    ]
    headers = ("benchmark", "ratio", "95% interval", "p-value", "called a change")
    table = Table("The largest differences without a cause", headers, rows)
    return [nodes.paragraph(text=text), table_node(table)]


def checked_claims(directive: SphinxDirective, releases: Releases) -> list[nodes.Node]:
    """Show under which releases the claims of the tutorials hold."""
    checked = claims.check(releases)
    if not checked:
        return [nodes.paragraph(text="None of the benchmarks that it takes was recorded.")]
    rows = []
    for outcome in checked:
        claim, ratios = outcome.claim, [*outcome.ratios.values()]
        link = link_to_tutorial(claim.tutorial, claim.text, directive.env)
        rows.append((link, outcome.words, f"{ratios[0]:.2g}, {ratios[-1]:.2g}"))
    table = Table(
        f"Claims by release, on {releases.device}",
        ("claim", "outcome", "ratio, then and now"),
        rows,
        text_columns=[0, 1],
    )
    figure = figures.claims(checked, releases.names)
    found = nodes.paragraph("", "", nodes.strong(text=counted(checked)))
    images = plot(directive, "releases-claims", figure)
    # The table says the same in words, which a phone has room for.
    return [found, nodes.container("", *images, classes=["jaxcap-desktop"]), table_node(table)]


def counted(checked: Sequence[claims.ClaimByRelease]) -> str:
    """Say how many claims hold under every release, how many fail under some, and the rest."""
    outcomes = [set(outcome.outcomes.values()) for outcome in checked]
    always = sum(each == {"holds"} for each in outcomes)
    fail = sum("fails" in each for each in outcomes)
    rest = len(outcomes) - always - fail
    counts = {
        f"hold{'s' * (always == 1)} under every release": always,
        f"fail{'s' * (fail == 1)} under at least one": fail,
        f"never fail{'s' * (rest == 1)} but can't always be decided": rest,
    }
    parts = [f"{count} {what}" for what, count in counts.items() if count]
    return f"Of {len(outcomes)} claim{'s' * (len(outcomes) > 1)}, {listed(parts)}."


def published(directive: SphinxDirective, releases: Releases) -> list[nodes.Node]:
    """Say what part of the distance to published times is JAX's, where that was measured."""
    all_series = {series.benchmark: series for series in releases.of_jax()}
    rows = []
    for work, benchmark in NEAREST_BENCHMARKS.items():
        if series := all_series.get(benchmark):
            ends = series.releases[0], series.releases[-1]
            change = series.compare(*ends)
            ratio = f"{1 / change.ratio:.2g}"
            if change.interval:
                ratio += f" ({1 / change.high:.2g} to {1 / change.low:.2g})"
            times = (f"{value_text(series, name)} ({name})" for name in ends)
            rows.append((work, link_to_series(series, directive.env), *times, ratio))
    headers = ("published work", "nearest benchmark", "oldest", "newest", "times as fast")
    return [table_node(Table(f"JAX's part, on {releases.device}", headers, rows, text_columns=[1]))]


def failures(_: SphinxDirective, releases: Releases) -> list[nodes.Node]:
    """List what couldn't be measured, and why."""
    rows = [
        (release, benchmark, reason)
        for release, failures in releases.files.failures().items()
        for benchmark, reason in failures.items()
    ]
    if not rows:
        return [nodes.paragraph(text="No benchmark failed under any release.")]
    headers = ("release", "benchmark", "why")
    return [table_node(Table("What couldn't be measured", headers, rows, text_columns=[1, 2]))]


def files(directive: SphinxDirective, _: Releases) -> list[nodes.Node]:
    """Link to the files of all machines."""
    return [
        element
        for releases in recorded()
        for element in (
            nodes.rubric(text=releases.device),
            links_to_files(releases, directive.env),
        )
    ]
