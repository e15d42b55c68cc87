"""The page of a topic: how each of its benchmarks did under all releases."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import partial
from html import escape
from pathlib import Path

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective

from jaxcap.releases import figures
from jaxcap.releases.changes.comparison import Releases
from jaxcap.releases.changes.series import ReleaseChange, Series
from jaxcap.releases.recorded import TOPICS
from jaxcap.releases.recording.files import EXPERIMENT
from jaxcap.results.files import slug
from jaxcap.results.tables import Table
from jaxcap_docs import page_records, release_records
from jaxcap_docs.read.elements import listed, note, plot, raw_html, table_node
from jaxcap_docs.read.releases.addresses import SECTION, link_to_files
from jaxcap_docs.read.releases.changes import explanations, value_text
from jaxcap_docs.sources import make_if_changed, package_files, write_pages

# Fewer benchmarks need no map: their own plots follow at once.
FEWEST_ON_A_MAP = 3
#: What the programs of each topic stress, in Markdown.
STRESSES = {
    "calls": "What does a call cost before it computes anything? These programs do little arithmetic, "
    "so most of the time goes into JAX's own work, such as reading and converting arguments. (The "
    "transfer of a million numbers is an exception, because it moves 4 MB.)",
    "compilation": "The first call of a function traces it and compiles what was traced. These "
    "programs are large, or hold a large constant.",
    "elementwise": "Operations on each element by itself. If they are compiled together, XLA can fuse "
    "them. Otherwise, each of them reads and writes the whole array.",
    "gradients": "Programs that JAX derives from others: gradients, a Hessian, and a training step.",
    "indexing": "Reads and writes at many places of an array, which jump about in memory.",
    "issues": "Programs from issues in which somebody reported that something was slow, or slower than "
    "before. "
    "{doc}`/releases/issues` compares them with the reports.",
    "linear algebra": "Products, decompositions, a Fourier transform and convolutions, most of whose "
    "time is spent in a few long kernels.",
    "loops": "Loops inside a compiled program. Their steps are small, so what XLA does between two "
    "of them counts as well.",
    "memory": "How many bytes does a compiled program set aside for intermediate results? XLA counts "
    "them itself, and releases for which it counts none are left out.",
    "random numbers": "New keys from a key, and random numbers, each of which takes much arithmetic.",
    "reductions": "Sums and the like read much and write little, so they depend on memory, and on "
    "how many threads share the reading.",
    "sorting": "Sorts of random numbers, and a search for the largest, which needs no full sort.",
    "start-up": "What does a process pay before its first result? Each program has processes of its "
    "own, and starts scatter. So an import alone may come out slower than an import with a result.",
}


def on_builder_inited(app: Sphinx) -> None:
    """Write the topics' pages, unless package and recordings are as they were in the last build."""
    folder = Path(app.srcdir, SECTION, "topics")
    recordings = page_records.RECORDED.glob(f"*/{EXPERIMENT}/*.json")
    make_if_changed(
        app,
        folder,
        [*package_files(), *recordings],
        lambda: write_pages(folder, pages(release_records.recorded())),
    )


def pages(machines: Iterable[Releases]) -> dict[str, str]:
    """Return a page for each topic, and one for benchmarks that only recordings still have."""
    recorded = (topic for releases in machines for topic in releases.by_topic())
    return {
        slug(topic): (
            f"# {topic.capitalize()} by release\n\n{STRESSES.get(topic, '')}\n\n"
            f"```{{releases-topic}} {topic}\n```\n"
        )
        for topic in dict.fromkeys((*TOPICS.values(), *recorded))
    }


def show(directive: SphinxDirective, releases: Releases, topic: str) -> list[nodes.Node]:
    """Say what was found of a topic, and show a plot of each benchmark, and a table of all."""
    all_series = releases.by_topic().get(topic, [])
    if not all_series:
        return [note("No benchmark of this topic was recorded.")]
    changes: dict[str, list[ReleaseChange]] = {}
    of_topic = [change for change in releases.changes if change.series.topic == topic]
    for change in of_topic:
        changes.setdefault(change.series.benchmark, []).append(change)
    gains = (c for c in releases.then_and_now if c.ratio < 1 and releases.is_own_change(c))
    so_far = {change.series.benchmark: change for change in (*gains, *releases.regressions)}
    table = Table(
        f"Oldest, best and newest release, on {releases.device}",
        ("benchmark", "oldest", "best", "newest", "newest over best"),
        [_row(series) for series in all_series],
    )
    numbers = table_node(table), link_to_files(directive.env)
    is_counted = all(series.is_exact for series in all_series)
    source = "XLA counted in one process" if is_counted else "one process measured"
    return [
        raw_html(f"<p>{finding(releases, topic)}</p>"),
        *_overview(directive, releases, topic, len(all_series)),
        raw_html(
            f"<p>In the plots, each dot is what {source}, and the line joins the medians "
            "of the releases. The dashed line is the newest release. A dotted one marks a change, orange "
            "for the worse and blue for the better.</p>"
        ),
        *explanations(of_topic),
        *(
            _section(
                directive,
                series,
                changes.get(series.benchmark, []),
                so_far.get(series.benchmark),
                releases.names,
            )
            for series in all_series
        ),
        nodes.section("", nodes.title(text="All numbers"), *numbers, ids=["all-numbers"]),
    ]


def _overview(
    directive: SphinxDirective, releases: Releases, topic: str, benchmarks: int
) -> list[nodes.Node]:
    """Draw all benchmarks of a topic in one map, if they are several; a phone has no room for it."""
    if benchmarks < FEWEST_ON_A_MAP:
        return []
    draw = partial(figures.heat_map, releases, topic)
    images = plot(directive, f"releases-of-{slug(topic)}", draw, [release_records.digest(), topic])
    return [nodes.container("", *images, classes=["jaxcap-desktop"])]


def finding(releases: Releases, topic: str) -> str:
    """Say in HTML how many benchmarks of a topic changed, which of them most, and in which release."""
    compared = [change for change in releases.then_and_now if change.series.topic == topic]
    own = list(filter(releases.is_own_change, compared))
    since = f"Between JAX {releases.names[0]} and {releases.newest}"
    sentences = []
    if not own and compared:
        subject = {1: "the benchmark didn't change", 2: "neither benchmark changed"}.get(
            len(compared), f"none of {len(compared)} benchmarks changed"
        )
        sentences.append(f"<strong>{since}, {subject} clearly.</strong>")
    elif own:
        better = sum(change.ratio < 1 for change in own)
        counts = {
            "for the better": better,
            "for the worse": len(own) - better,
            "not clearly": len(compared) - len(own),
        }
        parts = [f"{count} {how}" for how, count in counts.items() if count]
        benchmarks = f"of {len(compared)} benchmark{'s' * (len(compared) > 1)} changed"
        parts[0] = parts[0].replace(" ", f" {benchmarks} ", 1)
        largest = max(own, key=lambda change: change.factor)
        which = "That is" if len(own) == 1 else "The largest clear change is that of"
        sentences += [
            f"<strong>{since}, {listed(parts)}.</strong>",
            f"{which} {_link(largest)}, which is now {largest.words}.",
        ]
    steps = [change for change in releases.changes if change.series.topic == topic]
    return " ".join([*sentences, _largest_step(steps)])


def _largest_step(steps: Sequence[ReleaseChange]) -> str:
    """Name the largest change from one release to the next, and whether a later release undid it."""
    if not steps:
        return "From one release to the next, no change is certain."
    largest = max(steps, key=lambda change: change.factor)
    which = (
        "The only change from one release to the next"
        if len(steps) == 1
        else f"Of {len(steps)} changes from one release to the next, the largest"
    )
    place = largest.series.releases.index
    later = [
        change
        for change in steps
        if change.series is largest.series and place(change.after) > place(largest.after)
    ]
    then = min(later, key=lambda change: place(change.after), default=largest)
    is_undone = (then.ratio > 1) != (largest.ratio > 1)
    back = f", and then {then.words} in {then.after}" if is_undone else ""
    return f"{which} came with {largest.after}: {_link(largest)}, {largest.words}{back}."


def _link(change: ReleaseChange) -> str:
    name = change.series.benchmark
    return f'<a href="#{slug(name)}">{escape(name)}</a>'


def _section(
    directive: SphinxDirective,
    series: Series,
    changes: Sequence[ReleaseChange],
    so_far: ReleaseChange | None,
    names: Sequence[str],
) -> nodes.section:
    name = series.benchmark
    draw = partial(figures.course, series, changes, names, so_far=so_far, is_named=False)
    return nodes.section(
        "",
        nodes.title(text=name),
        *plot(directive, f"release-{slug(name)}", draw, [release_records.digest(), name]),
        ids=[slug(name)],
        names=[nodes.fully_normalize_name(name)],
    )


def _row(series: Series) -> tuple[str, ...]:
    first, last = series.releases[0], series.releases[-1]
    best = min(series.releases, key=lambda release: series.estimates[release].value)
    values = [f"{value_text(series, name)} ({name})" for name in (first, best, last)]
    ratio = series.estimates[last].value / series.estimates[best].value
    return series.benchmark, *values, f"{ratio:.2f}"
