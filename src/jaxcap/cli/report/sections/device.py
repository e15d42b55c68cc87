"""What was measured of the device: its noise, its ceilings, and the cost of a call."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import suppress
from math import inf

from matplotlib.ticker import EngFormatter

from jaxcap.cli.report.measuring import CEILINGS, DISPATCH, PRECISION, Measured
from jaxcap.cli.report.sections.parts import MISSING, finite, not_measured, numbers
from jaxcap.measure.machine.disturbance import BUSY_SHARE
from jaxcap.measure.machine.doctor import Facts
from jaxcap.report import figures
from jaxcap.report.document import Section
from jaxcap.results import Device, ResultsError
from jaxcap.results.ceilings import Ceilings
from jaxcap.results.tables import Table

# A larger share of disturbed samples is worth advice.
MANY_DISTURBED = 1 / 3
# If equal calls may differ by this factor, the machine can't be compared on.
HARDLY_ANY = 2.0


def quiet(facts: Facts, measured: Measured) -> Section:
    """Tell how busy the machine is, and which differences are noise."""
    heading = "Is the machine quiet?"
    disturbed = _disturbed_share(measured)
    sentences = [_other_work(facts.other_work)]
    if disturbed is not None:
        advice = "if anything else runs, end it, and measure again"
        sentences.append(
            f"Later, {disturbed:.0%} of all samples were disturbed"
            f"{f': {advice}' if disturbed > MANY_DISTURBED else ''}."
        )
    data: dict[str, object] = {"other_work": facts.other_work, "disturbed": disturbed}
    results = measured.sets.get(PRECISION)
    pairs = results.paired_speedups("A") if results else []
    if results is None or not pairs:
        reason = measured.why_missing(PRECISION) if results is None else "the clock is too coarse"
        sentences.append(f"The noise was not measured: {reason}.")
        return Section(name="noise", heading=heading, sentences=sentences, data=data)
    # How far from 1 the next ratio of equal calls may come out.
    floor = max(max(ratio.high, 1 / ratio.low if ratio.low else inf) for _, ratio in pairs)
    data["floor"] = finite(floor)
    data["ratios"] = {str(r.parameters["kernel"]): numbers(ratio) for r, ratio in pairs}
    return Section(
        name="noise",
        heading=heading,
        sentences=[*sentences, _floor_in_words(floor)],
        tables=[results.speedups(over="A")],
        figures=[figures.ratios(results, over="A", title="The same call twice")],
        data=data,
    )


def _other_work(share: float | None) -> str:
    if share is None:
        return "How busy the machine is isn't known, because its system doesn't count it."
    state = "busy, so times are too long" if share > BUSY_SHARE else "quiet"
    return f"Other work took {share:.0%} of the CPU before anything was measured: the machine was {state}."


def _floor_in_words(floor: float) -> str:
    if floor < HARDLY_ANY:
        return (
            f"A call that was compared with itself may seem up to {floor - 1:.0%} faster or slower: "
            "smaller differences can't be told from noise here, in so short a time."
        )
    return (
        f"A call that was compared with itself may seem {HARDLY_ANY:g} or more times faster or slower, "
        "so hardly any difference can be told from noise here, in so short a time."
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


def ceilings(measured: Measured) -> Section:
    """Tell the rates that each device reached, and its rank among those that were recorded."""
    heading = "What the device can do at most"
    results = measured.sets.get(CEILINGS)
    if results is None:
        return not_measured("ceilings", heading, measured.why_missing(CEILINGS))
    tables, data, sentences = [], [], []
    for device in dict.fromkeys(result.device for result in results):
        try:
            here = Ceilings.from_results(results, device)
        except ValueError as error:
            sentences.append(f"{str(error)[0].upper()}{str(error)[1:]}.")
            continue
        others = _recorded_ceilings(measured, device)
        if not others:
            sentences.append(f"No {device.platform.upper()} was recorded to compare {device} with.")
        tables.append(_table_of_ceilings(here, others))
        rates = {name: value for name, value in vars(here).items() if name != "device"}
        data.append({"device": device.model_dump(), **rates, "recorded": list(others)})
    return Section(name="ceilings", heading=heading, sentences=sentences, tables=tables, data=data)


def _recorded_ceilings(measured: Measured, device: Device) -> dict[str, Ceilings]:
    """Find the ceilings of other machines' devices of the same platform, by name and date."""
    ceilings_by_label = {}
    for recording in measured.recordings:
        for part in recording.on_each_device(CEILINGS):
            if part.device.platform == device.platform:
                with suppress(ValueError):
                    ceilings_by_label[part.label] = Ceilings.from_results(part.results, part.device)
    return ceilings_by_label


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


def dispatch(measured: Measured) -> Section:
    """Tell the time of a call that computes next to nothing."""
    heading = "What a call costs, whatever is in it"
    results = measured.sets.get(CEILINGS)
    if results is None:
        return not_measured("dispatch", heading, measured.why_missing(CEILINGS))
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
        data={"returned": numbers(call.dispatch), "result": numbers(call.time)},
    )
