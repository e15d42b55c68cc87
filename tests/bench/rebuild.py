"""How long does it take to see an edit? This site beside a stock one, whose scripts compute nothing.

The stock site has Furo, sphinx-gallery, and as many scripts of the same lengths as this site. Both
are built by ``sphinx-build`` from what the last build left. Nothing is measured: this site plays back
what its last build kept.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections import defaultdict
from pathlib import Path
from statistics import median

from rich.console import Console
from rich.progress import track
from rich.table import Table
from sphinx_gallery.py_source_parser import split_code_and_text_blocks

ROOT = Path(__file__).parents[2]
ROUNDS = 5
# As the sessions `docs` and `serve` set them: modules stay compiled, and nothing is measured again.
ENVIRONMENT = {"JAXCAP_REUSE": "1", "MPLBACKEND": "agg", "PYTHONDONTWRITEBYTECODE": ""}
KEPT = Path("docs", "_build", "store")
GUIDE, TUTORIAL = "a paragraph of a guide", "a paragraph of a tutorial"
# How many times as long as the stock site ours may take after each edit.
MAX_RATIOS = {"nothing": 3.0, GUIDE: 3.0, TUTORIAL: 8.0}

STOCK_CONF = """\
extensions = ["myst_parser", "sphinx_gallery.gen_gallery"]
html_theme = "furo"
sphinx_gallery_conf = {
    "examples_dirs": ["../gallery"],
    "gallery_dirs": ["tutorials"],
    "filename_pattern": r"\\.py",
}
"""
STOCK_INDEX = """\
# Stock

```{toctree}
measuring
tutorials/index
```
"""


class Site:
    """A site in a folder of its own, which can be edited and built."""

    def __init__(self, folder: Path) -> None:
        self.docs = folder / "docs"
        self.environment = ENVIRONMENT | {"JAXCAP_STORE": str(folder / KEPT / "results")}
        self.edits = {
            GUIDE: (self.docs / "measuring.md", "\nOne more.\n"),
            TUTORIAL: (folder / "gallery" / "performance" / "dispatch_overhead.py", "#\n# More.\n"),
        }

    def edit(self, what: str) -> None:
        """Add a paragraph, if one is to be added."""
        if what in self.edits:
            path, paragraph = self.edits[what]
            path.write_text(path.read_text(encoding="utf-8") + paragraph, encoding="utf-8")

    def build(self) -> float:
        """Build what has changed, and return how many seconds that took."""
        built = self.docs / "_build"
        command = ("-m", "sphinx", "--quiet", "-d", built / "doctrees", self.docs, built / "html")
        start_s = time.perf_counter()
        done = subprocess.run(
            (sys.executable, *command),
            env=os.environ | self.environment,
            capture_output=True,
            encoding="utf-8",
            check=False,
        )
        took_s = time.perf_counter() - start_s
        if done.returncode:
            sys.exit(f"a site could not be built:\n{done.stdout}{done.stderr}")
        return took_s


def ours(folder: Path) -> Site:
    """Copy this site, with what its last build kept."""
    built = shutil.ignore_patterns("doctrees", "html*", "jupyter_execute", "preview", "__pycache__")
    for name in ("docs", "gallery", "src"):
        shutil.copytree(ROOT / name, folder / name, ignore=built)
    for name in ("LICENSE", "README.md", "constraints.txt", "pyproject.toml"):
        shutil.copy(ROOT / name, folder)
    return Site(folder)


def stock(folder: Path) -> Site:
    """Make a site with the same number of scripts, as long as ours."""
    gallery = folder / "gallery"
    for script in (ROOT / "gallery").glob("*/*.py"):
        write(gallery / script.relative_to(ROOT / "gallery"), computing_nothing(script))
    for path in (gallery, *gallery.iterdir()):
        write(path / "GALLERY_HEADER.rst", "Tutorials\n=========\n")
    site = Site(folder)
    write(site.docs / "conf.py", STOCK_CONF)
    write(site.docs / "index.md", STOCK_INDEX)
    write(site.docs / "measuring.md", "# Guide\n")
    return site


def computing_nothing(script: Path) -> str:
    """Return a script with a line of text for each that ours has, and a statement for each of code."""
    _, blocks = split_code_and_text_blocks(script)
    text = "Words in a line that is about as long as one of ours, which is seldom shorter.\n"
    title = f"{script.stem}\n{'=' * len(script.stem)}\n\n"
    parts = []
    for number, (kind, content, _) in enumerate(blocks):
        lines = len(content.strip().splitlines())
        if number == 0:  # the docstring
            parts.append(f'"""\n{title}{text * lines}"""\n')
        elif kind == "text":
            parts.append("# %%\n" + f"# {text}" * lines)
        else:
            parts.append("number = 1\n" * lines)
    return "\n".join(parts)


def write(path: Path, text: str) -> None:
    """Write a file, in a folder that is made if need be."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")


def main() -> None:
    """Build both after each edit, in turns; exit with 1 if ours takes too long."""
    if not (ROOT / KEPT).exists():
        sys.exit(
            f"{(ROOT / KEPT).relative_to(ROOT)} has nothing to play back: run `nox -s docs` first"
        )
    times_s: dict[tuple[str, str], list[float]] = defaultdict(list)
    with tempfile.TemporaryDirectory() as parent:
        sites = {"stock": stock(Path(parent, "stock")), "ours": ours(Path(parent, "ours"))}
        for site in track(sites.values(), "Building both sites"):
            site.build()
        for _ in track(range(ROUNDS), "Building them again"):
            for what in MAX_RATIOS:
                for name, site in sites.items():
                    site.edit(what)
                    times_s[what, name].append(site.build())
    table = Table("changed", "stock (s)", "ours (s)", "ratio", "at most")
    table.title = f"The median of {ROUNDS} builds"
    is_missed = False
    for what, most in MAX_RATIOS.items():
        stock_s, ours_s = (median(times_s[what, name]) for name in sites)
        table.add_row(
            what, f"{stock_s:.2f}", f"{ours_s:.2f}", f"{ours_s / stock_s:.1f}", f"{most:g}"
        )
        is_missed |= ours_s > most * stock_s
    Console().print(table)
    sys.exit(is_missed)


if __name__ == "__main__":
    main()
