"""The package as a whole: its version, and what importing it costs."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from importlib import metadata
from importlib.resources import files
from pathlib import Path
from pkgutil import iter_modules

import pytest

import jaxcap
from jaxcap import measure, results
from jaxcap.measure import experiment, sampling, timing
from jaxcap.results import environment, models, sets

ROOT = Path(__file__).parents[1]


def test_version_is_that_of_the_installed_package() -> None:
    assert metadata.version("jaxcap") == jaxcap.__version__


def test_package_is_typed() -> None:
    assert (files("jaxcap") / "py.typed").is_file()


@pytest.mark.parametrize(
    ("module", "absent"),
    [
        ("jaxcap", {"jax", "numpy", "torch", "flax", "matplotlib", "pandas"}),
        ("jaxcap.cli", {"jax", "numpy", "pydantic", "rich", "scipy", "torch", "filelock"}),
        ("jaxcap.measure", {"jax", "numpy", "torch", "flax", "matplotlib", "rich"}),
        ("jaxcap.measure.timing", {"torch", "flax", "matplotlib", "pandas", "rich"}),
        ("jaxcap.results", {"jax", "numpy", "pydantic", "rich"}),
        ("jaxcap.results.sets", {"jax", "numpy", "scipy", "rich", "torch", "matplotlib"}),
        ("jaxcap.report.exports", {"jax", "torch", "flax", "optax", "matplotlib"}),
        ("jaxcap.results.recordings", {"jax", "torch", "flax", "optax", "matplotlib"}),
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


@pytest.mark.parametrize(
    "package",
    [
        "docs/_ext/jaxcap_docs/read",
        "docs/_ext/jaxcap_docs/read/releases",
        "docs/_ext/jaxcap_docs/read/results",
        "docs/_ext/jaxcap_docs/read/tutorials",
        "docs/_ext/jaxcap_docs/write",
        "src/jaxcap/cli",
        "src/jaxcap/cli/report",
        "src/jaxcap/cli/report/sections",
        "src/jaxcap/kernels",
        "src/jaxcap/measure",
        "src/jaxcap/measure/machine",
        "src/jaxcap/mnist",
        "src/jaxcap/published",
        "src/jaxcap/releases",
        "src/jaxcap/releases/benchmarks",
        "src/jaxcap/releases/changes",
        "src/jaxcap/releases/recording",
        "src/jaxcap/releases/search",
        "src/jaxcap/report",
        "src/jaxcap/report/figures",
        "src/jaxcap/results",
    ],
)
def test_a_package_lists_its_modules(package: str) -> None:
    folder = ROOT / package
    code = ast.parse((folder / "__init__.py").read_text(encoding="utf-8"))
    lines = re.findall(r"^- (.*?):", ast.get_docstring(code) or "", re.MULTILINE)
    names = set(re.findall(r"``(\w+)``", " ".join(lines)))
    assert names == {module.name for module in iter_modules([str(folder)])}


def test_the_map_of_the_sources_is_short_and_leads_to_what_exists() -> None:
    text = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    lines = text.partition("```text\n")[2].partition("```")[0].splitlines()
    assert 7 <= len(lines) <= 20
    folder, places = ROOT, []
    for line in lines:
        match = re.fullmatch(r"(\s*)(\S+(?:, \S+)*)(?: {2,}.*)?", line)
        assert match, line
        indent, names = match.groups()
        if not indent:
            folder = ROOT / names
        places += [(folder if indent else ROOT) / name for name in names.split(", ")]
    assert [place for place in places if not place.exists()] == []
    packages = {path.parent for path in ROOT.glob("src/jaxcap/*/__init__.py")}
    assert packages <= {parent for place in places for parent in (place, *place.parents)}


def test_what_most_programs_measure_with_is_in_one_place() -> None:
    assert measure.compare is timing.compare
    assert measure.measure is timing.measure
    assert measure.sweep is timing.sweep
    assert measure.Experiment is experiment.Experiment
    assert measure.grid is experiment.grid
    assert measure.Variants is sampling.Variants
    with pytest.raises(AttributeError, match=r"'jaxcap\.measure' has no attribute 'clock'"):
        measure.clock  # noqa: B018


def test_what_most_programs_need_of_results_is_in_one_place() -> None:
    assert results.ResultSet is sets.ResultSet
    assert results.Device is environment.Device
    assert results.Result is models.Result
    assert all(hasattr(results, name) for name in results.__all__)
    with pytest.raises(AttributeError, match=r"'jaxcap\.results' has no attribute 'mean'"):
        results.mean  # noqa: B018
