"""Functions that are called in a fresh process, with environment variables of its own.

JAX and XLA read many settings when they are imported, or when they first compute. What these do is
seen only in a process that has not begun: ``python -m jaxcap.measure.fresh``.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from pkgutil import resolve_name
from typing import Any

from jaxcap.measure.settings import quick_is_on


class FreshProcessError(RuntimeError):
    """A fresh process ended with an error; the message is the last line that it printed."""


def call(function: Callable[..., Any], *args: Any, **settings: str) -> Any:
    """Call a function in a fresh process.

    Parameters
    ----------
    function
        At the top level of a module. It returns what JSON can hold. What it prints is dropped.
    *args
        Its arguments, likewise.
    **settings
        Environment variables, besides those of this process.

    Raises
    ------
    FreshProcessError
        If the process fails.
    """
    path = [folder or str(Path.cwd()) for folder in sys.path]
    reference = f"{function.__module__}:{function.__qualname__}"
    done = subprocess.run(
        [sys.executable, "-P", "-m", __name__, reference, json.dumps(args)],
        env={
            "XLA_PYTHON_CLIENT_PREALLOCATE": "false",  # this process may hold the GPU's memory
            **os.environ,
            "PYTHONPATH": os.pathsep.join(path),
            "JAX_TRACEBACK_FILTERING": "off",  # its note would be the last line
            **settings,
        },
        capture_output=True,
        check=False,
        text=True,
    )
    if done.returncode:
        *_, last = ["it printed nothing", *done.stderr.strip().splitlines()]
        raise FreshProcessError(last)
    return json.loads(done.stdout)


def rounds(number: int) -> range:
    """Return the numbers of the rounds in which fresh processes take turns, or of one in quick mode."""
    return range(1 if quick_is_on() else number)


if __name__ == "__main__":
    answers = os.fdopen(os.dup(sys.stdout.fileno()), "w", encoding="utf-8")
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())  # the function may print
    reference, args = sys.argv[1:]
    print(json.dumps(resolve_name(reference)(*json.loads(args))), file=answers, flush=True)
