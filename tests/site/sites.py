"""Sites to test: where the built one is, and copies of the project that are quickly built."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from jaxcap_docs.lessons import MOVED

from jaxcap.measure.machine.lock import LOCK

ROOT = Path(__file__).parents[2]
HTML = ROOT / "docs" / "_build" / "html"
BUILD_LOG = "build.log"  # of the small site, in its project
TUTORIALS = sorted(
    path.relative_to(ROOT / "gallery").with_suffix("").as_posix()
    for path in ROOT.glob("gallery/*/*.py")
)
# Without a site there is one page, for whose tests the fixture `html` fails and says what to do.
PAGES = sorted(
    {
        path.relative_to(HTML).with_suffix("").as_posix()
        for path in HTML.rglob("*.html")
        if "_static" not in path.parts
    }
    - {"404"}  # whose links are absolute
    - MOVED.keys()  # which browsers leave at once
) or ["index"]

Read = Callable[[str], Any]  # BeautifulSoup, whose types make each step optional

LESSON = '''"""
A lesson
========

It measures :measured:`speedup`.
"""
# %%
import matplotlib.pyplot as plt
from jaxcap.measure.timing import compare

results = compare({{"a": list, "b": dict}}, experiment="{name}", budget_s=0.01)
{quoted} = results.speedup("a", over="b")
_ = plt.plot([1, 2])

# %%
results

# %%
results.speedups(over="b")

# %%
from jaxcap.report import figures

_ = figures.bars(results)
'''
# Instead of most, because figures take a second, too.
SHORT_LESSON = '''"""
A lesson
========

It measures :measured:`speedup`.
"""
# %%
from jaxcap.measure.timing import compare

results = compare({{"a": list, "b": dict}}, experiment="{name}", budget_s=0.01)
{quoted} = results.speedup("a", over="b")
'''
DRAWING = {"basics/generators", "basics/introduction", "performance/timing"}
NOX = (sys.executable, "-m", "nox", "--session", "docs", "--no-venv")


def copy_project(copy: Path) -> Path:
    """Copy the project, with a lesson of a second in place of each tutorial, and little to run."""
    copy_without_interface(copy)
    home = (ROOT / "docs" / "index.md").read_text(encoding="utf-8")
    for name in TUTORIALS:
        quoted = {"speedup", *re.findall(rf"`{name}#(\w+)", home)}
        form = LESSON if name in DRAWING else SHORT_LESSON
        lesson = form.format(name=name.replace("/", " "), quoted=" = ".join(sorted(quoted)))
        (copy / "gallery" / f"{name}.py").write_text(lesson, encoding="utf-8")
    for page in copy.glob("docs/exercises/[0-9]*.md"):
        beginning, _, _ = page.read_text(encoding="utf-8").partition("```{code-cell}")
        _, _, text = beginning.partition("\n---\n")  # without a kernel to start
        page.write_text(text, encoding="utf-8")
    commands = re.compile(r"^\.\. command-output:.*\n(   :.*\n)*", re.MULTILINE)
    leave_out(commands, copy / "docs" / "command_line.md")
    return copy


def copy_without_interface(copy: Path) -> None:
    """Copy the project, whose interface would take as long to describe as half of the rest.

    Links to it lead nowhere, about which the copy doesn't warn.
    """
    ignored = shutil.ignore_patterns(
        "_build", "_backreferences", "__pycache__", "*.ipynb", "recorded"
    )
    for name in ("docs", "gallery", "src"):
        shutil.copytree(ROOT / name, copy / name, ignore=ignored)
    # The package has a copy of the recordings, of which here there are none. An archive of sources
    # leaves out empty folders.
    (copy / "docs" / "recorded").mkdir()
    (copy / "docs" / "recorded" / "none").touch()
    shutil.rmtree(copy / "docs" / "tutorials", ignore_errors=True)
    for name in ("noxfile.py", "pyproject.toml", "README.md", "LICENSE", "constraints.txt"):
        shutil.copy(ROOT / name, copy)
    leave_out(
        re.compile(r"^\.\. auto\w+::.*\n(   .*\n|\n(?=   ))*", re.MULTILINE),
        *copy.glob("docs/reference/*.rst"),
    )
    leave_out(re.compile("^nitpicky = True$", re.MULTILINE), copy / "docs" / "conf.py")


def leave_out(pattern: re.Pattern[str], *files: Path) -> None:
    for file in files:
        file.write_text(pattern.sub("", file.read_text(encoding="utf-8")), encoding="utf-8")


def build(project: Path, *patterns: str, **environment: str) -> subprocess.CompletedProcess[str]:
    """Build a copy with `nox -s docs`."""
    command, options = nox_docs(project, *patterns, **environment)
    return subprocess.run(command, **options, capture_output=True, check=False)


def nox_docs(
    project: Path, *patterns: str, **environment: str
) -> tuple[tuple[str | Path, ...], dict[str, Any]]:
    """Return the command that builds a copy, and its options: elsewhere, with a lock of its own."""
    options = {
        "cwd": project.parent,
        "env": os.environ | own_lock(project) | environment,
        "encoding": "utf-8",
        "errors": "replace",
    }
    return (*NOX, "--noxfile", project / "noxfile.py", "--", *patterns), options


def own_lock(project: Path) -> dict[str, str]:
    """Return the environment of a build that measures whatever others do, and that never waits."""
    return {"TMPDIR": str(project), "JAXCAP_LOCK": str(project / LOCK.name), "CI": ""}


# The address that the small site is built for, one with a last slash and one without.
SMALL_URL, VERSIONS_URL = (
    "https://owner.github.io/project/v1.2.3/",
    "https://owner.github.io/project",
)
