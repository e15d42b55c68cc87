"""What parts of the site are made from, so that they are made again only if that has changed."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping
from functools import cache
from hashlib import sha256
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path

from sphinx.application import Sphinx

import jaxcap
from jaxcap.measure.machine.description import capture
from jaxcap.measure.settings import MACHINE, QUICK
from jaxcap.results.atomic import write_atomically

PACKAGE = Path(jaxcap.__file__).parent
MNIST_FOLDER = "JAXCAP_MNIST_DIR"
CHECKERS = ("mypy", "pyright")  # a tutorial shows what they say


def package_files(package: Path = PACKAGE) -> list[Path]:
    """Return all files of the package that is imported, or of its sources, in a fixed order.

    The recordings that an installed package has a copy of are left out: pages that read them say so.
    """
    files = (path for path in package.rglob("*") if package / "recorded" not in path.parents)
    return sorted(path for path in files if path.is_file() and path.suffix != ".pyc")


@cache
def surroundings() -> str:
    """Describe the machine, its libraries and the settings that all outputs depend on."""
    machine = capture()
    facts = (
        (machine.device, machine.device_count, machine.cpu, machine.cores, machine.cache_bytes),
        (machine.driver, machine.versions, machine.flags, machine.python),
        {name: version(name) for name in CHECKERS if find_spec(name)},
        [os.environ.get(name, "") for name in (MACHINE, QUICK, MNIST_FOLDER)],
    )
    return repr(facts)


def write_pages(folder: Path, pages: Mapping[str, str]) -> None:
    """Write pages in Markdown by name, and remove all others.

    Those that stay the same are left alone, or Sphinx would read them again.
    """
    files = {folder / f"{name}.md": text for name, text in pages.items()}
    for removed in set(folder.glob("*.md")).difference(files):
        removed.unlink()
    for path, text in files.items():
        write_if_changed(path, text)


def write_if_changed(path: Path, text: str) -> None:
    """Write a file unless it holds this text, because pages are read again when files are newer."""
    if not path.exists() or path.read_text(encoding="utf-8") != text:
        write_atomically(path, text)


def make_if_changed(
    app: Sphinx, target: Path, sources: Iterable[Path], make: Callable[[], object]
) -> None:
    """Call ``make`` unless it made the target in an earlier build, from the same sources.

    Sphinx forgets that together with all that it has read.

    Parameters
    ----------
    target
        A file or a folder.
    sources
        Files, which are the same if their dates and sizes are.
    """
    stats = ((str(path), path.stat()) for path in sorted(sources))
    state = repr([(path, stat.st_mtime_ns, stat.st_size) for path, stat in stats])
    # The name of a file may be no longer than 255 bytes, but its path may.
    last = app.doctreedir / "sources" / sha256(str(target).encode()).hexdigest()
    if target.exists() and last.exists() and last.read_text(encoding="utf-8") == state:
        return
    last.unlink(missing_ok=True)  # if the build is killed now, the target is made again
    make()
    last.parent.mkdir(exist_ok=True)
    last.write_text(state, encoding="utf-8")
