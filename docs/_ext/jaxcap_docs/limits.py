"""Limits of a tutorial, in time and in what it prints: none may stop a build or fill a page."""

from __future__ import annotations

import faulthandler
import os
import signal
from io import StringIO
from typing import NoReturn

from sphinx.errors import ConfigError
from sphinx_gallery import gen_rst

CHARACTERS = 100_000  # in one cell


class LimitError(Exception):
    """A tutorial took too long, or printed too much."""


class _Output(StringIO):
    """What a cell prints, up to the limit."""

    def write(self, text: str) -> int:
        """Keep the text, if there is room on a page.

        Raises
        ------
        LimitError
            If there is none.
        """
        if (printed := self.tell() + len(text)) > CHARACTERS:
            raise LimitError(
                f"a cell printed {printed:,} characters or more, and {CHARACTERS:,} are the limit: "
                "print less"
            )
        return super().write(text)


# sphinx-gallery keeps in memory, and then puts on the page, whatever a script prints.
gen_rst.StringIO = _Output


def seconds(*_: object) -> int:
    """How long a tutorial may run.

    Raises
    ------
    ConfigError
        If the environment sets the limit to something else.
    """
    told = os.environ.get("JAXCAP_TIME_LIMIT_S") or "1200"
    if not told.isdecimal() or not int(told):
        raise ConfigError(f"JAXCAP_TIME_LIMIT_S is {told!r}: set it to a whole number of seconds")
    return int(told)


def start() -> None:
    """Give a tutorial its time, from now on.

    If it then doesn't return to Python, which could raise, the process ends after twice that time.
    """
    if hasattr(signal, "setitimer"):
        signal.signal(signal.SIGALRM, _raise)
        signal.setitimer(signal.ITIMER_REAL, seconds())
    faulthandler.dump_traceback_later(2 * seconds(), exit=True)


def stop() -> None:
    """End the time of a tutorial."""
    if hasattr(signal, "setitimer"):
        signal.setitimer(signal.ITIMER_REAL, 0)
    faulthandler.cancel_dump_traceback_later()


def _raise(*_: object) -> NoReturn:
    raise LimitError(
        f"ran longer than {seconds()} s: shorten it, or set JAXCAP_TIME_LIMIT_S to more seconds"
    )
