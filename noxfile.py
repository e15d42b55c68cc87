#!/usr/bin/env -S uv run --script
# /// script
# dependencies = ["nox"]
# ///
"""Everything that a maintainer does; ``nox -l`` lists the sessions."""

from __future__ import annotations

import argparse
import os
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from functools import cache
from http.client import HTTPException
from importlib.util import module_from_spec, spec_from_file_location
from itertools import takewhile
from pathlib import Path
from threading import Event, Thread
from types import ModuleType
from urllib.request import Request, urlopen

import nox
from nox.command import CommandFailed

nox.needs_version = ">=2025.5.1"
nox.options.default_venv_backend = "virtualenv"  # uv misses builds of torch that pip finds

ROOT = Path(__file__).parent
DOCS, BUILD = ROOT / "docs", ROOT / "docs" / "_build"
HTML, NEXT, LAST = BUILD / "html", BUILD / "html.next", BUILD / "html.last"
FAILED = BUILD / "failed-tutorials.txt"
RECORDED = DOCS / "recorded"
DIST = ROOT / "dist"
STYLE = ROOT / ".config" / "prose"
HARPERS_RULES = ("AvoidAndAlso", "Hedging", "LongSentences", "RedundantSuperlatives")
ROOM_MIB = 64  # about twice the size of a complete site
# Where builds and recordings keep what they measured.
STORE = {"JAXCAP_STORE": str(BUILD / "store" / "results")}
# What sphinx-gallery and our extension write while they run the tutorials and show results.
PLOTS = DOCS / "results" / "_plots"
GENERATED = (
    DOCS / "tutorials",
    PLOTS,
    DOCS / "results" / "experiments",
    DOCS / "reference" / "_backreferences",
    BUILD / "records",
    BUILD / "doctrees" / "html",
)
PROJECT = nox.project.load_toml("pyproject.toml")
NEWER_PYTHONS = ("3.12", "3.13", "3.14")
# By kind of distribution, the pattern of its file.
KINDS = {"sdist": "*.tar.gz", "wheel": "*.whl"}
# What a new user may try, in a folder that holds nothing else.
FIRST_STEPS = (
    "jaxcap --version",
    "jaxcap doctor",
    "jaxcap jit --budget 0.01 --json jit.json",
    "jaxcap results validate jit.json",
    "jaxcap releases show 'sort of 10,000 numbers'",  # from a recording that the package ships
    "python -m jaxcap results schema",
)
BENCHMARKS = ("lighthouse", "mnist", "precision", "rebuild", "start")
# Instead of the one from PyPI, which brings CUDA's libraries.
PYTORCH_FOR_CPU = "https://download.pytorch.org/whl/cpu/"


# The environment is kept, because nox would replace it before this function can take the lock.
@nox.session(default=False, reuse_venv=True)
def docs(session: nox.Session) -> None:
    """Build the site from fresh measurements; `-- PATTERN` runs matching tutorials only.

    `-- --reuse` measures only what isn't kept from an earlier build, or isn't current any more.
    `-- --machine NAME` measures nothing: NAME is the folder in docs/recorded whose results are shown.
    `-- --quick` only shows that everything works: its numbers are worth nothing, and aren't kept.
    """
    options = docs_options(session)
    with measuring_alone(session):
        session.env.update(options, JAXCAP_SESSION_START_S=str(time.time()))
        install(session, "docs", extra=tutorials_extra())
        with writing(session):
            require_room()
            if LAST.exists() and not HTML.exists():  # an earlier build was killed while it swapped
                LAST.rename(HTML)
            # Plots say what they were made from, so what isn't drawn anew is still right.
            kept = {PLOTS} if options["JAXCAP_REUSE"] else set()
            for path in {*GENERATED, NEXT, LAST} - kept:
                remove(path)
        build(session, "html", NEXT, "--fail-on-warning", "--keep-going")
        # Only a complete site replaces the last one, and until then that one stays.
        with writing(session):
            if HTML.exists():
                HTML.rename(LAST)
            NEXT.rename(HTML)
            remove(LAST)
    session.log(f"The site is at {(HTML / 'index.html').relative_to(ROOT)}")


@nox.session(default=False)
def serve(session: nox.Session) -> None:
    """Preview the site while writing, measuring only what has changed; `-- PATTERN` as in `docs`."""
    patterns = list(takewhile(lambda argument: not argument.startswith("-"), session.posargs))
    install(session, "serve", extra=tutorials_extra(), editable=True)
    ignored = [f"--ignore={path}" for path in (BUILD, *GENERATED)]
    watched = [f"--watch={ROOT / folder}" for folder in ("gallery", "src")]
    options: list[str | Path] = [
        "--nitpicky",
        "-d",
        BUILD / "doctrees" / "preview",
        *ignored,
        *watched,
        *session.posargs[len(patterns) :],
    ]
    chosen = {"JAXCAP_REUSE": "1", "JAXCAP_TUTORIALS": "|".join(patterns)}
    environment = docs_environment() | STORE | chosen
    session.run("sphinx-autobuild", *options, DOCS, BUILD / "preview", env=environment)


@nox.session(default=False)
def linkcheck(session: nox.Session) -> None:
    """Look for dead links without running anything."""
    nothing = ("-D", "sphinx_gallery_conf.filename_pattern=^$", "-D", "nb_execution_mode=off")
    with measuring_alone(session):  # it writes the files that `docs` generates
        install(session, "docs", extra=tutorials_extra())
        build(session, "linkcheck", BUILD / "linkcheck", *nothing)


@nox.session
def tests(session: nox.Session) -> None:
    """Run the tests of the package, with coverage."""
    install(session, "tests", extra="mnist,releases", editable=True)
    run_tests(session, "--cov")


@nox.session(default=False, python=NEWER_PYTHONS)
def compat(session: nox.Session) -> None:
    """Run the tests on a newer Python, with the newest JAX for it, and without PyTorch."""
    install(session, "tests-without-pytorch", extra="mnist,releases", editable=True)
    run_tests(session)


@nox.session(default=False)
def site(session: nox.Session) -> None:
    """Test the site that `docs` built, and how its build fails."""
    install(session, "site", extra="mnist")
    # The tests of a file run in one process, because they may share a small site. Some build
    # sites or install packages, which takes minutes.
    distribution = ("--dist=loadfile", "--no-loadscope-reorder")
    options = ("--numprocesses=2", *distribution, "--timeout=1200")
    session.run("pytest", *options, "tests/site", *session.posargs, env=docs_environment())


@nox.session(default=False)
def dist(session: nox.Session) -> None:
    """Build what is published on PyPI into `dist`: the sdist and the wheel."""
    session.install("--constraint=constraints.txt", "hatchling")
    remove(DIST)
    session.run("python", "-m", "hatchling", "build", "--directory", str(DIST))


@nox.session(default=False, requires=["dist"])
@nox.parametrize("kind", tuple(KINDS))
def installed(session: nox.Session, kind: str) -> None:
    """Install the sdist or the wheel into an empty environment, and try it there."""
    (file,) = DIST.glob(KINDS[kind])
    session.install("--constraint=constraints.txt", str(file))
    folder = Path(session.create_tmp())
    for path in folder.iterdir():
        remove(path)
    session.chdir(folder)  # from here, no sources of this checkout can be imported
    for step in FIRST_STEPS:
        session.run(*shlex.split(step), silent=step.endswith("schema"))


@nox.session
def lint(session: nox.Session) -> None:
    """Check style, prose, imports, workflows and the layout of the repository."""
    install(session, "lint", package=False)
    workflows = sorted(str(path) for path in ROOT.glob(".github/workflows/*.yml"))
    forms = sorted(str(path) for path in ROOT.glob(".github/ISSUE_TEMPLATE/*.yml"))
    session.run("ruff", "check")
    session.run("ruff", "format", "--check")
    session.run("lint-imports", env={"PYTHONPATH": f"{ROOT / 'src'}{os.pathsep}{DOCS / '_ext'}"})
    session.run("repo-review", ".")
    session.run("zizmor", "--offline", "--quiet", ".github")
    session.run("check-jsonschema", "--builtin-schema=vendor.github-workflows", *workflows)
    session.run("check-jsonschema", "--builtin-schema=vendor.dependabot", ".github/dependabot.yml")
    session.run("check-jsonschema", "--builtin-schema=vendor.github-issue-forms", *forms)
    session.run("check-jsonschema", "--builtin-schema=vendor.readthedocs", ".readthedocs.yaml")
    check_prose(session)


def check_prose(session: nox.Session) -> None:
    """Check spelling and style in pages, docstrings and comments."""
    session.run_install(
        "npm", "ci", "--prefix=.config", "--no-audit", "--no-fund", "--loglevel=error"
    )
    cspell = (".config/node_modules/cspell/bin.mjs", "--config=.config/cspell.yaml")
    session.run("node", *cspell, "--no-progress", "--no-summary")
    rules = sorted(STYLE.glob("*.weir"))
    for rule in rules:  # each has examples of what it finds
        session.run("harper", "test", str(rule), silent=True, log=False)
    pack = shutil.make_archive(str(Path(session.create_tmp(), "style")), "zip", STYLE)
    names = ",".join([*(rule.stem for rule in rules), *HARPERS_RULES])
    listing = ("git", "ls-files", "--cached", "--others", "--exclude-standard", "*.md", "*.py")
    listed = session.run(*listing, ":!*LICENSE.md", silent=True, external=True, log=False)
    session.run(
        *("harper", "lint", "--quiet", "--dialect=gb", "--user-dict-path=.config/words.txt"),
        *(f"--weirpacks={pack}", f"--only={names}", *str(listed).splitlines()),
        env={"RUST_BACKTRACE": "0"},
        log=False,
    )


@nox.session
def typing(session: nox.Session) -> None:
    """Check types with mypy in strict mode."""
    install(session, "typing", extra="mnist", editable=True)
    session.run("mypy", *session.posargs)


@nox.session(default=False)
def bench(session: nox.Session) -> None:
    """Compare with peers, beside our goals; `-- start`, `-- mnist` and so on show more of one.

    `-- --quick` only shows that everything works: its intervals are too wide to decide anything.
    """
    options = [argument for argument in session.posargs if argument == "--quick"]
    wanted = [argument for argument in session.posargs if argument not in options]
    if unknown := set(wanted) - set(BENCHMARKS):
        session.error(
            f"there is no benchmark {', '.join(sorted(unknown))}: choose from "
            f"{', '.join(BENCHMARKS)}"
        )
    with measuring_alone(session):
        install(session, "bench", extra="mnist")
        for name in wanted or ["ratios"]:
            session.run("python", f"tests/bench/{name}.py", *options)


@nox.session(default=False, reuse_venv=True)  # see `docs`
def record(session: nox.Session) -> None:
    """Record all experiments on this machine's best device; `-- NAME` records only those named."""
    with measuring_alone(session):
        install(session, "docs", extra=tutorials_extra())
        folder = ("--folder", str(RECORDED))
        session.run("jaxcap", "record", *folder, *session.posargs, env=docs_environment() | STORE)


@nox.session(default=False)
def lock(session: nox.Session) -> None:
    """Renew the exact versions in constraints.txt."""
    session.install("uv")
    path = ROOT / "constraints.txt"
    lines = path.read_text(encoding="utf-8").splitlines(keepends=True)
    header = "".join(takewhile(lambda line: line.startswith("#"), lines))
    session.run(
        *("uv", "pip", "compile", "pyproject.toml", "--universal", "--python-version=3.11"),
        *("--all-extras", "--group=dev", "--group=bench", "--upgrade"),
        *("--no-header", "--no-annotate", "--quiet", "--output-file=constraints.txt"),
    )
    path.write_text(header + path.read_text(encoding="utf-8"), encoding="utf-8")


def install(
    session: nox.Session,
    group: str,
    *,
    extra: str | None = None,
    editable: bool = False,
    package: bool = True,
) -> None:
    """Install a dependency group at the versions in constraints.txt, and this package."""
    # Without a virtual environment, as on a node without a network, all is installed already.
    if isinstance(session.virtualenv, nox.virtualenv.PassthroughEnv):
        return
    wanted = nox.project.dependency_groups(PROJECT, group)
    if may_spare_cuda(wanted, extra):
        # There is no output if nox was told to install nothing, and an error if uv made the
        # environment, without pip.
        command = ("python", "-m", "pip", "config", "list")
        settings = session.run_install(*command, silent=True, success_codes=(0, 1))
        if isinstance(settings, str) and (index := index_for_cpu(settings, answers_at_once)):
            session.log(f"PyTorch is taken from {index}, without libraries for CUDA")
            session.env["PIP_EXTRA_INDEX_URL"] = index
    target = f".[{extra}]" if extra else "."
    own = (*(["--editable"] if editable else []), target) if package else ()
    # Compiling on first import is faster, because these import little of what is installed. Tests
    # need it done before: they turn warnings into errors, the compiler's included.
    options = ("--no-compile",) if group in {"docs", "lint", "typing"} else ()
    session.install(*options, "--constraint=constraints.txt", *wanted, *own)


def may_spare_cuda(requirements: Iterable[str], extra: str | None) -> bool:
    """Whether PyTorch is wanted, and would come with libraries that this machine can't use."""
    wants_pytorch = extra == "all" or any(re.match(r"torch\b", name) for name in requirements)
    return wants_pytorch and sys.platform == "linux" and not has_nvidia_driver()


def index_for_cpu(pip_settings: str, answers: Callable[[str], bool]) -> str | None:
    """Return the index of PyTorch's CPU build if it answers and the user has chosen no index.

    ``pip_settings`` is what ``pip config list`` prints, of files and of environment variables.
    """
    if re.search(r"\.(extra-)?index-url=|\.no-index=|\.find-links=", pip_settings):
        return None
    return PYTORCH_FOR_CPU if answers(f"{PYTORCH_FOR_CPU}torch/") else None


@cache  # one run of nox asks once
def answers_at_once(address: str, limit_s: float = 1.0) -> bool:
    """Whether a server answers within the limit, which also bounds how long its name is looked up."""
    answered = Event()

    def ask() -> None:
        request = Request(address, method="HEAD")
        with suppress(OSError, HTTPException), urlopen(request, timeout=limit_s):
            answered.set()

    thread = Thread(target=ask, daemon=True)  # which nox doesn't wait for when it ends
    thread.start()
    thread.join(limit_s)
    return answered.is_set()


def run_tests(session: nox.Session, *options: str) -> None:
    """Run all tests but those of the site and those of what this machine has installed."""
    # Sessions install JAX for the CPU, which is no fault where there is a GPU.
    selection = ("--ignore=tests/site", "-m", "not installation")
    session.run("pytest", "--numprocesses=2", *selection, *options, *session.posargs)


@contextmanager
def measuring_alone(session: nox.Session) -> Iterator[None]:
    """Keep other builds and recordings on this machine from measuring meanwhile.

    If another one is measuring, end with a sentence; in CI, wait until it has ended.
    """
    module = lock_module()
    with ExitStack() as stack:
        try:
            stack.enter_context(module.measuring_alone())
        except module.BusyError as error:
            if not os.environ.get("CI"):
                session.error(str(error))
            session.log(f"CI waits for its turn: {error}")
            stack.enter_context(module.measuring_alone(wait=True))
        session.env["JAXCAP_LOCK_HELD"] = "1"  # commands of this session don't take it again
        yield


def lock_module() -> ModuleType:
    """Load what the package locks the machine with, before the package is installed.

    It needs filelock, which comes with nox.
    """
    path = ROOT / "src" / "jaxcap" / "measure" / "machine" / "lock.py"
    spec = spec_from_file_location("lock", path)
    assert spec is not None
    assert spec.loader is not None
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def build(session: nox.Session, builder: str, target: Path, *options: str) -> None:
    """Run Sphinx; if it fails, end with the reason where that is known."""
    remove(FAILED)
    doctrees = str(BUILD / "doctrees" / builder)
    command = ("sphinx-build", "--builder", builder, "--doctree-dir", doctrees)
    try:
        session.run(*command, *options, str(DOCS), str(target), env=docs_environment() | STORE)
    except CommandFailed:
        with writing(session):
            require_room()
        report_failures(session)
        raise
    report_failures(session)  # a tutorial may have ended Sphinx with success


def report_failures(session: nox.Session) -> None:
    """If tutorials failed, end with their names and reasons."""
    reasons = FAILED.read_text(encoding="utf-8").splitlines() if FAILED.exists() else []
    if reasons:
        session.error("these tutorials failed, see above: " + "; ".join(reasons))


@contextmanager
def writing(session: nox.Session) -> Iterator[None]:
    """End with one sentence if files can't be written, moved or removed."""
    try:
        yield
    except OSError as error:
        session.error(
            f"the site cannot be built in {error.filename or BUILD} ({error.strerror}): make sure "
            f"that you may write there, and that {ROOM_MIB} MiB are free"
        )


def require_room() -> None:
    """Write as much as the build will, where it will, to see that it can."""
    BUILD.mkdir(exist_ok=True)
    for folder, room_mib in (DOCS, 1), (BUILD, ROOM_MIB):
        with tempfile.TemporaryFile(dir=folder) as file:
            file.write(bytes(room_mib * 2**20))


def docs_options(session: nox.Session) -> dict[str, str]:
    """Return the environment variables that the arguments of the session `docs` ask for."""
    parser = argparse.ArgumentParser("nox -s docs --", add_help=False, allow_abbrev=False)
    how = parser.add_mutually_exclusive_group()
    how.add_argument("--reuse", action="store_true")
    how.add_argument("--machine", metavar="NAME")
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("patterns", nargs="*", metavar="PATTERN")
    asked = parser.parse_intermixed_args(session.posargs)
    machines = sorted(path.parent.name for path in RECORDED.glob("*/environment.json"))
    if asked.machine and asked.machine not in machines:
        session.error(
            f"there is no folder {asked.machine} of a machine in docs/recorded: choose from "
            f"{', '.join(machines)}"
        )
    return {
        "JAXCAP_TUTORIALS": "|".join(asked.patterns),
        "JAXCAP_REUSE": "1" if asked.reuse else "",
        "JAXCAP_QUICK": "1" if asked.quick else "",
        "JAXCAP_MACHINE": str(RECORDED / asked.machine) if asked.machine else "",
    }


def docs_environment() -> dict[str, str]:
    """Return the environment variables that the site is built with."""
    return {
        "JAXCAP_COMMIT": commit(),
        "MPLBACKEND": "agg",
        # OpenBLAS's threads spin for 2 to the power of so many cycles after a call, by default for 0.1 s,
        # and each next sample of another process would wait for that. These few milliseconds are longer
        # than any pause within a sample.
        "OPENBLAS_THREAD_TIMEOUT": os.environ.get("OPENBLAS_THREAD_TIMEOUT", "24"),
        # Many fresh processes import the same modules: let the first one keep them compiled.
        "PYTHONDONTWRITEBYTECODE": "",
        "PYTHONUTF8": "1",  # paths and the output of tutorials may need it in any locale
        "XLA_PYTHON_CLIENT_PREALLOCATE": "false",  # PyTorch needs memory of the same GPU
    }


def commit() -> str:
    """Return the abbreviated commit of this checkout, or nothing outside a checkout."""
    if not (ROOT / ".git").exists():  # unpacked, perhaps inside another checkout
        return ""
    command = ("git", "describe", "--always", "--dirty", "--abbrev=12", "--exclude=*")
    try:
        done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    except OSError:
        return ""
    return done.stdout.strip()


def tutorials_extra() -> str:
    """Return the extras that the tutorials need on this machine."""
    return "all,cuda" if has_nvidia_driver() else "all"


def has_nvidia_driver() -> bool:
    """Whether this machine could run JAX on an NVIDIA GPU."""
    return Path("/proc/driver/nvidia/version").exists() or shutil.which("nvidia-smi") is not None


def remove(path: Path) -> None:
    """Remove a file or a folder if it exists."""
    if path.is_dir():
        shutil.rmtree(path)
    else:
        path.unlink(missing_ok=True)


if __name__ == "__main__":
    nox.main()
