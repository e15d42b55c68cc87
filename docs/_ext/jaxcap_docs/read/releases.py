"""The pages of JAX's releases: what a machine recorded of them, and a page for each topic."""

from __future__ import annotations

import json
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from functools import cache, partial
from html import escape
from math import exp, log
from pathlib import Path
from statistics import fmean, median

from docutils import nodes
from rich.filesize import decimal
from sphinx.application import Sphinx
from sphinx.environment import BuildEnvironment
from sphinx.util import logging
from sphinx.util.docutils import SphinxDirective

from jaxcap.published import NEAREST_BENCHMARKS
from jaxcap.releases import claims, comparison, figures
from jaxcap.releases.claims import CheckedClaim
from jaxcap.releases.comparison import JAX, Comparison, Releases, Series
from jaxcap.releases.files import EXPERIMENT, ReleaseFiles
from jaxcap.releases.recorded import TOPICS, load
from jaxcap.results import ResultsError
from jaxcap.results.files import slug
from jaxcap_docs import page_records
from jaxcap_docs.lessons import TUTORIALS_FOLDER
from jaxcap_docs.read.dependencies import note_files
from jaxcap_docs.read.elements import dropdown, note, plot, raw_html, stamp
from jaxcap_docs.sources import make_if_changed, package_files

SECTION = "releases"
# The numbers of the map, below results/.
MAP = "releases-map.js"
MISSING = "No machine has recorded the releases of JAX yet."
# The table of changes lists as many; of the others, those of such a factor can be unfolded.
LONGEST, LARGE = 25, 2.0

logger = logging.getLogger(__name__)


def on_builder_inited(app: Sphinx) -> None:
    """Write a page for each topic, unless the package is as it was in the last build."""
    folder = Path(app.srcdir, SECTION, "topics")
    make_if_changed(app, folder, package_files(), partial(_write_pages, folder))


def _write_pages(folder: Path) -> None:
    pages = {
        folder / f"{slug(topic)}.md": (
            f"# {topic.capitalize()} by release\n\n```{{releases-topic}} {topic}\n```\n"
        )
        for topic in TOPICS.values()
    }
    for removed in set(folder.glob("*.md")).difference(pages):
        removed.unlink()
    for path, text in pages.items():
        page_records.write_if_changed(path, text)


@cache  # the files don't change while pages are read
def recorded() -> list[Releases]:
    """Read what all machines recorded of the releases; files that can't be used are warned of."""
    machines = []
    for folder in sorted(page_records.RECORDED.glob(f"*/{EXPERIMENT}")):
        try:
            releases = load(ReleaseFiles(folder))
        except (OSError, ResultsError) as error:
            logger.warning("%s", error)
            continue
        if releases:
            machines.append(releases)
    return machines


class Directive(SphinxDirective, ABC):
    """Shows what the first machine recorded, or says that none has."""

    required_arguments = 1
    final_argument_whitespace = True

    def run(self) -> list[nodes.Node]:
        """Return what the page shows, or a note if no machine has recorded the releases."""
        note_files(self.env, page_records.RECORDED, f"*/{EXPERIMENT}/**/*")
        note_files(self.env, Path(comparison.__file__).parent, "*.*")
        machines = recorded()
        if not machines:
            is_said = self.env.temp_data.get(MISSING)  # of this page alone
            self.env.temp_data[MISSING] = True
            return [] if is_said else [note(MISSING)]
        return self.show(machines[0])

    @abstractmethod
    def show(self, releases: Releases) -> list[nodes.Node]:
        """Return what the page shows of a machine."""


class ReleasesPart(Directive):
    """Show a part of a page about the releases, by its name."""

    def show(self, releases: Releases) -> list[nodes.Node]:
        """Return the part."""
        parts: dict[str, Callable[[], list[nodes.Node]]] = {
            "machine": lambda: _machine(releases),
            "map": lambda: _map(self, releases),
            "changes": lambda: _changes(self.env, releases),
            "slower": lambda: _regressions(self.env, releases),
            "then and now": lambda: _then_and_now(self.env, releases),
            "noise": lambda: _noise(self.env, releases),
            "claims": lambda: _claims(self, releases),
            "published": lambda: _published(self.env, releases),
            "failures": lambda: _failures(releases),
            "files": lambda: _files(self.env),
        }
        name = self.arguments[0]
        if name not in parts:
            raise self.error(f"there is no part {name!r}: choose one of {', '.join(parts)}")
        return parts[name]()


class ReleasesTopic(Directive):
    """Show all benchmarks of a topic: a plot of each, and a table."""

    def show(self, releases: Releases) -> list[nodes.Node]:
        """Return the plots, and the table below them."""
        topic = self.arguments[0]
        all_series = releases.by_topic().get(topic, [])
        if not all_series:
            return [note("No benchmark of this topic was recorded.")]
        changes = _by_benchmark(releases.changes)
        content: list[nodes.Node] = [
            raw_html(
                "<p>Each dot is what one process measured, and the line joins their medians. The "
                "dashed line is the newest release; a dotted one marks a change.</p>"
            )
        ]
        for series in all_series:
            own = changes.get(series.benchmark, [])
            section = nodes.section(
                "",
                nodes.title(text=series.benchmark),
                *plot(
                    self,
                    f"release-{slug(series.benchmark)}",
                    figures.course(series, own, releases.names),
                ),
                *_explanations(own),
                ids=[slug(series.benchmark)],
                names=[nodes.fully_normalize_name(series.benchmark)],
            )
            content.append(section)
        table = _table(
            f"Oldest, best and newest release, on {_device(releases)}",
            ("benchmark", "oldest", "best", "newest", "newest over best"),
            [_row_of_topic(series) for series in all_series],
        )
        files = _links(self.env, releases)
        return [
            *content,
            nodes.section("", nodes.title(text="All numbers"), table, files, ids=["all-numbers"]),
        ]


def _by_benchmark(changes: Iterable[Comparison]) -> dict[str, list[Comparison]]:
    found: dict[str, list[Comparison]] = {}
    for change in changes:
        found.setdefault(change.series.benchmark, []).append(change)
    return found


def _explanations(changes: Sequence[Comparison]) -> list[nodes.Node]:
    """Say what somebody found out about changes, as far as anybody did."""
    known = {
        cause: change
        for change in changes
        for cause in comparison.causes()
        if cause.explains(change)
    }
    return [
        raw_html(
            f'<p class="jaxcap-note">{escape(cause.topic or cause.benchmark)} in {change.after}: '
            f'{escape(cause.cause)} <a href="{escape(cause.link)}">Where that is shown</a></p>'
        )
        for cause, change in known.items()
    ]


def _row_of_topic(series: Series) -> tuple[str, ...]:
    first, last = series.releases[0], series.releases[-1]
    best = min(series.releases, key=lambda release: series.estimates[release].value)
    shown = [f"{_short(series, name)} ({name})" for name in (first, best, last)]
    ratio = series.estimates[last].value / series.estimates[best].value
    return escape(series.benchmark), *shown, f"{ratio:.2f}"


def _short(series: Series, release: str) -> str:
    estimate = series.estimates[release]
    return escape(decimal(round(estimate.value)) if series.is_exact else estimate.short)


def _machine(releases: Releases) -> list[nodes.Node]:
    """Say where and how the releases were measured."""
    newest = releases.sets[releases.newest]
    least, most = releases.processes
    processes = f"{least} to {most} of each release" if least < most else f"{most} of each release"
    numpys = {
        name: results.environment.versions.get("numpy", "?")
        for name, results in releases.sets.items()
    }
    facts = {
        "Releases": f"{len(releases.names)}, from {releases.names[0]} to {releases.newest}",
        "Processes": processes,
        "NumPy": ", ".join(
            f"{version} ({count} of the releases)" if count > 1 else version
            for version, count in Counter(numpys[name] for name in releases.names).items()
        ),
    }
    return [stamp("Recorded on", newest.environment, facts), *_warning(most)]


def _warning(processes: int) -> list[nodes.Node]:
    """Say what can't be concluded from so few processes, if they are too few."""
    if processes >= comparison.FEW_PROCESSES:
        return []
    if processes == 1:
        text = "One process measured each release: there are no intervals, and no changes."
    else:
        text = (
            f"Only {processes} processes measured each release so far. The map and the plots show "
            "large differences, but hardly any of them is certain enough to be called a change."
        )
    return [note(text)]


def _device(releases: Releases) -> str:
    return str(releases.sets[releases.newest].environment.device)


def _map(directive: SphinxDirective, releases: Releases) -> list[nodes.Node]:
    """Draw all benchmarks under all releases; releases.js can make a table of it to walk through."""
    images = plot(directive, "releases", figures.heat_map(releases))
    still = nodes.container("", *images, classes=["jaxcap-releases-static"])
    source = f"{prefix(directive.env)}results/{MAP}"
    button = raw_html(f'<button type="button" data-source="{source}">Explore the map</button>')
    return [nodes.container("", button, still, classes=["jaxcap-releases"])]


def map_script(releases: Releases) -> str:
    """Return a script with the numbers of the map, for the page whose folder has the topics' folder.

    The page would take long to load with them, and a script can be loaded from a folder without a
    server, too.
    """
    data = {
        "releases": releases.names,
        "newest": releases.newest,
        "series": [
            {
                "benchmark": series.benchmark,
                "topic": series.topic,
                "own": releases.quantities.get(series.benchmark, "time") == series.quantity,
                "quantity": series.quantity,
                "href": f"topics/{slug(series.topic)}.html#{slug(series.benchmark)}",
                "values": [_numbers(series, name) for name in releases.names],
            }
            for series in releases.series
            if series.variant == JAX
        ],
    }
    return f"globalThis.jaxcapReleases = {json.dumps(data, separators=(',', ':'))};\n"


def _numbers(series: Series, release: str) -> list[float] | None:
    """Return the median, and what the processes saw of it, in few digits."""
    if release not in series.estimates:
        return None
    estimate = series.estimates[release]
    ends = estimate.observed if len(estimate.medians) > 1 else ()
    return [float(f"{number:.3g}") for number in (estimate.value, *ends)]


def _changes(env: BuildEnvironment, releases: Releases) -> list[nodes.Node]:
    """List the largest changes from one release to the next."""
    changes = releases.changes
    if not changes:
        return [nodes.paragraph(text="No two releases that follow each other differ enough.")]
    longest, others = changes[:LONGEST], changes[LONGEST:]
    large = [change for change in others if change.factor >= LARGE]
    caption = "Changes from one release to the next"
    if others:
        caption = (
            f"The {len(longest)} largest of {len(changes)} changes from one release to the next"
        )
    content = [_table_of_changes(env, releases, caption, longest)]
    if large:
        title = f"{len(large)} more changes of a factor of {LARGE:g} or more"
        content.append(dropdown(title, [_table_of_changes(env, releases, title, large)]))
    content += _explanations(changes)
    if moved := releases.moved_with_control:
        names = ", ".join(f"{c.series.benchmark} in {c.after}" for c in moved)
        content.append(
            nodes.paragraph(
                text=f"Left out, because NumPy's time changed at the same place: {names}."
            )
        )
    if unseen := releases.not_seen_again:
        names = ", ".join(f"{c.series.benchmark} in {c.after}" for c in unseen)
        content.append(
            nodes.paragraph(text=f"Left out, because a second recording didn't show it: {names}.")
        )
    return content


def _table_of_changes(
    env: BuildEnvironment, releases: Releases, caption: str, changes: Sequence[Comparison]
) -> nodes.Node:
    headers = (
        "benchmark",
        "release",
        "change",
        "95 % interval of the ratio",
        "before → since",
        "in a second recording",
    )
    rows = [_row_of_change(env, releases, change) for change in changes]
    return _table(f"{caption}, on {_device(releases)}", headers, rows, text_columns=[0])


def _row_of_change(
    env: BuildEnvironment, releases: Releases, change: Comparison
) -> tuple[str, ...]:
    return (
        _link(env, change.series),
        change.after,
        escape(change.words),
        change.interval,
        f"{_short(change.series, change.before)} → {_short(change.series, change.after)}",
        second.words if (second := releases.second(change)) else "not measured",
    )


def _regressions(env: BuildEnvironment, releases: Releases) -> list[nodes.Node]:
    """List what is slower under the newest release than it was under an earlier one."""
    if not releases.regressions:
        return [nodes.paragraph(text="Nothing is, as far as these measurements can tell.")]
    count = len(releases.regressions)
    of = len(releases.of_jax())
    table = _table(
        f"{count} of {of} benchmarks, on {_device(releases)}",
        ("benchmark", f"JAX {releases.newest}", "95 % interval of the ratio", "then", "now"),
        [
            (
                _link(env, one.series),
                f"{escape(one.words)} than in {one.before}",
                one.interval,
                _short(one.series, one.before),
                _short(one.series, one.after),
            )
            for one in releases.regressions
        ],
    )
    return [table]


def _then_and_now(env: BuildEnvironment, releases: Releases) -> list[nodes.Node]:
    """Compare the oldest with the newest release, by topic."""
    topics: dict[str, list[Comparison]] = {}
    for one in releases.then_and_now:
        topics.setdefault(one.series.topic, []).append(one)
    if not topics:
        return [nodes.paragraph(text="Only one release was recorded.")]
    rows = []
    for topic, all_of_topic in topics.items():
        slower = sum(one.is_change and one.ratio > 1 for one in all_of_topic)
        faster = sum(one.is_change and one.ratio < 1 for one in all_of_topic)
        typical = exp(fmean(log(one.ratio) for one in all_of_topic))
        link = f'<a href="{prefix(env)}{SECTION}/topics/{slug(topic)}.html">{escape(topic)}</a>'
        undecided = len(all_of_topic) - slower - faster
        rows.append((link, str(faster), str(undecided), str(slower), f"{typical:.2f}"))
    caption = f"JAX {releases.newest} compared with {releases.names[0]}, on {_device(releases)}"
    headers = ("topic", "faster", "no clear change", "slower", "geometric mean of the ratios")
    return [_table(caption, headers, rows)]


def _noise(env: BuildEnvironment, releases: Releases) -> list[nodes.Node]:
    """Say how far the newest release differs from itself."""
    compared = [one for one in releases.without_cause if one.p == one.p]
    if not compared:
        return [
            nodes.paragraph(
                text="In this recording the newest release wasn't measured twice, or by one process "
                "only, so the noise isn't known."
            )
        ]
    factors = sorted((one.factor for one in compared), reverse=True)
    called = [one for one in compared if one.is_change]
    below = sum(one.p <= comparison.FALSE_SHARE for one in compared)
    text = (
        f"JAX {releases.newest} was compared with itself in {len(compared)} benchmarks. "
        f"{len(called)} of these comparisons would be called changes by the rules above. Without "
        f"the correction for their number, {below} would have a p-value of at most "
        f"{comparison.FALSE_SHARE:g}, where {comparison.FALSE_SHARE * len(compared):.1f} are expected "
        f"by chance. Half of the ratios lie within {100 * (median(factors) - 1):.1f} % of 1."
    )
    largest = sorted(compared, key=lambda one: one.factor, reverse=True)[:5]
    table = _table(
        "The largest differences without a cause",
        ("benchmark", "ratio", "95 % interval", "p-value", "called a change"),
        [
            (
                _link(env, one.series),
                f"{one.ratio:.3f}",
                one.interval,
                f"{one.p:.2g}",
                "yes" if one.is_change else "no",
            )
            for one in largest
        ],
    )
    return [nodes.paragraph(text=text), table]


def _claims(directive: SphinxDirective, releases: Releases) -> list[nodes.Node]:
    """Show under which releases the claims of the tutorials hold."""
    checked = claims.check(releases)
    if not checked:
        return [nodes.paragraph(text="None of the benchmarks that it takes was recorded.")]
    table = _table(
        f"Claims of the tutorials by release, on {_device(releases)}",
        ("claim", "outcome", "ratio, then and now"),
        [_row_of_claim(directive.env, one) for one in checked],
        text_columns=[0, 1],
    )
    return [*plot(directive, "releases-claims", figures.claims(checked, releases.names)), table]


def _row_of_claim(env: BuildEnvironment, checked: CheckedClaim) -> tuple[str, ...]:
    page = f"{prefix(env)}{TUTORIALS_FOLDER}{checked.claim.tutorial}.html"
    first, *_, last = [*checked.ratios.values()] * 2  # there may be one
    link = f'<a href="{page}">{escape(checked.claim.text)}</a>'
    return link, escape(checked.words), f"{first:.2g}, {last:.2g}"


def _published(env: BuildEnvironment, releases: Releases) -> list[nodes.Node]:
    """Say what part of the distance to published times is JAX's, where that was measured."""
    series = {one.benchmark: one for one in releases.of_jax()}
    rows = []
    for work, benchmark in NEAREST_BENCHMARKS.items():
        if one := series.get(benchmark):
            first, last = one.releases[0], one.releases[-1]
            beside = one.compare(first, last)
            ratio = f"{1 / beside.ratio:.2g}"
            if beside.interval:
                ratio += f" ({1 / beside.high:.2g} to {1 / beside.low:.2g})"
            times = (f"{_short(one, first)} ({first})", f"{_short(one, last)} ({last})")
            rows.append((escape(work), _link(env, one), *times, ratio))
    headers = ("published work", "nearest benchmark", "oldest", "newest", "times as fast")
    return [_table(f"JAX's part, on {_device(releases)}", headers, rows, text_columns=[1])]


def _failures(releases: Releases) -> list[nodes.Node]:
    """List what couldn't be measured, and why."""
    rows = [
        (escape(release), escape(benchmark), escape(reason))
        for release, failures in releases.files.failures().items()
        for benchmark, reason in failures.items()
    ]
    if not rows:
        return [nodes.paragraph(text="All benchmarks ran under all releases.")]
    headers = ("release", "benchmark", "why")
    return [_table("What couldn't be measured", headers, rows, text_columns=[1, 2])]


def _files(env: BuildEnvironment) -> list[nodes.Node]:
    """Link to the files of all machines."""
    return [
        element
        for releases in recorded()
        for element in (nodes.rubric(text=_device(releases)), _links(env, releases))
    ]


def _links(env: BuildEnvironment, releases: Releases) -> nodes.raw:
    """Link to the files that numbers of a machine come from."""
    folder = f"{prefix(env)}results/{served_folder(releases.files)}"
    links = ", ".join(
        f'<a download href="{folder}{releases.files.path(name).name}">{escape(name)}</a>'
        for name in releases.sets
    )
    return raw_html(f"<p>The numbers, by release, as JSON: {links}.</p>")


def served_folder(files: ReleaseFiles) -> str:
    """Return the folder below ``results/`` that the files are served in."""
    return f"recorded/{files.folder.relative_to(page_records.RECORDED).as_posix()}/"


def prefix(env: BuildEnvironment) -> str:
    """Return the way from the page that is being read to the site's folder."""
    return "../" * env.docname.count("/")


def _address(env: BuildEnvironment, series: Series) -> str:
    page = f"{SECTION}/topics/{slug(series.topic)}.html"
    return f"{prefix(env)}{page}#{slug(series.benchmark)}"


def _link(env: BuildEnvironment, series: Series) -> str:
    return f'<a href="{_address(env, series)}">{escape(series.benchmark)}</a>'


def _table(
    caption: str,
    headers: Sequence[str],
    rows: Iterable[Sequence[str]],
    text_columns: Sequence[int] = (),
) -> nodes.raw:
    """Make a table as `jaxcap.results.tables.Table` does, but of cells that are HTML already."""

    def kind(column: int) -> str:
        return ' class="jaxcap-text"' if column in text_columns else ""

    head = "".join(
        f'<th scope="col"{kind(n)}>{escape(header)}</th>' for n, header in enumerate(headers)
    )
    body = "".join(
        f'<tr><th scope="row"{kind(0)}>{first}</th>'
        + "".join(f"<td{kind(n)}>{cell}</td>" for n, cell in enumerate(others, start=1))
        + "</tr>"
        for first, *others in rows
    )
    return raw_html(
        f'<div class="jaxcap-table" role="group" tabindex="0" aria-label="{escape(caption)}">'
        f"<table><caption>{escape(caption)}</caption>"
        f"<thead><tr>{head}</tr></thead><tbody>{body}</tbody></table></div>"
    )
