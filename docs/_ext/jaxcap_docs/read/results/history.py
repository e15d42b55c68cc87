"""The page with what a build leaves for the builds after it."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

from docutils import nodes
from sphinx.util.docutils import SphinxDirective

from jaxcap.report.claims import WORDS
from jaxcap.results.statistics import CONFIDENCE
from jaxcap.results.tables import Table
from jaxcap_docs.build_entry import FILE, HistoryRow, entry_of_build
from jaxcap_docs.read.dependencies import note_all_records
from jaxcap_docs.read.elements import note, raw_html


class History(SphinxDirective):
    """Show what this build leaves for those after it."""

    def run(self) -> list[nodes.Node]:
        """Return a table and a link to the file, or a note if no tutorial was run."""
        note_all_records(self.env)
        entry = entry_of_build()
        if entry is None:
            return [note("No tutorial was run in this build.")]
        headers = ("", "ratio", "95% interval", "has to be", "the claim")
        caption = f"This build, on {entry.machine}"
        rows = [_row(finding) for finding in _shown(entry.findings)]
        table = Table(caption, headers, rows, text_columns=[0, 3, 4])
        summary = (
            f"<summary>{len(rows)} results of this build, on {escape(entry.machine)}</summary>"
        )
        file = f'<p>The same <a download href="../{FILE}">as a file</a>.</p>'
        shown = f'<div class="jaxcap-history">{table._repr_html_()}</div>'
        return [raw_html(f'<details class="jaxcap-folded">{summary}{shown}</details>{file}')]


def _shown(findings: Sequence[HistoryRow]) -> list[HistoryRow]:
    """Leave out headlines whose number decides a claim of the same page, which has a row too."""
    claimed = [(f.page, f.interval) for f in findings if f.outcome]
    return [f for f in findings if f.outcome or (f.page, f.interval) not in claimed]


def _row(finding: HistoryRow) -> tuple[str, ...]:
    claim = (finding.needs or "", WORDS[finding.outcome] if finding.outcome else "")
    if finding.interval is None:
        return finding.text, "", "", *claim
    value, low, high = (
        f"{number:.3g}"
        for number in (finding.interval.value, finding.interval.low, finding.interval.high)
    )
    is_certain = finding.interval.confidence >= CONFIDENCE
    return finding.text, value, f"{low} to {high}" if is_certain else "", *claim
