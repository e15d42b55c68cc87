"""The machines, and a page for each experiment with what all of them measured."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import partial
from html import escape
from inspect import getsource
from pathlib import Path
from typing import Any

from docutils import nodes
from matplotlib.figure import Figure
from sphinx.application import Sphinx
from sphinx.environment import BuildEnvironment
from sphinx.util.docutils import SphinxDirective

from jaxcap.experiments import catalogue
from jaxcap.measure.experiment import Experiment, Points
from jaxcap.report import figures, findings
from jaxcap.report.claims import LARGEST, Statement
from jaxcap.report.exports import side_by_side
from jaxcap.results import Result, ResultsError, ResultSet, ResultTable
from jaxcap.results.files import slug
from jaxcap.results.recordings import THIS_SITE, DeviceResults, Recording
from jaxcap.results.statistics import Estimate
from jaxcap.results.tables import Table
from jaxcap_docs import image_files, page_records
from jaxcap_docs.downloads import results_folder
from jaxcap_docs.lessons import SECTIONS
from jaxcap_docs.read import links
from jaxcap_docs.read.dependencies import (
    note_all_records,
    note_all_results,
    note_record,
    note_recordings,
)
from jaxcap_docs.read.elements import (
    SECTION,
    FactLines,
    Folded,
    joined,
    json_script,
    listed,
    note,
    plot,
    raw_html,
    readers_own,
    reference,
    stamp,
    table_node,
)
from jaxcap_docs.read.releases.addresses import SECTION as RELEASES_SECTION
from jaxcap_docs.read.rows import of_side_by_side, rows_of, with_rows
from jaxcap_docs.sources import make_if_changed, package_files, write_pages

# Where the list of machines leaves their names and days for other pages.
MACHINES = "jaxcap_machines"
THUMBNAIL_WIDTH = 240  # in pixels
MOST_VALUES = 4  # that a sentence lists
LONGEST_TABLE = 15  # rows that are shown without being asked for
# Experiments in which some variants do other work than others, so that no headline may compare them.
DIFFERENT_WORK = {"asynchronous dispatch", "loops"}
_PARAMETER = re.compile(r"``(\w+)``")
OTHERS = "measured on no page of this build"
# By experiment, the topic of the benchmarks that do the most similar work under many releases of JAX.
RELEASE_TOPICS = {
    "asynchronous dispatch": "loops",
    "batching": "gradients",
    "dispatch": "calls",
    "dispatch chain": "calls",
    "dispatch growth": "elementwise",
    "dispatch solve": "linear algebra",
    "gradients": "gradients",
    "introduction": "elementwise",
    "jit": "elementwise",
    "keys": "random numbers",
    "linear algebra": "linear algebra",
    "mistakes": "calls",
    "mnist layers": "gradients",
    "mnist throughput": "gradients",
    "product": "linear algebra",
    "published matrices": "linear algebra",
    "published small arrays": "calls",
    "static_loops": "loops",
    "typed_jit": "calls",
}


def on_builder_inited(app: Sphinx) -> None:
    """Write a page for each experiment, unless the package is as it was in the last build."""
    folder = Path(app.srcdir, SECTION, "experiments")
    make_if_changed(app, folder, package_files(), lambda: write_pages(folder, _pages()))


def _pages() -> dict[str, str]:
    """Return for each experiment its title, what it measures, and the directive that shows it."""
    return {
        slug(name): (
            f"# {experiment.title}\n\nThis experiment times {_work(experiment)}\n\n"
            f"```{{experiment}} {name}\n```\n\n"
            f":::{{dropdown}} The code that is measured\n```python\n{getsource(experiment.prepare)}```\n:::\n"
        )
        for name, experiment in catalogue().items()
    }


def _work(experiment: Experiment) -> str:
    """Say what is measured: what `prepare` prepares, by the first line of its docstring.

    Names of parameters are replaced by their values.
    """
    line = (experiment.prepare.__doc__ or "").partition("\n")[0].removeprefix("Prepare ")
    return _PARAMETER.sub(lambda name: _values(experiment.points, name[1]) or name[0], line)


def _values(points: Points, name: str) -> str:
    """Write all values that a parameter has, or none if they would fill a line."""
    values = list(dict.fromkeys(point[name] for point in points if name in point))
    numbers = [value for value in values if isinstance(value, (int, float))]
    if len(numbers) == len(values) > 1:
        return f"{min(numbers):,} to {max(numbers):,}"
    texts = [f"{value:,}" if isinstance(value, (int, float)) else value for value in values]
    return listed(texts) if 0 < len(texts) <= MOST_VALUES else ""


class Experiments(SphinxDirective):
    """List all experiments by the section of the tutorial that measures them, each with a small plot."""

    def run(self) -> list[nodes.Node]:
        """Return a list for each section, and one of experiments that no tutorial measured here."""
        note_all_results(self.env)
        grouped: dict[str, list[nodes.list_item]] = {section: [] for section in (*SECTIONS, OTHERS)}
        for name, experiment in catalogue().items():
            first, *_ = [*links.tutorials_about(name), OTHERS]
            grouped[first.partition("/")[0]].append(self._item(name, experiment))
        content: list[nodes.Node] = []
        for section, items in grouped.items():
            if items:
                title = nodes.rubric("", section.capitalize())
                content += [title, nodes.bullet_list("", *items, classes=["jaxcap-experiments"])]
        return content

    def _item(self, name: str, experiment: Experiment) -> nodes.list_item:
        link = reference("doc", f"/{SECTION}/experiments/{slug(name)}", self.env)
        work = _work(experiment)
        line, _ = self.parse_inline(f"{work[:1].upper()}{work[1:]}")
        lines = nodes.paragraph("", "", link), nodes.paragraph("", "", *line)
        parts = _on_all_devices(name)
        images = []
        if parts:
            results = parts[0].results
            draw, sources = partial(_thumbnail, results), image_files.as_sources(results)
            images = plot(self, f"{slug(name)}-small", draw, sources)
        item = nodes.list_item("", *lines, *images)
        for image in item.findall(nodes.image):
            image["alt"] = ""  # without words it says nothing that the link doesn't
            image["classes"].append("no-scaled-link")
        return item


def _thumbnail(results: ResultSet) -> Figure:
    """Draw the part of an experiment that was measured at most points, without words."""
    _, parts = figures.facets(results)
    figure = figures.panels(max(parts.values(), key=len))
    image_files.make_small(figure, THUMBNAIL_WIDTH / 100, 0.6 * THUMBNAIL_WIDTH / 100)
    return figure


class Machines(SphinxDirective):
    """List the machines, what was measured on each, when and with which versions."""

    def run(self) -> list[nodes.Node]:
        """Return a table, and a stamp of each machine."""
        note_all_results(self.env)
        machines = page_records.recordings()
        names = [f"{machine.name}, {machine.days}" for machine in machines]
        self.env.metadata[self.env.docname][MACHINES] = "; ".join(names)
        headers = ("device", "measured in", "experiments", "on")
        table = Table("Machines", headers, [_row(machine) for machine in machines])
        return [table_node(table), *map(_stamp, machines)]


class ExperimentDirective(SphinxDirective):
    """Show what all machines measured of an experiment."""

    required_arguments = 1
    final_argument_whitespace = True

    def run(self) -> list[nodes.Node]:
        """Return plots, tables and downloads, or a note if nothing was measured yet."""
        name = self.arguments[0]
        _note_results(self.env, name)
        similar, parts = _similar_by_release(name, self.env), _on_all_devices(name)
        if not parts:
            missing = note("No machine has measured this yet, nor did this build.")
            return [_facts(name, self.env, similar), missing]
        sets = {part.label: part.results for part in parts}
        plots = []
        everywhere = parts[0].results.subset(result for p in parts for result in p.results)
        statements = [claim.statement for _, claim in links.claims_about(name)]
        for number, part in enumerate(parts):
            draw = partial(
                figures.panels,
                part.results,
                title=part.label,
                among=everywhere,
                compare=name not in DIFFERENT_WORK,
                finding=(finding := _claimed(statements, part.results)),
            )
            sources = [
                part.label,
                str(finding),
                *image_files.as_sources(part.results),
                *image_files.as_sources(everywhere),
            ]
            plots += plot(self, f"{slug(name)}-{number}", draw, sources)
        pictures = explorer(sets, plots, similar)
        facts = _facts(name, self.env, similar if pictures is plots else [])
        content = [facts, *pictures, *_claims(name, self.env)]
        notes = [
            f"{part.label}: {page_records.differences_from_build(part.results)}"
            for part in parts
            if part.when != THIS_SITE
        ]
        title = catalogue()[name].title
        rows = of_side_by_side(sets)
        content.append(nodes.rubric("", "Times of a call"))
        content += [
            _table(replace(times, caption=title, notes=notes), rows)
            for times in side_by_side(sets, ratios=False)
        ]
        if comparisons := [table for part in parts for table in _comparisons(part)]:
            content.append(nodes.rubric("", "Compared with one variant"))
            content += [_table(t, rows_of(t.results, t.over, {})) for t in comparisons]
        return [*content, nodes.rubric("", "Files"), _downloads(name)]


def _table(table: Table | ResultTable, rows: Mapping[str, Any]) -> nodes.Node:
    """Return a table with the data of its rows, folded if it is long."""
    html = raw_html(with_rows(table._repr_html_(), rows))
    if len(table.rows) <= LONGEST_TABLE:
        return html
    return Folded("", html, summary=f"{table.caption}: {len(table.rows)} rows")


def _comparisons(part: DeviceResults) -> Iterator[ResultTable]:
    """Compare all results with one variant, or if there is none, those of each part with one of its own."""
    shared = findings.first_everywhere(part.results)
    groups = {"": part.results} if shared else figures.facets(part.results)[1]
    for name, results in groups.items():
        with suppress(ResultsError):  # a file may lack variants that it says took turns
            table = results.speedups(over=findings.first_everywhere(results))
            caption = ", ".join(filter(None, (table.caption, name, part.when)))
            yield replace(table, caption=caption)


def _claimed(statements: Iterable[Statement], results: ResultSet) -> str | None:
    """Say how the first comparison that tutorials claim came out in results, if these have any."""
    for evidence in (statement.evidence for statement in statements):
        if evidence.variant is None:
            continue
        places = [
            f"largest {name}" if value == LARGEST else _place(name, value)
            for name, value in evidence.criteria.items()
            if name != "device"
        ]
        variant = f"{evidence.variant} ({', '.join(places)})" if places else evidence.variant
        with suppress(ResultsError):
            return findings.comparison(variant, evidence.over, evidence.estimate(results))
    return None


def _place(name: str, value: object) -> str:
    """Name the value of a parameter, by its own words if it has any."""
    return findings.place(name, value) if isinstance(value, int | float) else str(value)


def _note_results(env: BuildEnvironment, experiment: str) -> None:
    """Read this page again when any results of an experiment change."""
    note_recordings(env, [experiment])
    for page in (tutorials := links.tutorials_about(experiment)):
        note_record(env, page)
    if not tutorials:  # any of them could be the one that will measure it
        note_all_records(env)


def _facts(experiment: str, env: BuildEnvironment, further: Sequence[nodes.inline]) -> FactLines:
    """Link to the tutorials that use an experiment, and to its rules, beside further links."""
    rules = reference("doc", "/measuring", env, "how we measure")
    tutorials = [links.link_to_tutorial(page, env) for page in links.tutorials_about(experiment)]
    line = [nodes.inline("", "", nodes.Text("The rules: "), rules)]
    if tutorials:
        line.insert(0, nodes.inline("", "", nodes.Text("Used in "), *joined(tutorials, " and ")))
    line += further
    sentence = nodes.paragraph("", "", *joined(line, " · "))
    return FactLines("", sentence, readers_own(), classes=["jaxcap-facts"])


def _similar_by_release(experiment: str, env: BuildEnvironment) -> list[nodes.inline]:
    """Link to benchmarks that do similar work, if there are any: experiments run under one release."""
    if (topic := RELEASE_TOPICS.get(experiment)) is None:
        return []
    similar = reference("doc", f"/{RELEASES_SECTION}/topics/{slug(topic)}", env, topic)
    words = nodes.Text("Similar benchmarks by release of JAX: ")
    return [nodes.inline("", "", words, similar, classes=["jaxcap-by-release"])]


def _claims(experiment: str, env: BuildEnvironment) -> list[nodes.Node]:
    """List what is claimed on the grounds of an experiment."""
    items = []
    for page, claim in links.claims_about(experiment):
        text = claim.statement.text
        row = links.link_to_row(page, claim.statement, env, f"{text[0].upper()}{text[1:]}")
        made_in = links.link_to_claim(page, claim.statement, env)
        outcome = nodes.Text(f": {claim.words} on this site. Claimed in ")
        item = nodes.paragraph("", "", row, outcome, made_in, nodes.Text("."))
        items.append(nodes.list_item("", item))
    if not items:
        return []
    claims = nodes.bullet_list("", *items, classes=["jaxcap-claimed"])
    return [nodes.rubric("", "What is claimed"), claims]


def _row(machine: Recording) -> tuple[str, ...]:
    return (
        machine.name,
        "this site" if machine.live else "recorded",
        str(len(machine.sets)),
        machine.days,
    )


def _stamp(machine: Recording) -> Folded:
    if machine.live:
        return stamp("Shown on all pages, measured on", machine.environment, {})
    newest = max(machine.sets.values(), key=lambda results: results.environment.measured_at)
    return stamp(
        "Recorded on", machine.environment, {"State": page_records.differences_from_build(newest)}
    )


def _on_all_devices(experiment: str) -> list[DeviceResults]:
    """Return results of one allocator a device, and without the device as a parameter."""
    parts = []
    for machine in page_records.recordings():
        for part in machine.on_each_device(experiment):
            chosen = part.results.select(allocator=part.results[0].allocator)
            plain = [r.model_copy(update={"parameters": without_device(r)}) for r in chosen]
            parts.append(replace(part, results=chosen.subset(plain)))
    return parts


def explorer(
    sets: dict[str, ResultSet], plots: list[nodes.Node], controls: Sequence[nodes.Node] = ()
) -> list[nodes.Node]:
    """Let explore.js put a chart in place of plots, where there is a parameter to draw against.

    It puts further controls beside its own. Where there is none, the plots themselves are returned.
    """
    first, *_ = sets.values()
    x, parts = figures.facets(
        first.subset(result for results in sets.values() for result in results)
    )
    if x is None:
        return plots
    part_of = {id(result): name for name, part in parts.items() for result in part}
    sizes = {name: len({result.parameters[x] for result in part}) for name, part in parts.items()}
    lines: dict[tuple[str, str, str], list[dict[str, Any]]] = {}
    for device, results in sets.items():
        ratios = _ratios(results)
        for result in results:
            point = {
                "size": result.parameters[x],
                "bytes": result.working_set_bytes,
                "time": _numbers(result.time),
                "ratios": ratios[id(result)],
            }
            key = part_of[id(result)], result.variant, device
            lines.setdefault(key, []).append(point)
    chart = {
        "x": x,
        "part": max(sizes, key=sizes.__getitem__),  # which is shown first
        "devices": list(sets),
        "colours": dict(figures.palette(variant for _, variant, _ in lines)),
        "lines": [
            {"part": part, "variant": variant, "device": device, "points": points}
            for (part, variant, device), points in lines.items()
        ],
        # What a reader's own results must be of.
        "experiment": first[0].experiment,
        "allocator": first[0].allocator,
        "parts": {
            name: {k: v for k, v in part[0].parameters.items() if k not in (x, "device")}
            for name, part in parts.items()
        },
    }
    html = f'<button type="button">Explore the numbers</button>{json_script(chart)}'
    still = nodes.container("", *plots, classes=["jaxcap-explore-plots"])
    more = nodes.paragraph("", "", *controls, classes=["jaxcap-explore-more"])
    return [nodes.container("", raw_html(html), still, more, classes=["jaxcap-explore"])]


def _ratios(results: ResultSet) -> Mapping[int, dict[str, tuple[float, ...]]]:
    """Compare each result with the others of its comparison: speed-ups by the variant it is over."""
    ratios: dict[int, dict[str, tuple[float, ...]]] = defaultdict(dict)
    for variant in results.variants:
        for result, speedup in results.paired_speedups(variant):
            ratios[id(result)][variant] = _numbers(speedup)
    return ratios


def _numbers(estimate: Estimate) -> tuple[float, ...]:
    """Return the value and the ends of what processes observed, in the digits that a chart shows."""
    return tuple(float(f"{number:.4g}") for number in (estimate.value, *estimate.observed))


def _downloads(experiment: str) -> nodes.raw:
    items = []
    for machine in page_records.recordings():
        for part in machine.on_each_device(experiment)[:1]:  # one file has all devices
            stem = f"../{results_folder(machine)}{slug(experiment)}"
            items.append(
                f'<li>{escape(part.label)}: <a download href="{stem}.json">JSON</a>, '
                f'<a download href="{stem}.csv">CSV</a></li>'
            )
    items.append('<li><a href="../schema.json">JSON Schema</a> of these files</li>')
    return raw_html(f"<ul>{''.join(items)}</ul>")


def without_device(result: Result) -> dict[str, Any]:
    """Return the parameters of a result except for its device."""
    return {name: value for name, value in result.parameters.items() if name != "device"}
