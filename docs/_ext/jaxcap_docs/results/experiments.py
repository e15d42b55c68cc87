"""The machines, and a page for each experiment with what all of them measured."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import replace
from html import escape
from importlib import import_module
from pathlib import Path
from typing import Any

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective

from jaxcap.experiments import catalogue
from jaxcap.report import figures
from jaxcap.results import Result, ResultsError, ResultSet
from jaxcap.results.exports import side_by_side
from jaxcap.results.files import slug
from jaxcap.results.recordings import THIS_BUILD, Recording
from jaxcap.results.tables import Table
from jaxcap_docs import records
from jaxcap_docs.downloads import data
from jaxcap_docs.parts import SECTION, plot, stamp, table_node

MACHINES = ("device", "measured in", "experiments", "on")


def write_pages(app: Sphinx) -> None:
    """Write a page for each experiment: its title, what it asks, and the directive that shows it."""
    folder = Path(app.srcdir, SECTION, "experiments")
    folder.mkdir(parents=True, exist_ok=True)
    for name, experiment in catalogue().items():
        question = (import_module(experiment.prepare.__module__).__doc__ or "").partition("\n")[0]
        answer = (experiment.prepare.__doc__ or "").partition("\n")[0]
        text = f"# {experiment.title}\n\n{question} {answer}\n\n```{{experiment}} {name}\n```\n"
        (folder / f"{slug(name)}.md").write_text(text, encoding="utf-8")


class Machines(SphinxDirective):
    """List the machines, what was measured on each, when and with which versions."""

    def run(self) -> list[nodes.Node]:
        """Return a table, and a stamp of each machine."""
        self.env.note_reread()
        machines = records.recordings()
        table = Table("Machines", MACHINES, list(map(_row, machines)))
        return [table_node(table), *map(_stamp, machines)]


class Headline(SphinxDirective):
    """Draw an experiment as this build measured it on its best device."""

    required_arguments = 1
    final_argument_whitespace = True

    def run(self) -> list[nodes.Node]:
        """Return the plot, or a note if this build did not measure it."""
        self.env.note_reread()
        name = self.arguments[0]
        live = [
            machine for machine in records.recordings() if machine.live and name in machine.sets
        ]
        if not live:
            return [
                nodes.note("", nodes.paragraph(text="This build did not measure its headline."))
            ]
        (machine,) = live
        sets = machine.on_each_device(name).values()
        best = next(results for results in sets if results[0].device == machine.device)
        title = f"{catalogue()[name].title}, {machine.name}"
        return plot(self, "headline", figures.panels(best, title=title))


class Experiment(SphinxDirective):
    """Show what all machines measured of an experiment."""

    required_arguments = 1
    final_argument_whitespace = True

    def run(self) -> list[nodes.Node]:
        """Return plots, tables and downloads, or a note if there is nothing yet."""
        self.env.note_reread()
        name = self.arguments[0]
        sets = _on_all_devices(name)
        if not sets:
            text = "No machine has measured this yet, nor did this build."
            return [nodes.note("", nodes.paragraph(text=text))]
        drawn = (
            plot(self, f"{slug(name)}-{number}", figures.panels(results, title=where))
            for number, (where, results) in enumerate(sets.items())
        )
        notes = [
            f"{where}: {records.state_of(results)}"
            for where, results in sets.items()
            if not where.endswith(THIS_BUILD)
        ]
        return [
            *_explorer(sets),
            *(image for images in drawn for image in images),
            nodes.rubric("", "Times of a call"),
            *(
                table_node(replace(table, notes=notes))
                for table in side_by_side(sets, ratios=False)
            ),
            nodes.rubric("", "Speed-ups"),
            *(
                table_node(replace(table, caption=f"{table.caption}, {where.rpartition(', ')[2]}"))
                for where, results in sets.items()
                for table in _speedups(results)
            ),
            nodes.rubric("", "Files"),
            _downloads(name),
        ]


def _row(machine: Recording) -> tuple[str, ...]:
    days = [results.environment.measured_at.date() for results in machine.sets.values()]
    return (
        machine.name,
        "this build" if machine.live else "recorded",
        str(len(machine.sets)),
        " to ".join(dict.fromkeys((str(min(days)), str(max(days))))),
    )


def _stamp(machine: Recording) -> nodes.raw:
    then = machine.environment
    if machine.live:
        return stamp("Measured in this build on", then, {})
    newest = max(machine.sets.values(), key=lambda results: results.environment.measured_at)
    return stamp("Recorded on", then, {"State": records.state_of(newest)})


def _on_all_devices(experiment: str) -> dict[str, ResultSet]:
    """Return results by device and day: of one allocator, and without the device as a parameter."""
    return {
        where: results.model_copy(
            update={
                "results": tuple(
                    result.model_copy(update={"parameters": without_device(result)})
                    for result in results
                    if result.allocator == results[0].allocator
                )
            }
        )
        for machine in records.recordings()
        for where, results in machine.on_each_device(experiment).items()
    }


def _explorer(sets: dict[str, ResultSet]) -> list[nodes.Node]:
    """Make what explore.js turns into a chart to hover over; without scripts it is invisible."""
    first, *_ = sets.values()
    devices = {id(result): where for where, results in sets.items() for result in results.results}
    everything = tuple(result for results in sets.values() for result in results)
    x, parts = figures.facets(first.model_copy(update={"results": everything}))
    if x is None:
        return []
    lines: dict[tuple[str, str, str], list[dict[str, Any]]] = {}
    for facet, part in parts.items():
        for result in part:
            point = {
                "x": result.parameters[x],
                "y": result.time.value,
                "text": f"{result.time.short} ({result.time.range})",
            }
            lines.setdefault((facet, result.variant, devices[id(result)]), []).append(point)
    for points in lines.values():
        points.sort(key=lambda point: float(point["x"]))
    chart = {
        "x": x,
        "devices": list(sets),
        "colours": dict(figures.palette(variant for _, variant, _ in lines)),
        "series": [
            {"facet": facet, "variant": variant, "device": device, "points": points}
            for (facet, variant, device), points in lines.items()
        ],
    }
    text = json.dumps(chart).replace("<", "\\u003c")  # or a name could end the script
    html = (
        f'<div class="jaxcap-explore"><script type="application/json">{text}</script>'
        '<button type="button" hidden>Hover over the times, and choose devices</button></div>'
    )
    return [nodes.raw("", html, format="html")]


def _speedups(results: ResultSet) -> Iterator[Table]:
    """Compare with the first variant that was measured with all parameters, if there is one."""
    rounds: dict[str, set[str]] = {}
    for result in results:
        rounds.setdefault(result.comparison, set()).add(result.variant)
    everywhere = set.intersection(*rounds.values())
    over = next((result.variant for result in results if result.variant in everywhere), "")
    with suppress(ResultsError):  # a file may lack variants that it says took turns
        yield results.speedups(over=over)


def _downloads(experiment: str) -> nodes.raw:
    links = "".join(
        f'<li>{escape(where)}: <a download href="{stem}.json">JSON</a>, '
        f'<a download href="{stem}.csv">CSV</a></li>'
        for machine in records.recordings()
        for where in list(machine.on_each_device(experiment))[:1]
        for stem in [f"../{data.folder_of(machine)}{slug(experiment)}"]
    )
    schema = '<li><a href="../schema.json">JSON Schema</a> of these files</li>'
    return nodes.raw("", f"<ul>{links}{schema}</ul>", format="html")


def without_device(result: Result) -> dict[str, Any]:
    """Return the parameters of a result but its device."""
    return {name: value for name, value in result.parameters.items() if name != "device"}
