"""How a site is published beside its other versions, and how its links are checked."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
import yaml
from conftest import ROOT

PUBLISH = ROOT / ".github" / "publish.py"
WORKFLOW = yaml.safe_load((ROOT / ".github/workflows/pages.yml").read_text(encoding="utf-8"))
REPOSITORY = "https://github.com/jaxcap/jaxcap"


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
    assert {name for name in files if "/" in name} == {
        *(f"latest/{name}.html" for name in ("404", "index", "new")),
        *(f"v1.10.0/{name}.html" for name in ("404", "index", "ten")),
        *(f"v1.9.0/{name}.html" for name in ("404", "index", "nine")),
    }
    links = re.findall(r'href="(.*?)/"', files["versions.html"])
    assert links == ["latest", "v1.10.0", "v1.9.0"]
    assert files["404.html"] == "new"
    assert ".nojekyll" in files
    assert git(remote, "rev-list", "--count", "gh-pages").strip() == "1"


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
    # Its other command tells git how to log in.
    fake.write_text(
        f'#!/bin/sh\n[ "$1" = auth ] || cp -r "{site}" "$7"\necho "$@" >> "$GH_SAID"\n',
        encoding="utf-8",
    )
    fake.chmod(0o755)
    work = tmp_path / "work"
    (work / ".github").mkdir(parents=True)
    (work / ".github" / "publish.py").write_bytes(PUBLISH.read_bytes())
    environment = {
        "PATH": f"{fake.parent}:{os.environ['PATH']}",
        "GH_SAID": str(tmp_path / "said"),
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
    said = (tmp_path / "said").read_text(encoding="utf-8").splitlines()
    assert said == ["run download 1 --name site --dir site", "auth setup-git"]
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
    for name, job in WORKFLOW["jobs"].items():
        hosted = job["runs-on"] == "ubuntu-24.04"
        assert hosted or job["permissions"] == {"contents": "read"}
        writes = "write" in job["permissions"].values()
        assert writes == (name == "publish")
    assert WORKFLOW["jobs"]["build"]["needs"] == "admit"


@pytest.mark.parametrize("usable", [True, False])
def test_site_is_built_only_where_jax_uses_the_gpu(usable: bool, tmp_path: Path) -> None:
    commands = tmp_path / "docs" / "bin"
    commands.mkdir(parents=True)
    (commands / "activate").touch()
    for name, status in {"python": 0, "jaxcap": 0 if usable else 1, "nox": 0}.items():
        stub = commands / name
        stub.write_text(f'#!/bin/sh\necho {name} "$@"\nexit {status}\n', encoding="utf-8")
        stub.chmod(0o755)
    path = {"PATH": f"{commands}{os.pathsep}{os.environ['PATH']}", "RUNNER_TEMP": str(tmp_path)}
    done = subprocess.run(
        ["bash", "-e", "-c", steps("build")],
        env=os.environ | path,
        stdout=subprocess.PIPE,
        text=True,
        check=False,
    )
    assert "jaxcap doctor --require gpu" in done.stdout
    assert ("nox -s docs" in done.stdout) is usable
    assert (done.returncode == 0) is usable


class Server(BaseHTTPRequestHandler):
    """Answers with the status that the address names; to ``/slow`` not in time."""

    def do_GET(self) -> None:
        if self.path == "/slow":
            time.sleep(2)
        status = int(self.path[1:]) if self.path[1:].isdigit() else 200
        body = b'<p id="part"></p>'
        self.send_response(status)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        if self.command == "GET":
            self.wfile.write(body)

    def do_HEAD(self) -> None:
        self.do_GET()

    def log_message(self, *_: Any) -> None:
        pass


@pytest.fixture
def server() -> Iterator[str]:
    """Address of a server on this machine."""
    with ThreadingHTTPServer(("127.0.0.1", 0), Server) as running:
        thread = threading.Thread(target=running.serve_forever)
        thread.start()
        yield f"http://127.0.0.1:{running.server_port}"
        running.shutdown()
        thread.join()


CONFIGURATION = f"""
import sys
sys.path.insert(0, {str(ROOT / "docs" / "_ext")!r})
from jaxcap_docs import links
linkcheck_timeout = 0.5
linkcheck_rate_limit_timeout = 0.1
def setup(app):
    app.connect("build-finished", links.judge)
"""
REFUSED = "http://127.0.0.1:9/"


def check_links(folder: Path, *links: str) -> tuple[int, str]:
    """Check the links of a page; return the exit status and what it said last."""
    folder.mkdir()
    (folder / "conf.py").write_text(CONFIGURATION, encoding="utf-8")
    text = "\n".join(f"- `link {number} <{link}>`_" for number, link in enumerate(links))
    (folder / "index.rst").write_text(text, encoding="utf-8")
    command = [sys.executable, "-m", "sphinx", "-b", "linkcheck", "--no-color", ".", "out"]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    return done.returncode, done.stderr


def test_dead_links_fail_the_check_and_unreachable_ones_are_listed_apart(
    tmp_path: Path, server: str
) -> None:
    alive = [f"{server}/", f"{server}/#part"]
    dead = [f"{server}/404", f"{server}/410", f"{server}/#other", "missing.html"]
    away = [*(f"{server}/{what}" for what in ("429", "500", "503", "403", "slow")), REFUSED]
    status, said = check_links(tmp_path / "all", *alive, *dead, *away)
    assert status == 1
    not_reached, listed_dead = said.split("6 of 12 links not reached:")[1].split(
        "4 of 12 links dead:"
    )
    for links, listed in ((away, not_reached), (dead, listed_dead)):
        assert sorted(re.findall(r"index\.rst:\d+: (\S+)", listed)) == sorted(links)


def test_links_that_nobody_could_ask_are_not_dead(tmp_path: Path) -> None:
    status, said = check_links(tmp_path / "away", REFUSED, f"{REFUSED}other")
    assert status == 0
    assert "all of 2 links not reached" in said
    assert "dead" not in said
