#!/usr/bin/env -S uv run --script
# /// script
# dependencies = ["nox"]
# ///
"""Everything that a maintainer does; ``nox -l`` lists the sessions."""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from importlib.util import module_from_spec, spec_from_file_location
from itertools import takewhile
from pathlib import Path
from types import ModuleType

import nox
from nox.command import CommandFailed

nox.needs_version = ">=2025.5.1"
nox.options.default_venv_backend = "virtualenv"  # uv misses builds of torch that pip finds

ROOT = Path(__file__).parent
DOCS, BUILD = ROOT / "docs", ROOT / "docs" / "_build"
HTML, NEXT, LAST = BUILD / "html", BUILD / "html.next", BUILD / "html.last"
FAILED = BUILD / "failed-tutorials.txt"
ROOM_MIB = 64  # about twice the size of a complete site
# What sphinx-gallery and our extension write while they run the tutorials and show results.
GENERATED = (
    DOCS / "tutorials",
    DOCS / "results" / "_plots",
    DOCS / "results" / "experiments",
    DOCS / "reference" / "_backreferences",
    BUILD / "records",
    BUILD / "doctrees" / "html",
)
PROJECT = nox.project.load_toml("pyproject.toml")
NEWER_PYTHONS = ("3.12", "3.13", "3.14")
BENCHMARKS = ("lighthouse", "mnist", "precision", "rebuild")


# The environment is kept, because nox would replace it before this function can take the lock.
@nox.session(default=False, reuse_venv=True)
def docs(session: nox.Session) -> None:
    """Build the site from fresh measurements; `-- PATTERN` runs matching tutorials only."""
    with measuring_alone(session):
        session.env["JAXCAP_SESSION_START_S"] = str(time.time())
        install(session, "docs", extra=tutorials_extra())
        with writing(session):
            require_room()
            if LAST.exists() and not HTML.exists():  # an earlier build was killed while it swapped
                LAST.rename(HTML)
            for path in (*GENERATED, NEXT, LAST):
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
    """Preview the site while writing; measures only what has changed."""
    install(session, "serve", extra=tutorials_extra(), editable=True)
    ignored = [f"--ignore={path}" for path in (BUILD, *GENERATED)]
    watched = [f"--watch={ROOT / folder}" for folder in ("gallery", "src")]
    options: list[str | Path] = [
        "--nitpicky",
        "-d",
        BUILD / "doctrees" / "preview",
        *ignored,
        *watched,
        *session.posargs,
    ]
    session.run("sphinx-autobuild", *options, DOCS, BUILD / "preview", env=docs_environment())


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
    install(session, "tests", extra="mnist", editable=True)
    run_tests(session, "--cov")


@nox.session(default=False, python=NEWER_PYTHONS)
def compat(session: nox.Session) -> None:
    """Run the tests on a newer Python, with the newest JAX for it, and without PyTorch."""
    install(session, "tests-without-pytorch", extra="mnist", editable=True)
    run_tests(session)


@nox.session(default=False)
def site(session: nox.Session) -> None:
    """Test the site that `docs` built, and how its build fails."""
    install(session, "site", extra="mnist")
    # The tests of a file run in one process, because they may share a small site. Some build
    # sites or install packages, which takes minutes.
    options = ("--numprocesses=2", "--dist=loadfile", "--timeout=1200")
    session.run("pytest", *options, "tests/site", *session.posargs, env=docs_environment())


@nox.session
def lint(session: nox.Session) -> None:
    """Check style, imports, workflows and the layout of the repository."""
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


@nox.session
def typing(session: nox.Session) -> None:
    """Check types with mypy in strict mode."""
    install(session, "typing", extra="mnist", editable=True)
    session.run("mypy", *session.posargs)


@nox.session(default=False)
def bench(session: nox.Session) -> None:
    """Compare with peers: `-- precision`, `-- mnist`; `-- lighthouse` rates the built site."""
    wanted = session.posargs or ["precision"]
    if unknown := set(wanted) - set(BENCHMARKS):
        session.error(
            f"there is no benchmark {', '.join(sorted(unknown))}: choose from "
            f"{', '.join(BENCHMARKS)}"
        )
    with measuring_alone(session):
        install(session, "bench", extra="mnist")
        for name in wanted:
            session.run("python", f"tests/bench/{name}.py")


@nox.session(default=False, reuse_venv=True)  # see `docs`
def record(session: nox.Session) -> None:
    """Record all experiments on this machine's best device; `-- NAME` records only those named."""
    with measuring_alone(session):
        install(session, "docs", extra=tutorials_extra())
        folder = ("--folder", str(DOCS / "recorded"))
        session.run("jaxcap", "record", *folder, *session.posargs, env=docs_environment())


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
    target = f".[{extra}]" if extra else "."
    own = (*(["--editable"] if editable else []), target) if package else ()
    # Compiling on first import is faster, because a build imports little of what is installed. Tests
    # need it done before: they turn warnings into errors, the compiler's included.
    options = ("--no-compile",) if group == "docs" else ()
    session.install(*options, "--constraint=constraints.txt", *wanted, *own)


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
        session.run(*command, *options, str(DOCS), str(target), env=docs_environment(session))
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


def docs_environment(session: nox.Session | None = None) -> dict[str, str]:
    """Return the environment variables that the site is built with."""
    return {
        "JAXCAP_COMMIT": commit(),
        "JAXCAP_TUTORIALS": "|".join(session.posargs) if session else "",
        "MPLBACKEND": "agg",
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
