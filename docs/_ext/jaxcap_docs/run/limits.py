"""Limits on a tutorial's time and output, so that none can stop a build or fill a page."""

from __future__ import annotations

import faulthandler
import os
import signal
from io import StringIO
from typing import NoReturn

from sphinx_gallery import gen_rst

MAX_CHARACTERS = 100_000  # in one cell


class LimitError(Exception):
    """A tutorial took too long, or printed too much."""


class _Output(StringIO):
    """What a cell prints, up to the limit."""

    def write(self, text: str) -> int:
        if (printed := self.tell() + len(text)) > MAX_CHARACTERS:
            raise LimitError(
                f"a cell printed {printed:,} characters or more, and {MAX_CHARACTERS:,} are the "
                "limit: print less"
            )
        return super().write(text)


def limit_output() -> None:
    """Limit what sphinx-gallery keeps of a cell's output, for which it has no setting."""
    gen_rst.StringIO = _Output


def time_limit_s() -> int:
    """Return how many seconds a tutorial may run.

    Raises
    ------
    ValueError
        If the environment sets something other than a whole number of seconds.
    """
    value = os.environ.get("JAXCAP_TIME_LIMIT_S") or "1200"
    if not value.isdecimal() or not int(value):
        raise ValueError(f"JAXCAP_TIME_LIMIT_S is {value!r}: set it to a whole number of seconds")
    return int(value)


def start_timer() -> None:
    """Start the time of a tutorial.

    When it is over, an error is raised as soon as the tutorial runs Python code. If it still runs
    after twice the time, the process ends.
    """
    signal.signal(signal.SIGALRM, _raise)
    signal.setitimer(signal.ITIMER_REAL, time_limit_s())
    faulthandler.dump_traceback_later(2 * time_limit_s(), exit=True)


def stop_timer() -> None:
    """Stop the time of a tutorial."""
    signal.setitimer(signal.ITIMER_REAL, 0)
    faulthandler.cancel_dump_traceback_later()


def _raise(*_: object) -> NoReturn:
    raise LimitError(
        f"ran longer than {time_limit_s()} s: shorten it, or set JAXCAP_TIME_LIMIT_S to more seconds"
    )
