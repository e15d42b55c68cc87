"""The results section: machines, a page for each experiment over all of them, and their rooflines.

All that comes from a file is put on a page as text, or as HTML that `Table` has escaped.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import replace
from html import escape
from importlib import import_module
from operator import attrgetter
from pathlib import Path
from typing import Any

from docutils import nodes
from matplotlib.figure import Figure
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective

from jaxcap.experiments import catalogue, linear_algebra
from jaxcap.experiments.ceilings import CEILINGS
from jaxcap.report import figures, roofline
from jaxcap.report.roofline import Ceilings
from jaxcap.results import Cost, Result, ResultsError, ResultSet
from jaxcap.results.exports import side_by_side
from jaxcap.results.recordings import THIS_BUILD, Recording, slug
from jaxcap.results.tables import Table
from jaxcap_docs import gallery, pages, plots, publish, records

SECTION = "results"
MACHINES = ("device", "measured in", "experiments", "on")
REASONS = {
    "memory": "bandwidth of memory",
    "arithmetic": "rate of arithmetic",
    "launch": "starting the call",
    "transfer": "transfer from NumPy's memory",
    "neither": "none of these",
}


def write_pages(app: Sphinx) -> None:
    """Write a page for each experiment: its title, what it asks, and the directive that shows it."""
    folder = Path(app.srcdir, SECTION, "experiments")
    folder.mkdir(parents=True, exist_ok=True)
    for name, experiment in catalogue().items():
        asked = (import_module(experiment.prepare.__module__).__doc__ or "").partition("\n")[0]
        done = (experiment.prepare.__doc__ or "").partition("\n")[0]
        text = f"# {experiment.title}\n\n{asked} {done}\n\n```{{experiment}} {name}\n```\n"
        (folder / f"{slug(name)}.md").write_text(text, encoding="utf-8")


class Machines(SphinxDirective):
    """List the machines, what was measured on each, when and with which versions."""

    def run(self) -> list[nodes.Node]:
        """Return a table, and what there is to know of each machine."""
        self.env.note_reread()
        machines = records.recordings()
        table = Table("Machines", MACHINES, list(map(_row, machines)))
        return [shown(table), *map(_stamp, machines)]


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
        best = next(some for some in sets if some.results[0].device == machine.device)
        title = f"{catalogue()[name].title}, {machine.device}"
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
            plot(self, f"{slug(name)}-{number}", figures.panels(some, title=where))
            for number, (where, some) in enumerate(sets.items())
        )
        notes = [
            f"{where}: {gallery.state_of(some.environment)}"
            for where, some in sets.items()
            if not where.endswith(THIS_BUILD)
        ]
        return [
            *_explorer(sets),
            *(image for images in drawn for image in images),
            nodes.rubric("", "Times of a call"),
            *(shown(replace(table, notes=notes)) for table in side_by_side(sets, ratios=False)),
            nodes.rubric("", "Speed-ups"),
            *(shown(table) for some in sets.values() for table in _speedups(some)),
            nodes.rubric("", "Files"),
            _downloads(name),
        ]


class Rooflines(SphinxDirective):
    """Draw the roofline of each device with all kernels whose work is known, and say what limits them."""

    def run(self) -> list[nodes.Node]:
        """Return plots and tables."""
        self.env.note_reread()
        content: list[nodes.Node] = []
        for machine in records.recordings():
            for where, measured in machine.on_each_device(CEILINGS.name).items():
                try:
                    ceilings = Ceilings.of(measured, measured.results[0].device)
                except ValueError as error:
                    content.append(nodes.note("", nodes.paragraph(text=str(error))))
                    continue
                placed = list(_placed(machine, ceilings))
                figure = roofline.figure(
                    ceilings,
                    [(one, work) for one, work, _ in placed],
                    title=where,
                    label=attrgetter("experiment"),
                )
                name = f"roofline-{slug(where)}"
                content += [nodes.rubric("", where), *plot(self, name, figure)]
                counts, shares = _limits(ceilings, placed)
                content += [shown(counts), _folded(shares)]
        return content or [nodes.note("", nodes.paragraph(text="No ceilings were measured yet."))]


def shown(table: Table) -> nodes.raw:
    """Put a table on a page."""
    return nodes.raw("", table._repr_html_(), format="html")


def _folded(table: Table) -> nodes.raw:
    """Put a long table on a page, to be opened."""
    summary = f"<summary>{escape(table.caption)}</summary>"
    html = f'<details class="jaxcap-folded">{summary}{table._repr_html_()}</details>'
    return nodes.raw("", html, format="html")


def plot(directive: SphinxDirective, name: str, figure: Figure) -> list[nodes.Node]:
    """Put a figure on a page, for light and for dark ones."""
    path = Path(directive.env.srcdir, SECTION, "_plots", f"{name}.svg")
    path.parent.mkdir(exist_ok=True)
    saved = plots.save(figure, path, raster=bool(directive.config.ogp_site_url))
    return [
        nodes.image(
            uri=f"/{file.relative_to(directive.env.srcdir).as_posix()}",
            alt=saved.alt,
            width=saved.width,
            classes=[f"only-{theme}", "jaxcap-plot"],
        )
        for theme, file in saved.files.items()
    ]


def _row(machine: Recording) -> tuple[str, ...]:
    days = [found.environment.measured_at.date() for found in machine.sets.values()]
    return (
        str(machine.device),
        "this build" if machine.live else "recorded",
        str(len(machine.sets)),
        " to ".join(dict.fromkeys((str(min(days)), str(max(days))))),
    )


def _stamp(machine: Recording) -> nodes.raw:
    then = machine.environment
    if machine.live:
        return pages.stamp("Measured in this build on", then, {})
    return pages.stamp("Recorded on", then, {"State": gallery.state_of(then)})


def _on_all_devices(experiment: str) -> dict[str, ResultSet]:
    """Results by device and day. The device is no parameter any more, nor is the allocator mixed."""
    return {
        where: some.model_copy(
            update={
                "results": tuple(
                    one.model_copy(update={"parameters": _without_device(one)})
                    for one in some.results
                    if one.allocator == some.results[0].allocator
                )
            }
        )
        for machine in records.recordings()
        for where, some in machine.on_each_device(experiment).items()
    }


def _without_device(result: Result) -> dict[str, Any]:
    return {name: value for name, value in result.parameters.items() if name != "device"}


def _explorer(sets: dict[str, ResultSet]) -> list[nodes.Node]:
    """Make what a script turns into a chart to hover over; without scripts it is not to be seen."""
    first, *_ = sets.values()
    devices = {id(one): where for where, some in sets.items() for one in some.results}
    results = tuple(one for some in sets.values() for one in some.results)
    x, parts = figures.facets(first.model_copy(update={"results": results}))
    if x is None:
        return []
    lines: dict[tuple[str, str, str], list[dict[str, Any]]] = {}
    for facet, some in parts.items():
        for one in some.results:
            point = {
                "x": one.parameters[x],
                "y": one.time.value,
                "text": f"{one.time.short} ({one.time.range})",
            }
            lines.setdefault((facet, one.variant, devices[id(one)]), []).append(point)
    for points in lines.values():
        points.sort(key=lambda point: float(point["x"]))
    data = {
        "x": x,
        "devices": list(sets),
        "colours": dict(figures.palette(variant for _, variant, _ in lines)),
        "series": [
            {
                "facet": facet,
                "variant": variant,
                "device": device,
                "points": points,
            }
            for (facet, variant, device), points in lines.items()
        ],
    }
    text = json.dumps(data).replace("<", "\\u003c")  # or a name could end the script
    html = (
        f'<div class="jaxcap-explore"><script type="application/json">{text}</script>'
        '<button type="button" hidden>Hover over the times, and choose devices</button></div>'
        '<script defer src="../../_static/explore.js"></script>'
    )
    return [nodes.raw("", html, format="html")]


def _speedups(results: ResultSet) -> Iterator[Table]:
    """Compare with the first variant that was measured with all parameters, if there is one."""
    rounds: dict[str, set[str]] = {}
    for result in results:
        rounds.setdefault(result.comparison, set()).add(result.variant)
    everywhere = set.intersection(*rounds.values())
    over = next((one.variant for one in results.results if one.variant in everywhere), "")
    with suppress(ResultsError):  # a file may lack what it says took turns
        yield results.speedups(over=over)


def _downloads(experiment: str) -> nodes.raw:
    links = "".join(
        f'<li>{escape(where)}: <a download href="{stem}.json">JSON</a>, '
        f'<a download href="{stem}.csv">CSV</a></li>'
        for machine in records.recordings()
        for where in list(machine.on_each_device(experiment))[:1]
        for stem in [f"../{publish.folder_of(machine)}{slug(experiment)}"]
    )
    schema = '<li><a href="../schema.json">JSON Schema</a> of these files</li>'
    return nodes.raw("", f"<ul>{links}{schema}</ul>", format="html")


Placed = tuple[Result, Cost, str]


def _placed(machine: Recording, ceilings: Ceilings) -> Iterator[Placed]:
    """Go through what a machine measured on a device whose work is known: with it and its dtype."""
    for results in machine.sets.values():
        for one in results.results:
            work, dtype = _work(one)
            here = one.device == ceilings.device and one.experiment != CEILINGS.name
            if here and dtype in ceilings.flops_per_s and min(work) >= 0 < work.bytes_moved:
                yield one, work, dtype


def _work(result: Result) -> tuple[Cost, str]:
    if result.experiment == linear_algebra.LINEAR_ALGEBRA.name:
        with suppress(KeyError, ValueError):  # a file may hold a task that nobody knows
            task, size = str(result.parameters["task"]), int(result.parameters["size"])
            return linear_algebra.least_cost(task, size), "float64"
    return Cost(result.flops or 0.0, result.bytes_moved or 0.0), "float32"


def _limits(ceilings: Ceilings, placed: Sequence[Placed]) -> tuple[Table, Table]:
    """Count kernels by what limits them, and list them."""
    rates = (
        f"{rate / 1e9:,.0f} GFLOP/s in {dtype}" for dtype, rate in ceilings.flops_per_s.items()
    )
    bandwidth = f"{ceilings.bytes_per_s / 1e9:,.0f} GB/s"
    shortest = (
        f"{ceilings.call_s * 1e6:.3g} µs for a call that does nothing" if ceilings.call_s else ""
    )
    note = ", ".join(filter(None, (bandwidth, *rates, shortest)))
    reasons = [roofline.bottleneck(one, ceilings, dtype=d, cost=work) for one, work, d in placed]
    counts = Counter(reasons)
    caption = "What limits the kernels that this machine measured"
    rows = [(REASONS[name], str(counts[name])) for name in REASONS if counts[name]]
    return Table(caption, ("limited by", "kernels"), rows, [note]), Table(
        "Each kernel's share of the limit",
        ("experiment", "variant", "with", "share", "limited by"),
        [
            (
                one.experiment,
                one.variant,
                ", ".join(f"{k} {v}" for k, v in _without_device(one).items()),
                roofline.roofline_fraction(one, ceilings, dtype=dtype, cost=work).short,
                REASONS[reason],
            )
            for (one, work, dtype), reason in zip(placed, reasons, strict=True)
        ],
    )
