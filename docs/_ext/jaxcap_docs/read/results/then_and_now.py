"""The page that compares values published by others with what was measured."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator

from docutils import nodes
from sphinx.util.docutils import SphinxDirective

from jaxcap import published
from jaxcap_docs import page_records
from jaxcap_docs.read.dependencies import note_all_results, note_published
from jaxcap_docs.read.elements import pick, plot, raw_html, table_node


class ThenAndNow(SphinxDirective):
    """Show a part of the page: ``conclusions``, ``chart`` or ``tables``."""

    required_arguments = 1

    def run(self) -> list[nodes.Node]:
        """Return the part, from the measurements of this build and of all recordings."""
        note_all_results(self.env)
        note_published(self.env)
        assessments = published.assess_all(page_records.recordings())
        match self.arguments[0]:
            case "conclusions":
                return [_conclusions(assessments)]
            case "chart":
                images = plot(self, "then-and-now", published.chart(assessments))
                drawn = (a for a in assessments if a.published.time_s and a.replications)
                return [nodes.container("", *images, _pick(drawn, "Highlight"))]
            case "tables":
                choice = _pick(assessments, "Show")
                tables = _tables(assessments)
                return [nodes.container("", choice, *tables, classes=["then-and-now"])]
            case other:
                raise self.error(f"there is no part {other!r}: choose conclusions, chart or tables")


def _tables(assessments: Iterable[published.Assessment]) -> Iterator[nodes.raw]:
    """Yield tables of what can be compared, and folded, of what can't."""
    parts: dict[bool, list[published.Assessment]] = {True: [], False: []}
    for assessment in assessments:
        is_comparable = assessment.conclusion is not published.Conclusion.NOT_COMPARABLE
        parts[is_comparable].append(assessment)
    yield from map(table_node, published.tables(parts[True]))
    if parts[False]:
        summary = f"<summary>{len(parts[False])} values that can't be compared, and why</summary>"
        html = "".join(table._repr_html_() for table in published.tables(parts[False]))
        yield raw_html(f'<details class="jaxcap-folded">{summary}{html}</details>')


def _pick(assessments: Iterable[published.Assessment], label: str) -> nodes.raw:
    """Let readers pick one of the conclusions that there are."""
    there = {assessment.conclusion for assessment in assessments}
    series = {str(c): f"{published.series_id(c)}.0" for c in published.Conclusion if c in there}
    return raw_html(pick(label, "conclusion", series))


def _conclusions(assessments: list[published.Assessment]) -> nodes.Node:
    """List what each conclusion means, and how many values have it."""
    counts = Counter(assessment.conclusion for assessment in assessments)
    items = [
        nodes.definition_list_item(
            "",
            nodes.term(text=f"{conclusion}: {counts[conclusion]} of {len(assessments)}"),
            nodes.definition("", nodes.paragraph(text=meaning)),
        )
        for conclusion, meaning in published.MEANINGS.items()
    ]
    return nodes.definition_list("", *items)
