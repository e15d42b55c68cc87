"""What readers download runs where there is nothing but the wheel that the site serves."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from urllib.parse import urljoin
from urllib.request import urlopen

import pytest
from bs4 import BeautifulSoup
from conftest import ROOT

# Of different sections, and not the slowest.
PAGES = ("basics/introduction", "performance/timing", "applications/calibration")
RUN_NOTEBOOK = """
import sys, nbclient, nbformat
nbclient.NotebookClient(nbformat.read(sys.argv[1], as_version=4), timeout=300).execute()
"""


class Quiet(SimpleHTTPRequestHandler):
    """Serves files without a line for each."""

    def log_message(self, *_: object) -> None: ...


@pytest.fixture(scope="module")
def site(html: Path) -> Iterator[str]:
    """Address of the built site, served on loopback."""
    with ThreadingHTTPServer(("127.0.0.1", 0), partial(Quiet, directory=str(html))) as server:
        Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}/"
        server.shutdown()


def links(url: str) -> list[str]:
    """Addresses that a page links to."""
    with urlopen(url) as answer:
        page = BeautifulSoup(answer.read(), "html.parser")
    return [urljoin(url, str(a["href"])) for a in page.find_all("a", href=True)]


@pytest.fixture(scope="module")
def python(site: str, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Interpreter of a fresh environment, with the wheel and its extras."""
    (wheel,) = {link for link in links(f"{site}index.html") if link.endswith(".whl")}
    folder = tmp_path_factory.mktemp("environment")
    subprocess.run([sys.executable, "-m", "venv", folder], check=True)
    python = shutil.which("python", path=os.pathsep.join((f"{folder}/bin", f"{folder}/Scripts")))
    assert python
    wanted = f"jaxcap[all] @ {wheel}"
    constraints = f"--constraint={ROOT / 'constraints.txt'}"
    subprocess.run([python, "-m", "pip", "install", "--quiet", constraints, wanted], check=True)
    return Path(python)


@pytest.mark.parametrize("suffix", [".py", ".ipynb"])
@pytest.mark.parametrize("page", PAGES)
def test_runs_with_the_wheel_alone(
    site: str, python: Path, page: str, suffix: str, tmp_path: Path
) -> None:
    (url,) = {link for link in links(f"{site}tutorials/{page}.html") if link.endswith(suffix)}
    with urlopen(url) as answer:
        file = tmp_path / f"page{suffix}"
        file.write_bytes(answer.read())
    script = ["-c", RUN_NOTEBOOK] if suffix == ".ipynb" else []
    done = subprocess.run(
        [python, *script, file],
        cwd=tmp_path,
        env={"PATH": "", "HOME": str(tmp_path), "MPLBACKEND": "agg"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
