"""What a build says about the time for which it measured."""

from __future__ import annotations

import logging

from jaxcap_docs.run.session_time import MeasuredTime


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
