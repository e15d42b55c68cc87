"""The bet at the head of a tutorial: what its main comparison will show, scored by bets.js."""

from __future__ import annotations

from html import escape
from typing import Any

from docutils import nodes
from sphinx.application import Sphinx

from jaxcap.report.claims import Claim
from jaxcap.results.statistics import CONFIDENCE, NO_DIFFERENCE, Speedup
from jaxcap_docs.lessons import TUTORIALS_FOLDER
from jaxcap_docs.page_records import PageRecord
from jaxcap_docs.read.elements import json_script, raw_html
from jaxcap_docs.read.links import claim_id
from jaxcap_docs.read.quotes import comparative

SETTINGS_PAGE = "measuring"  # where readers switch bets on again


def offer_bet(app: Sphinx, doctree: nodes.document, record: PageRecord) -> None:
    """Put a bet at the head of the takeaway, or above the first section of a page that has none."""
    page = next(doctree.findall(nodes.section))
    boxes = [
        node for node in page.findall(nodes.admonition) if "jaxcap-takeaway" in node["classes"]
    ]
    claim = main_claim(record, boxes)
    if claim is None:
        return
    name = app.env.docname.removeprefix(TUTORIALS_FOLDER)
    settings = app.builder.get_relative_uri(app.env.docname, SETTINGS_PAGE)
    data = bet_on(claim) | {
        "page": name,
        "anchor": claim_id(name, claim.statement),
        "settings": f"{settings}#predict-then-measure",
    }
    bet = raw_html(f'<div class="jaxcap-bet">{json_script(data)}</div>')
    if boxes:
        boxes[0].insert(1, bet)  # after its title
    else:
        first = next(node for node in page.children if isinstance(node, nodes.section))
        page.insert(page.index(first), bet)


def main_claim(record: PageRecord, takeaway: list[nodes.admonition]) -> Claim | None:
    """Return the first claim whose number the takeaway quotes, or else the page's first claim.

    A claim about whatever took turns with a variant names only that one, which makes no question. One
    of a range says by itself which answer is right.
    """
    claims = [
        claim
        for claim in record.checked_claims()
        if claim.statement.evidence.variant
        and (claim.statement.above is None or claim.statement.below is None)
    ]
    quoted = "".join(raw.astext() for box in takeaway for raw in box.findall(nodes.raw))
    in_takeaway = (claim for claim in claims if escape(str(claim.estimate)) in quoted)
    return next(in_takeaway, claims[0] if claims else None)


def bet_on(claim: Claim) -> dict[str, Any]:
    """Return what the script asks about a claim, and by what it scores the answer."""
    evidence, speedup = claim.statement.evidence, claim.estimate
    number = str(speedup)
    with_interval = number if number.startswith(f"{speedup.words} (") else speedup.words
    came_out, rest = comparative(with_interval, f"“{evidence.over}”")
    devices = " and ".join(map(str, speedup.devices))
    return {
        "claim": claim.statement.text,
        "variant": evidence.variant,
        "over": evidence.over,
        "measured": f"Measured on {devices}: “{evidence.variant}” was {came_out}{rest}.",
        "right": right_answers(speedup),
        "factor": max(speedup.value, 1 / speedup.value),
    }


def right_answers(speedup: Speedup) -> list[str]:
    """Name the right answers to a bet: none if the measurement decides nothing.

    A small difference that is certain makes two of them right.

    Examples
    --------
    >>> right_answers(Speedup.from_runs([[0.9, 0.91, 0.92, 0.9, 0.91, 0.92]]))
    ['slower', 'same']
    """
    answers = [] if speedup.verdict == "undecided" else [str(speedup.verdict)]
    is_narrow = speedup.low * NO_DIFFERENCE >= 1 and speedup.high <= NO_DIFFERENCE
    if speedup.confidence >= CONFIDENCE and is_narrow:
        answers.append("same")
    return answers
