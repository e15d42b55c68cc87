"""The package as a whole: its version, what importing it costs, and which way imports point."""

from __future__ import annotations

import ast
import subprocess
import sys
from collections.abc import Iterator
from importlib import metadata
from importlib.resources import files
from pathlib import Path

import pytest

import jaxcap

ROOT = Path(jaxcap.__file__).parent
MODULES = sorted(path for path in ROOT.rglob("*.py") if path != ROOT / "__init__.py")

# A module imports modules from the rows above its own only.
LAYERS = (
    {
        "kernels",
        "files",
        "source",
        "statistics",
        "tables",
        "environment",
        "compilation",
        "doctor",
        "prng",
        "transforms",
        "typecheck",
    },
    {"arrays", "results", "mnist"},
    {"claims", "experiment", "exports", "figures", "judges"},
    {"timing", "worker", "roofline"},
    {"experiments", "recording", "timeline", "exercises"},
    {"published"},
    {"cli"},
    {"__main__"},
)


def test_version_is_that_of_the_installed_package() -> None:
    assert metadata.version("jaxcap") == jaxcap.__version__


def test_package_is_typed() -> None:
    assert (files("jaxcap") / "py.typed").is_file()


@pytest.mark.parametrize(
    ("module", "absent"),
    [
        ("jaxcap", {"jax", "numpy", "torch", "flax", "matplotlib", "pandas"}),
        ("jaxcap.cli", {"jax", "numpy", "torch", "flax", "matplotlib", "pydantic", "rich"}),
        ("jaxcap.timing", {"torch", "flax", "matplotlib", "pandas", "rich"}),
        ("jaxcap.mnist.config", {"jax", "torch", "flax"}),
        ("jaxcap.mnist.data", {"jax", "torch", "flax", "pooch", "rich"}),
        ("jaxcap.mnist.train_flax", {"torch", "orbax"}),
    ],
)
def test_importing_brings_along_no_library_that_is_not_needed(
    module: str, absent: set[str]
) -> None:
    report = subprocess.run(
        [sys.executable, "-X", "importtime", "-c", f"import {module}"],
        capture_output=True,
        text=True,
        check=True,
    ).stderr
    imported = {line.rpartition("|")[2].strip().partition(".")[0] for line in report.splitlines()}
    assert "jaxcap" in imported
    assert imported & absent == set()


@pytest.mark.parametrize("path", MODULES, ids=lambda path: path.relative_to(ROOT).as_posix())
def test_imports_point_one_way(path: Path) -> None:
    own = path.relative_to(ROOT).with_suffix("").parts[0]
    layer = next(number for number, names in enumerate(LAYERS) if own in names)
    below = {own}.union(*LAYERS[:layer])  # the modules of a package may import each other
    assert set(imports_of_ours(path)) - below == set()


@pytest.mark.parametrize("path", sorted(ROOT.glob("kernels/*.py")), ids=lambda path: path.stem)
def test_kernels_import_nothing_of_ours(path: Path) -> None:
    assert list(imports_of_ours(path)) == []


def imports_of_ours(path: Path) -> Iterator[str]:
    """Modules and subpackages of jaxcap that a module imports when it is itself imported."""
    for node in ast.parse(path.read_text(encoding="utf-8")).body:
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, "imports are absolute"
            names = [f"{node.module}.{alias.name}" for alias in node.names]
        else:
            continue
        yield from (name.split(".")[1] for name in names if name.startswith("jaxcap."))
