"""What a build that goes on from the last one does again, as in a preview while somebody writes."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import made_up
import pytest
from sites import copy_project, own_lock

PAGE = "basics/introduction"


class Preview:
    """A copy of the project, and its site after each build."""

    def __init__(self, folder: Path) -> None:
        self.project = copy_project(folder)
        self.html = folder / "docs" / "_build" / "preview"
        self.record = folder / "docs" / "_build" / "records" / f"{PAGE}.json"

    def build(self) -> str:
        """Build what has changed; return what is said."""
        doctrees = self.project / "docs" / "_build" / "doctrees"
        command = (sys.executable, "-m", "sphinx", "-d", doctrees, self.project / "docs", self.html)
        environment = {
            "JAXCAP_TUTORIALS": PAGE,
            "MPLBACKEND": "agg",
            "PYTHONPATH": str(self.project / "src"),
            **own_lock(self.project),
        }
        done = subprocess.run(
            command,
            env=os.environ | environment,
            capture_output=True,
            encoding="utf-8",
            check=False,
        )
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    def append(self, file: str, text: str) -> None:
        """Edit a file."""
        with (self.project / file).open("a", encoding="utf-8") as opened:
            opened.write(text)

    def measured(self) -> str:
        """Return the record of the tutorial's last run."""
        return self.record.read_text(encoding="utf-8")


@pytest.fixture(scope="module")
def preview(tmp_path_factory: pytest.TempPathFactory) -> Preview:
    """A preview that was built once."""
    made = Preview(tmp_path_factory.mktemp("preview") / "copy")
    made.build()
    return made


def test_recording_is_shown_without_running_or_reading_anything_else(preview: Preview) -> None:
    before = preview.measured()
    experiment = PAGE.replace("/", " ")
    made_up.save(preview.project / "docs" / "recorded", made_up.measured(experiment, "ab", [{}]))
    said = preview.build()
    assert preview.measured() == before
    page = (preview.html / f"tutorials/{PAGE}.html").read_text(encoding="utf-8")
    assert page.count("New GPU") > 4, "in two tables, their notes and below the figure"
    assert read(said) == {
        *(f"tutorials/{PAGE}", "index"),
        *("results/index", "results/claims", "results/roofline", "results/then_and_now"),
    }
    assert read(preview.build()) == set()


def read(said: str) -> set[str]:
    """Return the pages that a build has read."""
    return set(re.findall(r"^reading sources\.\.\. .*\] (.*)$", said, re.MULTILINE))


def test_only_what_pages_show_makes_tutorials_run_again(preview: Preview) -> None:
    page, before = preview.html / f"tutorials/{PAGE}.html", preview.measured()
    preview.append("docs/_static/jaxcap.css", ".only-here { color: red }\n")
    preview.append("docs/measuring.md", "\nEdited.\n")
    preview.append("docs/_ext/jaxcap_docs/write/pages.py", "\n# edited\n")
    said = preview.build()
    assert preview.measured() == before
    # The page is not read again, and yet has the new styles.
    assert f"] tutorials/{PAGE}\n" not in said
    assert 'href="../../_static/jaxcap.css' in page.read_text(encoding="utf-8")
    assert ".only-here" in (preview.html / "_static" / "jaxcap.css").read_text(encoding="utf-8")

    preview.append("docs/_ext/jaxcap_docs/image_files.py", "\n# edited\n")
    preview.build()
    assert preview.measured() != before
