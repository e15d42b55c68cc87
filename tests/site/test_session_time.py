"""What a build says about the time for which it measured."""

from __future__ import annotations

import logging

from fakes import make_result, make_run, make_set
from jaxcap_docs.run.session_time import MeasuredTime, width_summary

from jaxcap.results import ResultSet


def test_adds_up_all_experiments() -> None:
    measured = MeasuredTime()
    measured.emit(logging.makeLogRecord({"levelno": logging.INFO, "measured_s": 60.0}))
    assert measured.summary(total_s=120.0) == "Measured for 1.0 of 2.0 minutes (50%)"
    for seconds, other_work in (75.0, 0.0), (225.0, 0.2):
        measured.emit(
            logging.makeLogRecord(
                {"levelno": logging.INFO, "measured_s": seconds, "other_work": other_work}
            )
        )
    assert measured.summary(total_s=480.0) == (
        "Measured for 6.0 of 8.0 minutes (75%); other work took 15% of the CPU"
    )


def test_tells_how_wide_intervals_are() -> None:
    def pair(*slow_s: float) -> ResultSet:
        fast, slow = ([make_run([s] * 6) for s in times] for times in ([1e-3] * 4, slow_s))
        return make_set(make_result("op by op", *slow), make_result("jit", *fast))

    steady, unsteady = pair(*[2e-3] * 4), pair(1e-3, 9e-3, 1e-3, 9e-3)
    assert width_summary([steady]) == (
        "Intervals (upper end over lower, median): 1.32 of 2 times, 0.0% above 2; "
        "1.15 of 1 speed-ups, 0.0% above 2"
    )
    assert "of 4 times, 25.0% above 2; " in width_summary([steady, unsteady])
    assert "of 2 speed-ups, 50.0% above 2" in width_summary([steady, unsteady])
