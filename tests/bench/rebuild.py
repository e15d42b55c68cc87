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
from collections.abc import Iterator
from itertools import product
from pathlib import Path
from statistics import median

from goals import Comparison, NotMeasuredError, briefly, run
from rich.progress import Progress
from sphinx_gallery.py_source_parser import split_code_and_text_blocks

from jaxcap.results.statistics import Speedup

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
            raise NotMeasuredError(f"a site could not be built:\n{done.stdout}{done.stderr}")
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


def compare(bar: Progress, quick: bool) -> Iterator[Comparison]:
    """Build both after each edit, in turns; nothing if it must be quick."""
    if quick:
        bar.console.print("left out: the two sites alone take minutes to build")
        return
    if not (ROOT / KEPT).exists():
        kept = (ROOT / KEPT).relative_to(ROOT)
        raise NotMeasuredError(f"{kept} has nothing to play back: run `nox -s docs` first")
    times_s: dict[tuple[str, Site], list[float]] = defaultdict(list)
    with tempfile.TemporaryDirectory() as parent:
        own, peer = ours(Path(parent, "ours")), stock(Path(parent, "stock"))
        for site in bar.track((peer, own), description="Building both sites"):
            site.build()
        edits = list(product(range(ROUNDS), MAX_RATIOS, (peer, own)))
        for _, what, site in bar.track(edits, description="Building them again"):
            site.edit(what)
            times_s[what, site].append(site.build())
    for what, most in MAX_RATIOS.items():
        ours_s, stock_s = times_s[what, own], times_s[what, peer]
        yield Comparison(
            name=f"rebuild after changing {what}",
            ours=f"{median(ours_s):.2f} s",
            peer=f"stock sphinx-gallery: {median(stock_s):.2f} s",
            ratio=Speedup.from_runs([[a / b] for a, b in zip(ours_s, stock_s, strict=True)]),
            most=most,
        )


if __name__ == "__main__":
    run({"rebuild": compare}, quick=briefly(__doc__))
