"""Results as tables: rows, headers and notes."""

from __future__ import annotations

import pytest
from fakes import CPU, GPU, make_pair, make_result, make_run, make_set

from jaxcap.results import Device, ResultsError

MS = 1e-3
SIX = (1, 2, 3, 4, 5, 6)


class TestTables:
    pair = make_pair([MS] * 6, [n * MS for n in SIX], parameters={"size": 1_000_000})

    def test_times_have_units_intervals_and_a_machine(self) -> None:
        table = self.pair.table()
        assert table.caption == "Time of a call on Test CPU (CPU)"
        assert table.headers == (
            "variant",
            "time",
            "95% confidence interval (one process)",
            "until it returns",
            "first call",
        )
        assert table.rows[0] == ("op by op", "3.5 ms", "1.4 to 5.6", "100.0 µs", "10 ms")
        assert table.rows[1] == ("jit", "1.000 ms", "1.000 to 1.000", "100.0 µs", "10 ms")
        assert table.notes == []

    def test_a_result_shows_its_time_and_not_its_samples(self) -> None:
        assert repr(self.pair.results[0]) == str(self.pair.results[0])
        assert repr(self.pair.results[0]) == (
            "<op by op (size=1000000) on Test CPU (CPU): "
            "3.5 ms (95% interval 1.4 to 5.6, one process)>"
        )

    def test_parameters_that_vary_come_first(self) -> None:
        larger = make_result("jit", parameters={"size": 10_000_000, "x64": True})
        table = (self.pair + make_set(larger)).table()
        assert table.headers[:3] == ("size", "x64", "variant")
        assert [row[:3] for row in table.rows] == [
            ("1,000,000", "", "op by op"),
            ("1,000,000", "", "jit"),
            ("10,000,000", "True", "jit"),
        ]

    def test_a_flag_is_no_number(self) -> None:
        flags = [make_result(parameters={"unroll": value}) for value in (1, True)]
        table = make_set(*flags).table()
        assert table.headers[:2] == ("unroll", "variant")
        assert [row[0] for row in table.rows] == ["1", "True"]

    def test_results_of_several_experiments_have_a_row_each(self) -> None:
        table = make_set(make_result(), make_result(experiment="other")).table()
        assert [row[:2] for row in table.rows] == [("jit", "test"), ("jit", "other")]

    def test_allocators_are_shown_if_there_are_several(self) -> None:
        table = make_set(make_result(), make_result(allocator="default")).table()
        assert [row[:2] for row in table.rows] == [("jit", "steady"), ("jit", "default")]

    def test_single_samples_have_a_range_and_no_interval(self) -> None:
        table = make_set(make_result("jit", make_run([MS]))).table()
        assert "range (one process)" in table.headers

    def test_a_parameter_may_be_called_device(self) -> None:
        results = [
            make_result("jit", device=device, parameters={"device": device.platform})
            for device in (CPU, GPU)
        ]
        headers = make_set(*results).table().headers
        assert [header for header in headers if "device" in header] == ["device", "device used"]

    def test_devices_are_shown_if_there_are_several(self) -> None:
        table = make_set(make_result(), make_result(device=GPU)).table()
        assert table.caption == "Time of a call on Test CPU (CPU), Test GPU (GPU)"
        assert [row[1] for row in table.rows] == ["Test CPU (CPU)", "Test GPU (GPU)"]

    def test_all_kinds_of_intervals_are_shown(self) -> None:
        one, two = make_result("one", make_run()), make_result("two", make_run(), make_run())
        assert make_set(two).table().headers[2] == "range of 2 processes"
        assert make_set(one, two).table().headers[2] == (
            "95% confidence interval (one process) or 95% prediction interval (2 processes)"
        )

    def test_times_of_processes_come_with_the_range_that_they_saw(self) -> None:
        processes = [make_run([seconds] * 6) for seconds in (2e-3, 1e-3, 4e-3)]
        (row,) = make_set(make_result("jit", *processes)).table().rows
        assert row[1:3] == ("2.0 ms", "1.0 to 4.0")

    def test_processes_in_different_modes_are_listed(self) -> None:
        steady = [make_run([MS] * 6) for _ in range(6)]
        modal = [make_run([times * MS] * 6) for times in (1, 5, 1, 1, 5, 1)]
        results = make_set(make_result("steady", *steady), make_result("modal", *modal))
        (note,) = results.table().notes
        assert note == (
            "Processes in different modes: modal, 1.0 ms, 1.0 ms, 1.0 ms, 1.0 ms, 5.0 ms, 5.0 ms."
        )
        (note,) = results.speedups(over="steady").notes
        assert note == "Processes in different modes: modal, 0.20, 0.20, 1.0, 1.0, 1.0, 1.0."

    def test_two_processes_that_differ_are_listed_but_need_have_no_modes(self) -> None:
        two = make_result("two", *(make_run([time * MS] * 6) for time in (5, 1)))
        three = make_result("three", *(make_run([time * MS] * 6) for time in (1, 5, 1)))
        assert make_set(two, three).table().notes == [
            "Two processes that differ by more than a factor of 3: two, 1.0 ms, 5.0 ms.",
            "Processes in different modes: three, 1.0 ms, 1.0 ms, 5.0 ms.",
        ]

    @pytest.mark.parametrize("times", [(1, 1.09), (1, 1.2, 1.3), (1, 3)])
    def test_few_processes_that_nearly_agree_have_the_same_mode(
        self, times: tuple[float, ...]
    ) -> None:
        result = make_result("jit", *(make_run([time * MS] * 6) for time in times))
        assert result.time.high > 2 * result.time.low  # as always with so few processes
        assert not make_set(result).table().notes

    def test_intervals_of_less_confidence_say_so_in_their_row(self) -> None:
        few, single = make_result("few", make_run([MS] * 2)), make_result("once", make_run([MS]))
        table = make_set(make_result(), few, single).table()
        assert table.headers[2] == "95% confidence interval (one process)"
        assert [row[2] for row in table.rows] == ["1.000 to 1.000", "1.000 to 1.000 (50%)", ""]

    def test_several_modes_get_a_note(self) -> None:
        samples = [3.6 * MS] * 32 + [8.5 * MS] * 8
        two = (make_result("jit", make_run(samples), parameters={"size": n}) for n in (10, 1000))
        (note,) = make_set(*two, make_result(parameters={"size": 1})).table().notes
        assert note == (
            "Two modes, with their shares of the samples: "
            "10 jit, 3.6 ms (80%) and 8.5 ms (20%); 1,000 jit, 3.6 ms (80%) and 8.5 ms (20%)."
        )

    def test_speedups_are_over_the_named_variant(self) -> None:
        table = self.pair.speedups(over="op by op")
        assert table.caption == "Compared with op by op on Test CPU (CPU)"
        assert table.headers == (
            "variant",
            "verdict",
            "times as fast",
            "95% confidence interval (one process)",
        )
        assert table.rows == [("jit", "1.4 to 5.6 times faster", "3.5", "1.4 to 5.6")]

    def test_speedups_that_differ_from_quotients_of_times_are_explained(self) -> None:
        """The ratios within rounds are 6, 1 and 5, and the median times 6 ms and 2 ms."""
        results = make_pair([6 * MS, 2 * MS, 20 * MS], [1 * MS, 2 * MS, 4 * MS])
        (note,) = results.speedups(over="op by op").notes
        assert note.startswith("Each ratio is the median of the ratios within rounds")
        assert not self.pair.speedups(over="op by op").notes

    def test_speedups_are_found_by_parameters(self) -> None:
        both = self.pair + make_pair([MS] * 6, [MS / 2] * 6, parameters={"size": 10})
        rows = both.speedups(over="op by op").rows
        assert [(row[0], row[2], row[3]) for row in rows] == [
            ("1,000,000", "1.4 to 5.6 times faster", "3.5"),
            ("10", "2.000 times slower", "0.5000"),
        ]

    def test_speedups_leave_out_where_the_named_variant_is_missing(self) -> None:
        alone = make_set(make_result("jit", parameters={"size": 5}))
        assert len((self.pair + alone).speedups(over="op by op").rows) == 1
        with pytest.raises(ResultsError, match="no result was measured in turns with 'op by op'"):
            alone.speedups(over="op by op")

    def test_speedups_leave_out_where_the_clock_saw_no_time(self) -> None:
        coarse = make_pair([0.0] * 6, [MS] * 6, parameters={"size": 5})
        assert len((self.pair + coarse).speedups(over="op by op").rows) == 1
        with pytest.raises(ResultsError, match="by a clock fine enough"):
            coarse.speedups(over="op by op")

    def test_speedups_have_the_confidence_of_the_ratios(self) -> None:
        fast = make_result("jit", make_run([1e-3] * 10))
        busy = make_run([2e-3] * 10, other_work=[1.0] * 5 + [0.0] * 5)
        assert fast.time.confidence == 0.95
        table = make_set(fast, make_result("op by op", busy)).speedups(over="op by op")
        assert table.headers[3] == "94% confidence interval (one process)"

    def test_two_devices_of_one_platform_have_a_row_each(self) -> None:
        other_gpu = Device(platform="gpu", name="Another GPU")
        both = make_set(make_result(device=GPU), make_result(device=other_gpu))
        assert [row[1] for row in both.table().rows] == ["Test GPU (GPU)", "Another GPU (GPU)"]

    def test_results_show_themselves_as_tables(self) -> None:
        assert repr(self.pair) == str(self.pair) == repr(self.pair.table())
        assert self.pair._repr_html_() == self.pair.table()._repr_html_()

    def test_names_cannot_inject_html(self) -> None:
        html = make_set(make_result("<script>alert(1)</script>"))._repr_html_()
        assert "<script>" not in html
        assert '<th scope="row">&lt;script&gt;alert(1)&lt;/script&gt;</th>' in html
