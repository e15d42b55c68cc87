"""The package as a wheel, and an archive of everything that readers can run with it."""

from __future__ import annotations

from collections.abc import Mapping
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
    """Serve an archive of tutorials, exercises, this package and its pins, unless all are unchanged.

    The wheel and all notebooks must have been written before.
    """
    tutorials, exercises = app.srcdir / "tutorials", app.outdir / "exercises"
    constraints, wheel = app.srcdir.parent / "constraints.txt", app.outdir / "wheels" / WHEEL
    pages = {
        path.relative_to(folder).as_posix(): path
        for folder, pattern in (
            (tutorials, "*/*.py"),
            (tutorials, "*/*.ipynb"),
            (exercises.parent, "exercises/*.ipynb"),
        )
        for path in folder.glob(pattern)
    }
    files = {"constraints.txt": constraints, WHEEL: wheel, **pages}
    target = app.outdir / ARCHIVE
    make_if_changed(app, target, files.values(), partial(_pack, target, files))


def _pack(target: Path, files: Mapping[str, Path]) -> None:
    requirements = f"--constraint constraints.txt\n./{WHEEL}[all]\n"
    content = {
        "README.txt": README.encode(),
        "requirements.txt": requirements.encode(),
        **{name: path.read_bytes() for name, path in files.items()},
    }
    pack(target, {f"{ARCHIVE_NAME}/{name}": content[name] for name in content})
