"""What results say, in words that stay true whatever was measured: the titles of figures.

Each function words its sentence by the statistics of the results. So a sentence calls a variant
faster only where `~jaxcap.results.statistics.Speedup.verdict` does, and says so where nothing is
certain, or where a single process measured.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence

from jaxcap.results import Result, ResultSet
from jaxcap.results.statistics import NO_DIFFERENCE, Estimate, Speedup

#: Speed-ups by the position on an axis, in any order.
Trend = Sequence[tuple[float, Speedup]]

_MILLION = 1e6
# A number in the notation of programs, such as 9.2e-05.
_POWER = re.compile(r"(?<=\d)e([+-]\d+)\b")
_SUPERSCRIPTS = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")


def comparison(variant: str, over: str, speedup: Speedup, *, at: str = "") -> str:
    """Say which of two variants is faster, and by what factor, as far as that is certain.

    Parameters
    ----------
    variant, over
        What is compared with what.
    speedup
        How many times as fast the former is.
    at
        Where, such as ``"at size 10"``.

    Examples
    --------
    >>> ratio = Speedup.from_runs([[2.0, 2.1, 2.0, 1.9, 2.0, 2.0]])
    >>> comparison("jit", "NumPy", ratio)
    'jit is 2.0 times faster than NumPy (one process)'
    """
    variant, over = map(_in_a_sentence, (variant, over))
    if speedup.verdict != "undecided":
        text = _with_factor(variant, over, speedup)
    elif speedup.verdict_in_words == "about as fast":
        text = f"{variant} and {over} are about equally fast"
    else:
        text = f"Undecided: {variant} is {speedup.range} times as fast as {over}"
    return " ".join(filter(None, (text, at, _caveat([speedup]))))


def all_together(speedup: Speedup) -> str:
    """Say what several changes did, whose names are those of rows, and not of what is compared."""
    return f"All changes together: {speedup.words} {_caveat([speedup])}".rstrip()


def trend(variant: str, over: str, points: Trend, *, x: str) -> str:
    """Say at which sizes one variant is faster than another, and how much at the largest.

    Parameters
    ----------
    variant, over
        What is compared with what.
    points
        At least one.
    x
        Name of the axis.
    """
    ordered = sorted(points, key=lambda point: point[0])
    (first, least), (last, most) = ordered[0], ordered[-1]
    at_first, at_last = (f"at {place(x, position)}" for position in (first, last))
    verdicts = [speedup.verdict for _, speedup in ordered]
    others = [i for i, verdict in enumerate(verdicts) if verdict != most.verdict]
    if not others and (len(ordered) == 1 or most.verdict == "undecided"):
        return comparison(variant, over, most, at=at_last if len(ordered) == 1 else "")
    variant, over = map(_in_a_sentence, (variant, over))
    if not others:
        text = f"{_with_factor(variant, over, least)} {at_first}, {_factor(most)} {at_last}"
    elif most.verdict == "undecided":
        decided = next(pair for pair in reversed(ordered) if pair[1].verdict != "undecided")
        where = f"at {place(x, decided[0])}"
        text = (
            f"Undecided {at_last} ({most.range}); {_with_factor(variant, over, decided[1])} {where}"
        )
    elif (start := ordered[others[-1] + 1][0]) < last:
        text = (
            f"From {place(x, start)} on, {variant} is {most.verdict} than {over}: "
            f"{_factor(most)} {at_last}"
        )
    elif least.verdict in {"undecided", most.verdict}:
        denied = [_is_denied(ordered[i][1]) for i in others]
        if most.verdict in verdicts[:-1]:
            is_certain, where = (
                any(denied),
                f"every smaller {'number' if x.endswith('s') else 'one'}",
            )
        else:
            is_certain, where = all(denied), f"smaller {'numbers' if x.endswith('s') else 'ones'}"
        not_at = "not at" if is_certain else "not certainly at"
        text = f"{_with_factor(variant, over, most)} {at_last}, but {not_at} {where}"
    else:
        text = f"{_with_factor(variant, over, least)} {at_first}, but {most.verdict_in_words} {at_last}"
    return " ".join(filter(None, (text, _caveat([least, most]))))


def moment(returned: Estimate, ready: Estimate) -> str:
    """Say when a call returns: long before its result is ready, before, or when it is."""
    if 2 * returned.high < ready.low:
        return "long before its result is ready"
    if returned.value * NO_DIFFERENCE < ready.value:
        return "before its result is ready"
    return "when its result is ready"


def extremes(over: str, speedups: Mapping[str, Speedup], *, at: str = "") -> str:
    """Say how the best and the worst of several variants compare with another.

    Parameters
    ----------
    over
        What all are compared with.
    speedups
        At least one, by name.
    at
        Where all of them are, such as ``"at size 10"``.
    """
    ordered = sorted(speedups.items(), key=lambda pair: pair[1].value)
    if len(ordered) == 1:
        return comparison(ordered[0][0], over, ordered[0][1], at=at)
    ordered = [(_in_a_sentence(name), speedup) for name, speedup in ordered]
    over, caveat = _in_a_sentence(over), _caveat(speedups.values())
    if all(speedup.verdict == "undecided" for speedup in speedups.values()):
        return " ".join(filter(None, (f"No certain difference from {over}", at, caveat)))
    (worst, low), (best, high) = ordered[0], ordered[-1]
    if low.verdict == high.verdict == "undecided":  # then another variant is certain
        worst, low = next(pair for pair in ordered if pair[1].verdict != "undecided")
    if high.verdict == "undecided":  # what is certain comes first
        (worst, low), (best, high) = (best, high), (worst, low)
    if low.verdict == "undecided":
        other = (
            f"{worst} about as fast"
            if low.verdict_in_words == "about as fast"
            else f"{worst} undecided"
        )
    else:
        other = f"{worst} {low.verdict_in_words}"
    where = f"{at[0].upper()}{at[1:]}, " if at else ""
    return f"{where}{_with_factor(best, over, high)}; {other} {caveat}".rstrip()


def pay_off(variant: str, over: str, speedup: Speedup, calls: Estimate | None) -> str:
    """Say after how many calls a variant has earned its first call back, if it is sure to.

    Parameters
    ----------
    variant, over
        What is compared with what.
    speedup
        How many times as fast the former is.
    calls
        What `~jaxcap.results.Result.pays_off_after` returned.
    """
    variant, over = map(_in_a_sentence, (variant, over))
    caveat = _caveat([speedup])
    if calls is not None:
        return f"{variant} pays off after {calls.words} calls {caveat}".rstrip()
    if speedup.verdict == "slower":
        return f"{variant} never pays off: it is {speedup.verdict_in_words} than {over} {caveat}".rstrip()
    return f"Whether {variant} ever pays off is not certain {caveat}".rstrip()


def spread(estimates: Mapping[str, Estimate]) -> str:
    """Say between which values several numbers of any kind lie, and whose they are.

    Where one of these is too uncertain to be quoted, its interval is, and nothing is said to reach
    from the one to the other.
    """
    ordered = sorted(estimates.items(), key=lambda pair: pair[1].value)
    (least_name, least), (most_name, most) = ordered[0], ordered[-1]
    caveat = _caveat([least, most])
    if len(ordered) > 1 and all(is_quotable(estimate) for estimate in (least, most)):
        return f"From {least.short} ({least_name}) to {most.short} ({most_name}) {caveat}".rstrip()
    ends = {least_name: least, most_name: most}
    told = "; ".join(f"{name}: {quoted(estimate)}" for name, estimate in ends.items())
    return f"{told} {caveat}".rstrip()


def is_quotable(estimate: Estimate) -> bool:
    """Tell whether the interval is narrow enough for a sentence to quote a single number."""
    return estimate.words == estimate.short


def quoted(estimate: Estimate) -> str:
    """Write a number, or its interval if that is wide, without words: ``"1.2 to 9.0 ms"``.

    Ends that are far apart have a unit each: ``"17 µs to 2.3 ms"``.
    """
    if not is_quotable(estimate) and estimate.unit == "s":
        ends = [
            Estimate.from_runs([[end]], unit="s").short for end in (estimate.low, estimate.high)
        ]
        if len({end.split()[-1] for end in ends}) > 1:
            return " to ".join(ends)
    return estimate.words.removeprefix("somewhere from ")


def of_times(
    results: ResultSet,
    *,
    over: str | None = None,
    about: str | None = None,
    x: str | None = None,
    compare: bool = True,
) -> str:
    """Say what the times of results have shown.

    Parameters
    ----------
    results
        What a figure shows.
    over
        The variant to compare the others with; by default the first one that all others took turns
        with.
    about
        The variant that the figure is about: nothing is said of others, if it took turns with
        ``over``.
    x
        The parameter along the axis, if there is one.
    compare
        Whether the variants do the same work, so that they can be compared.

    Returns
    -------
    str
        A comparison of variants, or the times where nothing can be compared.
    """
    over = over or first_everywhere(results)
    pairs = results.paired_speedups(over) if compare else []
    pairs = [pair for pair in pairs if pair[0].variant == about] or pairs
    if not pairs:
        ends = results.subset(_at_last(results, x))
        times = {name_of(results, result, x): result.time for result in ends}
        largest = _largest_difference(ends) if compare else ""
        return largest or spread(times)
    compared = results.subset([result for result, _ in pairs])
    speedups = {result.key: speedup for result, speedup in pairs}
    last = _at_last(compared, x)
    if x and len(last) == 1:
        variant = last[0].variant
        points = [(float(result.parameters[x]), speedup) for result, speedup in pairs]
        return trend(variant, over, points, x=x)
    names = {_with_values(compared, result, x): speedups[result.key] for result in last}
    return extremes(over, names, at=_where(last, x) if x else "")


def first_everywhere(results: ResultSet) -> str:
    """Return the first variant that was measured with all parameters, if there is one."""
    variants: dict[str, set[str]] = {}  # by comparison
    for result in results:
        variants.setdefault(result.comparison, set()).add(result.variant)
    everywhere = set.intersection(*variants.values())
    return next((result.variant for result in results if result.variant in everywhere), "")


def name_of(results: ResultSet, result: Result, x: str | None = None) -> str:
    """Name a result by what tells it from the others at the same place: variant and parameters."""
    values = _values(results, result, x)
    named = [result.variant] if len(results.variants) > 1 or not values else []
    return ", ".join(named + values)


def _with_values(results: ResultSet, result: Result, x: str | None) -> str:
    """Name a result for a sentence: its variant, and in brackets what else tells it from others."""
    values = ", ".join(_values(results, result, x))
    return f"{result.variant} ({values})" if values else result.variant


def _values(results: ResultSet, result: Result, x: str | None) -> list[str]:
    columns = [column for column in results.varying() if column != x]
    values = (result.parameters[c] for c in columns if c in result.parameters)
    return [str(v) if isinstance(v, str | bool) else in_words(v) for v in values]


def place(x: str, position: float) -> str:
    """Name a position on an axis: ``"size 1,000"``, but ``"1,000 steps"`` where things are counted."""
    number = in_words(position)
    return f"{number} {x}" if x.endswith("s") else f"{x} {number}"


def in_words(number: float, *, digits: int = 10) -> str:
    """Write a size as prose does, with at most so many digits from a million on.

    Examples
    --------
    >>> in_words(65_536), in_words(1_000_000)
    ('65,536', '1 million')
    >>> in_words(1_048_576), in_words(1_048_576, digits=2)
    ('1,048,576', '1 million')
    """
    if number >= _MILLION:
        number = float(f"{number:.{digits}g}")
    if number >= _MILLION and number % (_MILLION / 10) == 0:
        return f"{number / _MILLION:,.10g} million"
    return f"{number:,.10g}"


def in_powers(text: str) -> str:
    """Write powers of ten as a sentence does, not as a program.

    Examples
    --------
    >>> in_powers("9.2e-05 at most")
    '9.2 × 10⁻⁵ at most'
    """
    return _POWER.sub(lambda power: f" × 10{str(int(power[1])).translate(_SUPERSCRIPTS)}", text)


def _where(last: Sequence[Result], x: str) -> str:
    """Say at which place on the axis lines are compared, each of which may have its own."""
    places = {float(result.parameters[x]) for result in last}
    if len(places) == 1:
        return f"at {place(x, *places)}"
    return f"at the most {x} of each" if x.endswith("s") else f"at the largest {x} of each"


def _at_last(results: ResultSet, x: str | None) -> list[Result]:
    """Return the results at the largest ``x`` that all lines have, or else at the largest of each.

    Where there is no axis, these are all results.
    """
    lines: dict[str, dict[float, Result]] = {}
    for result in results:
        place = float(result.parameters[x]) if x else 0.0
        lines.setdefault(name_of(results, result, x), {})[place] = result
    shared = set.intersection(*map(set, lines.values())) if lines else set()
    return [line[max(shared or line)] for line in lines.values()]


def _largest_difference(results: ResultSet) -> str:
    """Compare the slowest and the fastest of those that took turns and lie furthest apart."""
    found = []
    for over in results.variants:
        for result, speedup in results.paired_speedups(over):
            if speedup.verdict == "faster":
                found.append((speedup.value, comparison(result.variant, over, speedup)))
    return max(found, default=(0.0, ""))[1]


def _is_denied(speedup: Speedup) -> bool:
    """Tell whether it is certain that there is no difference, or one in the other direction."""
    return speedup.verdict != "undecided" or speedup.verdict_in_words == "about as fast"


def _in_a_sentence(name: str) -> str:
    """Quote a name of several words, which a sentence would otherwise run into its own."""
    variant, bracket, values = name.partition(" (")
    return (f"“{variant}”" if " " in variant else variant) + bracket + values


def _with_factor(variant: str, over: str, speedup: Speedup) -> str:
    return f"{variant} is {speedup.verdict_in_words} than {over}"


def _factor(speedup: Speedup) -> str:
    return speedup.verdict_in_words.removesuffix(" faster").removesuffix(" slower")


def _caveat(estimates: Iterable[Estimate]) -> str:
    return "(one process)" if any(e.basis == "one process" for e in estimates) else ""
