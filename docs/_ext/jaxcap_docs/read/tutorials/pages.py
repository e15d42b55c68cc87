"""Pages of tutorials: the stamp of their run, what other machines measured, and ways to other pages."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.environment import BuildEnvironment
from sphinx.util import logging
from sphinx.util.docutils import SphinxDirective

from jaxcap.experiments import catalogue
from jaxcap.measure.store import shown_machine
from jaxcap.report.exports import with_other_machines
from jaxcap.report.figures import Drawing
from jaxcap.results import ResultsError, ResultSet
from jaxcap.results.recordings import matching_results
from jaxcap_docs import image_files, page_records
from jaxcap_docs.lessons import KEYWORDS, TUTORIALS, TUTORIALS_FOLDER, lacks_torch
from jaxcap_docs.page_records import BUILD_START, PageRecord, TableRecord, differences_from_build
from jaxcap_docs.read import links
from jaxcap_docs.read.dependencies import note_drawing, note_record, note_recordings
from jaxcap_docs.read.elements import (
    FactLines,
    dropdown,
    note,
    plot_path,
    put_under_title,
    raw_html,
    readers_own,
    reference,
    stamp,
)
from jaxcap_docs.read.rows import rows_of, with_rows
from jaxcap_docs.read.tutorials.bets import offer_bet
from jaxcap_docs.read.tutorials.facts import measured_and_claimed, reading_and_files

logger = logging.getLogger(__name__)

# Drawings in which processes are dots. Below the first of them on a page stands what that means.
SHOWING_PROCESSES = {
    *("bars", "panels", "ratios", "returns", "running_total", "scaling", "speedups", "waterfall"),
}
KEY = (
    "A dot is one process, and a mark their median. A ratio is the median of the ratios within rounds, "
    "so it may differ from the quotient of two marks: "
)


class FigureOfResults(SphinxDirective):
    """Show a figure of a tutorial, given by its position, and the same of other machines below it."""

    required_arguments = 1

    def run(self) -> list[nodes.Node]:
        """Return images, and for each machine a dropdown."""
        note_drawing(self.env)
        record = page_records.load(self.env.docname.removeprefix(TUTORIALS_FOLDER))
        if record is None:
            return []
        figure = record.figures[int(self.arguments[0])]
        results, path = record.shown(figure.results), plot_path(self, Path(figure.path).stem)
        content: list[nodes.Node] = []
        others = matching_results(results, page_records.recordings_elsewhere())
        among = None
        if others:  # all figures have the same axes then
            shown = [result for part in (results, *others.values()) for result in part]
            among = results.subset(shown)
        if not figure.is_changed:
            content += self._images(figure.drawing, results, path, among)
        if figure is next(
            (f for f in record.figures if f.drawing.function in SHOWING_PROCESSES), None
        ):
            rules = reference("doc", "/measuring", self.env, "how we measure")
            parts = (nodes.Text(KEY), rules, nodes.Text("."))
            content.append(nodes.paragraph("", "", *parts, classes=["jaxcap-note"]))
        for number, (device, other) in enumerate(others.items()):
            with left_out_if_lacking(f"{path.stem} of {device}"):
                images = self._images(
                    figure.drawing, other, path.with_stem(f"others_{path.stem}_{number}"), among
                )
                text = nodes.paragraph(text=differences_from_build(other))
                folded = dropdown(device, [*images, text])
                folded["support_smartquotes"] = False  # names are shown as they are
                content.append(folded)
        return content

    def _images(
        self, drawing: Drawing, results: ResultSet, path: Path, among: ResultSet | None
    ) -> list[nodes.image]:
        root = Path(self.env.srcdir)
        images = image_files.save_drawing(drawing, results, path, root, among=among)
        return [nodes.image(**attributes) for attributes in images]


@contextmanager
def left_out_if_lacking(what: str) -> Iterator[None]:
    """Leave something out if results lack what it shows, as those of other machines may.

    Any other ValueError is told, because it may be a mistake of ours. It doesn't end the build: what
    was measured elsewhere may also be no number, which Matplotlib can't draw.
    """
    try:
        yield
    except ResultsError:
        pass
    except ValueError as error:
        logger.info("%s is left out: %r", what, error)


def on_source_read(_: Sphinx, name: str, source: list[str]) -> None:
    """Enter a tutorial's keywords into the index, where the search finds them too."""
    if entries := KEYWORDS.get(name.removeprefix(TUTORIALS_FOLDER)):
        source[0] = f".. index:: {', '.join(f'! {entry}' for entry in entries)}\n\n{source[0]}"


def on_doctree_read(app: Sphinx, doctree: nodes.document) -> None:
    """Complete a tutorial: facts and the stamp of its run under its title, tables, and claims."""
    page = app.env.docname.removeprefix(TUTORIALS_FOLDER)
    if page not in TUTORIALS:
        return
    note_record(app.env, page)
    head: list[nodes.Node] = [reading_and_files(app, doctree, page)]
    if record := page_records.load(page):
        note_recordings(app.env, record.measured)
        facts = {"Measured": _moments(record), "Took": f"{record.duration_s:.0f} s"}
        if shown_machine() and (outdated := _outdated(record)):
            facts["State"] = f"recorded by other code than today's: {', '.join(outdated)}"
        _widen_tables(doctree, record)
        links.connect_claims(doctree, record, app.env)
        offer_bet(app, doctree, record)
        measured = measured_and_claimed(page, record, app.env)
        head += [stamp("Measured on", record.newest, facts, measured), readers_own()]
        not_run = []
    else:
        why = ", because PyTorch is not installed" if lacks_torch(page) else ""
        not_run = [note(f"This page was not run in this build{why}: it shows no results.")]
    put_under_title(doctree, FactLines("", *head, classes=["jaxcap-facts"]), *not_run)
    _tidy_downloads(doctree, app.env)


def _moments(record: PageRecord) -> str:
    """Say of each experiment when it was measured, and whether in this build."""
    moments = []
    for name, environment in record.measured.items():
        when = "not in" if environment.measured_at < BUILD_START else "in"
        moments.append(f"{name} {environment.measured_at:%Y-%m-%d %H:%M} UTC, {when} this build")
    return "; ".join(moments) or f"{record.newest.measured_at:%Y-%m-%d %H:%M} UTC"


def _outdated(record: PageRecord) -> list[str]:
    """Name the experiments whose code has changed since they were recorded."""
    known = catalogue()
    recorded = record.by_experiment().items()
    return [name for name, part in recorded if name in known and part[0].code != known[name].code]


def _widen_tables(doctree: nodes.document, record: PageRecord) -> None:
    """Give tables a column for each other machine that measured the same, and room for a reader's."""
    for raw in list(doctree.findall(nodes.raw)):
        html = raw.astext()
        for table in record.tables:
            if table.html in html:
                raw.replace_self(raw_html(html.replace(table.html, _wider(table, record))))
                break


def _wider(table: TableRecord, record: PageRecord) -> str:
    """Return the HTML of a table with other machines, if there are any, and with the data of its rows."""
    results = record.shown(table.results)
    others = matching_results(results, page_records.recordings_elsewhere())
    rows = rows_of(results, table.over, others)
    if not others:
        return with_rows(table.html, rows)
    own = results.table() if table.over is None else results.speedups(over=table.over)
    wider = with_other_machines(own, others)
    notes = [f"{device}: {differences_from_build(other)}" for device, other in others.items()]
    return with_rows(replace(wider, notes=(*wider.notes, *notes))._repr_html_(), rows)


def _tidy_downloads(doctree: nodes.document, env: BuildEnvironment) -> None:
    """Say what notebooks need below the files to download, to which the facts lead as well."""
    for hint in list(doctree.findall(nodes.note)):
        if "sphx-glr-download-link-note" in hint["classes"]:
            hint.parent.remove(hint)
    for files in doctree.findall(nodes.container):
        if "sphx-glr-footer" in files["classes"]:
            how = reference("ref", "run-it-yourself", env, "how to install it")
            files += nodes.paragraph("", "They need this site's package: ", how, nodes.Text("."))
