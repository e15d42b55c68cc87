"""Options that several commands share, and checks of their values."""

from __future__ import annotations

from collections.abc import Callable
from importlib.util import find_spec
from math import isfinite
from pathlib import Path

import click

Function = Callable[..., None]

#: The name of the command.
PROGRAM = "jaxcap"
#: Means standard output or standard input.
DASH = Path("-")

_ROOM_BYTES = 2**20  # what most files of results need

LIBRARIES = {"numpy": "NumPy", "pytorch": "PyTorch", "jax": "JAX", "flax": "Flax"}

# The module of a library, and the extra of jaxcap that installs it.
_OPTIONAL = {"pytorch": ("torch", "all"), "flax": ("flax", "mnist")}


class InputError(click.ClickException):
    """Input that can't be used. The message says why, and what to do."""

    exit_code = 2


#: A file to write, or standard output.
FILE_TO_WRITE = click.Path(dir_okay=False, allow_dash=True, path_type=Path)

device_option = click.option(
    "--device",
    type=click.Choice(("auto", "cpu", "gpu", "tpu")),
    default="auto",
    show_default=True,
    help="Where to compute; auto takes the best device that JAX finds.",
)
json_option = click.option(
    "--json",
    metavar="FILE",
    type=FILE_TO_WRITE,
    help="Save the results in FILE, for jaxcap results to read; - means standard output.",
)
python_option = click.option(
    "--python",
    default="3.12",
    show_default=True,
    help="Python to run the releases with: a version, or the path of an interpreter.",
)
environments_option = click.option(
    "--environments",
    type=click.Path(file_okay=False, path_type=Path),
    help="Where to install the releases; by default, in your cache folder.",
)


def environments_folder(asked: Path | None) -> Path:
    """Return the folder for environments: the one that was asked for, or one in the user's cache."""
    from jaxcap.releases.recording.environments import InstallationError, default_folder

    try:
        return asked or default_folder()
    except InstallationError as error:
        raise InputError(str(error)) from error


quiet_option = click.option("--quiet", is_flag=True, help="Print only errors.")


def processes_option(default: int, description: str) -> Callable[[Function], Function]:
    """Make the option ``--processes``, the number of fresh processes that measure."""
    return click.option(
        "--processes",
        type=click.IntRange(min=1),
        default=default,
        show_default=True,
        help=description,
    )


def budget_option(default_s: float, description: str) -> Callable[[Function], Function]:
    """Make the option ``--budget``, the seconds to spend on sampling."""
    return click.option(
        "--budget",
        "budget_s",
        metavar="SECONDS",
        type=float,
        default=default_s,
        show_default=True,
        callback=_require_positive,
        help=description,
    )


def _require_positive(_: click.Context, __: click.Parameter, seconds: float) -> float:
    if not (isfinite(seconds) and seconds > 0):
        raise click.BadParameter(f"{seconds} is not a positive number of seconds.")
    return seconds


def require_library(name: str) -> None:
    """If a library is missing, raise an error that says how to install it."""
    if name not in _OPTIONAL:
        return
    module, extra = _OPTIONAL[name]
    if find_spec(module) is None:
        raise InputError(
            f"{LIBRARIES[name]} isn't installed: run `python -m pip install 'jaxcap[{extra}]'`"
        )


def require_memory(needed_bytes: int, platform: str, option: str, value: int) -> None:
    """Refuse a size that can't fit on a device of this platform."""
    from rich.filesize import decimal

    from jaxcap.measure.machine.description import free_memory_bytes

    free = free_memory_bytes(platform)
    if free is not None and needed_bytes > free:
        raise click.BadParameter(
            f"{value:,} needs {decimal(needed_bytes)} of memory, but only {decimal(free)} is free: "
            "choose a smaller value.",
            param_hint=f"'{option}'",
        )


def require_writable(path: Path, option: str) -> None:
    """Refuse a file that can't be written. An existing file is left as it is."""
    if path == DASH:
        return
    from jaxcap.results import atomic

    try:
        atomic.require_writable(path, room_bytes=_ROOM_BYTES)
    except OSError as error:
        raise click.BadParameter(
            f"{path} can't be written ({error.strerror}): choose another path.",
            param_hint=f"'{option}'",
        ) from error


def require_function(reference: str, option: str) -> None:
    """Refuse what names no function, and a script that isn't there."""
    place, _, name = reference.rpartition(":")
    if not place or not name.isidentifier():
        raise InputError(
            f"{option}: {reference!r} names no function: write script.py:function or "
            "package.module:function"
        )
    if place.endswith(".py") and not Path(place).is_file():
        raise InputError(f"{option}: there is no script {place}")
