"""What readers download runs where there is nothing but what the archive has."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from io import BytesIO
from pathlib import Path
from urllib.parse import urljoin
from urllib.request import urlopen
from zipfile import ZipFile

import pytest
from bs4 import BeautifulSoup
from sites import ROOT, TUTORIALS

from jaxcap.measure.settings import QUICK

# Of different sections, and not the slowest.
PAGES = ("basics/introduction", "performance/timing", "applications/calibration")
RUN_NOTEBOOK = """
import sys, nbclient, nbformat
nbclient.NotebookClient(nbformat.read(sys.argv[1], as_version=4), timeout=300).execute()
"""


def links(url: str) -> list[str]:
    """Addresses that a page links to."""
    with urlopen(url) as answer:
        page = BeautifulSoup(answer.read(), "html.parser")
    return [urljoin(url, str(a["href"])) for a in page.find_all("a", href=True)]


@pytest.fixture(scope="module")
def unpacked(served: str, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Folder that was in the archive which the landing page offers."""
    (url,) = {link for link in links(f"{served}index.html") if link.endswith(".zip")}
    folder = tmp_path_factory.mktemp("archive")
    with urlopen(url) as answer, ZipFile(BytesIO(answer.read())) as archive:
        assert {info.external_attr >> 16 for info in archive.infolist()} == {0o644}
        archive.extractall(folder)
    (only,) = folder.iterdir()
    return only


@pytest.fixture(scope="module")
def python(unpacked: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Interpreter of a fresh environment, into which was installed what the archive asks for."""
    folder = tmp_path_factory.mktemp("environment")
    subprocess.run([sys.executable, "-m", "venv", folder], check=True)
    python = shutil.which("python", path=os.pathsep.join((f"{folder}/bin", f"{folder}/Scripts")))
    assert python
    install = ("-m", "pip", "install", "-r", "requirements.txt")
    assert f"    python {' '.join(install)}\n" in readme(unpacked)
    subprocess.run([python, *install, "--quiet"], cwd=unpacked, check=True)
    return Path(python)


def readme(unpacked: Path) -> str:
    return (unpacked / "README.txt").read_text("utf-8")


def test_archive_has_all_pages_and_what_they_need(html: Path, unpacked: Path) -> None:
    files = {path.relative_to(unpacked).as_posix(): path for path in unpacked.rglob("*.*")}
    pages = {f"{name}{suffix}" for name in TUTORIALS for suffix in (".py", ".ipynb")}
    exercises = {path.relative_to(html).as_posix() for path in html.glob("exercises/*.ipynb")}
    (wheel,) = html.glob("wheels/*.whl")
    about = {"README.txt", "requirements.txt", "constraints.txt", wheel.name}
    assert exercises
    assert set(files) == pages | exercises | about
    kinds = (".py", ".ipynb", ".whl")
    served = {path.read_bytes() for path in html.rglob("*.*") if path.suffix in kinds}
    assert all(files[name].read_bytes() in served for name in files if name.endswith(kinds))
    assert files["constraints.txt"].read_bytes() == (ROOT / "constraints.txt").read_bytes()
    examples = re.findall(r"\b\w+/\w+\.(?:py|ipynb)\b", readme(unpacked))
    assert examples
    assert set(examples) <= pages


@pytest.mark.parametrize("suffix", [".py", ".ipynb"])
@pytest.mark.parametrize("page", PAGES)
def test_runs_with_the_archive_alone(
    served: str, python: Path, page: str, suffix: str, tmp_path: Path
) -> None:
    offered = [link for link in links(f"{served}tutorials/{page}.html") if link.endswith(suffix)]
    (url,) = {link for link in offered if link.startswith(served)}  # the other opens in Colab
    with urlopen(url) as answer:
        file = tmp_path / f"page{suffix}"
        file.write_bytes(answer.read())
    script = ["-c", RUN_NOTEBOOK] if suffix == ".ipynb" else []
    environment = {"PATH": "", "HOME": str(tmp_path), "MPLBACKEND": "agg"}
    if page != PAGES[0]:
        environment[QUICK] = "1"  # in full, the measurements of all pages would take minutes
    done = subprocess.run(
        [python, *script, file],
        cwd=tmp_path,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
