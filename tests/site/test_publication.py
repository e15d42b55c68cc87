"""How a site is published beside its other versions."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path

import pytest
import yaml
from jaxcap_docs.run import inventories
from sites import ROOT

PUBLISH = ROOT / ".github" / "publish.py"
WORKFLOW = yaml.safe_load((ROOT / ".github/workflows/pages.yml").read_text(encoding="utf-8"))
REPOSITORY = "https://github.com/jaxcap/jaxcap"
# Instead of GitHub's command: puts the built site where it is told to put a download.
GH = """#!/bin/sh
echo "$@" >> "$GH_ARGUMENTS"
while [ $# -gt 0 ]; do [ "$1" = --dir ] && cp -r "$BUILT" "$2"; shift; done
exit 0
"""


def git(folder: Path, *arguments: str) -> str:
    who = ("-c", "user.name=Somebody", "-c", "user.email=somebody@example.org")
    command = ["git", *who, *arguments]
    return subprocess.run(command, cwd=folder, check=True, capture_output=True, text=True).stdout


@pytest.fixture
def remote(tmp_path: Path) -> Path:
    """An empty repository to push to."""
    git(tmp_path, "init", "--bare", "--quiet", "remote")
    return tmp_path / "remote"


def make_site(tmp_path: Path, text: str) -> Path:
    """Pretend that a site was built: three pages, of which the last has a name of its own."""
    site = tmp_path / f"site {text}"
    site.mkdir()
    for name in ("index", "404", text):
        (site / f"{name}.html").write_text(text, encoding="utf-8")
    return site


def publish(site: Path, version: str, remote: Path) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, str(PUBLISH), str(site), version, str(remote)]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def served(remote: Path) -> dict[str, str]:
    """Return the text of all files on the branch."""
    names = git(remote, "ls-tree", "-r", "--name-only", "gh-pages").splitlines()
    return {name: git(remote, "show", f"gh-pages:{name}") for name in names}


def test_versions_lie_side_by_side_and_the_root_leads_to_the_newest_release(
    tmp_path: Path, remote: Path
) -> None:
    for version, text in (("latest", "old"), ("v1.10.0", "ten"), ("v1.9.0", "nine")):
        done = publish(make_site(tmp_path, text), version, remote)
        assert done.returncode == 0, done.stderr
        newest = "latest" if version == "latest" else "v1.10.0"
        assert f"url={newest}/" in served(remote)["index.html"]
    assert publish(make_site(tmp_path, "new"), "latest", remote).returncode == 0
    files = served(remote)
    assert {name for name in files if re.match(r"(latest|v[\d.]+)/", name)} == {
        *(f"latest/{name}.html" for name in ("404", "index", "new")),
        *(f"v1.10.0/{name}.html" for name in ("404", "index", "ten")),
        *(f"v1.9.0/{name}.html" for name in ("404", "index", "nine")),
    }
    links = re.findall(r'href="(.*?)/"', files["versions.html"])
    assert links == ["latest", "v1.10.0", "v1.9.0"]
    assert json.loads(files["versions.json"]) == {"newest": "v1.10.0", "versions": links}
    assert files["404.html"] == "new"
    assert ".nojekyll" in files
    assert git(remote, "rev-list", "--count", "gh-pages").strip() == "1"


def test_the_last_releases_of_the_newest_minor_versions_stay(tmp_path: Path, remote: Path) -> None:
    released = [f"v0.{minor}.{patch}" for minor in range(25) for patch in (0, 1)]
    push_tree(tmp_path, remote, [*(f"{name}/index.html" for name in released), "latest/index.html"])
    done = publish(make_site(tmp_path, "new"), "v1.0.0", remote)
    assert done.returncode == 0, done.stderr
    kept = ["latest", "v1.0.0", *(f"v0.{minor}.1" for minor in range(24, 5, -1))]
    files = served(remote)
    assert json.loads(files["versions.json"])["versions"] == kept
    assert {name.partition("/")[0] for name in files if "/" in name} == {*kept, "history"}
    assert "v0.24.0 is no longer served: v1.0.0 is the newest" in done.stdout


def push_tree(tmp_path: Path, remote: Path, names: Iterable[str]) -> None:
    """Push files to the branch at once."""
    work = tmp_path / "tree"
    for name in names:
        (work / name).parent.mkdir(parents=True, exist_ok=True)
        (work / name).write_text("old", encoding="utf-8")
    git(work, "init", "--quiet")
    git(work, "add", "--all")
    git(work, "commit", "--quiet", "--message", "old")
    git(work, "push", "--quiet", str(remote), "HEAD:refs/heads/gh-pages")


def test_each_publication_leaves_what_it_measured(tmp_path: Path, remote: Path) -> None:
    sites = [make_site(tmp_path, text) for text in ("first", "second", "without")]
    for site, day in zip(sites[:2], (21, 22), strict=True):
        entry = {"built_at": f"2026-11-{day}T10:00:00Z", "commit": "../../c0ffee-dirty"}
        (site / "history.json").write_text(json.dumps(entry), encoding="utf-8")
    for site, version in zip([*sites, sites[1]], ("v1.0.0", *["latest"] * 3), strict=True):
        assert publish(site, version, remote).returncode == 0
    files = served(remote)
    names = json.loads(files["history/index.json"])
    assert names == ["20261121100000-c0ffee-dirty.json", "20261122100000-c0ffee-dirty.json"]
    for name, site in zip(names, sites, strict=False):
        assert files[f"history/{name}"] == (site / "history.json").read_text(encoding="utf-8")


def test_the_history_ends_at_a_thousand_publications(tmp_path: Path, remote: Path) -> None:
    earlier = [f"{number:014}-commit.json" for number in range(1000)]
    push_tree(tmp_path, remote, [f"history/{name}" for name in earlier])
    site = make_site(tmp_path, "new")
    entry = {"built_at": "2026-11-21T10:00:00Z", "commit": None}
    (site / "history.json").write_text(json.dumps(entry), encoding="utf-8")
    assert publish(site, "latest", remote).returncode == 0
    names = git(remote, "ls-tree", "--name-only", "gh-pages:history").splitlines()
    kept = [*earlier[1:], "20261121100000-unknown.json"]
    assert names == [*kept, "index.json"]
    assert json.loads(git(remote, "show", "gh-pages:history/index.json")) == kept


def test_what_is_no_version_or_no_site_is_refused(tmp_path: Path, remote: Path) -> None:
    site = make_site(tmp_path, "any")
    for version in ("main", "v1.2", "v1.2.3rc1", "../latest"):
        done = publish(site, version, remote)
        assert done.returncode != 0
        assert f"{version!r} is neither 'latest' nor like 'v1.2.3'" in done.stderr
    done = publish(tmp_path, "latest", remote)
    assert done.returncode != 0
    assert "there is no site in" in done.stderr
    assert git(remote, "branch", "--list") == ""


def test_publication_is_tried_again_when_somebody_else_was_faster(
    tmp_path: Path, remote: Path
) -> None:
    hook = remote / "hooks" / "pre-receive"
    hook.write_text("#!/bin/sh\n[ -e refused ] || { touch refused; exit 1; }\n", encoding="utf-8")
    hook.chmod(0o755)
    assert publish(make_site(tmp_path, "first"), "latest", remote).returncode == 0
    before = served(remote)
    hook.write_text("#!/bin/sh\nexit 1\n", encoding="utf-8")
    done = publish(make_site(tmp_path, "second"), "latest", remote)
    assert done.returncode != 0
    assert "did not take the site in 3 tries" in done.stderr.splitlines()[-1]
    assert served(remote) == before


def steps(job: str) -> str:
    """Return what a job runs, as one script."""
    return "\n".join(step["run"] for step in WORKFLOW["jobs"][job]["steps"] if "run" in step)


def test_job_that_publishes_does_so(tmp_path: Path, remote: Path) -> None:
    site = make_site(tmp_path, "built")
    fake = tmp_path / "bin" / "gh"
    fake.parent.mkdir()
    fake.write_text(GH, encoding="utf-8")
    fake.chmod(0o755)
    work = tmp_path / "work"
    (work / ".github").mkdir(parents=True)
    (work / ".github" / "publish.py").write_bytes(PUBLISH.read_bytes())
    environment = {
        "PATH": f"{fake.parent}:{os.environ['PATH']}",
        "GH_ARGUMENTS": str(tmp_path / "arguments"),
        "BUILT": str(site),
        "GITHUB_RUN_ID": "1",
        "GITHUB_SERVER_URL": "https://github.com",
        "GITHUB_REPOSITORY": "jaxcap/jaxcap",
        "VERSION": "latest",
        # What is meant for the server goes into the folder.
        "GIT_CONFIG_COUNT": "1",
        "GIT_CONFIG_KEY_0": f"url.{remote}.insteadOf",
        "GIT_CONFIG_VALUE_0": REPOSITORY,
    }
    command = ["bash", "-euo", "pipefail", "-c", steps("publish")]
    done = subprocess.run(
        command,
        cwd=work,
        env=os.environ | environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    download, login = (tmp_path / "arguments").read_text(encoding="utf-8").splitlines()
    assert download.startswith("run download 1 ")
    assert login == "auth setup-git"
    assert served(remote)["latest/built.html"] == "built"


def test_tags_of_what_is_not_on_main_are_not_admitted(tmp_path: Path, remote: Path) -> None:
    git(tmp_path, "clone", "--quiet", str(remote), "work")
    work = tmp_path / "work"
    for branch in ("main", "other"):
        git(work, "checkout", "--quiet", "-b", branch)
        git(work, "commit", "--quiet", "--allow-empty", "--message", branch)
        git(work, "push", "--quiet", "origin", branch)
    for branch, admitted in (("main", True), ("other", False)):
        git(work, "checkout", "--quiet", "--detach", branch)
        done = subprocess.run(["bash", "-e", "-c", steps("admit")], cwd=work, check=False)
        assert (done.returncode == 0) is admitted


def test_only_the_job_that_publishes_may_write_and_no_pull_request_starts_any() -> None:
    assert set(WORKFLOW[True]) == {"push", "workflow_dispatch"}  # YAML 1.1 takes "on" for true
    assert WORKFLOW["permissions"] == {}
    jobs = WORKFLOW["jobs"]
    for name, job in jobs.items():
        hosted = job["runs-on"] == "ubuntu-24.04"
        assert hosted or job["permissions"] == {"contents": "read"}
        writes = "write" in job["permissions"].values()
        assert writes == (name == "publish")


def test_what_is_published_was_admitted_built_and_tested() -> None:
    jobs = WORKFLOW["jobs"]
    assert jobs["build"]["needs"] == jobs["build-on-gpu"]["needs"] == "admit"
    assert jobs["build"]["if"] == "vars.JAXCAP_GPU_RUNNER != 'true'"
    assert jobs["build-on-gpu"]["if"] == "vars.JAXCAP_GPU_RUNNER == 'true'"
    assert jobs["test"]["needs"] == ["build", "build-on-gpu"]
    assert "contains(needs.*.result, 'success')" in jobs["test"]["if"]
    assert jobs["publish"]["needs"] == "test"
    assert "needs.test.result == 'success'" in jobs["publish"]["if"]
    download = 'gh run download "$GITHUB_RUN_ID" --name site --dir docs/_build/html'
    *before, last = steps("test").splitlines()
    assert download in before
    assert last == "nox -s site"


def test_no_site_is_published_without_links_to_other_documentation() -> None:
    builds = [
        step
        for job in WORKFLOW["jobs"].values()
        for step in job["steps"]
        if "nox -s docs" in step.get("run", "")
    ]
    assert len(builds) == 2
    assert all(step["env"][inventories.REQUIRED] == "1" for step in builds)


def run_job(job: str, folder: Path, **environment: str) -> subprocess.CompletedProcess[str]:
    """Run what a job runs, with the commands that are in a folder."""
    path = {"PATH": f"{folder}{os.pathsep}{os.environ['PATH']}"}
    return subprocess.run(
        ["bash", "-e", "-c", steps(job)],
        env=os.environ | path | environment,
        stdout=subprocess.PIPE,
        text=True,
        check=False,
    )


def make_stubs(folder: Path, **statuses: int) -> None:
    """Write commands that say how they were called."""
    folder.mkdir(parents=True)
    for name, status in statuses.items():
        stub = folder / name
        stub.write_text(f'#!/bin/sh\necho {name} "$@"\nexit {status}\n', encoding="utf-8")
        stub.chmod(0o755)


@pytest.mark.parametrize(
    ("machine", "options"), [("nvidia-h200", "--machine nvidia-h200"), ("", "--reuse")]
)
def test_hosted_runner_builds_from_the_machine_that_is_named(
    machine: str, options: str, tmp_path: Path
) -> None:
    make_stubs(tmp_path / "bin", python=0, nox=0)
    done = run_job("build", tmp_path / "bin", MACHINE=machine)
    assert done.returncode == 0
    assert done.stdout.splitlines()[-1] == f"nox -s docs -- {options}"


@pytest.mark.parametrize("usable", [True, False])
def test_site_is_measured_only_where_jax_uses_the_gpu(usable: bool, tmp_path: Path) -> None:
    commands = tmp_path / "docs" / "bin"
    make_stubs(commands, python=0, jaxcap=0 if usable else 1, nox=0)
    (commands / "activate").touch()
    done = run_job("build-on-gpu", commands, RUNNER_TEMP=str(tmp_path))
    assert "jaxcap doctor --require gpu" in done.stdout
    assert ("nox -s docs" in done.stdout) is usable
    assert (done.returncode == 0) is usable
