"""Why to trust the numbers: what was checked, and how it came out."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence

from docutils import nodes
from sphinx.util.docutils import SphinxDirective

from jaxcap import published
from jaxcap.published import Assessment, Conclusion
from jaxcap.report.reliability import false_alarms
from jaxcap.results import audit
from jaxcap_docs import page_records
from jaxcap_docs.lessons import TUTORIALS
from jaxcap_docs.read.dependencies import PUBLISHED, unless_changed
from jaxcap_docs.read.elements import reference
from jaxcap_docs.release_records import recorded


class Trust(SphinxDirective):
    """Say in a strip what was checked, with counts and a link to each."""

    def run(self) -> list[nodes.Node]:
        """Return a list, without what this build has nothing to say about."""
        files = (
            *((folder, "**/*.json") for folder in (page_records.RECORDS, page_records.RECORDED)),
            (PUBLISHED, "*.*"),
            (audit.RECORDED.parent, audit.RECORDED.name),
        )
        items = [
            nodes.list_item(
                "",
                nodes.paragraph("", "", reference("doc", f"/{page}", self.env, checked)),
                nodes.paragraph(text=outcome, classes=["jaxcap-note"]),
            )
            for page, checked, outcome in unless_changed(self.env, files, _findings)
        ]
        return [nodes.bullet_list("", *items, classes=["jaxcap-trust"])]


def _findings() -> list[tuple[str, str, str]]:
    """Return pages, what was checked, and how that came out."""
    return [*_checks()]


def _checks() -> Iterator[tuple[str, str, str]]:
    claims = [
        claim.words
        for tutorial in TUTORIALS
        if (record := page_records.load(tutorial))
        for claim in record.checked_claims()
    ]
    if claims:
        yield "results/claims", f"{len(claims)} claims checked", _listed(Counter(claims))
    assessments = published.assess_all(page_records.recordings())
    yield "results/then_and_now", *published_values(assessments)
    for of_machine in recorded()[:1]:
        yield (
            "releases/index",
            f"{len(of_machine.names)} releases of JAX compared",
            f"and {of_machine.newest} with itself, to see the noise" if of_machine.twin else "",
        )
    alarms = false_alarms(audit.recorded(), audit.JAXCAP, audit.QUIET)
    audited = f"a call compared with itself {alarms.total} times: {alarms.hits} false alarms"
    yield "measuring", "How we measure", audited if alarms.total else ""


def published_values(assessments: Sequence[Assessment]) -> tuple[str, str]:
    """Say how many published values were measured again or checked by a computation, and how these came out."""
    measured = [
        a
        for a in assessments
        if a.conclusion is not Conclusion.NOT_COMPARABLE and (a.replications or a.recomputation)
    ]
    counts = Counter(assessment.conclusion for assessment in measured)
    reproduced, mistaken = counts[Conclusion.REPRODUCED], counts[Conclusion.MISTAKE]
    outcome = f"{reproduced} reproduced, {mistaken} with a mistake"
    if others := len(measured) - reproduced - mistaken:
        outcome += f", {others} different"
    return f"{len(measured)} of {len(assessments)} published figures checked", outcome


def _listed(counts: Counter[str]) -> str:
    """List counts, as in ``"holds: 22, undecided: 7"``."""
    return ", ".join(f"{word}: {count}" for word, count in counts.most_common())
