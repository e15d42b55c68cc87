"""Pages of tutorials: the stamp of their run, what other machines measured, and links to Colab."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import replace
from pathlib import Path

from docutils import nodes
from sphinx import addnodes
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective

from jaxcap.experiments import catalogue
from jaxcap.measure.store import shown_machine
from jaxcap.report.exports import with_other_machines
from jaxcap.report.figures import Drawing
from jaxcap.results import ResultSet
from jaxcap.results.recordings import matching_results
from jaxcap_docs import image_files, page_records
from jaxcap_docs.downloads import colab_address
from jaxcap_docs.lessons import TUTORIALS, TUTORIALS_FOLDER, lacks_torch
from jaxcap_docs.page_records import BUILD_START, PageRecord, TableRecord, differences_from_build
from jaxcap_docs.read.dependencies import note_drawing, note_record, note_recordings
from jaxcap_docs.read.elements import (
    dropdown,
    note,
    put_under_title,
    raw_html,
    reference,
    stamp,
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
        results, path = record.shown(figure.results), Path(self.env.srcdir, figure.path)
        content: list[nodes.Node] = []
        others = matching_results(results, page_records.other_recordings())
        among = None
        if others:  # all figures have the same axes then
            shown = [result for part in (results, *others.values()) for result in part]
            among = results.subset(shown)
        if not figure.is_changed:
            content += self._images(figure.drawing, results, path, among)
        for number, (device, other) in enumerate(others.items()):
            # Part of what the figure shows may not have been measured elsewhere, or be no number.
            with suppress(ValueError):
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


def on_doctree_read(app: Sphinx, doctree: nodes.document) -> None:
    """Put the stamp of its run under a tutorial's title, widen its tables, and link to Colab."""
    page = app.env.docname.removeprefix(TUTORIALS_FOLDER)
    if page not in TUTORIALS:
        return
    note_record(app.env, page)
    if record := page_records.load(page):
        note_recordings(app.env, record.measured)
        facts = {"Measured": _moments(record), "Took": f"{record.duration_s:.0f} s"}
        if shown_machine() and (outdated := _outdated(record)):
            facts["State"] = f"recorded by other code than today's: {', '.join(outdated)}"
        put_under_title(doctree, stamp("Measured on", record.newest, facts))
        _widen_tables(doctree, record)
    else:
        why = ", because PyTorch is not installed" if lacks_torch(page) else ""
        text = f"This page was not run in this build{why}: it shows no results."
        put_under_title(doctree, note(text))
    _offer_colab(app, doctree)


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
    """Give tables a column for each other machine that measured the same."""
    for raw in list(doctree.findall(nodes.raw)):
        html = raw.astext()
        for table in record.tables:
            if table.html in html:
                raw.replace_self(raw_html(html.replace(table.html, _wider(table, record))))
                break


def _wider(table: TableRecord, record: PageRecord) -> str:
    """Return the HTML of a table with other machines, if there are any."""
    results = record.shown(table.results)
    others = matching_results(results, page_records.other_recordings())
    if not others:
        return table.html
    own = results.table() if table.over is None else results.speedups(over=table.over)
    wider = with_other_machines(own, others)
    notes = [f"{device}: {differences_from_build(other)}" for device, other in others.items()]
    return replace(wider, notes=(*wider.notes, *notes))._repr_html_()


def _offer_colab(app: Sphinx, doctree: nodes.document) -> None:
    """Link to Colab above each notebook to download, and say below what notebooks need."""
    for node in list(doctree.findall(addnodes.download_reference)):
        path = node.get("filename", "")
        if not path.endswith(".ipynb"):
            continue
        download = node.parent.parent
        downloads = download.parent
        if address := colab_address(app.config.ogp_site_url, f"_downloads/{path}"):
            text = f"Open in Colab: {path.rpartition('/')[2]}"
            literal = nodes.literal("", text, classes=["download"])
            link = nodes.paragraph("", "", nodes.reference("", "", literal, refuri=address))
            opened = nodes.container("", link, classes=["sphx-glr-download"])
            downloads.insert(downloads.index(download), opened)
        how = reference("ref", "run-it-yourself", app.env, "how to install it")
        downloads.append(
            nodes.paragraph("", "They need this site's package: ", how, nodes.Text("."))
        )
