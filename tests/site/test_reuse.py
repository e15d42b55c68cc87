"""Builds that take what earlier ones kept: what runs again, what is shown, and what a kill leaves."""

from __future__ import annotations

import json
import os
import random
import re
import signal
import subprocess
import time
from pathlib import Path
from typing import Any

import pytest
from sites import build, copy_project, nox_docs

from jaxcap.results import ResultSet

PAGE = "basics/generators"
MEASURING = '''"""
A lesson
========

It measures :measured:`several` keys.
"""
# %%
from jaxcap.experiments.keys import KEYS, SPLIT_EACH

results = KEYS.run(points=KEYS.points[:1], processes=1, budget_s=0.001)
batch = results.speedup("split into all", over="split one by one")  # which the home page quotes
results

# %%
import matplotlib.pyplot as plt

several = results[0].parameters["keys"]
print("the code ran")
_ = plt.plot([1, 2])
'''
# All that may differ between a build that measured and one that shows the same again.
DATES = re.compile(
    r"\d{4}-\d\d-\d\d(T[\d:.]+(Z|\+00:00)?| \d\d:\d\d UTC)?(, (not )?in this build)?"
)


class Project:
    """A copy of the project, one of whose tutorials measures, and its site after each build."""

    def __init__(self, folder: Path) -> None:
        self.folder = copy_project(folder)
        self.html = folder / "docs" / "_build" / "html"
        self.script = folder / "gallery" / f"{PAGE}.py"
        self.script.write_text(MEASURING, encoding="utf-8")
        self.environment = {"PYTHONPATH": str(folder / "src")}  # not the package that is installed

    def build(self, *options: str) -> str:
        """Build, and return what is said."""
        done = build(self.folder, *options, **self.environment)
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout + done.stderr

    def edit(self, file: str, old: str, new: str) -> None:
        path = self.folder / file
        text = path.read_text(encoding="utf-8")
        assert old in text
        path.write_text(text.replace(old, new), encoding="utf-8")

    @property
    def record(self) -> Any:
        path = self.folder / "docs" / "_build" / "records" / f"{PAGE}.json"
        return json.loads(path.read_bytes())

    @property
    def page(self) -> str:
        return (self.html / "tutorials" / f"{PAGE}.html").read_text(encoding="utf-8")

    def files(self) -> dict[str, str]:
        """Return the text of each page and of each file of results, without dates."""
        paths = [p for p in self.html.rglob("*") if p.suffix in {".html", ".json", ".csv", ".svg"}]
        return {
            str(path.relative_to(self.html)): DATES.sub("(date)", path.read_text(encoding="utf-8"))
            for path in paths
        }

    def kept(self) -> list[Path]:
        return sorted((self.folder / "docs" / "_build" / "store" / "results").glob("*/*.json"))


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Project:
    """A project that was built once."""
    made = Project(tmp_path_factory.mktemp("reuse") / "copy")
    made.build()
    return made


def test_a_build_that_measures_nothing_shows_the_same(project: Project) -> None:
    before = project.files()
    said = project.build("--reuse")
    after = project.files()
    assert "Measured for" not in said
    assert after.keys() == before.keys()
    assert [name for name in before if after[name] != before[name]] == []


def test_a_changed_sentence_runs_nothing(project: Project) -> None:
    before = project.record
    project.edit(f"gallery/{PAGE}.py", "It measures", "Reworded, it measures")
    project.build("--reuse")
    assert "Reworded, it measures" in project.page
    assert "the code ran" in project.page
    assert project.record == before


def test_changed_code_runs_and_takes_the_results(project: Project) -> None:
    before = project.record
    project.edit(f"gallery/{PAGE}.py", "the code ran", "other code ran")
    project.build("--reuse")
    assert "other code ran" in project.page
    assert project.record["results"] == before["results"]
    assert project.record["duration_s"] != before["duration_s"]


def test_a_changed_experiment_is_measured_again(project: Project) -> None:
    before = project.record["results"]
    with (project.folder / "src/jaxcap/kernels/keys.py").open("a", encoding="utf-8") as kernel:
        kernel.write("\nUNUSED = 1\n")
    said = project.build("--reuse")
    after = project.record["results"]
    assert "Measured for" in said
    assert after[0]["comparison"] != before[0]["comparison"]


def test_a_quick_build_leaves_what_is_kept(project: Project) -> None:
    before = {path: path.read_bytes() for path in project.kept()}
    project.build("--quick", PAGE)
    assert project.record["results"][0]["budget_s"] <= 0.001
    assert {path: path.read_bytes() for path in project.kept()} == before


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--machine", "nothing-like-it"), "there is no folder nothing-like-it of a machine"),
        (("--reuse", "--machine", "x"), "not allowed with argument"),
        (("--again",), "unrecognized arguments: --again"),
    ],
)
def test_wrong_options_are_refused_before_anything_is_removed(
    options: tuple[str, ...], message: str, project: Project
) -> None:
    before = project.page
    done = build(project.folder, *options)
    assert done.returncode != 0
    assert message in done.stdout + done.stderr
    assert project.page == before


# In each of which the test takes as long as a build, at most. Ask for more after changing the store.
MOMENTS = int(os.environ.get("JAXCAP_TEST_KILLS", "3"))


def test_killed_at_any_moment_a_build_leaves_store_and_site_whole(project: Project) -> None:
    chance = random.Random(0)
    start_s = time.monotonic()
    project.build("--reuse")
    build_s = time.monotonic() - start_s
    before, kept = project.files(), len(project.kept())
    for moment in range(MOMENTS):
        project.edit(f"gallery/{PAGE}.py", "_ = plt.plot", f"x = {moment}\n_ = plt.plot")
        command, options = nox_docs(
            project.folder, *(("--reuse",) if moment % 2 else ()), **project.environment
        )
        process = subprocess.Popen(
            command,
            **options,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )
        time.sleep(chance.uniform(0, build_s))
        kill_session(process)
        for path in project.kept():
            if path.name != "environment.json":
                ResultSet.load(path)
        assert len(project.kept()) >= kept
        served = project.html if project.html.exists() else project.html.with_name("html.last")
        assert len(list(served.rglob("*.html"))) == sum(name.endswith(".html") for name in before)
    project.build("--reuse")
    assert project.files().keys() == before.keys()
    assert f"x = {MOMENTS - 1}" in re.sub(r"<[^>]+>", "", project.page)


def kill_session(process: subprocess.Popen[Any]) -> None:
    """Kill a process and all that it has started."""
    os.killpg(process.pid, signal.SIGKILL)
    process.wait()
