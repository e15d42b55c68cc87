"""What readers download: names and addresses of files, text of notebooks, and archives."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from pathlib import Path
from zipfile import ZIP_DEFLATED, ZipFile, ZipInfo

import jaxcap
from jaxcap.results.recordings import Recording
from jaxcap_docs.lessons import EXERCISES_FOLDER

WHEEL = f"jaxcap-{jaxcap.__version__}-py3-none-any.whl"
ARCHIVE_NAME = "jaxcap-tutorials"
ARCHIVE = f"downloads/{ARCHIVE_NAME}.zip"

# Colab opens notebooks from a branch of a repository on GitHub. A site on GitHub Pages is on such a
# branch, and its address names the owner and the repository (unless it has a domain of its own, or
# is the owner's only site).
GITHUB_PAGES = re.compile(
    r"https://(?P<owner>[\w-]+)\.github\.io/(?P<repository>[\w.-]+)(?P<folder>/.*)?"
)
BRANCH = "gh-pages"

# :role:`text`, {role}`text`, or either of them with `text <target>`
ROLE = re.compile(
    r"[:{](?P<role>[a-z:]+)[:}]`~?(?P<text>[^`<]*[^`<\s])(?:\s*<(?P<target>[^`>]*)>)?`"
)


def results_folder(machine: Recording) -> str:
    """Return the folder of a machine's results: those of this build are beside the index."""
    return "" if machine.live else f"recorded/{machine.folder}/"


def notebook_names(exercise: str) -> tuple[str, str]:
    """Return the names of an exercise's notebooks: to work on, and with solutions."""
    stem = exercise.removeprefix(EXERCISES_FOLDER)
    return f"{stem}.ipynb", f"{stem}_solved.ipynb"


def without_roles(text: str, title_of: Callable[[str], str] = str) -> str:
    """Replace Sphinx's roles, which notebooks would show as they are.

    A link becomes its text, or what ``title_of`` returns for a page without one. Names of objects and
    of measured variables become code.
    """

    def replacement(role: re.Match[str]) -> str:
        if role["role"] not in {"doc", "ref"}:
            return f"`{role['text']}`"
        return role["text"] if role["target"] else title_of(role["text"])

    return ROLE.sub(replacement, text)


def colab_address(site: str, path: str) -> str | None:
    """Return the address at which Colab opens a notebook of a site, if it can."""
    match = GITHUB_PAGES.fullmatch(site.rstrip("/"))
    if match is None:
        return None
    owner, repository, folder = match.groups(default="")
    return f"https://colab.research.google.com/github/{owner}/{repository}/blob/{BRANCH}{folder}/{path}"


def install_cell(site: str) -> str:
    """Return the first cell of each notebook, which installs this package from the site.

    Without an address of the site, the cell only says where to read how to install it.
    """
    if not site:
        return (
            "# This notebook needs the package jaxcap. The site it comes from says how to install\n"
            '# that: on its first page, under "Run it yourself".'
        )
    # The extra "all" would replace Colab's kernel. An import would also succeed in a folder beside a
    # clone of the repository, where nothing is installed.
    return (
        "# Installs this site's package where it isn't yet, such as on Colab.\n"
        "from importlib.metadata import PackageNotFoundError, version\n\n"
        "try:\n"
        '    version("jaxcap")\n'
        "except PackageNotFoundError:\n"
        f'    %pip install --quiet "jaxcap[tutorials] @ {site.rstrip("/")}/wheels/{WHEEL}"'
    )


def pack(path: Path, files: Mapping[str, bytes]) -> None:
    """Write a ZIP archive that depends on the files' names and contents alone, not on their dates."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with ZipFile(path, "w") as archive:
        for name, content in sorted(files.items()):
            info = ZipInfo(name)
            info.external_attr = 0o644 << 16  # or unpacked files could not be read
            archive.writestr(info, content, ZIP_DEFLATED)
