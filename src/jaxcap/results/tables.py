"""A table that reads well in a terminal and, accessibly, on a page."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from html import escape
from io import StringIO
from typing import TYPE_CHECKING, Self

if TYPE_CHECKING:
    from rich.console import JustifyMethod, RenderableType

# A column with a cell longer than this holds text, which starts at the left and may be wrapped.
LONGEST_NUMBER = 24


class Link(str):
    """The text of a cell that leads somewhere on a page.

    Attributes
    ----------
    href
        The address.
    """

    __slots__ = ("href",)
    href: str

    def __new__(cls, text: str, href: str) -> Self:
        """Give a text an address."""
        link = super().__new__(cls, text)
        link.href = href
        return link


@dataclass(frozen=True, repr=False)
class Table:
    """Text in rows and columns; the first column heads its row.

    Attributes
    ----------
    caption
        What the table shows, and where it was measured.
    headers
        One text for each column.
    rows
        As many texts a row as there are headers.
    notes
        Sentences below the table.
    text_columns
        The positions of columns that hold text, besides those with a long cell.
    number_columns
        The positions of columns that hold numbers, even if a cell is long.
    heads
        How many columns, of which a page may break the texts, head a row.
    """

    caption: str
    headers: Sequence[str]
    rows: Sequence[Sequence[str]]
    notes: Sequence[str] = ()
    text_columns: Collection[int] = ()
    number_columns: Collection[int] = ()
    heads: int = 1

    def __rich__(self) -> RenderableType:
        # Imported here because most processes that measure never print a table.
        from rich import box
        from rich.console import Group
        from rich.table import Table as RichTable
        from rich.text import Text

        table = RichTable(title=Text(self.caption), title_justify="left", box=box.SIMPLE)
        for header, is_text in zip(self.headers, self._holds_text, strict=True):
            justify: JustifyMethod = "left" if is_text else "right"
            table.add_column(Text(header), justify=justify, overflow="fold")  # nothing is cut off
        for row in self.rows:
            table.add_row(*(Text(cell) for cell in row))
        return Group(table, *(Text(note) for note in self.notes))

    def text(self, width: int | None = None) -> str:
        """Return the table as text of at most so many columns, by default as many as the terminal has."""
        from rich.console import Console

        # In a notebook, printing would show the table at once.
        console = Console(file=StringIO(), width=width, record=True, force_jupyter=False)
        console.print(self)
        lines = console.export_text().splitlines()
        return "\n".join(line.rstrip() for line in lines).strip("\n")

    def __repr__(self) -> str:
        return self.text()

    def markdown(self) -> str:
        """Return the table in GitHub's Markdown."""
        lines = [self.headers, ["---"] * len(self.headers), *self.rows]
        table = [
            f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in line)} |" for line in lines
        ]
        return "\n".join([f"**{self.caption}**", "", *table, "", *self.notes, ""]).rstrip() + "\n"

    def _repr_html_(self) -> str:
        classes = [' class="jaxcap-text"' if is_text else "" for is_text in self._holds_text]
        for index in range(1, self.heads):
            name = " jaxcap-name" if self._holds_text[index] else ""
            classes[index] = f' class="jaxcap-head{name}"'
        if 0 not in self.text_columns:
            classes[0] = ""  # headers of rows have a style of their own
        head = "".join(
            f'<th scope="col"{kind}>{escape(header)}</th>' if header else "<td></td>"
            for header, kind in zip(self.headers, classes, strict=True)
        )
        body = "".join(_row_html(row, classes) for row in self.rows)
        notes = "".join(f'<p class="jaxcap-note">{escape(note)}</p>' for note in self.notes)
        # What takes the focus can be scrolled sideways from the keyboard.
        return (
            f'<div class="jaxcap-table" role="group" tabindex="0" aria-label="{escape(self.caption)}">'
            f"<table><caption>{escape(self.caption)}</caption>"
            f"<thead><tr>{head}</tr></thead><tbody>{body}</tbody></table></div>{notes}"
        )

    @property
    def _holds_text(self) -> list[bool]:
        """Whether a column holds texts rather than numbers, as the first one always does.

        One that heads rows, and begins with a letter in any of them, holds names.
        """
        return [
            index in (0, *self.text_columns)
            or (index < self.heads and any(row[index][:1].isalpha() for row in self.rows))
            or (
                index not in self.number_columns
                and any(len(row[index]) > LONGEST_NUMBER for row in self.rows)
            )
            for index in range(len(self.headers))
        ]


def _row_html(row: Sequence[str], classes: Sequence[str]) -> str:
    first, *others = map(_cell_html, row)
    cells = (f"<td{kind}>{cell}</td>" for cell, kind in zip(others, classes[1:], strict=True))
    return f'<tr><th scope="row"{classes[0]}>{first}</th>{"".join(cells)}</tr>'


def _cell_html(cell: str) -> str:
    text = escape(cell)
    return f'<a href="{escape(cell.href)}">{text}</a>' if isinstance(cell, Link) else text
