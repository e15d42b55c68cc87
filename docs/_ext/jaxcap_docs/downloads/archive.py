"""One archive of all that readers can run: tutorials, exercises, this package and its pins."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from zipfile import ZIP_DEFLATED, ZipFile, ZipInfo

from sphinx.application import Sphinx

from jaxcap_docs.downloads.data import WHEEL

NAME = "jaxcap-tutorials"
ARCHIVE = f"downloads/{NAME}.zip"
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


def pack(path: Path, files: Mapping[str, bytes]) -> None:
    """Write a ZIP archive that depends on the files' names and contents alone, not on their dates."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with ZipFile(path, "w") as archive:
        for name, content in sorted(files.items()):
            info = ZipInfo(name)
            info.external_attr = 0o644 << 16  # else nobody may read what was unpacked
            archive.writestr(info, content, ZIP_DEFLATED)


def write(app: Sphinx) -> None:
    """Serve the archive, of which the wheel and all notebooks must be there."""
    tutorials, exercises = app.srcdir / "tutorials", app.outdir / "exercises"
    files = {
        "README.txt": README.encode(),
        "requirements.txt": f"--constraint constraints.txt\n./{WHEEL}[all]\n".encode(),
        **_read(app.srcdir.parent, [app.srcdir.parent / "constraints.txt"]),
        **_read(app.outdir / "wheels", [app.outdir / "wheels" / WHEEL]),
        **_read(tutorials, tutorials.glob("*/*.py")),
        **_read(tutorials, tutorials.glob("*/*.ipynb")),
        **_read(exercises.parent, exercises.glob("*.ipynb")),
    }
    pack(app.outdir / ARCHIVE, {f"{NAME}/{name}": content for name, content in files.items()})


def _read(folder: Path, paths: Iterable[Path]) -> dict[str, bytes]:
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in paths}
