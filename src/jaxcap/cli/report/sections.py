"""The sections of a report: what was found out, in sentences, tables and figures, and as data."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from math import inf, isfinite
from typing import NamedTuple

from matplotlib.ticker import EngFormatter
from rich.filesize import decimal

from jaxcap import __version__
from jaxcap.cli.report.measuring import CEILINGS, DISPATCH, PRECISION, Measured
from jaxcap.measure.machine.disturbance import BUSY_SHARE
from jaxcap.measure.machine.doctor import Facts, Finding, diagnose
from jaxcap.measure.machine.limits import Limits
from jaxcap.report import figures
from jaxcap.report.claims import SIGNS, WORDS, Claim, Statement
from jaxcap.report.document import Section
from jaxcap.report.statements import tutorial_claims
from jaxcap.results import Device, ResultsError
from jaxcap.results.ceilings import Ceilings
from jaxcap.results.environment import provenance
from jaxcap.results.statistics import Estimate
from jaxcap.results.tables import Link, Table

# A larger share of disturbed samples is worth saying so.
MANY_DISTURBED = 1 / 3
SITE = "https://jaxcap.github.io/jaxcap/latest"
MISSING = "not measured"
# Changes of a release that are listed; the rest are counted.
_MOST_CHANGES = 5


class ClaimHere(NamedTuple):
    """A claim of a tutorial, and what became of it here; without measurements, why there are none."""

    page: str
    statement: Statement
    claim: Claim | None
    reason: str

    @property
    def outcome(self) -> str:
        """What became of it."""
        return MISSING if self.claim is None else self.claim.outcome

    @property
    def link(self) -> Link:
        """The tutorial, with its address."""
        return Link(self.page, f"{SITE}/tutorials/{self.page}.html")

    @property
    def data(self) -> dict[str, object]:
        """The same for JSON."""
        return {
            "claim": self.statement.text,
            "page": self.link.href,
            "outcome": self.outcome,
            "speedup": None if self.claim is None else _numbers(self.claim.estimate),
            "reason": self.reason,
        }


def build(facts: Facts, limits: Limits, measured: Measured) -> list[Section]:
    """Make all sections, in reading order."""
    findings, checked = diagnose(facts), _check_claims(measured)
    return [
        _summary(findings, facts, checked),
        _installation(findings),
        _limits(limits, measured),
        _quiet(facts, measured),
        _ceilings(measured),
        _dispatch(measured),
        _claims(checked, measured),
        _release(facts),
        _method(measured),
    ]


def machine_name(measured: Measured) -> str:
    """Name the machine by its device, or say that it has none."""
    return str(measured.environment.device) if measured.environment else "a machine without JAX"


def _summary(
    findings: Sequence[Finding],
    facts: Facts,
    checked: Sequence[ClaimHere],
) -> Section:
    problems = [f"{finding.subject}: {finding.state}" for finding in findings if finding.remedy]
    outcomes = _count(checked)
    sentences = [
        f"Problems: {'; '.join(problems)}." if problems else "No problems were found.",
        _outcomes_in_words(outcomes),
    ]
    data = {
        "schema_version": 1,
        "jaxcap": __version__,
        "jax": facts.jax,
        "problems": problems,
        "claims": outcomes,
    }
    return Section(name="summary", heading="In short", sentences=sentences, data=data)


def _installation(findings: Sequence[Finding]) -> Section:
    rows = [(subject, state, remedy or "nothing") for subject, state, remedy, _ in findings]
    return Section(
        name="installation",
        heading="The installation",
        tables=[Table("What was found", ("", "found", "what to do"), rows, text_columns=(1, 2))],
        data=[finding._asdict() for finding in findings],
    )


def _limits(limits: Limits, measured: Measured) -> Section:
    rows = [
        ("Cores", f"{limits.usable_cores} of {limits.cores} may be used"),
        (
            "Processor time",
            f"that of {limits.cpu_quota:g} cores"
            if limits.cpu_quota
            else "no limit of a container is known",
        ),
        ("Memory", _memory(limits)),
        (
            "Variables",
            ", ".join(f"{k}={v}" for k, v in limits.variables.items())
            or "none that limits the threads of libraries is set",
        ),
    ]
    if threads := measured.threads:
        for name, call in (("product", "A matrix product"), ("tanh", "A million tanh")):
            busy, cores = threads[name]
            rows.append((call, f"is computed by {busy} threads, which keep {cores:.1f} cores busy"))
    sentences = []
    if limits.effective_cores < limits.usable_cores:
        sentences.append(
            f"This process sees {limits.usable_cores} cores, but gets the time of "
            f"{limits.cpu_quota:g}: libraries start a thread for each core that they see, so their "
            "threads wait for one another, and times vary."
        )
    data = {**vars(limits), "variables": dict(limits.variables), "threads": measured.threads}
    return Section(
        name="limits",
        heading="Threads and limits",
        sentences=sentences,
        tables=[Table("What this process may use", ("", "found"), rows, text_columns=(1,))],
        data=data,
    )


def _memory(limits: Limits) -> str:
    if limits.memory_bytes is None:
        return "not known"
    total = decimal(limits.memory_bytes)
    if limits.memory_limit_bytes is None:
        return f"{total}, of which a container limits nothing that is known"
    return f"{decimal(limits.memory_limit_bytes)} of {total}, the limit of a container"


def _quiet(facts: Facts, measured: Measured) -> Section:
    sentences = []
    if facts.other_work is None:
        sentences.append(
            "How busy the machine is isn't known, because its system doesn't count it."
        )
    else:
        state = "busy, so times are too long" if facts.other_work > BUSY_SHARE else "quiet"
        sentences.append(
            f"Other work took {facts.other_work:.0%} of the CPU before anything was measured: the "
            f"machine was {state}."
        )
    disturbed = _disturbed_share(measured)
    if disturbed is not None:
        advice = (
            ""
            if disturbed <= MANY_DISTURBED
            else ": if anything else runs, end it, and measure again"
        )
        sentences.append(f"Later, {disturbed:.0%} of all samples were disturbed{advice}.")
    data: dict[str, object] = {
        "other_work": facts.other_work,
        "disturbed": disturbed,
        "noise": None,
    }
    section = Section(name="noise", heading="Is the machine quiet?", sentences=sentences, data=data)
    results = measured.sets.get(PRECISION)
    if results is None:
        sentences.append(f"The noise was not measured: {measured.why_missing(PRECISION)}.")
        return section
    pairs = results.paired_speedups("A")
    # How far from 1 the next ratio of equal calls may come out.
    floor = max(max(ratio.high, 1 / ratio.low if ratio.low else inf) for _, ratio in pairs)
    if floor < 2:
        sentences.append(
            f"Calls that were compared with themselves seemed to differ by up to {floor - 1:.0%}: "
            "smaller differences can't be told from noise here, in so short a time."
        )
    else:
        sentences.append(
            "Calls that were compared with themselves seemed to differ by a factor of two or more, "
            "so hardly any difference can be told from noise here, in so short a time."
        )
    data["noise"] = {
        "floor": _finite(floor),
        "ratios": {str(r.parameters["kernel"]): _numbers(ratio) for r, ratio in pairs},
    }
    figure = figures.ratios(results.select(variant=None), over="A", title="The same call twice")
    return Section(
        name=section.name,
        heading=section.heading,
        sentences=sentences,
        tables=[results.speedups(over="A")],
        figures=[figure],
        data=data,
    )


def _disturbed_share(measured: Measured) -> float | None:
    flags = [
        flag
        for results in measured.sets.values()
        for result in results
        for run in result.runs
        for flag in run.undisturbed
    ]
    return round(1 - sum(flags) / len(flags), 3) if flags else None


def _ceilings(measured: Measured) -> Section:
    heading = "What the device can do at most"
    results = measured.sets.get(CEILINGS)
    if results is None:
        return _not_measured("ceilings", heading, measured.why_missing(CEILINGS))
    tables, data, sentences = [], [], []
    for device in dict.fromkeys(result.device for result in results):
        here = Ceilings.from_results(results, device)
        others = _recorded_ceilings(measured, device)
        tables.append(_table_of_ceilings(here, others))
        data.append(
            {
                "device": device.model_dump(),
                "bytes_per_s": here.bytes_per_s,
                "flops_per_s": dict(here.flops_per_s),
                "call_s": here.call_s,
                "transfer_bytes_per_s": here.transfer_bytes_per_s,
                "recorded_machines": list(others),
            }
        )
        if not others:
            sentences.append(f"No other {device.platform.upper()} was recorded to compare it with.")
    return Section(name="ceilings", heading=heading, sentences=sentences, tables=tables, data=data)


def _recorded_ceilings(measured: Measured, device: Device) -> dict[str, Ceilings]:
    """Find the ceilings of other machines' devices of the same platform, by name and date."""
    found = {}
    for recording in measured.recordings:
        for part in recording.on_each_device(CEILINGS):
            if part.device.platform == device.platform:
                with suppress(ValueError):
                    found[part.label] = Ceilings.from_results(part.results, part.device)
    return found


def _table_of_ceilings(here: Ceilings, others: Mapping[str, Ceilings]) -> Table:
    """Tabulate what a device can do beside others, and its rank among them, the best first."""
    limits: list[tuple[str, str, Callable[[Ceilings], float | None], bool]] = [
        ("Memory bandwidth", "B/s", lambda c: c.bytes_per_s, True),
        *(
            (f"Products in {dtype}", "FLOP/s", lambda c, d=dtype: c.flops_per_s.get(d), True)
            for dtype in here.flops_per_s
        ),
        ("Transfer from NumPy", "B/s", lambda c: c.transfer_bytes_per_s, True),
        ("Shortest call", "s", lambda c: c.call_s, False),
    ]
    rows = []
    for name, unit, limit, more_is_better in limits:
        own = limit(here)
        if own is None:
            continue
        values = [limit(other) for other in others.values()]
        known = [value for value in values if value is not None]
        better = sum(value > own if more_is_better else value < own for value in known)
        form = EngFormatter(unit, places=1)
        cells = (form(value) if value is not None else MISSING for value in values)
        rows.append((name, form(own), *cells, f"{better + 1} of {len(known) + 1}"))
    headers = ("", "this machine", *others, "rank")
    return Table(f"Ceilings of {here.device}", headers, rows)


def _dispatch(measured: Measured) -> Section:
    heading = "What a call costs, whatever is in it"
    results = measured.sets.get(CEILINGS)
    if results is None:
        return _not_measured("dispatch", heading, measured.why_missing(CEILINGS))
    assert measured.environment
    call = results.only("JAX", limit="call", device=measured.environment.device.platform)
    sentence = (
        f"A compiled call that adds 1 to a number returned after {call.dispatch.words}, and its "
        f"result was there after {call.time.words}."
    )
    tables, drawn = [], []
    if small := measured.sets.get(DISPATCH):
        with suppress(ResultsError):
            products = small.select(operation="dot", size=5, arrays="its own")
            tables.append(products.table())
            drawn.append(figures.bars(products, title="Scalar product of five numbers"))
    return Section(
        name="dispatch",
        heading=heading,
        sentences=[sentence],
        tables=tables,
        figures=drawn,
        data={"returned": _numbers(call.dispatch), "result": _numbers(call.time)},
    )


def _check_claims(measured: Measured) -> list[ClaimHere]:
    """Check the claims of all tutorials on what was measured."""
    checked = []
    for page, statement in ((claim.page, claim.statement) for claim in tutorial_claims()):
        claim, reason = None, ""
        if results := measured.sets.get(statement.experiment):
            try:
                claim = statement.check(results)
            except ResultsError as error:  # a clock may have been too coarse
                reason = str(error)
        else:
            reason = measured.why_missing(statement.experiment)
        checked.append(ClaimHere(page, statement, claim, reason))
    return checked


def _claims(checked: Sequence[ClaimHere], measured: Measured) -> Section:
    judged = [
        (
            here.statement.claimed,
            f"{SIGNS[here.claim.outcome]} {WORDS[here.claim.outcome]}",
            here.claim.estimate.factor_in_full,
            here.link,
        )
        for here in checked
        if here.claim is not None
    ]
    others = [
        (here.statement.claimed, here.reason, here.link) for here in checked if here.claim is None
    ]
    headers = ("It is claimed", "here", "measured", "tutorial")
    table = Table("Claims that were checked", headers, judged, text_columns=(1, 2, 3))
    headers = ("It is claimed", "why not", "tutorial")
    missing = Table("Claims that were not measured", headers, others, text_columns=(1, 2))
    reason = measured.missing.get("")
    return Section(
        name="claims",
        heading="Which claims of the tutorials hold here",
        sentences=[
            _outcomes_in_words(_count(checked)),
            *([f"Nothing was measured: {reason}."] if reason else []),
        ],
        tables=[table] if judged else [],
        details=[missing] if others else [],
        data=[here.data for here in checked],
    )


def _count(checked: Sequence[ClaimHere]) -> dict[str, int]:
    outcomes = [here.outcome for here in checked]
    return {outcome: outcomes.count(outcome) for outcome in (*WORDS, MISSING)}


def _outcomes_in_words(count: Mapping[str, int]) -> str:
    words = [f"{words} {count[outcome]}" for outcome, words in (*WORDS.items(), (MISSING, MISSING))]
    return f"The {sum(count.values())} claims of the tutorials, here: {', '.join(words)}."


def _release(facts: Facts) -> Section:
    heading = f"What is known about JAX {facts.jax}"
    try:
        # Imported here because JAX may be missing.
        from jaxcap.releases.changes import claims
        from jaxcap.releases.changes.outlook import Outlook
        from jaxcap.releases.recorded import recorded

        releases = recorded()
        outlook = Outlook.of(facts.jax, releases, claims.check(releases))
    except Exception as error:  # noqa: BLE001 (JAX may be broken in any way)
        reason = str(error).strip().partition("\n")[0]
        return _not_measured("release", heading, reason, "Nothing can be said")
    if outlook is None:
        reason = f"only later ones than {facts.jax} were recorded"
        return _not_measured("release", heading, reason, "Nothing is known")
    sentences = [
        f"This is what recordings of the releases up to {outlook.newest} say, made on {outlook.device}."
    ]
    if outlook.release != facts.jax:
        sentences.append(f"The last one before yours among them is {outlook.release}.")
    tables = []
    for changes, what in (
        (outlook.arrived, f"Changed with {outlook.release}"),
        (outlook.ahead, f"Changed later, up to {outlook.newest}"),
    ):
        if not changes:
            sentences.append(f"{what}: nothing that was measured.")
            continue
        rows = [(c.series.benchmark, c.words, c.interval, c.after) for c in changes[:_MOST_CHANGES]]
        more = len(changes) - len(rows)
        notes = [f"{more} more changes are smaller."] if more else []
        tables.append(
            Table(what, ("benchmark", "change", "ratio of times", "release"), rows, notes)
        )
    claimed = [(f"that {text}", WORDS[outcome]) for text, outcome in outlook.claims.items()]
    judged = Table(f"Claims under {outlook.release}", ("It is claimed", "outcome"), claimed)
    data = {
        "installed": facts.jax,
        "recorded": outlook.release,
        "newest": outlook.newest,
        "device": outlook.device,
        "arrived": [_change(c) for c in outlook.arrived],
        "ahead": [_change(c) for c in outlook.ahead],
        "claims": dict(outlook.claims),
    }
    return Section(
        name="release",
        heading=heading,
        sentences=sentences,
        tables=tables,
        details=[judged],
        data=data,
    )


def _change(change: object) -> dict[str, object]:
    names = ("before", "after", "ratio")
    facts = {name: getattr(change, name) for name in names}
    return {"benchmark": change.series.benchmark, **facts}  # type: ignore[attr-defined]


def _method(measured: Measured) -> Section:
    heading = "How this was measured"
    if measured.environment is None:
        return _not_measured("method", heading, measured.why_missing(""), "Nothing was measured")
    effort = measured.effort
    processes = "one process" if effort.processes == 1 else f"{effort.processes} processes in turns"
    sentence = (
        f"By jaxcap {__version__}, in {processes}, with {effort.budget_s:g} s for each variant in each "
        f"process, in {measured.duration_s:.0f} s altogether."
    )
    sentences = [sentence]
    if effort.processes == 1:
        sentences.append(
            "A single process can't show how much the next one will differ. Leave out --quick to learn "
            "that."
        )
    sentences += [f"{warning[0].upper()}{warning[1:]}." for warning in measured.warnings]
    facts = list(provenance(measured.environment).items())
    return Section(
        name="method",
        heading=heading,
        sentences=sentences,
        tables=[Table("What timings depend on", ("", "found"), facts, text_columns=(1,))],
        data={
            "environment": measured.environment.model_dump(mode="json"),
            "processes": effort.processes,
            "budget_s": effort.budget_s,
            "duration_s": round(measured.duration_s, 1),
            "warnings": measured.warnings,
        },
    )


def _not_measured(name: str, heading: str, reason: str, what: str = "Not measured") -> Section:
    return Section(
        name=name, heading=heading, sentences=[f"{what}: {reason}."], data={"missing": reason}
    )


def _numbers(estimate: Estimate) -> dict[str, float | str | None]:
    """Return an estimate for JSON, which has no infinity."""
    return {
        "value": _finite(estimate.value),
        "low": _finite(estimate.low),
        "high": _finite(estimate.high),
        "confidence": estimate.confidence,
        "basis": estimate.basis,
    }


def _finite(number: float) -> float | None:
    return number if isfinite(number) else None
