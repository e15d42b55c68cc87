"""A virtual environment for each release of JAX, which uv fills from the package index."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from hashlib import sha256
from pathlib import Path

import jaxcap
from jaxcap.measure.processes import Interpreter
from jaxcap.results.atomic import write_atomically

DEFAULT_PYTHON = "3.12"

# Newest first. Old releases fail with NumPy 2 or with SciPy's newer functions, but don't declare it,
# so an environment has to pass `_TRIAL`.
_COMPANIONS = (("numpy", "scipy"), ("numpy<2", "scipy<1.14"), ("numpy<2", "scipy<1.13"))
_TRIAL = (
    "import jax, jax.scipy.special, numpy, scipy.linalg; x = numpy.ones((9, 9), 'float32'); "
    "jax.jit(lambda x: jax.numpy.linalg.eigh(x)[0].sum() + numpy.float32(1))(x); "
    "numpy.asarray(jax.random.normal(jax.random.PRNGKey(0), (9,)))"
)
_TRIAL_LIMIT_S = 120.0
#: This file lists the packages of an environment. It is written once they are all installed.
LOCK = "requirements.txt"


def default_folder() -> Path:
    """Return the folder for environments in the user's cache."""
    try:
        from platformdirs import user_cache_path
    except ImportError:
        raise _lacking("platformdirs") from None

    return user_cache_path("jaxcap", appauthor=False) / "releases"


def folder_of(
    release: str,
    environments: Path,
    *,
    python: str = DEFAULT_PYTHON,
    extra: str = "",
    packages: Sequence[str] = (),
) -> Path:
    """Return the folder of a release, which depends on the Python and on the other packages.

    Parameters
    ----------
    environments
        Holds all of them.
    release, python, extra, packages
        See `install`.

    Raises
    ------
    InstallationError
        If there is no such Python.
    """
    minor_version = python_version(python).rpartition(".")[0]
    if minor_version == DEFAULT_PYTHON and not packages and not extra:
        return environments / release
    key = sha256("\n".join((minor_version, extra, *sorted(packages))).encode()).hexdigest()
    return environments / f"{release}-{key[:8]}"


class InstallationError(RuntimeError):
    """A release of JAX that can't be installed here, and why."""


@dataclass(frozen=True)
class ReleaseEnvironment:
    """A virtual environment that holds a release of JAX.

    Attributes
    ----------
    folder
        Where it is.
    requirements
        What is installed in it, a line such as ``"numpy==1.26.4"`` for each package.
    """

    folder: Path
    requirements: str

    @property
    def interpreter(self) -> Interpreter:
        """Its Python, which finds this copy of jaxcap and nothing else of this environment."""
        return Interpreter(str(_executable(self.folder)), (str(_folder_of_jaxcap(self.folder)),))


def available_releases(python: str) -> list[str]:
    """List the releases of jaxlib that the package index has for a Python, newest first.

    pip asks the index, because it knows this machine's mirrors and uv doesn't list versions.

    Raises
    ------
    InstallationError
        If the index can't be reached.
    """
    version = python_version(python)
    command = [sys.executable, "-m", "pip", "index", "versions", "jaxlib"]
    command += ["--python-version", version, "--only-binary", ":all:"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    versions = re.search(r"^Available versions: (.+)$", done.stdout, re.MULTILINE)
    if not versions:
        raise InstallationError(
            f"pip finds no jaxlib for Python {version} on the package index "
            f"({_reason(done.stderr)}): see whether `pip index versions jaxlib` works here"
        )
    return versions[1].split(", ")


@cache
def python_version(python: str) -> str:
    """Return the version of a Python, such as ``"3.12.1"``; uv finds it if it isn't a path.

    Raises
    ------
    InstallationError
        If there is none.
    """
    try:
        path = _run("uv", "python", "find", "--no-project", python)
    except InstallationError as error:
        raise InstallationError(
            f"uv finds no Python {python} here ({error}): give the path of an interpreter"
        ) from error
    return _run(path, "-c", "import platform; print(platform.python_version())")


def install(
    release: str,
    folder: Path,
    *,
    python: str,
    extra: str = "",
    requirements: str = "",
    packages: Sequence[str] = (),
) -> ReleaseEnvironment:
    """Install a release of JAX, with the newest NumPy and SciPy that it works with.

    Parameters
    ----------
    release
        Of jaxlib and JAX, such as ``"0.4.31"``.
    folder
        The virtual environment. One that was installed before is left as it is.
    python
        A version, such as ``"3.12"``, or the path of an interpreter.
    extra
        Extra of JAX, such as ``"cuda12"`` for a GPU.
    requirements
        What to install instead, as in a `ReleaseEnvironment`, so that a recording which continues
        has the same versions as before.
    packages
        Other packages to install, as uv names them, such as ``"equinox<0.12"``.

    Raises
    ------
    InstallationError
        If the index has no such release for that Python, or it doesn't run.
    """
    lock = folder / LOCK
    if not lock.exists() or (requirements and lock.read_text(encoding="utf-8") != requirements):
        jax = f"jax[{extra}]=={release}" if extra else f"jax=={release}"
        base = (jax, f"jaxlib=={release}", "pydantic", *packages)
        choices = [requirements.split()] if requirements else [(*base, *c) for c in _COMPANIONS]
        write_atomically(lock, _install(release, folder, python, choices))
    _show_jaxcap(folder)
    return ReleaseEnvironment(folder, lock.read_text(encoding="utf-8"))


def _install(release: str, folder: Path, python: str, choices: Sequence[Sequence[str]]) -> str:
    """Install the first choice of packages with which the release runs, and return a lock."""
    failure = ""
    for packages in choices:
        _run("uv", "venv", "--clear", "--no-project", "--python", python, str(folder))
        executable = str(_executable(folder))
        try:
            _run(
                *("uv", "pip", "install", "--compile-bytecode", "--only-binary", ":all:"),
                *("--python", executable, *packages),
            )
            _run(executable, "-c", _TRIAL, limit_s=_TRIAL_LIMIT_S)
        except InstallationError as error:
            failure = str(error)
            continue
        return _run("uv", "pip", "freeze", "--python", executable) + "\n"
    raise InstallationError(f"JAX {release} doesn't work with this Python: {failure}")


def _executable(folder: Path) -> Path:
    return folder / ("Scripts/python.exe" if sys.platform == "win32" else "bin/python")


def _folder_of_jaxcap(folder: Path) -> Path:
    # The package's own parent may hold other packages, which would hide those of the environment.
    return folder / "jaxcap-alone"


def _show_jaxcap(folder: Path) -> None:
    """Make an environment import this copy of jaxcap, even if another copy made the environment."""
    link, package = _folder_of_jaxcap(folder) / "jaxcap", Path(jaxcap.__file__).parent
    if link.resolve() != package.resolve():
        link.parent.mkdir(exist_ok=True)
        link.unlink(missing_ok=True)
        link.symlink_to(package, target_is_directory=True)


def _run(*command: str, limit_s: float | None = None) -> str:
    program, *arguments = command
    try:
        done = subprocess.run(
            [_uv() if program == "uv" else program, *arguments],
            capture_output=True,
            text=True,
            check=False,
            timeout=limit_s,
        )
    except subprocess.TimeoutExpired:
        raise InstallationError(f"{program} was stopped after {limit_s:.0f} s") from None
    except OSError as error:
        raise InstallationError(f"{program} can't be run: {error.strerror}") from error
    if done.returncode:
        raise InstallationError(_reason(done.stderr) or f"exit code {done.returncode}")
    return done.stdout.strip()


def _reason(output: str) -> str:
    """Return the line that says what went wrong: uv's error, or the end of a traceback."""
    lines = [line.strip() for line in output.splitlines() if line.strip()]
    errors = [line.removeprefix("error:").strip() for line in lines if line.startswith("error:")]
    return (errors or lines[-1:] or [""])[0]


def _uv() -> str:
    path = Path(sys.executable).with_name("uv")
    if uv := shutil.which(str(path)) or shutil.which("uv"):
        return uv
    raise _lacking("uv")


def _lacking(library: str) -> InstallationError:
    return InstallationError(
        f"{library} isn't installed: run `python -m pip install 'jaxcap[releases]'`"
    )
