"""The sections of a report: what was found out, in sentences, tables and figures, and as data.

- ``installation``: what is wrong, what limits this process, and how it measured.
- ``device``: noise, ceilings, and the cost of a call.
- ``claims``: which claims of the tutorials hold here.
- ``release``: what is known about the release of JAX.
- ``parts``: what they share.
"""

from __future__ import annotations

from collections.abc import Sequence

from jaxcap import __version__
from jaxcap.cli.report.measuring import Measured
from jaxcap.cli.report.sections.claims import (
    ClaimHere,
    check_claims,
    claims,
    outcomes_in_words,
)
from jaxcap.cli.report.sections.device import ceilings, dispatch, quiet
from jaxcap.cli.report.sections.installation import installation, limits, method
from jaxcap.cli.report.sections.parts import MISSING
from jaxcap.cli.report.sections.release import release
from jaxcap.measure.machine.doctor import Diagnosis, Facts, diagnose
from jaxcap.measure.machine.limits import Limits
from jaxcap.report.claims import WORDS
from jaxcap.report.document import Section


def build(facts: Facts, bounds: Limits, measured: Measured) -> list[Section]:
    """Make all sections, in reading order."""
    findings, checked = diagnose(facts), check_claims(measured)
    noise, call = quiet(facts, measured), dispatch(measured)
    told = [part.sentences[-1] for part in (noise, call)] if measured.sets else []
    return [
        _summary(facts, findings, told, checked),
        installation(findings),
        limits(bounds, measured),
        noise,
        ceilings(measured),
        call,
        claims(checked, measured),
        release(facts),
        method(measured),
    ]


def title(measured: Measured) -> str:
    """Name the machine by its device, if it is known."""
    if measured.environment is None:
        return "A machine on which nothing was measured"
    return f"JAX on {measured.environment.device}"


def _summary(
    facts: Facts,
    findings: Sequence[Diagnosis],
    told: Sequence[str],
    checked: Sequence[ClaimHere],
) -> Section:
    problems = [f"{finding.subject}: {finding.state}" for finding in findings if finding.remedy]
    outcomes = [here.outcome for here in checked]
    sentences = [
        f"Problems: {'; '.join(problems)}." if problems else "No problems were found.",
        *told,
        outcomes_in_words(checked),
    ]
    data = {
        "schema_version": 1,
        "jaxcap": __version__,
        "jax": facts.jax,
        "problems": problems,
        "claims": {outcome: outcomes.count(outcome) for outcome in (*WORDS, MISSING)},
    }
    return Section(name="summary", heading="In short", sentences=sentences, data=data)
