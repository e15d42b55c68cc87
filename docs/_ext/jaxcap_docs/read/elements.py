"""Elements that several pages share: notes, links, tables, plots and stamps."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from html import escape
from inspect import getfile
from pathlib import Path
from urllib.parse import quote

from docutils import nodes
from matplotlib.figure import Figure
from sphinx import addnodes
from sphinx.application import Sphinx
from sphinx.environment import BuildEnvironment
from sphinx.util.docutils import SphinxDirective
from sphinx.writers.html5 import HTML5Translator
from sphinx_design.shared import create_component

from jaxcap.results import Environment
from jaxcap.results.environment import provenance
from jaxcap.results.tables import Table
from jaxcap_docs import image_files
from jaxcap_docs.read.dependencies import note_drawing

# The folder of the pages that show what all machines measured.
SECTION = "results"
# Plots that are wider than this have to scroll on a phone.
WIDEST_PX = 100 * image_files.WIDEST
# On windows of at most this width, plots are those for phones.
PHONE_WINDOW = "34em"


class Folded(nodes.General, nodes.Element):
    """Content below its ``summary``, which readers unfold without a script."""


class ForTheme(nodes.General, nodes.Element):
    """A plot for one theme, below the same for phones: browsers take one of them."""


class ForPhones(nodes.image):
    """A plot for phones, in front of the one for wider windows."""


class FactLines(nodes.container, nodes.Admonition):
    """Lines about a page itself, which previews of it leave out, as they do admonitions."""


def setup(app: Sphinx) -> None:
    """Say how the nodes of this module become HTML, and let plots fit; `FactLines` do as containers."""
    app.add_node(Folded, html=(_open_details, _close_details))
    app.add_node(ForTheme, html=(_open_picture, _close_picture))
    app.add_node(ForPhones, html=(_add_source, None))
    app.connect("doctree-read", on_doctree_read, priority=700)  # after pages got their plots


def on_doctree_read(app: Sphinx, doctree: nodes.document) -> None:
    """Put plots for phones beside those for wider windows, and those that are too wide into a box.

    There is no plot for phones of what fits anyway, nor of what is too wide for them, which scrolls.
    """
    images = [image for image in doctree.findall(nodes.image) if "jaxcap-plot" in image["classes"]]
    for image in images:
        narrow = image_files.for_phones(Path(app.srcdir, image["uri"].lstrip("/")))
        parent, at = image.parent, image.parent.index(image)
        if narrow.exists():
            uri = narrow.relative_to(app.srcdir).as_posix()
            app.env.images.add_file(app.env.docname, uri)
            image["classes"].append(
                "no-scaled-link"
            )  # in between, browsers wouldn't look behind it
            parent[at] = ForTheme("", ForPhones(uri=uri, candidates={"*": uri}), image)
        elif (
            "only-light" in image["classes"] and int(image["width"].removesuffix("px")) > WIDEST_PX
        ):
            box = nodes.container("", *parent[at : at + 2], classes=["jaxcap-wide"])
            parent[at : at + 2] = [box]


def _open_details(translator: HTML5Translator, node: Folded) -> None:
    summary, kind = translator.encode(node["summary"]), " ".join(node["classes"]) or "jaxcap-code"
    translator.body.append(f'<details class="{kind}"><summary>{summary}</summary>\n')


def _close_details(translator: HTML5Translator, _: Folded) -> None:
    translator.body.append("</details>\n")


def _open_picture(translator: HTML5Translator, _: ForTheme) -> None:
    translator.body.append("<picture>")


def _close_picture(translator: HTML5Translator, _: ForTheme) -> None:
    translator.body.append("</picture>\n")


def _add_source(translator: HTML5Translator, node: ForPhones) -> None:
    name = quote(translator.builder.images[node["uri"]])
    size = "".join(f' {side}="{node[side]}"' for side in ("width", "height"))
    address = f"{translator.builder.imgpath}/{name}"
    translator.body.append(f'<source media="(max-width: {PHONE_WINDOW})" srcset="{address}"{size}>')
    raise nodes.SkipNode


def note(text: str) -> nodes.note:
    """Make a note of one paragraph."""
    return nodes.note("", nodes.paragraph(text=text))


def raw_html(html: str) -> nodes.raw:
    """Put HTML on a page as it is."""
    return nodes.raw("", html, format="html")


def json_script(data: object, kind: str = "application/json") -> str:
    """Return the HTML of data for a script of the page, or for programs that read a kind of data.

    No text in it can end the element.
    """
    text = json.dumps(data, separators=(",", ":")).replace("<", "\\u003c")
    return f'<script type="{kind}">{text}</script>'


def put_under_title(doctree: nodes.document, *elements: nodes.Node) -> None:
    """Insert elements below the title of a page."""
    title = next(doctree.findall(nodes.title))
    title.parent.insert(title.parent.index(title) + 1, elements)


def reference(
    kind: str, target: str, env: BuildEnvironment, text: str = ""
) -> addnodes.pending_xref:
    """Refer to a ``"doc"`` or to a ``"ref"``, by its title unless a text is given."""
    return addnodes.pending_xref(
        "",
        nodes.inline(text=text or target),
        refdomain="std",
        reftype=kind,
        reftarget=target,
        refexplicit=bool(text),
        refwarn=True,
        refdoc=env.docname,
    )


def joined(parts: Iterable[nodes.Node], separator: str) -> list[nodes.Node]:
    """Return nodes with a text between them."""
    return [node for part in parts for node in (nodes.Text(separator), part)][1:]


def listed(parts: Sequence[str]) -> str:
    """Return texts as a list within a sentence, such as ``"one, two and three"``."""
    *others, last = parts
    return f"{', '.join(others)} and {last}" if others else last


def link_to(page: str, env: BuildEnvironment, *classes: str) -> nodes.paragraph:
    """Link from the page that is being read to another, by the other's title."""
    return nodes.paragraph("", "", reference("doc", f"/{page}", env), classes=list(classes))


def link_list(pages: Iterable[str], env: BuildEnvironment) -> nodes.bullet_list:
    """List pages, as links."""
    return nodes.bullet_list("", *(nodes.list_item("", link_to(page, env)) for page in pages))


def stamp(verb: str, environment: Environment, more: dict[str, str], *about: nodes.Node) -> Folded:
    """Say on which machine, when and with what something was measured, with details to unfold."""
    facts = {**provenance(environment), **more}
    rows = "".join(f"<dt>{escape(k)}</dt><dd>{escape(v)}</dd>" for k, v in facts.items())
    jax = environment.versions.get("jax", "of unknown version")  # others' files may lack it
    summary = (
        f"{verb} {environment.device} · JAX {jax} · "
        f"{environment.measured_at.day} {environment.measured_at:%B %Y}"
    )
    details = (*about, raw_html(f"<dl>{rows}</dl>"))
    return Folded("", *details, summary=summary, classes=["jaxcap-provenance"])


def pick(label: str, column: str, series: Mapping[str, str]) -> str:
    """Return an element by which pick.js lets readers pick a series of the plots and tables beside it.

    Parameters
    ----------
    label
        What is picked.
    column
        Of a table's rows, those stay whose cell in this column is the name of the series, or begins
        with it and a full stop or a colon.
    series
        By name, what identifies the series in vector graphics.
    """
    about = f'data-label="{escape(label)}" data-column="{escape(column)}"'
    return f'<p class="jaxcap-pick" {about}>{json_script(series)}</p>'


def readers_own() -> nodes.raw:
    """Let readers put their own results on a page, by reader.js."""
    return raw_html('<div class="jaxcap-reader"></div>')


def table_node(table: Table) -> nodes.raw:
    """Put a table on a page."""
    return raw_html(table._repr_html_())


def dropdown(title: str, content: Iterable[nodes.Node]) -> nodes.container:
    """Make what the directive ``dropdown`` would."""
    return create_component(
        "dropdown",
        children=[nodes.rubric(title, title), *content],
        opened=False,
        type="dropdown",
        has_title=True,
        icon=None,
        chevron=None,
        container_classes=["sd-mb-3"],
        title_classes=[],
        body_classes=[],
    )


def plot(
    directive: SphinxDirective,
    name: str,
    figure: Figure | Callable[[], Figure],
    sources: Iterable[str] = (),
) -> list[nodes.Node]:
    """Put a figure on a page, for light and for dark ones.

    Parameters
    ----------
    directive
        That of the page.
    name
        Of its files.
    figure
        The figure, or what draws it if its files aren't there from the last build.
    sources
        All that decides what is drawn, besides the directive's module and the code that draws
        results.
    """
    note_drawing(directive.env)
    root, path = Path(directive.env.srcdir), plot_path(directive, name)
    if isinstance(figure, Figure):
        saved = image_files.save(figure, path, root)
    else:
        code = Path(getfile(type(directive))).read_text(encoding="utf-8")
        saved = image_files.save_unless_kept(figure, [code, *sources], path, root)
    return [nodes.image(**attributes) for attributes in saved]


def plot_path(directive: SphinxDirective, name: str) -> Path:
    """Return where a plot is saved that is kept for the next build."""
    path = Path(directive.env.srcdir, SECTION, "_plots", f"{name}.svg")
    path.parent.mkdir(parents=True, exist_ok=True)
    return path
