"""How a build goes wrong, tried on copies of the project with short tutorials."""

from __future__ import annotations

import os
import signal
import subprocess
import time
from pathlib import Path

import pytest
from conftest import NOX, TUTORIALS, Read, build
from filelock import FileLock
from interrupts import _heeding_ctrl_c  # noqa: F401  (a fixture)
from made_up import CLAIMING_PAGE, MEASURING_PAGE, OTHER_PAGES

from jaxcap import recording


def files(folder: Path) -> dict[str, bytes]:
    return {str(p.relative_to(folder)): p.read_bytes() for p in folder.rglob("*") if p.is_file()}


def put_a_site(html: Path) -> dict[str, bytes]:
    """Pretend that a site was built before."""
    html.mkdir(parents=True)
    (html / "index.html").write_text("the last good site", encoding="utf-8")
    return files(html)


def test_without_a_network_it_works_and_does_not_wait(project: Path) -> None:
    # A proxy that refuses at once, and one that would have to be looked up.
    unreachable = dict.fromkeys(("http_proxy", "https_proxy"), "http://127.0.0.1:9")
    done = build(project, **unreachable)
    assert done.returncode == 0, done.stdout + done.stderr
    assert (done.stdout + done.stderr).count("no network?") == 1
    html = project / "docs" / "_build" / "html"
    assert (html / "index.html").exists()
    assert not (html.parent / "html.next").exists()
    # Nobody said where it will be found.
    assert not (html / "sitemap.xml").exists()
    assert 'rel="canonical"' not in (html / "index.html").read_text(encoding="utf-8")
    assert 'href="/topics.html"' in (html / "404.html").read_text(encoding="utf-8")


def test_tutorial_that_raises_fails_the_build_and_is_named_last(project: Path) -> None:
    html = project / "docs" / "_build" / "html"
    good = put_a_site(html)
    (project / "gallery" / f"{TUTORIALS[0]}.py").write_text(
        '"""\nBroken\n======\n"""\n# %%\nraise RuntimeError("on purpose")\n', encoding="utf-8"
    )
    done = build(project)
    assert done.returncode != 0
    assert TUTORIALS[0] in done.stderr.strip().splitlines()[-1]
    assert "on purpose" in done.stdout + done.stderr
    assert files(html) == good, "a failed build must leave the last site alone"


def test_build_refuses_to_measure_while_another_does(project: Path) -> None:
    with FileLock(project / recording.LOCK.name):
        done = build(project)
        assert done.returncode != 0
        assert (
            "another recording or build is measuring on this machine" in done.stdout + done.stderr
        )


def test_pattern_runs_only_matching_tutorials(read_small: Read) -> None:
    for name in (MEASURING_PAGE, CLAIMING_PAGE):
        assert "not run in this build" not in read_small(f"tutorials/{name}").get_text()
    for name in OTHER_PAGES:
        assert "not run in this build" in read_small(f"tutorials/{name}").get_text()


@pytest.mark.usefixtures("_heeding_ctrl_c")
def test_interrupted_build_leaves_the_last_site_and_nothing_half_written(project: Path) -> None:
    html = project / "docs" / "_build" / "html"
    good = put_a_site(html)
    slow = project / "gallery" / f"{TUTORIALS[0]}.py"
    started = project / "started"
    slow.write_text(
        slow.read_text("utf-8") + f"from pathlib import Path\nPath({str(started)!r}).touch()\n"
        "import time\ntime.sleep(60)\n",
        encoding="utf-8",
    )
    running = subprocess.Popen([*NOX], cwd=project, start_new_session=True)
    try:
        deadline = time.monotonic() + 60
        while not started.exists():
            assert time.monotonic() < deadline
            assert running.poll() is None
            time.sleep(0.1)
        os.killpg(running.pid, signal.SIGINT)
        assert running.wait(30) != 0
    finally:
        if running.poll() is None:
            os.killpg(running.pid, signal.SIGKILL)
            running.wait()
    assert files(html) == good
    records = project / "docs" / "_build" / "records"
    assert not (records / TUTORIALS[0]).exists()
