"""Documents that say what was found out about a machine: as a page, as text, and as JSON.

A document is made of sections, of which each has sentences, tables and figures for people, and the
same facts as data for programs. What it says may come from a broken installation or from anybody's
environment variables. So a page escapes all of it, runs no script, and asks nothing of any server;
and a text is fenced, so that the form of an issue shows it as it is.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from html import escape
from io import StringIO
from pathlib import Path
from typing import Any

import matplotlib.pyplot as plt
from matplotlib.figure import Figure

from jaxcap.report.figures import INK, STYLE
from jaxcap.results.base import printable
from jaxcap.results.tables import Link, Table

_STYLE_SHEET = Path(__file__).with_suffix(".css")
_TEXT_WIDTH = 110  # columns: a form shows more, but few windows do
_FENCE = "```"


@dataclass(frozen=True, kw_only=True)
class Section:
    """A part of a document.

    Attributes
    ----------
    name
        What it is called among the data.
    heading
        What it is about.
    sentences
        What was found out, or why nothing was.
    tables
        The same in detail.
    figures
        The same as pictures.
    details
        Tables that only a page has, where they are folded away.
    data
        The same for programs: what JSON can hold.
    """

    name: str
    heading: str
    sentences: Sequence[str] = ()
    tables: Sequence[Table] = ()
    figures: Sequence[Figure] = ()
    details: Sequence[Table] = ()
    data: Any = None


@dataclass(frozen=True)
class Document:
    """What was found out about a machine.

    Attributes
    ----------
    title
        What it is about.
    sections
        In reading order.
    """

    title: str
    sections: Sequence[Section]

    def json(self) -> str:
        """Write the data of all sections."""
        data = {"title": self.title} | {section.name: section.data for section in self.sections}
        return json.dumps(data, indent=1, ensure_ascii=False, allow_nan=False) + "\n"

    def text(self) -> str:
        """Write a text that can be pasted into an issue."""
        title = printable(self.title)
        lines = [title, "=" * len(title)]
        for section in map(_printable_section, self.sections):
            lines += ["", section.heading, "-" * len(section.heading), *section.sentences]
            lines += ["", *(f"{table.text(_TEXT_WIDTH)}\n" for table in section.tables)]
        text = re.sub(r"\n{3,}", "\n\n", "\n".join(lines)).replace(_FENCE, "'''")
        return f"{_FENCE}text\n{text.rstrip()}\n{_FENCE}\n"

    def html(self) -> str:
        """Write a page that needs no other file."""
        sections = [*map(_printable_section, self.sections)]
        links = "".join(
            f'<li><a href="#{section.name}">{escape(section.heading)}</a></li>'
            for section in sections
        )
        title = escape(printable(self.title))
        # The policy keeps browsers from asking any server, and from running anything.
        return (
            '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
            '<meta http-equiv="Content-Security-Policy" '
            "content=\"default-src 'none'; style-src 'unsafe-inline'\">\n"
            '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
            '<meta name="color-scheme" content="light dark">\n'
            f"<title>{title}</title>\n"
            f"<style>\n{_STYLE_SHEET.read_text(encoding='utf-8')}</style>\n</head>\n<body>\n<main>\n"
            f'<h1>{title}</h1>\n<nav aria-label="Sections"><ul>{links}</ul></nav>\n'
            f"{''.join(map(_section_html, sections))}</main>\n</body>\n</html>\n"
        )


def _section_html(section: Section) -> str:
    heading = f'<h2 id="{section.name}">{escape(section.heading)}</h2>\n'
    sentences = "".join(f"<p>{escape(text)}</p>\n" for text in section.sentences)
    tables = "".join(f"{table._repr_html_()}\n" for table in section.tables)
    figures = "".join(
        f"<figure>{_svg(figure, f'{section.name}-{number}')}</figure>\n"
        for number, figure in enumerate(section.figures)
    )
    details = "".join(
        f"<details><summary>{escape(table.caption)}</summary>{table._repr_html_()}</details>\n"
        for table in section.details
    )
    label = f'aria-labelledby="{section.name}"'
    return f"<section {label}>\n{heading}{sentences}{figures}{tables}{details}</section>\n"


def _svg(figure: Figure, prefix: str) -> str:
    """Draw a figure in the ink of the page, with ids of its own."""
    file = StringIO()
    with plt.rc_context(STYLE):
        figure.savefig(file, format="svg", metadata={"Date": None})
    plt.close(figure)
    svg = file.getvalue()
    svg = re.sub(r"<metadata>.*?</metadata>", "", svg[svg.index("<svg") :], flags=re.DOTALL)
    svg = re.sub(r'(\bid="|url\(#|href="#)', rf"\g<1>{prefix}-", svg)
    words = ". ".join(filter(None, (figure.get_suptitle(), str(figure.get_label()))))
    described = f'<svg role="img" aria-label="{escape(printable(words))}" '
    return svg.replace(INK, "currentColor").replace("<svg ", described, 1)


def _printable_section(section: Section) -> Section:
    """Escape what can't be printed, in all texts but those in figures, which Matplotlib draws."""
    return replace(
        section,
        heading=printable(section.heading),
        sentences=[*map(printable, section.sentences)],
        tables=[*map(_printable_table, section.tables)],
        details=[*map(_printable_table, section.details)],
    )


def _printable_table(table: Table) -> Table:
    return replace(
        table,
        caption=printable(table.caption),
        headers=[*map(printable, table.headers)],
        rows=[[*map(_printable_cell, row)] for row in table.rows],
        notes=[*map(printable, table.notes)],
    )


def _printable_cell(cell: str) -> str:
    text = printable(cell)
    return Link(text, cell.href) if isinstance(cell, Link) else text
