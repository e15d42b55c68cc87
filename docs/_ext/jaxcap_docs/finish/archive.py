"""The package as a wheel, and an archive of everything that readers can run with it."""

from __future__ import annotations

from collections.abc import Iterable
from functools import partial
from pathlib import Path

from hatchling.builders.wheel import WheelBuilder
from sphinx.application import Sphinx

from jaxcap_docs.downloads import ARCHIVE, ARCHIVE_NAME, WHEEL, pack
from jaxcap_docs.sources import make_if_changed, package_files

README = """\
The tutorials and exercises of jaxcap
=====================================

Here are all scripts and notebooks of the site, its package, and in constraints.txt the exact
versions of all that they ran with. With Python 3.11 or newer, install in this folder:

    python -m venv .venv && . .venv/bin/activate
    python -m pip install -r requirements.txt

On Windows, the first is: python -m venv .venv && .venv\\Scripts\\activate

On Linux, add to the second
    "jax[cuda13]"
        if there is an NVIDIA GPU: JAX then computes on it
    --extra-index-url https://download.pytorch.org/whl/cpu
        if there is none: PyTorch then comes without gigabytes of CUDA libraries

Run a script, which shows what it prints:

    python basics/introduction.py

or open a notebook, which shows each result and plot:

    python -m pip install jupyterlab && jupyter lab basics/introduction.ipynb

The exercises have two notebooks each: one to work on, and one with the solutions.
"""


def write_wheel(app: Sphinx) -> None:
    """Serve this package, which downloaded pages need, under ``wheels/``."""
    root, folder = app.srcdir.parent, app.outdir / "wheels"
    described_in = (root / name for name in ("LICENSE", "README.md", "pyproject.toml"))
    sources = (*described_in, *package_files(root / "src"))
    make_if_changed(app, folder / WHEEL, sources, partial(_build_wheel, root, folder))


def _build_wheel(root: Path, folder: Path) -> None:
    _ = list(WheelBuilder(str(root)).build(directory=str(folder), versions=["standard"]))


def write(app: Sphinx) -> None:
    """Serve an archive of tutorials, exercises, this package and its pins.

    The wheel and all notebooks must have been written before.
    """
    tutorials, exercises = app.srcdir / "tutorials", app.outdir / "exercises"
    files = {
        "README.txt": README.encode(),
        "requirements.txt": f"--constraint constraints.txt\n./{WHEEL}[all]\n".encode(),
        "constraints.txt": (app.srcdir.parent / "constraints.txt").read_bytes(),
        WHEEL: (app.outdir / "wheels" / WHEEL).read_bytes(),
        **_read(tutorials, tutorials.glob("*/*.py")),
        **_read(tutorials, tutorials.glob("*/*.ipynb")),
        **_read(exercises.parent, exercises.glob("*.ipynb")),
    }
    pack(app.outdir / ARCHIVE, {f"{ARCHIVE_NAME}/{name}": files[name] for name in files})


def _read(folder: Path, paths: Iterable[Path]) -> dict[str, bytes]:
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in paths}
