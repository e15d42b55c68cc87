"""The page that compares values published by others with what was measured."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from docutils import nodes
from sphinx.util.docutils import SphinxDirective

from jaxcap import published
from jaxcap.results.tables import Table
from jaxcap_docs import records
from jaxcap_docs.read.elements import plot, raw_html


class ThenAndNow(SphinxDirective):
    """Show a part of the page: ``verdicts``, ``chart`` or ``tables``."""

    required_arguments = 1

    def run(self) -> list[nodes.Node]:
        """Return the part, from the measurements of this build and of all recordings."""
        self.env.note_reread()  # they may change while the page doesn't
        recordings = records.recordings()
        assessments = [published.assess(value, recordings) for value in published.load().values()]
        match self.arguments[0]:
            case "verdicts":
                return [_verdicts(assessments)]
            case "chart":
                return plot(self, "then-and-now", published.chart(assessments))
            case "tables":
                return [_tables(published.tables(assessments, recordings))]
            case other:
                raise self.error(f"there is no part {other!r}: choose verdicts, chart or tables")


def _verdicts(assessments: list[published.Assessment]) -> nodes.Node:
    """List what each verdict means, and how many values have it."""
    counts = Counter(assessment.verdict for assessment in assessments)
    items = [
        nodes.definition_list_item(
            "",
            nodes.term(text=f"{verdict}: {counts[verdict]} of {len(assessments)}"),
            nodes.definition("", nodes.paragraph(text=meaning)),
        )
        for verdict, meaning in published.MEANINGS.items()
    ]
    return nodes.definition_list("", *items)


def _tables(tables: Iterable[Table]) -> nodes.Node:
    html = "".join(table._repr_html_() for table in tables)
    return nodes.container("", raw_html(html), classes=["then-and-now"])
