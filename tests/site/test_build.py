"""How builds fail, and what they tolerate, tried on copies with short tutorials."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import tarfile
import time
from pathlib import Path

import pytest
from filelock import FileLock
from interrupts import _heeding_ctrl_c  # noqa: F401  (a fixture)
from made_up import CLAIMING_PAGE, MEASURING_PAGE, OTHER_PAGES
from sites import BUILD_LOG, Read, build, copy_project, nox_docs

from jaxcap.measure.machine.lock import LOCK

# By page, a cell that must fail the build, and what is then said.
BAD = {
    "basics/introduction": ("raise KeyError('on purpose')", "KeyError: 'on purpose'"),
    "basics/jnp_and_numpy": (
        "import time\ntime.sleep(60)",
        "LimitError: ran longer than 3 s",
    ),
    "basics/random_numbers": (
        "print('x' * 10**7)",
        "LimitError: a cell printed 10,000,000 characters or more, and 100,000 are the limit",
    ),
}
PAGE = next(iter(BAD))
FULL = """
from pathlib import Path
try:
    Path("../../docs/_build/filler").write_bytes(bytes(200 * 2**20))
except OSError:
    pass
"""
# A disk of its own for what is built, with a site on it, which is shown in the end.
ON_A_SMALL_DISK = """
mount -t tmpfs -o size=100m tmpfs docs/_build || exit
mkdir docs/_build/html
echo "the last good site" > docs/_build/html/index.html
"$@"
cat docs/_build/html/index.html
"""
# Cells that are added to two lessons.
NEEDING = {
    "transformations/many_gradients": "import torch",
    "applications/calibration": "from jaxcap.mnist import data\n\ndata.load()",
}
RUN = ("basics", *NEEDING)


def html_of(project: Path) -> Path:
    return project / "docs" / "_build" / "html"


def files(folder: Path) -> dict[str, bytes]:
    return {str(p.relative_to(folder)): p.read_bytes() for p in folder.rglob("*") if p.is_file()}


def differing(folder: Path, other: Path) -> set[str]:
    """Names of files that are not the same in both folders."""
    return {name for name, _ in files(folder).items() ^ files(other).items()}


def put_a_site(project: Path) -> dict[str, bytes]:
    """Pretend that a site was built before."""
    html = html_of(project)
    html.mkdir(parents=True)
    (html / "index.html").write_text("the last good site", encoding="utf-8")
    return files(html)


def put_a_cell(project: Path, page: str, code: str) -> None:
    """Replace a tutorial by one of a single cell."""
    text = f'"""\nBroken\n======\n"""\n# %%\n{code}\n'
    (project / "gallery" / f"{page}.py").write_text(text, encoding="utf-8")


def last_words(done: subprocess.CompletedProcess[str]) -> str:
    return done.stderr.strip().splitlines()[-1]


def poor_surroundings(project: Path) -> dict[str, str]:
    """Give a build no network, no PyTorch and no MNIST, and a clock that stands still."""
    path = (Path(__file__).with_name("elsewhere"), project / "src")
    return {
        # One that refuses at once, and not one that would have to be looked up.
        **dict.fromkeys(("http_proxy", "https_proxy"), "http://127.0.0.1:9"),
        "JAXCAP_MNIST_DIR": "",
        "XDG_CACHE_HOME": str(project.parent / "empty"),
        "PYTHONPATH": os.pathsep.join(map(str, path)),
    }


@pytest.fixture(scope="module")
def poor(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Copy the project, with lessons that need what may be missing."""
    project = copy_project(tmp_path_factory.mktemp("poor") / "copy")
    for page, cell in NEEDING.items():
        path = project / "gallery" / f"{page}.py"
        path.write_text(f"{path.read_text('utf-8')}\n# %%\n{cell}\n", encoding="utf-8")
    return project


@pytest.fixture(scope="module")
def unpacked(poor: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Unpack a source distribution of that in somebody else's checkout, of a difficult name."""
    folder = tmp_path_factory.mktemp("sdist") / "Größe & Maß 大きさ"
    subprocess.run(["git", "init", "--quiet", folder], check=True)
    author = ("-c", "user.name=Somebody", "-c", "user.email=somebody@else")
    commit = ("commit", "--quiet", "--allow-empty", "--message=Theirs")
    subprocess.run(["git", "-C", folder, *author, *commit], check=True)
    command = (sys.executable, "-m", "hatchling", "build", "--target", "sdist", "--directory")
    subprocess.run([*command, folder], cwd=poor, check=True)
    (archive,) = folder.glob("*.tar.gz")
    with tarfile.open(archive) as packed:
        packed.extractall(folder, filter="data")
    return folder / archive.name.removesuffix(".tar.gz")


@pytest.fixture(scope="module")
def built_unpacked(unpacked: Path) -> subprocess.CompletedProcess[str]:
    """Build it in another language, too."""
    language = {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}
    other = {"PYTHONHASHSEED": "1", "TZ": "Pacific/Kiritimati"}
    return build(unpacked, *RUN, **poor_surroundings(unpacked), **language, **other)


def test_poor_surroundings_do_not_matter(
    unpacked: Path, built_unpacked: subprocess.CompletedProcess[str]
) -> None:
    said = built_unpacked.stdout + built_unpacked.stderr
    assert built_unpacked.returncode == 0, said
    html = html_of(unpacked)
    assert not html.with_name("html.next").exists()
    # Nobody said where it will be found.
    assert not (html / "sitemap.xml").exists()
    assert 'rel="canonical"' not in (html / "index.html").read_text(encoding="utf-8")
    assert 'href="/topics.html"' in (html / "404.html").read_text(encoding="utf-8")
    gradients, calibration = (
        (html / "tutorials" / f"{page}.html").read_text("utf-8") for page in NEEDING
    )
    assert "not run in this build, because PyTorch is not installed" in gradients
    assert "the class-balanced subset of this package" in calibration
    assert "<dt>Commit</dt>" not in calibration


@pytest.mark.usefixtures("_heeding_ctrl_c", "built_unpacked")
def test_interrupted_build_leaves_the_last_site_and_the_next_is_like_any_other(
    poor: Path, unpacked: Path
) -> None:
    html = html_of(poor)
    good = put_a_site(poor)
    # As a build would leave it that was killed while it put its site in the place of the last.
    html.rename(html.with_name("html.last"))
    (html.with_name("html.next") / "left over").mkdir(parents=True)
    command, options = nox_docs(poor, *RUN, **poor_surroundings(poor), PYTHONHASHSEED="2")
    records = html.with_name("records")
    running = subprocess.Popen(command, **options, start_new_session=True)
    try:
        deadline = time.monotonic() + 300
        while not (records / f"{PAGE}.json").exists():
            assert time.monotonic() < deadline
            assert running.poll() is None
            time.sleep(0.1)
        os.killpg(running.pid, signal.SIGINT)
        assert running.wait(120) != 0
    finally:
        if running.poll() is None:
            os.killpg(running.pid, signal.SIGKILL)
            running.wait()
    assert files(html) == good
    assert not (records / "applications").exists()

    again = subprocess.run(command, **options, capture_output=True, check=False)
    assert again.returncode == 0, again.stdout + again.stderr
    assert differing(html, html_of(unpacked)) == set()
    assert {path.name for path in html.parent.glob("html*")} == {"html"}


def test_tutorials_that_fail_are_named_last_with_their_reasons(project: Path) -> None:
    good = put_a_site(project)
    for page, (code, _) in BAD.items():
        put_a_cell(project, page, code)
    done = build(project, *BAD, JAXCAP_TIME_LIMIT_S="3")
    assert done.returncode != 0
    for page, (_, reason) in BAD.items():
        assert f"{page} ({reason}" in last_words(done)
    assert "raise KeyError" in done.stdout + done.stderr, "where it happened must be seen, too"
    assert files(html_of(project)) == good


@pytest.mark.parametrize(
    "code",
    ["import sys\nsys.exit()", "from itertools import repeat\nsum(repeat(0, 10**10))"],
    ids=["exits", "hangs"],
)
def test_tutorial_from_which_nothing_returns_is_named(project: Path, code: str) -> None:
    good = put_a_site(project)
    failing, fatal, *_ = BAD  # of one section
    put_a_cell(project, failing, BAD[failing][0])
    put_a_cell(project, fatal, code)
    done = build(project, failing, fatal, JAXCAP_TIME_LIMIT_S="3")
    assert done.returncode != 0
    assert f"{failing} ({BAD[failing][1]}" in last_words(done)
    assert f"{fatal} (the build ended while it ran" in last_words(done)
    assert files(html_of(project)) == good


def test_time_limit_must_be_one(project: Path) -> None:
    done = build(project, PAGE, JAXCAP_TIME_LIMIT_S="soon")
    assert done.returncode != 0
    assert "JAXCAP_TIME_LIMIT_S is 'soon': set it to" in done.stdout + done.stderr
    assert "report this" not in done.stdout + done.stderr


def test_build_that_cannot_write_says_so(project: Path) -> None:
    html_of(project).parent.write_text("no folder", encoding="utf-8")
    done = build(project)
    assert done.returncode != 0
    assert f"cannot be built in {html_of(project).parent} (File exists)" in last_words(done)


def test_build_without_room_says_so_before_it_measures(project: Path) -> None:
    good = put_a_site(project)
    command, options = nox_docs(project, PAGE)
    limited = ("sh", "-c", 'ulimit -f 2048; exec "$@"', "sh", *command)  # no file above a mebibyte
    done = subprocess.run(limited, **options, capture_output=True, check=False)
    assert done.returncode != 0
    assert "(File too large): make sure that you may write there" in last_words(done)
    assert "generating gallery" not in done.stdout
    assert files(html_of(project)) == good


def test_build_on_a_disk_that_gets_full_says_so_and_leaves_the_last_site(project: Path) -> None:
    own_mounts = ("unshare", "--user", "--map-root-user", "--mount")
    try:
        subprocess.run([*own_mounts, "mount", "-t", "tmpfs", "tmpfs", project], check=True)
    except (OSError, subprocess.CalledProcessError):
        pytest.skip("needs a system that lets users mount a small disk")
    (project / "docs" / "_build").mkdir()
    put_a_cell(project, PAGE, FULL)
    command, options = nox_docs(project, PAGE)
    done = subprocess.run(
        [*own_mounts, "sh", "-c", ON_A_SMALL_DISK, "sh", *command],
        **options | {"cwd": project},
        capture_output=True,
        check=False,
    )
    assert "(No space left on device): make sure" in last_words(done)
    assert done.stdout.endswith("the last good site\n")


def test_build_refuses_to_measure_while_another_does(project: Path) -> None:
    with FileLock(project / LOCK.name):
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


def test_a_busy_machine_is_told_to_those_who_build(small_site: Path, read_small: Read) -> None:
    shown = read_small(f"tutorials/{CLAIMING_PAGE}").select_one(".sphx-glr-script-out").get_text()
    assert shown.strip() == "UserWarning: lists are short"
    log = (small_site.parents[2] / BUILD_LOG).read_text(encoding="utf-8")
    assert f"{CLAIMING_PAGE}: UserWarning: other work took 50% of the CPU" in log
