"""Parts that several pages are made of: tables, plots, links and stamps, as nodes."""

from __future__ import annotations

from html import escape
from pathlib import Path

from docutils import nodes
from matplotlib.figure import Figure
from sphinx import addnodes
from sphinx.environment import BuildEnvironment
from sphinx.util.docutils import SphinxDirective

from jaxcap.results.environment import Environment, provenance
from jaxcap.results.tables import Table
from jaxcap_docs import plots

SECTION = "results"


def link_to(page: str, env: BuildEnvironment) -> addnodes.pending_xref:
    """Link from the page that is read to another, with the title of that one."""
    return addnodes.pending_xref(
        "",
        nodes.inline(text=page),
        refdomain="std",
        reftype="doc",
        reftarget=f"/{page}",
        refdoc=env.docname,
        refexplicit=False,
        refwarn=True,
    )


def stamp(verb: str, environment: Environment, more: dict[str, str]) -> nodes.raw:
    """Say on which machine something was measured, when and with what; unfolded, in full."""
    facts = {**provenance(environment), **more}
    rows = "".join(f"<dt>{escape(k)}</dt><dd>{escape(v)}</dd>" for k, v in facts.items())
    summary = " · ".join(
        (
            f"{verb} {environment.device}",
            f"JAX {environment.versions['jax']}",
            f"{environment.measured_at.day} {environment.measured_at:%B %Y}",
        )
    )
    return nodes.raw(
        "",
        f'<details class="jaxcap-provenance"><summary>{escape(summary)}</summary>'
        f"<dl>{rows}</dl></details>",
        format="html",
    )


def table_node(table: Table) -> nodes.raw:
    """Put a table on a page."""
    return nodes.raw("", table._repr_html_(), format="html")


def plot(directive: SphinxDirective, name: str, figure: Figure) -> list[nodes.Node]:
    """Put a figure on a page, for light and for dark ones."""
    path = Path(directive.env.srcdir, SECTION, "_plots", f"{name}.svg")
    path.parent.mkdir(exist_ok=True)
    saved = plots.save(figure, path)
    return [
        nodes.image(
            uri=f"/{file.relative_to(directive.env.srcdir).as_posix()}",
            alt=saved.alt,
            width=saved.width,
            classes=[f"only-{theme}", "jaxcap-plot"],
        )
        for theme, file in saved.files.items()
    ]
