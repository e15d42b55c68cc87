"""How long does it take to see an edit? This site beside a stock one of scripts that compute nothing.

The stock site has sphinx-gallery and Furo, and as many scripts of the same lengths. Both are built by
`sphinx-build` from what the last build left. Nothing is measured here: this site plays back what its
last build kept in ``docs/_build/store``.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from statistics import median

from rich.console import Console
from rich.progress import track
from rich.table import Table
from sphinx_gallery.py_source_parser import split_code_and_text_blocks

ROOT = Path(__file__).parents[2]
STORE = ROOT / "docs" / "_build" / "store"
ROUNDS = 5
# How many times as long as the stock site ours may take.
MAX_RATIOS = {"nothing": 3.0, "a paragraph of a guide": 3.0, "a paragraph of a tutorial": 8.0}

STOCK_CONF = """\
project = "stock"
extensions = ["sphinx_gallery.gen_gallery"]
html_theme = "furo"
sphinx_gallery_conf = {
    "examples_dirs": ["../gallery"],
    "gallery_dirs": ["tutorials"],
    "filename_pattern": r"\\.py",
}
"""
STOCK_INDEX = """\
Stock
=====

.. toctree::

   guide
   tutorials/index
"""


@dataclass(frozen=True)
class Site:
    """A site that can be built and edited.

    Attributes
    ----------
    folder
        With the folders ``docs`` and ``gallery``.
    pages
        What to edit for each entry of ``MAX_RATIOS``, and what to append to it.
    """

    folder: Path
    pages: dict[str, tuple[Path, str]]

    def edit(self, what: str) -> None:
        """Add a paragraph, if one is to be added."""
        if what in self.pages:
            path, paragraph = self.pages[what]
            with path.open("a", encoding="utf-8") as file:
                file.write(paragraph)

    def build(self) -> float:
        """Build what has changed, and return how many seconds that took."""
        docs = self.folder / "docs"
        built = docs / "_build"
        command = (sys.executable, "-m", "sphinx", "--quiet", "-d", built / "doctrees", docs)
        start_s = time.perf_counter()
        done = subprocess.run(
            (*command, built / "html"),
            env=os.environ | {"JAXCAP_REUSE": "1", "MPLBACKEND": "agg"},
            capture_output=True,
            encoding="utf-8",
            check=False,
        )
        took_s = time.perf_counter() - start_s
        if done.returncode:
            sys.exit(f"{self.folder.name} could not be built: {done.stdout}{done.stderr}")
        return took_s


def ours(folder: Path) -> Site:
    """Copy this site, with what its last build kept."""
    ignored = shutil.ignore_patterns("doctrees", "html", "html.*", "preview", "__pycache__")
    for name in ("docs", "gallery", "src"):
        shutil.copytree(ROOT / name, folder / name, ignore=ignored)
    for name in ("pyproject.toml", "README.md", "LICENSE", "constraints.txt"):
        shutil.copy(ROOT / name, folder)
    return Site(
        folder,
        {
            "a paragraph of a guide": (folder / "docs" / "measuring.md", "\nOne more.\n"),
            "a paragraph of a tutorial": (
                folder / "gallery" / "performance" / "dispatch_overhead.py",
                "#\n# One more.\n",
            ),
        },
    )


def stock(folder: Path) -> Site:
    """Make a site of scripts whose text is ours, and whose code is as long and computes nothing."""
    for script in sorted((ROOT / "gallery").glob("*/*.py")):
        copy = folder / script.relative_to(ROOT)
        copy.parent.mkdir(parents=True, exist_ok=True)
        header = "Section\n=======\n"
        (copy.parent / "GALLERY_HEADER.rst").write_text(header, encoding="utf-8")
        copy.write_text(computing_nothing(script), encoding="utf-8")
    (folder / "gallery" / "GALLERY_HEADER.rst").write_text("Gallery\n=======\n", encoding="utf-8")
    docs = folder / "docs"
    docs.mkdir()
    guide = docs / "guide.rst"
    for path, text in {
        docs / "conf.py": STOCK_CONF,
        docs / "index.rst": STOCK_INDEX,
        guide: "Guide\n=====\n\nText.\n",
    }.items():
        path.write_text(text, encoding="utf-8")
    tutorial = folder / "gallery" / "performance" / "dispatch_overhead.py"
    return Site(
        folder,
        {
            "a paragraph of a guide": (guide, "\nOne more.\n"),
            "a paragraph of a tutorial": (tutorial, "#\n# One more.\n"),
        },
    )


def computing_nothing(script: Path) -> str:
    """Return a script with a title, and with a word for each line of text and of code."""
    _, blocks = split_code_and_text_blocks(script)
    parts = [f'"""\n{script.stem}\n{"=" * len(script.stem)}\n"""\n']
    for kind, content, _ in blocks:
        lines = len(content.splitlines())
        if kind == "text":
            parts.append("# %%\n" + "# A line that is about as long as one of ours.\n" * lines)
        else:
            parts.append("number = 1\n" * lines)
    return "\n".join(parts)


def main() -> None:
    """Build both after each kind of edit, in turns; exit with 1 if ours takes too long."""
    if not STORE.exists():
        sys.exit("there are no results to play back: build the site with `nox -s docs`")
    with tempfile.TemporaryDirectory() as parent:
        sites = {"stock": stock(Path(parent, "stock")), "ours": ours(Path(parent, "ours"))}
        for site in track(sites.values(), "Building both sites"):
            site.build()
        times_s: dict[tuple[str, str], list[float]] = {}
        for _ in track(range(ROUNDS), "Building them again"):
            for what in MAX_RATIOS:
                for name, site in sites.items():
                    site.edit(what)
                    times_s.setdefault((what, name), []).append(site.build())
    table = Table("changed", *(f"{name} (s)" for name in sites), "ratio", "at most")
    table.title = f"The median of {ROUNDS} builds"
    is_missed = False
    for what, most in MAX_RATIOS.items():
        stock_s, ours_s = (median(times_s[what, name]) for name in sites)
        ratio = ours_s / stock_s
        is_missed |= ratio > most
        table.add_row(what, f"{stock_s:.2f}", f"{ours_s:.2f}", f"{ratio:.1f}", f"{most:.0f}")
    Console().print(table)
    sys.exit(is_missed)


if __name__ == "__main__":
    main()
