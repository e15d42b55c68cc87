"""Facts under the title of a tutorial: what it takes, how to run it, and what it measures."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from docutils import nodes
from sphinx import addnodes
from sphinx.application import Sphinx
from sphinx.environment import BuildEnvironment

from jaxcap_docs import page_records
from jaxcap_docs.downloads import colab_address
from jaxcap_docs.lessons import PREREQUISITES, reading_minutes
from jaxcap_docs.page_records import PageRecord
from jaxcap_docs.read import links
from jaxcap_docs.read.elements import joined

FILES = {".ipynb": "notebook", ".py": "script"}  # by suffix, in this order


def reading_and_files(app: Sphinx, doctree: nodes.document, page: str) -> nodes.paragraph:
    """Say how long a tutorial takes and what it builds on, and offer its files."""
    script = Path(app.srcdir, f"{app.env.docname}.py")
    first: list[nodes.Node] = [nodes.Text(f"{reading_minutes(script)}\N{NO-BREAK SPACE}minutes")]
    if needed := [links.link_to_tutorial(name, app.env) for name in PREREQUISITES.get(page, ())]:
        first.append(nodes.inline("", "builds on ", *joined(needed, " and ")))
    return nodes.paragraph("", "", *joined([*first, *_files(app, doctree)], " · "))


def _files(app: Sphinx, doctree: nodes.document) -> Iterator[nodes.Node]:
    """Yield links to Colab, if it can open the notebook, and to the files to download."""
    offered = {
        Path(node["filename"]).suffix: node
        for node in doctree.findall(addnodes.download_reference)
        if "filename" in node  # Sphinx has found the file
    }
    if ".ipynb" in offered:
        path = f"_downloads/{offered['.ipynb']['filename']}"
        if address := colab_address(app.config.ogp_site_url, path):
            yield nodes.reference("", "open in Colab", refuri=address)
    for suffix, name in FILES.items():
        if suffix in offered:
            link = offered[suffix].copy()
            link += nodes.inline(text=name)
            yield link


def measured_and_claimed(page: str, record: PageRecord, env: BuildEnvironment) -> nodes.paragraph:
    """Link to the experiments of a tutorial and to the list of its claims, and say if no GPU ran it."""
    tried = (links.link_to_experiment(name, env) for name in record.measured)
    experiments = list(filter(None, tried))
    measured: list[nodes.Node] = []
    if experiments:
        measured += [nodes.Text("Measures "), *joined(experiments, ", ")]
    if record.claims:
        count = len(record.claims)
        text = f"{count}\N{NO-BREAK SPACE}claims" if count > 1 else "a claim"
        first = record.claims[0].statement
        measured.append(nodes.Text(" and checks " if experiments else "Checks "))
        measured.append(links.link_to_row(page, first, env, text))
    if experiments and not any(map(_has_run_on_a_gpu, record.measured)):
        measured.append(nodes.Text(", so far on CPUs only"))
    return nodes.paragraph("", "", *measured)


def _has_run_on_a_gpu(experiment: str) -> bool:
    """Tell whether this build or a recording has results of an experiment from a GPU."""
    return any(
        result.device.platform == "gpu"
        for recording in page_records.recordings()
        for result in recording.sets.get(experiment, ())
    )
