"""All claims of the tutorials, and the machines on which they hold."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from functools import partial
from typing import NamedTuple

from docutils import nodes
from sphinx.util.docutils import SphinxDirective

from jaxcap.report import figures
from jaxcap.report.claims import SIGNS, Claim, Statement
from jaxcap.results import Environment, ResultsError
from jaxcap_docs import page_records
from jaxcap_docs.lessons import SECTIONS, TUTORIALS, TUTORIALS_FOLDER
from jaxcap_docs.read import links
from jaxcap_docs.read.dependencies import note_all_results
from jaxcap_docs.read.elements import link_list, listed, plot

MISSING = "not measured"

Cell = list[nodes.Node]


class ClaimEverywhere(NamedTuple):
    """A claim of a tutorial, and what became of it by machine and days."""

    page: str
    statement: Statement
    checked: Mapping[str, Claim]


class Agreement(SphinxDirective):
    """Say how many claims came out alike in this build and in all recordings."""

    def run(self) -> list[nodes.Node]:
        """Return a sentence, and a caution if all machines are alike; nothing if no claim was checked twice."""
        note_all_results(self.env)
        shared = [claim for claim in claims_everywhere() if len(claim.checked) > 1]
        if not shared:
            return []
        alike = sum(len({c.outcome for c in claim.checked.values()}) == 1 for claim in shared)
        text = f"Of {len(shared)} claims that were checked more than once, {alike} came out alike."
        content: list[nodes.Node] = [nodes.paragraph("", "", nodes.strong(text=text))]
        names = {machine.name for machine in page_records.recordings()}
        if len(names) == 1:
            caution = (
                f"All machines so far call their device {names.pop()}, though it may differ in what its "
                "name doesn't say. How the claims come out on another kind is still open."
            )
            content.append(nodes.paragraph(text=caution))
        return content


class Claims(SphinxDirective):
    """Tabulate the claims of all tutorials that ran in this build, and name those that didn't."""

    def run(self) -> list[nodes.Node]:
        """Return a table of counts, a plot and a table for each section of tutorials, and a list of pages."""
        note_all_results(self.env)
        claims = claims_everywhere()
        not_run = [f"{TUTORIALS_FOLDER}{page}" for page in TUTORIALS if not page_records.load(page)]
        content: list[nodes.Node] = []
        if claims:
            # The machine of this build is the first that any claim names.
            machines = list(dict.fromkeys(name for claim in claims for name in claim.checked))
            content.append(_table_of_counts(claims, machines))
            content += self._refuted(claims)
            for section in SECTIONS:
                if part := [claim for claim in claims if claim.page.startswith(f"{section}/")]:
                    content += self._plot(section, part)
                    content.append(self._table_of_claims(section.capitalize(), part, machines))
        if not_run:
            text = "Not run in this build, and so without claims:"
            content += [nodes.paragraph(text=text), link_list(not_run, self.env)]
        return content

    def _refuted(self, claims: Sequence[ClaimEverywhere]) -> list[nodes.Node]:
        """List the claims that some machine refutes, and which, with a link to the row of each."""
        items = []
        for page, statement, checked in claims:
            if machines := [name for name, claim in checked.items() if claim.outcome == "fails"]:
                link = links.link_to_row(page, statement, self.env, statement.claimed)
                where = nodes.Text(f": not on {listed(machines)}")
                items.append(nodes.list_item("", nodes.paragraph("", "", link, where)))
        if not items:
            return []
        return [nodes.paragraph(text="These claims don't hold:"), nodes.bullet_list("", *items)]

    def _plot(self, section: str, claims: Sequence[ClaimEverywhere]) -> list[nodes.Node]:
        """Draw what became of claims in this build; other machines have columns in the table below."""
        own = [next(iter(claim.checked.values())) for claim in claims]
        machine = str(own[0].results.environment.device)
        draw = partial(figures.forest, own, title=f"{section.capitalize()}, on {machine}")
        ends = ((c.estimate.value, c.estimate.low, c.estimate.high) for c in own)
        evidence = (f"{c.statement!r} {c!r} {at}" for c, at in zip(own, ends, strict=True))
        return plot(self, f"claims-{section}", draw, [machine, *evidence])

    def _table_of_claims(
        self, caption: str, claims: Sequence[ClaimEverywhere], machines: Sequence[str]
    ) -> nodes.table:
        rows: list[list[Cell]] = []
        for page, statement, checked in claims:
            target = links.row_target(page, statement, self.env)
            text = nodes.paragraph("", "", target, nodes.Text(statement.claimed))
            references = [
                links.link_to_claim(page, statement, self.env),
                links.link_to_experiment(statement.experiment, self.env),
            ]
            outcomes = [_outcome(checked.get(machine)) for machine in machines]
            rows.append([[text, *(_small(link) for link in references if link)], *outcomes])
        return _table(caption, ("It is claimed that", *machines), rows)


def claims_everywhere() -> list[ClaimEverywhere]:
    """Check the claims of all tutorials that ran in this build on the results of all machines."""
    return [
        _check_everywhere(page, claim, record.environment)
        for page in TUTORIALS
        if (record := page_records.load(page))
        for claim in record.checked_claims()
    ]


def _check_everywhere(page: str, claim: Claim, environment: Environment) -> ClaimEverywhere:
    """Check a claim of this build on the results of all other machines as well."""
    statement = claim.statement
    checked = {f"{environment.device}, this site": claim}
    for recording in page_records.other_recordings():
        name = f"{recording.name}, recorded {recording.days}"
        # A recording may lack experiments or points, and a coarse clock may have measured zero.
        with suppress(KeyError, ResultsError, ArithmeticError):
            checked[name] = statement.check(recording.sets[statement.experiment])
    return ClaimEverywhere(page, statement, checked)


def _outcome(claim: Claim | None) -> Cell:
    if claim is None:
        return _text(MISSING)
    text = f"{SIGNS[claim.words]} {claim.words}"
    evidence = claim.estimate.factor_in_full
    if (devices := claim.estimate.devices) != (claim.results.environment.device,):
        evidence += f", on {' and '.join(map(str, devices))}"
    return [
        nodes.paragraph(text=text, classes=["jaxcap-outcome", f"jaxcap-{claim.outcome}"]),
        nodes.paragraph(text=evidence, classes=["jaxcap-note"]),
    ]


def _small(link: nodes.Node) -> nodes.paragraph:
    return nodes.paragraph("", "", link, classes=["jaxcap-note"])


def _text(text: str) -> Cell:
    return [nodes.paragraph(text=text)]


def _table_of_counts(claims: Sequence[ClaimEverywhere], machines: Sequence[str]) -> nodes.table:
    """Count the outcomes of all claims on each machine."""
    rows = []
    for machine in machines:
        outcomes = [c.checked[machine].words for c in claims if machine in c.checked]
        counts = [*(outcomes.count(words) for words in SIGNS), len(claims) - len(outcomes)]
        rows.append([_text(machine), *(_text(str(count)) for count in counts)])
    return _table("How many hold", ("Device", *SIGNS, MISSING), rows)


def _table(caption: str, headers: Sequence[str], rows: Sequence[Sequence[Cell]]) -> nodes.table:
    """Make a table whose first column heads its rows."""
    cells = [[_text(header) for header in headers], *rows]
    head, *body = [nodes.row("", *(nodes.entry("", *cell) for cell in row)) for row in cells]
    columns = [nodes.colspec(colwidth=1, stub=int(not i)) for i in range(len(headers))]
    parts = (*columns, nodes.thead("", head), nodes.tbody("", *body))
    group = nodes.tgroup("", *parts, cols=len(columns))
    classes = ["jaxcap-claims", "colwidths-auto"]
    return nodes.table("", nodes.title(text=caption), group, classes=classes)
