"""Findings say what results show, and nothing that is not certain."""

from __future__ import annotations

import pytest
from fakes import make_result, make_run, make_set

from jaxcap.report import findings
from jaxcap.results import ResultSet
from jaxcap.results.statistics import Estimate, Speedup

NOISE = (0.97, 0.99, 1.0, 1.0, 1.01, 1.03)


def ratio(typical: float, *, noise: float = 1.0, processes: int = 6) -> Speedup:
    values = [typical * (1 + noise * (x - 1)) for x in NOISE]
    return Speedup.from_runs([[v] for v in values[:processes]] if processes > 1 else [values])


FASTER, SLOWER, EQUAL = ratio(3), ratio(1 / 3), ratio(1)
UNSURE = ratio(1.2, noise=15)


@pytest.mark.parametrize(
    ("speedup", "expected"),
    [
        (FASTER, "jit is 3.00 times faster than NumPy"),
        (SLOWER, "jit is 3.00 times slower than NumPy"),
        (EQUAL, "jit and NumPy are about equally fast"),
        (UNSURE, "Undecided: jit is 0.7 to 1.9 times as fast as NumPy"),
        (ratio(3, processes=1), "jit is 3.00 times faster than NumPy (one process)"),
    ],
)
def test_comparison(speedup: Speedup, expected: str) -> None:
    said = findings.comparison("jit", "NumPy", speedup)
    assert said.replace("3.0 ", "3.00 ") == expected


def test_ends_of_a_wide_interval_share_a_unit_or_have_one_each() -> None:
    def quote(*runs: float) -> str:
        return findings.quoted(Estimate.from_runs([[run] for run in runs * 2], unit="s"))

    assert quote(1e-3, 1e-3, 1e-3) == "1.00 ms"
    assert quote(3e-3, 5e-3, 9e-3).count("ms") == 1
    assert quote(20e-6, 200e-6, 2e-3) == "7.4 µs to 5.4 ms"


def trend(*speedups: Speedup) -> str:
    points = list(zip((10.0, 1e3, 1e6), speedups, strict=False))
    said = findings.trend("jit", "NumPy", points[::-1], x="size")
    return said.replace("3.00", "3.0")


def test_trend_says_where_one_variant_gets_ahead() -> None:
    said = "From size 1,000 on, jit is faster than NumPy: 3.0 times at size 1 million"
    assert trend(EQUAL, FASTER, FASTER) == said
    assert trend(UNSURE, FASTER, FASTER) == said
    assert trend(SLOWER, FASTER, FASTER) == said


def test_trend_says_by_how_much_at_both_ends() -> None:
    assert trend(FASTER, FASTER, FASTER) == (
        "jit is 3.0 times faster than NumPy at size 10, 3.0 times at size 1 million"
    )
    assert trend(SLOWER, EQUAL, FASTER) == (
        "jit is 3.0 times slower than NumPy at size 10, but 3.0 times faster at size 1 million"
    )


@pytest.mark.parametrize(
    ("between", "words"), [(UNSURE, "not certainly at"), (SLOWER, "not at"), (EQUAL, "not at")]
)
def test_trend_that_comes_back_says_that_it_was_gone(between: Speedup, words: str) -> None:
    assert trend(FASTER, between, FASTER) == (
        f"jit is 3.0 times faster than NumPy at size 1 million, but {words} every smaller one"
    )


def test_trend_claims_nothing_that_is_undecided() -> None:
    assert trend(UNSURE, UNSURE) == "Undecided: jit is 0.7 to 1.9 times as fast as NumPy"
    assert trend(FASTER, EQUAL, UNSURE) == (
        "Undecided at size 1 million (0.7 to 1.9); jit is 3.0 times faster than NumPy at size 10"
    )
    assert trend(UNSURE, EQUAL, SLOWER) == (
        "jit is 3.0 times slower than NumPy at size 1 million, but not certainly at smaller ones"
    )
    assert trend(EQUAL, EQUAL, SLOWER) == (
        "jit is 3.0 times slower than NumPy at size 1 million, but not at smaller ones"
    )


def test_trend_of_a_single_size() -> None:
    assert trend(FASTER) == "jit is 3.0 times faster than NumPy at size 10"


def test_trend_of_one_process_says_so() -> None:
    alone = ratio(3, processes=1)
    assert trend(alone, alone).endswith("(one process)")


def test_a_range_that_one_process_found_says_so() -> None:
    alone = Estimate.from_runs([[1.0 * x for x in NOISE]], unit="s")
    several = Estimate.from_runs([[0.1 * x] for x in NOISE], unit="s")
    assert findings.spread({"a": alone, "b": several}).endswith("(one process)")


def test_a_range_with_an_uncertain_end_is_no_range() -> None:
    wide = Estimate.from_runs([[100 * x] for x in (1, 2, 3, 5, 8, 13)], unit="images/s")
    narrow = Estimate.from_runs([[1000 * x] for x in NOISE], unit="images/s")
    assert (
        findings.spread({"a": narrow, "b": wide}) == f"b: {wide.range} images/s; a: {narrow.short}"
    )
    assert findings.spread({"a": narrow}) == f"a: {narrow.short}"
    assert findings.spread({"a": narrow, "c": narrow}).startswith("From 1,000 images/s (a) to")


@pytest.mark.parametrize(
    ("x", "words"), [("size", "size 1,000"), ("steps", "1,000 steps"), ("batch", "batch 1,000")]
)
def test_places_are_named_as_counts_where_they_are(x: str, words: str) -> None:
    assert findings.place(x, 1000) == words


def test_extremes_name_the_best_and_the_worst() -> None:
    said = findings.extremes("NumPy", {"a": EQUAL, "b": FASTER, "c": SLOWER})
    assert said.replace("3.00", "3.0") == ("b is 3.0 times faster than NumPy; c 3.0 times slower")
    said = findings.extremes("NumPy", {"a": UNSURE, "b": FASTER})
    assert said.endswith("than NumPy; a undecided")
    said = findings.extremes("NumPy", {"a": EQUAL, "c": SLOWER})
    assert said.replace("3.00", "3.0") == "c is 3.0 times slower than NumPy; a about as fast"
    assert (
        findings.extremes("NumPy", {"a": UNSURE, "b": EQUAL}) == "No certain difference from NumPy"
    )
    assert findings.extremes("NumPy", {"a": FASTER}).startswith("a is 3.0")


def test_names_of_several_words_are_quoted() -> None:
    names = {"Flax, scan": FASTER, "jit, dot, NumPy": EQUAL, "Flax, naive": SLOWER}
    said = findings.extremes("wait, then read", names).replace("3.00", "3.0")
    assert said == (
        "“Flax, scan” is 3.0 times faster than “wait, then read”; “Flax, naive” 3.0 times slower"
    )
    assert findings.comparison("bfloat16 and float32", "float32", EQUAL) == (
        "“bfloat16 and float32” and float32 are about equally fast"
    )
    assert findings.pay_off("jit, dot", "NumPy", UNSURE, None).startswith("Whether “jit, dot” ever")
    said = findings.extremes("NumPy", {"jit in each call (dot)": FASTER, "jit (dot)": SLOWER})
    assert said.replace("3.00", "3.0") == (
        "“jit in each call” (dot) is 3.0 times faster than NumPy; jit (dot) 3.0 times slower"
    )
    said = findings.trend("scan, unroll=10", "Python loop", [(10, FASTER)], x="steps")
    assert said.startswith("“scan, unroll=10” is")


def test_lines_are_compared_at_a_place_that_is_named() -> None:
    lines = [pair(name, 2, size=size) for name in ("jit", "scan") for size in (10, 1000)]
    both = lines[0] + lines[1]
    with_others = both + (lines[2] + lines[3]).select(variant="scan")
    assert findings.of_times(with_others, x="size").startswith("At size 1,000, ")
    shorter = both + lines[2].select(variant="scan")
    assert findings.of_times(shorter, x="size").startswith("At size 10, ")  # which both have
    apart = lines[0] + lines[3]
    assert findings.of_times(apart, x="size").startswith("At the largest size of each, ")
    assert findings.extremes("a", {"b": EQUAL, "c": UNSURE}, at="at size 10") == (
        "No certain difference from a at size 10"
    )


def test_what_pays_off() -> None:
    calls = Estimate.from_runs([[10.0 * x] for x in NOISE])
    assert (
        findings.pay_off("jit", "eager", FASTER, calls) == f"jit pays off after {calls.words} calls"
    )
    assert "never pays off: it is 3.0" in findings.pay_off("jit", "eager", SLOWER, None)
    assert findings.pay_off("jit", "eager", UNSURE, None) == (
        "Whether jit ever pays off is not certain"
    )


def pair(name: str, factor: float, **parameters: int) -> ResultSet:
    """Two variants that took turns, the second of which is so many times as fast."""
    runs = (
        [make_run([1e-3 * x] * 6) for x in NOISE],
        [make_run([1e-3 / factor * x] * 6) for x in NOISE],
    )
    return make_set(
        make_result("op by op", *runs[0], parameters=parameters),
        make_result(name, *runs[1], parameters=parameters),
    )


def test_times_are_compared_with_the_first_variant() -> None:
    assert findings.of_times(pair("jit", 2)).startswith("jit is 2.0")
    several = pair("jit", 1, size=10) + pair("jit", 2, size=1000)
    assert findings.of_times(several, x="size").startswith("jit is 2.0")
    assert "at size 1,000" in findings.of_times(several, x="size")


def test_variants_that_do_different_work_are_listed_without_a_comparison() -> None:
    said = findings.of_times(pair("cosine", 2), compare=False)
    assert "times" not in said
    assert "cosine" in said


def test_a_figure_about_two_variants_compares_these() -> None:
    pairs = pair("jit", 2, size=10), pair("scan", 4, size=10).select(variant="scan")
    several = pairs[0] + pairs[1]
    assert findings.of_times(several, over="op by op").startswith("scan is 4.0")
    said = findings.of_times(several, over="op by op", about="jit")
    assert said.startswith("jit is 2.0")
    assert "scan" not in said
    assert findings.of_times(several, over="op by op", about="absent").startswith("scan is 4.0")


def test_times_that_cannot_be_compared_are_told() -> None:
    alone = pair("jit", 2).select(variant="jit")
    assert findings.of_times(alone) == f"jit: {alone[0].time.words}"


@pytest.mark.parametrize(
    ("number", "words"),
    [(10, "10"), (10_000, "10,000"), (1e6, "1 million"), (2.5e6, "2.5 million")],
)
def test_sizes_in_words(number: float, words: str) -> None:
    assert findings.in_words(number) == words


@pytest.mark.parametrize(
    ("number", "words"),
    [(65_536, "65,536"), (1_048_576, "1 million"), (2.5e6, "2.5 million"), (3e9, "3,000 million")],
)
def test_large_sizes_in_few_digits(number: float, words: str) -> None:
    assert findings.in_words(number, digits=2) == words


@pytest.mark.parametrize(
    ("returned_s", "said"),
    [
        (0.4, "long before its result is ready"),
        (0.7, "before its result is ready"),
        (0.9, "when its result is ready"),
    ],
)
def test_the_moment_of_a_return_is_told_by_that_of_the_result(returned_s: float, said: str) -> None:
    returned, ready = (Estimate.from_runs([[s] * 6], unit="s") for s in (returned_s, 1.0))
    assert findings.moment(returned, ready) == said
