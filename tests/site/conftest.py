"""The built site, as files and as a server would serve it, and a small one that tests build."""

from __future__ import annotations

import gzip
import os
import shutil
from collections.abc import Iterator
from functools import cache, partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Any

import made_up
import pytest
import releases_made_up
from bs4 import BeautifulSoup
from filelock import FileLock
from playwright.sync_api import Browser, sync_playwright
from sites import BUILD_LOG, HTML, ROOT, SMALL_URL, VERSIONS_URL, Read, build, copy_project

# Files whose tests take minutes, because they build sites or open every page. They come first, because
# a worker that began one of them last would keep the other waiting.
LONG = {
    *("test_browser", "test_build", "test_incremental", "test_other_machine"),
    *("test_reuse", "test_running"),
}
COMPRESSED = {".css", ".csv", ".html", ".js", ".json", ".svg", ".txt", ".xml"}


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    items.sort(key=lambda item: item.path.stem not in LONG)


@pytest.fixture(scope="session")
def html() -> Path:
    """Folder of the built site."""
    if not (HTML / "index.html").exists():
        pytest.fail(f"there is no site in {HTML.relative_to(ROOT)}: build it with `nox -s docs`")
    return HTML


@pytest.fixture(scope="session")
def read(html: Path) -> Read:
    """Parse a page, named like ``"tutorials/basics/introduction"``."""
    return cache(partial(parse, html))


def parse(folder: Path, page: str) -> BeautifulSoup:
    return BeautifulSoup((folder / f"{page}.html").read_text(encoding="utf-8"), "html.parser")


class Handler(SimpleHTTPRequestHandler):
    """Serves files as hosts do: below the site's path, and compressed where that helps."""

    def __init__(self, prefix: str, *arguments: Any, **options: Any) -> None:
        self.prefix = prefix
        super().__init__(*arguments, **options)

    def translate_path(self, path: str) -> str:
        below = path.removeprefix(self.prefix)
        return super().translate_path(f"/{below}" if below != path else "/not served")

    def do_GET(self) -> None:
        path = Path(self.translate_path(self.path))
        accepted = self.headers.get("Accept-Encoding", "")
        if path.suffix not in COMPRESSED or not path.is_file() or "gzip" not in accepted:
            super().do_GET()
            return
        body = gzip.compress(path.read_bytes())
        self.send_response(200)
        self.send_header("Content-Type", self.guess_type(path))
        self.send_header("Content-Encoding", "gzip")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None: ...


@pytest.fixture(scope="session")
def served(html: Path) -> Iterator[str]:
    """Address of the built site, served on loopback at the path that it was built for."""
    missing = parse(html, "404")  # which alone has absolute links
    prefix = str(missing.select("link[rel=stylesheet]")[0]["href"]).partition("_static/")[0]
    handler = partial(Handler, prefix, directory=str(html))
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}{prefix}"
        server.shutdown()


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    """Chromium or Chrome, from wherever it is installed."""
    names = ("chromium", "google-chrome", "chrome")
    path = next(filter(None, map(shutil.which, names)), None)
    if path is None:
        pytest.fail("there is no browser to test with: install Chromium or Chrome")
    with sync_playwright() as driver:
        # As root, such as in a container, it starts only without its sandbox.
        launched = driver.chromium.launch(executable_path=path, args=["--no-sandbox"])
        yield launched
        launched.close()


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """Copy the project, with a lesson of a second in place of each tutorial, and little to run."""
    return copy_project(tmp_path / "copy")


@pytest.fixture(scope="session")
def small_site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Folder of a site of two tutorials, with recordings that were added and no page edited.

    Its address is known. The first worker that needs it builds it, and the others wait.
    """
    folder = tmp_path_factory.getbasetemp()
    if "PYTEST_XDIST_WORKER" in os.environ:
        folder = folder.parent  # shared by all workers of this run
    with FileLock(folder / "small.lock"):
        project = folder / "small"
        if not project.exists():
            build_small_site(project)
    html = project / "docs" / "_build" / "html"
    assert html.exists(), "the small site could not be built, see the first test that needs it"
    return html


def build_small_site(project: Path) -> None:
    copy_project(project)
    claiming = project / "gallery" / f"{made_up.CLAIMING_PAGE}.py"
    claiming.write_text(made_up.CLAIMING, encoding="utf-8")
    made_up.record_claims(project / "docs" / "recorded")
    made_up.record_everything(project / "docs" / "recorded")
    releases_made_up.record(project / "docs" / "recorded" / "made-up-cpu" / "releases")
    addresses = {"JAXCAP_SITE_URL": SMALL_URL, "JAXCAP_VERSIONS_URL": VERSIONS_URL}
    done = build(project, made_up.MEASURING_PAGE, made_up.CLAIMING_PAGE, **addresses)
    log = done.stdout + done.stderr
    (project / BUILD_LOG).write_text(log, encoding="utf-8")
    assert done.returncode == 0, log


@pytest.fixture(scope="session")
def read_small(small_site: Path) -> Read:
    """Parse a page of the small site."""
    return cache(partial(parse, small_site))
