"""The output of commands: tables, texts and files."""

from __future__ import annotations

import os
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import click

from jaxcap.cli.options import DASH, InputError
from jaxcap.results.atomic import write_atomically


def display(*contents: Any, err: bool = False) -> None:
    """Print tables or texts to standard output, or to standard error."""
    from rich.console import Console

    console = Console(highlight=False, emoji=False, markup=False, stderr=err)
    if console.is_terminal:
        console.print(*contents, sep="\n")
        return
    # Lines in files and pipes must not be wrapped, except for the pages of the site.
    columns = os.environ.get("JAXCAP_COLUMNS", "")
    console.width = int(columns) if columns.isdigit() else 10_000
    with console.capture() as capture:
        console.print(*contents, sep="\n")
    # click would write UTF-8 where the encoding is ASCII.
    text = capture.get().encode(console.encoding, "backslashreplace").decode(console.encoding)
    click.echo("\n".join(line.rstrip() for line in text.splitlines()), err=err)


def write(path: Path, text: str) -> None:
    """Write text to a file, or to standard output if the path is ``-``."""
    if path == DASH:
        click.echo(text, nl=False)
    else:
        with refusing_unwritable(path):
            write_atomically(path, text)


@contextmanager
def warnings_as_sentences() -> Iterator[None]:
    """Show warnings when they come, without the line of code that they come from."""

    def show(message: Warning | str, *_: Any, **__: Any) -> None:
        click.echo(f"Warning: {message}", err=True)

    with warnings.catch_warnings():
        warnings.showwarning = show
        yield


@contextmanager
def refusing_unwritable(path: Path) -> Iterator[None]:
    """Turn an error while writing a file, such as on a full disk, into an input error."""
    try:
        yield
    except OSError as error:
        raise InputError(f"{path} can't be written: {error.strerror}") from error
