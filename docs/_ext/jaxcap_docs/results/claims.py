"""The list of all claims that the tutorials make, and on which machines they hold."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from docutils import nodes
from sphinx.util.docutils import SphinxDirective

from jaxcap.report.claims import SIGNS, WORDS
from jaxcap_docs import records
from jaxcap_docs.lessons import place
from jaxcap_docs.parts import link_to

MISSING = "not measured"

Cell = Sequence[nodes.Node]


class Claims(SphinxDirective):
    """Tabulate the claims of all pages that ran in this build, and name those that didn't."""

    def run(self) -> list[nodes.Node]:
        """Return a table of counts, one of claims, and a note."""
        scripts = sorted(records.GALLERY.glob("*/*.py"), key=lambda path: place(path.name))
        pages = [records.page_of_script(script) for script in scripts]
        for page in pages:
            self.env.note_dependency(str(records.folder(page) / "claims.json"))
        ran = [page for page in pages if records.run_of(page)]
        claims = [(page, claim) for page in ran for claim in records.claims_of(page)]
        findings = [finding for _, claim in claims for finding in claim.findings]
        # The machine of this build is the first that any claim names.
        machines = list(dict.fromkeys(finding.machine for finding in findings))
        rows: list[Sequence[Cell]] = []
        for page, claim in claims:
            there = {finding.machine: finding for finding in claim.findings}
            cells = (_finding(there.get(machine)) for machine in machines)
            rows.append((self._claim(page, claim), *cells))
        content: list[nodes.Node] = []
        if rows:
            content.append(_counts([claim for _, claim in claims], machines))
            content.append(_table("All claims", ("It is claimed", *machines), rows))
        if others := [page for page in pages if page not in ran]:
            links = [link_to(f"tutorials/{page}", self.env) for page in others]
            items = [nodes.list_item("", nodes.paragraph("", "", link)) for link in links]
            text = "Not run in this build, and so without claims:"
            content += [nodes.paragraph(text=text), nodes.bullet_list("", *items)]
        return content

    def _claim(self, page: str, claim: records.ClaimRecord) -> Cell:
        link = nodes.paragraph(
            "", "", link_to(f"tutorials/{page}", self.env), classes=["jaxcap-note"]
        )
        return nodes.paragraph(text=f"that {claim.text} (needs {claim.needs})"), link


def _finding(finding: records.ClaimOutcome | None) -> Cell:
    if finding is None:
        return (nodes.paragraph(text=MISSING),)
    outcome = f"{SIGNS[finding.outcome]} {WORDS[finding.outcome]}"
    return (
        nodes.paragraph(text=outcome, classes=["jaxcap-outcome", f"jaxcap-{finding.outcome}"]),
        nodes.paragraph(text=finding.evidence, classes=["jaxcap-note"]),
    )


def _counts(claims: Sequence[records.ClaimRecord], machines: Sequence[str]) -> nodes.table:
    """Count the outcomes of all claims on each machine."""
    rows = []
    for machine in machines:
        outcomes = [f.outcome for claim in claims for f in claim.findings if f.machine == machine]
        counts = (*(outcomes.count(outcome) for outcome in WORDS), len(claims) - len(outcomes))
        rows.append([(nodes.paragraph(text=str(text)),) for text in (machine, *counts)])
    return _table("How many hold", ("Device", *WORDS.values(), MISSING), rows)


def _table(caption: str, headers: Sequence[str], rows: Iterable[Sequence[Cell]]) -> nodes.table:
    """Make a table whose first column heads its rows."""
    columns = [nodes.colspec(colwidth=1, stub=int(not i)) for i in range(len(headers))]
    head = nodes.thead("", _row([(nodes.paragraph(text=header),) for header in headers]))
    body = nodes.tbody("", *map(_row, rows))
    group = nodes.tgroup("", *columns, head, body, cols=len(headers))
    classes = ["jaxcap-claims", "colwidths-auto"]
    return nodes.table("", nodes.title(text=caption), group, classes=classes)


def _row(cells: Sequence[Cell]) -> nodes.row:
    return nodes.row("", *(nodes.entry("", *cell) for cell in cells))
