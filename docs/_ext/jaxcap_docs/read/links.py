"""Links between tutorials, experiments and claims, as the records of what ran say who uses what."""

from __future__ import annotations

from collections.abc import Iterator
from html import escape

from docutils import nodes
from sphinx import addnodes
from sphinx.environment import BuildEnvironment

from jaxcap.experiments import catalogue
from jaxcap.report.claims import Claim, Statement
from jaxcap.results.files import slug
from jaxcap_docs import page_records
from jaxcap_docs.lessons import TUTORIALS, TUTORIALS_FOLDER
from jaxcap_docs.page_records import PageRecord
from jaxcap_docs.read.elements import SECTION, reference


def tutorials_about(experiment: str) -> list[str]:
    """Name the tutorials that measured an experiment in this build."""
    return [
        page
        for page in TUTORIALS
        if (record := page_records.load(page)) and experiment in record.measured
    ]


def claims_about(experiment: str) -> Iterator[tuple[str, Claim]]:
    """Yield the claims about an experiment as checked here, each with the tutorial that makes it."""
    for page in TUTORIALS:
        record = page_records.load(page)
        if record and any(claim.statement.experiment == experiment for claim in record.claims):
            checked = record.checked_claims()
            yield from ((page, c) for c in checked if c.statement.experiment == experiment)


def link_to_tutorial(page: str, env: BuildEnvironment) -> addnodes.pending_xref:
    """Link to a tutorial by its title."""
    return reference("doc", f"/{TUTORIALS_FOLDER}{page}", env)


def link_to_experiment(name: str, env: BuildEnvironment) -> addnodes.pending_xref | None:
    """Link to the page of an experiment by its title, if there is one."""
    if name not in catalogue():
        return None
    return reference("doc", f"/{SECTION}/experiments/{slug(name)}", env)


def link_to_claim(page: str, statement: Statement, env: BuildEnvironment) -> addnodes.pending_xref:
    """Link to where a tutorial makes a claim, by the title of the tutorial."""
    return reference("ref", claim_id(page, statement), env)


def link_to_row(
    page: str, statement: Statement, env: BuildEnvironment, text: str
) -> addnodes.pending_xref:
    """Link to the row of a claim in the list of all claims."""
    return reference("ref", f"{claim_id(page, statement)}-row", env, text)


def row_target(page: str, statement: Statement, env: BuildEnvironment) -> nodes.target:
    """Make the target of `link_to_row`."""
    return _target(claim_id(page, statement), "-row", statement.text, env)


def connect_claims(doctree: nodes.document, record: PageRecord, env: BuildEnvironment) -> None:
    """Let each claim of a tutorial be linked to, and lead on to its row in the list of all claims."""
    page = env.docname.removeprefix(TUTORIALS_FOLDER)
    title = next(doctree.findall(nodes.title)).astext()
    shown = [raw for raw in doctree.findall(nodes.raw) if "jaxcap-claim" in raw.astext()]
    for statement in (claim.statement for claim in record.claims):
        # A sentence may begin with the claim, and so with a capital letter.
        text = escape(statement.text).lower()
        if claim := next((raw for raw in shown if text in raw.astext().lower()), None):
            everywhere = link_to_row(page, statement, env, "On all machines")
            after = nodes.paragraph("", "", everywhere, classes=["jaxcap-elsewhere"])
            target = _target(claim_id(page, statement), "", title, env)
            claim.replace_self([target, claim, after])


def claim_id(page: str, statement: Statement) -> str:
    """Return the anchor of a claim on the page of the tutorial that makes it."""
    return nodes.make_id(f"claim {page.rpartition('/')[2]} {statement.text}")


def _target(anchor: str, suffix: str, title: str, env: BuildEnvironment) -> nodes.target:
    """Make a target, and tell Sphinx of it, whose own targets have all been collected by now."""
    labels = env.domains.standard_domain
    label = f"{anchor}{suffix}"
    labels.anonlabels[label] = env.docname, anchor
    labels.labels[label] = env.docname, anchor, title
    return nodes.target("", "", ids=[anchor])
