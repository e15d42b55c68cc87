"""All claims of the tutorials, and the machines on which they hold."""

from __future__ import annotations

from collections.abc import Sequence

from docutils import nodes
from sphinx.util.docutils import SphinxDirective

from jaxcap.report.claims import SIGNS, WORDS
from jaxcap_docs import page_records
from jaxcap_docs.lessons import TUTORIALS, TUTORIALS_FOLDER
from jaxcap_docs.read.elements import link_list, link_to

MISSING = "not measured"

Cell = list[nodes.Node]


class Claims(SphinxDirective):
    """Tabulate the claims of all pages that ran in this build, and name those that didn't."""

    def run(self) -> list[nodes.Node]:
        """Return a table of counts, one of claims, and a list of pages."""
        claims: list[tuple[str, page_records.ClaimRecord]] = []
        not_run = []
        for tutorial in TUTORIALS:
            self.env.note_dependency(str(page_records.record_path(tutorial)))
            page = f"{TUTORIALS_FOLDER}{tutorial}"
            if record := page_records.load(tutorial):
                claims += [(page, claim) for claim in record.claims]
            else:
                not_run.append(page)
        content: list[nodes.Node] = []
        if claims:
            # The machine of this build is the first that any claim names.
            machines = list(dict.fromkeys(name for _, claim in claims for name in claim.outcomes))
            content.append(_table_of_counts([claim for _, claim in claims], machines))
            content.append(self._table_of_claims(claims, machines))
        if not_run:
            text = "Not run in this build, and so without claims:"
            content += [nodes.paragraph(text=text), link_list(not_run, self.env)]
        return content

    def _table_of_claims(
        self, claims: Sequence[tuple[str, page_records.ClaimRecord]], machines: Sequence[str]
    ) -> nodes.table:
        rows: list[list[Cell]] = []
        for page, claim in claims:
            text = nodes.paragraph(text=f"that {claim.text} (needs it to be {claim.needs})")
            outcomes = [_outcome(claim.outcomes.get(machine)) for machine in machines]
            rows.append([[text, link_to(page, self.env, "jaxcap-note")], *outcomes])
        return _table("All claims", ("It is claimed", *machines), rows)


def _outcome(outcome: page_records.ClaimOutcome | None) -> Cell:
    if outcome is None:
        return _text(MISSING)
    text = f"{SIGNS[outcome.outcome]} {WORDS[outcome.outcome]}"
    return [
        nodes.paragraph(text=text, classes=["jaxcap-outcome", f"jaxcap-{outcome.outcome}"]),
        nodes.paragraph(text=outcome.evidence, classes=["jaxcap-note"]),
    ]


def _text(text: str) -> Cell:
    return [nodes.paragraph(text=text)]


def _table_of_counts(
    claims: Sequence[page_records.ClaimRecord], machines: Sequence[str]
) -> nodes.table:
    """Count the outcomes of all claims on each machine."""
    rows = []
    for machine in machines:
        outcomes = [c.outcomes[machine].outcome for c in claims if machine in c.outcomes]
        counts = [*(outcomes.count(outcome) for outcome in WORDS), len(claims) - len(outcomes)]
        rows.append([_text(machine), *(_text(str(count)) for count in counts)])
    return _table("How many hold", ("Device", *WORDS.values(), MISSING), rows)


def _table(caption: str, headers: Sequence[str], rows: Sequence[Sequence[Cell]]) -> nodes.table:
    """Make a table whose first column heads its rows."""
    cells = [[_text(header) for header in headers], *rows]
    head, *body = [nodes.row("", *(nodes.entry("", *cell) for cell in row)) for row in cells]
    columns = [nodes.colspec(colwidth=1, stub=int(not i)) for i in range(len(headers))]
    parts = (*columns, nodes.thead("", head), nodes.tbody("", *body))
    group = nodes.tgroup("", *parts, cols=len(columns))
    classes = ["jaxcap-claims", "colwidths-auto"]
    return nodes.table("", nodes.title(text=caption), group, classes=classes)
