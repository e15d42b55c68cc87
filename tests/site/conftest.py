"""The built site, as files, and copies of the project that are soon built."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from functools import cache, partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Any

import pytest
from bs4 import BeautifulSoup
from playwright.sync_api import Browser, sync_playwright

from jaxcap.measure.lock import LOCK

ROOT = Path(__file__).parents[2]
HTML = ROOT / "docs" / "_build" / "html"
TUTORIALS = sorted(
    path.relative_to(ROOT / "gallery").with_suffix("").as_posix()
    for path in ROOT.glob("gallery/*/*.py")
)
PAGES = sorted(
    path.relative_to(HTML).with_suffix("").as_posix()
    for path in HTML.rglob("*.html")
    if "_static" not in path.parts and path.name != "404.html"  # whose links are absolute
)

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
speedup = wave_speedup = scan = results.speedup("a", over="b")
_ = plt.plot([1, 2])

# %%
results

# %%
results.speedups(over="b")

# %%
from jaxcap.report import figures

_ = figures.bars(results)
'''
NOX = (sys.executable, "-m", "nox", "--session", "docs", "--no-venv")


@pytest.fixture(scope="session")
def html() -> Path:
    """Folder of the built site."""
    if not (HTML / "index.html").exists():
        pytest.fail(f"there is no site in {HTML.relative_to(ROOT)}: build it with `nox -s docs`")
    return HTML


@pytest.fixture(scope="session")
def read(html: Path) -> Read:
    """Parse a page, named like ``"tutorials/basics/introduction"``."""

    @cache
    def parse(page: str) -> BeautifulSoup:
        return BeautifulSoup((html / f"{page}.html").read_text(encoding="utf-8"), "html.parser")

    return parse


class Quiet(SimpleHTTPRequestHandler):
    """Serves files without a line for each."""

    def log_message(self, *_: object) -> None: ...


@pytest.fixture(scope="session")
def served(html: Path) -> Iterator[str]:
    """Address of the built site, served on loopback."""
    with ThreadingHTTPServer(("127.0.0.1", 0), partial(Quiet, directory=str(html))) as server:
        Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}/"
        server.shutdown()


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    """Chromium or Chrome, from wherever it is installed."""
    names = ("chromium", "google-chrome", "chrome")
    found = next(filter(None, map(shutil.which, names)), None)
    if found is None:
        pytest.fail("there is no browser to test with: install Chromium or Chrome")
    with sync_playwright() as driver:
        # As root, such as in a container, it starts only without its sandbox.
        launched = driver.chromium.launch(executable_path=found, args=["--no-sandbox"])
        yield launched
        launched.close()


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """Copy the project, with a lesson of a second in place of each tutorial, and little to run."""
    return copy_project(tmp_path / "copy")


def copy_project(copy: Path) -> Path:
    """Make such a copy."""
    ignored = shutil.ignore_patterns(
        "_build", "_backreferences", "__pycache__", "*.ipynb", "recorded"
    )
    for name in ("docs", "gallery", "src"):
        shutil.copytree(ROOT / name, copy / name, ignore=ignored)
    shutil.rmtree(copy / "docs" / "tutorials", ignore_errors=True)
    for name in ("noxfile.py", "pyproject.toml", "README.md", "LICENSE", "constraints.txt"):
        shutil.copy(ROOT / name, copy)
    for name in TUTORIALS:
        lesson = LESSON.format(name=name.replace("/", " "))
        (copy / "gallery" / f"{name}.py").write_text(lesson, encoding="utf-8")
    for page in copy.glob("docs/exercises/[0-9]*.md"):
        beginning, _, _ = page.read_text(encoding="utf-8").partition("```{code-cell}")
        page.write_text(beginning, encoding="utf-8")
    page = copy / "docs" / "command_line.md"
    kept = [line for line in page.read_text("utf-8").splitlines() if "command-output" not in line]
    page.write_text("\n".join(kept), encoding="utf-8")
    return copy


def build(project: Path, *patterns: str, **environment: str) -> subprocess.CompletedProcess[str]:
    command, options = nox_docs(project, *patterns, **environment)
    return subprocess.run(command, **options, capture_output=True, check=False)


def nox_docs(
    project: Path, *patterns: str, **environment: str
) -> tuple[tuple[str | Path, ...], dict[str, Any]]:
    """Give what builds a copy, and how to start it: from another folder, with a lock of its own."""
    options = {
        "cwd": project.parent,
        "env": os.environ | {"JAXCAP_LOCK": str(project / LOCK.name)} | environment,
        "encoding": "utf-8",
        "errors": "replace",
    }
    return (*NOX, "--noxfile", project / "noxfile.py", "--", *patterns), options


# Where the small site is said to be, as one of several versions: with a last slash or without.
SMALL_URL, VERSIONS_URL = (
    "https://owner.github.io/project/v1.2.3/",
    "https://owner.github.io/project",
)
MOVED = {"lessons/old name": "glossary"}


@pytest.fixture(scope="session")
def small_site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Folder of a site of two tutorials, with recordings that were added and no page edited.

    Its address is known, and it has a page that moved.
    """
    import made_up  # which imports this module

    project = copy_project(tmp_path_factory.mktemp("small") / "copy")
    claiming = project / "gallery" / f"{made_up.CLAIMING_PAGE}.py"
    claiming.write_text(made_up.CLAIMING, encoding="utf-8")
    made_up.record_claims(project / "docs" / "recorded")
    made_up.record_everything(project / "docs" / "recorded")
    with (project / "docs" / "conf.py").open("a", encoding="utf-8") as configuration:
        configuration.write(f"\nmoved_pages = {MOVED}\n")
    addresses = {"JAXCAP_SITE_URL": SMALL_URL, "JAXCAP_VERSIONS_URL": VERSIONS_URL}
    done = build(project, made_up.MEASURING_PAGE, made_up.CLAIMING_PAGE, **addresses)
    assert done.returncode == 0, done.stdout + done.stderr
    return project / "docs" / "_build" / "html"


@pytest.fixture(scope="session")
def read_small(small_site: Path) -> Read:
    """Parse a page of the small site."""
    return lambda page: BeautifulSoup(
        (small_site / f"{page}.html").read_text("utf-8"), "html.parser"
    )
