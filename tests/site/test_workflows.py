"""The workflows that may write: what they run, and what they make of a pull request's files."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml
from sites import ROOT

WORKFLOWS = {
    path.stem: yaml.safe_load(path.read_text(encoding="utf-8"))
    for path in (ROOT / ".github" / "workflows").glob("*.yml")
}
# Instead of GitHub's command: answers with a number, and notes what it is told.
GH = """#!/bin/sh
echo "$@" >> arguments
[ "$1" = api ] && printf '%s' "$NUMBER"
exit 0
"""


def triggers(name: str) -> set[str]:
    return set(WORKFLOWS[name][True])  # which is what YAML makes of "on"


def writing_jobs() -> list[tuple[str, str]]:
    return [
        (name, job)
        for name, workflow in WORKFLOWS.items()
        for job, content in workflow["jobs"].items()
        if "write" in content["permissions"].values()
    ]


def actions(job: dict[str, Any]) -> list[str]:
    return [step["uses"].partition("@")[0] for step in job["steps"] if "uses" in step]


def test_few_jobs_may_write() -> None:
    assert sorted(writing_jobs()) == [
        ("comment", "comment"),
        ("pages", "publish"),
        ("release", "publish"),
    ]
    assert all(workflow["permissions"] == {} for workflow in WORKFLOWS.values())


@pytest.mark.parametrize(("name", "job"), writing_jobs())
def test_what_may_write_never_starts_from_a_pull_request(name: str, job: str) -> None:
    assert not {"pull_request", "pull_request_target", "issue_comment"} & triggers(name)
    secrets = yaml.safe_dump(WORKFLOWS[name]["jobs"][job])
    assert "secrets." not in secrets


@pytest.mark.parametrize(
    ("name", "used"), [("comment", []), ("release", ["pypa/gh-action-pypi-publish"])]
)
def test_what_may_write_runs_no_code_of_ours(name: str, used: list[str]) -> None:
    ((_, job),) = [pair for pair in writing_jobs() if pair[0] == name]
    content = WORKFLOWS[name]["jobs"][job]
    assert actions(content) == used
    commands = " ".join(step.get("run", "") for step in content["steps"])
    assert not {"nox", "pip", "python", "jaxcap"} & set(commands.split())


def test_package_is_tried_before_pypi_has_it() -> None:
    jobs = WORKFLOWS["release"]["jobs"]
    assert "nox -s installed" in [step.get("run") for step in jobs["build"]["steps"]]
    assert jobs["publish"]["needs"] == "build"
    assert jobs["publish"]["environment"]["name"] == "pypi"
    assert jobs["publish"]["permissions"]["id-token"] == "write"


def test_comments_follow_the_check_of_recordings() -> None:
    assert WORKFLOWS["comment"][True]["workflow_run"]["workflows"] == [
        WORKFLOWS["recordings"]["name"]
    ]
    names = [
        step["with"]["name"]
        for step in WORKFLOWS["recordings"]["jobs"]["check"]["steps"]
        if "upload-artifact" in step.get("uses", "")
    ]
    assert f"--name {names[0]} " in step_with("review", "gh run download")["run"]


def step_with(job: str, part: str) -> dict[str, Any]:
    """Return the step of a job of comment.yml whose command has a part."""
    (step,) = [
        step for step in WORKFLOWS["comment"]["jobs"][job]["steps"] if part in step.get("run", "")
    ]
    assert isinstance(step, dict)
    return step


def run(step: dict[str, Any], folder: Path, **environment: str) -> subprocess.CompletedProcess[str]:
    """Run a step as GitHub does, with commands of ours in place of its own."""
    commands = {"gh": GH, "jaxcap": f'#!/bin/sh\nexec {sys.executable} -m jaxcap "$@"\n'}
    programs = folder / "programs"
    programs.mkdir()
    for name, text in commands.items():
        (programs / name).write_text(text, encoding="utf-8")
        (programs / name).chmod(0o755)
    return subprocess.run(
        ["bash", "-e", "-c", step["run"]],
        cwd=folder,
        env=os.environ | {"PATH": f"{programs}:{os.environ['PATH']}"} | environment,
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.mark.parametrize(
    ("content", "said"),
    [(None, "No recording differs"), ("{", "experiment.json is not valid JSON")],
)
def test_review_is_written_even_if_a_file_is_not_valid(
    tmp_path: Path, content: str | None, said: str
) -> None:
    (tmp_path / "docs").mkdir()
    for folder in ("docs/recorded", "recorded"):
        (tmp_path / folder / "device").mkdir(parents=True)
    if content:
        (tmp_path / "recorded" / "device" / "experiment.json").write_text(content, "utf-8")
    done = run(step_with("review", "results review"), tmp_path, URL="https://example.org/run")
    assert done.returncode == 0, done.stderr
    text = (tmp_path / "review" / "review.md").read_text(encoding="utf-8")
    assert said in text
    assert text.endswith("[artifacts of this run](https://example.org/run).\n")


@pytest.mark.parametrize("number", ["12", ""])
def test_comment_goes_to_the_pull_request_that_github_names(tmp_path: Path, number: str) -> None:
    step = step_with("comment", "gh pr comment")
    facts = {"HEAD": "somebody:$(touch ran)", "SHA": "c0ffee", "GH_REPO": "jaxcap/jaxcap"}
    done = run(step, tmp_path, NUMBER=number, **facts)
    assert done.returncode == 0, done.stderr
    asked, *commented = (tmp_path / "arguments").read_text(encoding="utf-8").splitlines()
    assert "head=somebody:$(touch ran)" in asked
    assert not (tmp_path / "ran").exists()
    wanted = "pr comment 12 --edit-last --create-if-none --body-file review/review.md"
    assert commented == ([wanted] if number else [])
