"""Tables of results from several machines."""

from __future__ import annotations

from fakes import CPU, GPU, make_pair, make_result, make_run, make_set

from jaxcap.report.exports import as_csv, side_by_side, with_other_machines
from jaxcap.results import ResultSet
from jaxcap.results.statistics import Estimate, Speedup

MS = 1e-3


def pair(size: int, fast_ms: float, **changes: object) -> ResultSet:
    return make_pair([fast_ms * MS] * 6, [2 * MS] * 6, parameters={"size": size}, **changes)


def joined(*sets: ResultSet) -> ResultSet:
    return make_set(*(one for some in sets for one in some.results))


def test_times_of_other_machines_are_further_columns_and_rows() -> None:
    here = joined(pair(10, 1.0), pair(1000, 1.0))
    there = joined(pair(10, 0.25, device=GPU), pair(5000, 0.5, device=GPU))
    table = with_other_machines(here.table(), {"there": there})
    assert table.caption == here.table().caption
    headers = ("size", "variant", "time", "until it returns", "first call")
    assert table.headers == (*headers, "there")
    assert [row[:-1] for row in table.rows[:4]] == [
        (size, variant, f"{time} ({interval})", *others)
        for size, variant, time, interval, *others in here.table().rows
    ]
    last = {(row[0], row[1]): row[-1] for row in table.rows}
    assert last == {
        ("10", "op by op"): "2.000 ms (2.000 to 2.000)",
        ("10", "jit"): "250.0 µs (250.0 to 250.0)",
        ("1,000", "op by op"): "",
        ("1,000", "jit"): "",
        ("5,000", "op by op"): "2.000 ms (2.000 to 2.000)",
        ("5,000", "jit"): "500.0 µs (500.0 to 500.0)",
    }
    assert set(table.rows[-1][2:-1]) == {""}


def test_speed_ups_are_those_within_each_machine() -> None:
    here = joined(pair(10, 1.0), pair(1000, 1.0))
    alone = make_result("jit", make_run([MS] * 6), parameters={"size": 1000}, device=GPU)
    there = make_set(*pair(10, 0.25, device=GPU).results, alone)
    table = with_other_machines(here.speedups(over="op by op"), {"there": there})
    assert [(row[0], row[-1]) for row in table.rows] == [
        ("10", "8.000 (8.000 to 8.000)"),
        ("1,000", ""),  # where the other variant is missing there
    ]


def test_other_machines_show_what_the_table_shows_in_a_column_of_its_own() -> None:
    runs = [make_run([seconds] * 6) for seconds in (1.0 * MS, 1.1 * MS, 1.3 * MS, 1.2 * MS)]
    results = make_set(make_result("jit", *runs), make_result("op by op", *runs))
    times = with_other_machines(results.table(), {"there": results})
    assert [row[-1] for row in times.rows] == [
        f"{time} ({observed})" for _, time, observed, *_ in results.table().rows
    ]
    assert times.notes[-1] == "In brackets: range of 4 processes."
    speedups = with_other_machines(results.speedups(over="op by op"), {"there": results})
    assert speedups.notes[-1] == "In brackets: 95% prediction interval (4 processes)."
    assert speedups.headers == ("variant", "verdict", "times as fast", "there")
    ((_, _, ratio, there),) = speedups.rows
    assert there.startswith(ratio)


def test_parameters_are_matched_in_any_order() -> None:
    parameters = {"size": 10, "device": "cpu"}
    here = make_set(make_result(parameters=parameters))
    there = make_set(make_result(parameters=dict(reversed(parameters.items()))))
    (table,) = side_by_side({"here": here, "there": there})
    assert len(table.rows) == 1
    assert table.rows[0][-1] == "1.000 (1.000 to 1.000), about as fast"


def test_devices_and_allocators_are_told_apart_where_they_must_be() -> None:
    here = make_set(
        make_result("jit", make_run([4 * MS] * 6)),
        make_result("jit", make_run([MS] * 6), device=GPU),
        make_result("jit", make_run([2 * MS] * 6), allocator="default"),
    )
    (table,) = side_by_side({"here": here, "again": here})
    assert table.headers == ("variant", "platform", "allocator", "here", "again", "here / again")
    assert [row[1:4] for row in table.rows] == [
        ("CPU", "steady", "4.000 ms (4.000 to 4.000)"),
        ("GPU", "steady", "1.000 ms (1.000 to 1.000)"),
        ("CPU", "default", "2.000 ms (2.000 to 2.000)"),
    ]
    assert {row[-1] for row in table.rows} == {"1.000 (1.000 to 1.000), about as fast"}


def test_verdicts_need_their_confidence() -> None:
    once, twice = (make_set(make_result("jit", make_run([s] * 2))) for s in (2 * MS, MS))
    (table,) = side_by_side({"here": once, "there": twice})
    assert table.rows[0][-1].endswith("undecided")


def test_zeros_of_a_coarse_clock_have_no_ratio() -> None:
    zero = make_set(make_result("jit", make_run([0.0] * 6)))
    for sets in {"a": zero, "b": make_set()}, {"a": make_set(), "b": zero}:
        (table,) = side_by_side(sets)
        assert table.rows[0][-1] == "none"


def test_a_parameter_called_device_leaves_the_column_of_the_machine() -> None:
    parameters = {"device": "cpu", "size": 10, "parameter_device": 7}
    header, line = as_csv(make_set(make_result(parameters=parameters))).splitlines()
    row = dict(zip(header.split(","), line.split(","), strict=True))
    assert (row["device"], row["parameter_device"], row["size"]) == ("Test CPU (CPU)", "cpu", "10")
    assert row["parameter_parameter_device"] == "7"
    assert (row["fits_cache"], row["interval"]) == ("True", "median")


def test_separate_times_are_divided_end_by_opposite_end() -> None:
    fast = Estimate(2.0, 1.0, 4.0, 0.95, "s", "one process", "median", (CPU,))
    slow = Estimate(12.0, 8.0, 16.0, 0.9, "s", "one process", "median", (GPU,))
    ratio = Speedup.from_separate_times(fast, over=slow)
    assert (ratio.value, ratio.low, ratio.high, ratio.confidence) == (6.0, 2.0, 16.0, 0.9)
    assert ratio.devices == (CPU, GPU)
    assert ratio.verdict == "undecided"
    assert Speedup.from_separate_times(slow, over=fast).high == 0.5


def test_a_ratio_is_a_prediction_only_if_both_times_are() -> None:
    median = Estimate(2.0, 1.0, 4.0, 0.95, "s", "one process", "median")
    prediction = Estimate(2.0, 1.0, 4.0, 0.95, "s", "6 processes", "prediction")
    for time, over, kind in (
        (prediction, prediction, "prediction"),
        (prediction, median, "median"),
        (median, prediction, "median"),
    ):
        assert Speedup.from_separate_times(time, over=over).kind == kind


def test_ratios_can_be_left_out() -> None:
    sets = {"here": pair(10, 1.0), "there": pair(10, 0.25)}
    (with_ratios,) = side_by_side(sets)
    (without,) = side_by_side(sets, ratios=False)
    assert without.headers == ("size", "variant", "here", "there")
    assert with_ratios.headers == (*without.headers, "here / there")
