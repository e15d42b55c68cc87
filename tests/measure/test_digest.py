"""An experiment's digest covers what it imports of ours and what measures it, and nothing else."""

from __future__ import annotations

import re
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from textwrap import dedent

import pytest
from sample_experiments import SUMS

import jaxcap.kernels as kernels_package
from jaxcap.experiments import catalogue
from jaxcap.measure import digest

MEASURING = {
    f"measure.{name}"
    for name in (
        *("arrays", "compilation", "experiment", "machine.allocator", "processes", "sampling"),
        *("machine.disturbance", "machine.speed", "timing", "turns", "worker"),
    )
}
MNIST = {"mnist layers", "mnist scaling", "mnist search", "mnist throughput"}


@pytest.mark.parametrize(
    ("experiment", "expected"),
    [
        ("keys", {"experiments.keys", "kernels.keys", "tools.prng"}),
        ("typed_jit", {"experiments.typed_jit", "kernels.elementwise", "tools.transforms"}),
        ("ceilings", {"experiments.ceilings", "kernels.precision"}),
        ("compiler options", {"experiments.compiler_options", "kernels.network"}),
        (
            "gradients",  # imports PyTorch's part inside a function
            {"experiments.gradients", "kernels.autodiff_torch", "kernels.elementwise"},
        ),
        (
            "published matrices",  # imports other experiments
            {
                *("experiments.published_work", "experiments.dispatch"),
                *("experiments.linear_algebra", "kernels.linalg"),
                *("kernels.dispatch", "kernels.precision"),
            },
        ),
    ],
)
def test_covers_what_an_experiment_imports(experiment: str, expected: set[str]) -> None:
    module = catalogue()[experiment].prepare.__module__
    covered = {name.removeprefix("jaxcap.") for name in digest.sources(module)}
    assert covered == expected | MEASURING


def test_covers_the_module_of_an_experiment_of_others() -> None:
    covered = digest.sources("sample_experiments")
    assert set(covered) == {"sample_experiments", *(f"jaxcap.{name}" for name in MEASURING)}
    assert "SUMS = Experiment(" in covered["sample_experiments"]
    assert SUMS.code == digest.digest("sample_experiments")
    assert len(SUMS.code) == 12


@pytest.fixture
def outdated_by(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Callable[[str, str], set[str]]]:
    """Names of the experiments whose digest changes with a line at the end of a file."""
    root = tmp_path / "jaxcap"
    shutil.copytree(digest.ROOT, root, ignore=shutil.ignore_patterns("__pycache__", "subset"))
    monkeypatch.setattr(digest, "ROOT", root)

    def codes() -> dict[str, str]:
        digest.digest.cache_clear()
        return {name: experiment.code for name, experiment in catalogue().items()}

    def change(file: str, line: str) -> set[str]:
        before = codes()
        with (root / file).open("a", encoding="utf-8") as changed:
            changed.write(f"{line}\n")
        after = codes()
        return {name for name in before if after[name] != before[name]}

    yield change
    digest.digest.cache_clear()


DISPATCH = {"dispatch", "dispatch chain", "dispatch growth", "dispatch solve"}
PUBLISHED = {"published matrices", "published small arrays"}
# All files with computations, and the experiments that a change of each outdates.
COMPUTATIONS = {
    "tools/prng.py": {"keys"},
    "tools/transforms.py": {"typed_jit"},
    "kernels/__init__.py": set(),
    "kernels/autodiff.py": set(),  # a tutorial's alone
    "kernels/autodiff_torch.py": {"gradients"},
    "kernels/batching.py": {"batching"},
    "kernels/bits.py": {"bits"},
    "kernels/calibration.py": {"calibration", "optimisers"},
    "kernels/collectives.py": {"collectives", "shared_steps"},
    "kernels/convolution.py": MNIST,
    "kernels/dispatch.py": {"precision"} | DISPATCH | PUBLISHED,
    "kernels/elementwise.py": {
        *("gradients", "introduction", "jit", "jit, default allocator", "jit, memory kept"),
        *("mistakes", "precision", "typed_jit"),
    },
    "kernels/keys.py": {"keys"},
    "kernels/linalg.py": {
        *("asynchronous dispatch", "linear algebra", "mistakes", "precision", "product"),
        *PUBLISHED,
    },
    "kernels/loops.py": {"static_loops"},
    "kernels/memory.py": {"checkpoints"},
    "kernels/network.py": {"compiler options"},
    "kernels/pendulum.py": {"loops", "mapped_loops"},
    "kernels/placement.py": {"faults"},
    "kernels/precision.py": {
        *("bits", "calibration", "optimisers", "ceilings", "linear algebra"),
        *PUBLISHED,
    },
    "kernels/pytrees.py": {"pytrees", "stacks"},
    "kernels/sharded_step.py": {"collectives", "shared_steps"},
    "kernels/sharding.py": set(),  # computed, but not timed
    "kernels/stacks.py": {"stacks"},
    "kernels/updates.py": {"ordering", "sums_by_group", "updates"},
    "kernels/updates_torch.py": {"ordering", "sums_by_group", "updates"},
    "mnist/data.py": MNIST,
    "mnist/layers.py": {"mnist layers"},
    "mnist/model_torch.py": {"mnist layers", "mnist throughput"},
}


def test_all_computations_are_listed() -> None:
    kernels = {f"kernels/{path.name}" for path in (digest.ROOT / "kernels").glob("*.py")}
    assert kernels == {file for file in COMPUTATIONS if file.startswith("kernels/")}
    described = set(re.findall(r"``(\w+)``", kernels_package.__doc__ or ""))
    assert {f"kernels/{name}.py" for name in (*described, "__init__")} == kernels


@pytest.mark.parametrize(
    ("file", "experiments"),
    [
        *COMPUTATIONS.items(),
        ("measure/worker.py", set(catalogue())),
        ("measure/timing.py", set(catalogue())),
        ("measure/machine/description.py", set()),
        ("measure/store.py", set()),
        ("measure/__init__.py", set()),
        ("results/models.py", set()),
        ("report/roofline.py", set()),
        ("experiments/__init__.py", set()),
    ],
)
def test_changes_with_these_files(
    file: str, experiments: set[str], outdated_by: Callable[[str, str], set[str]]
) -> None:
    assert outdated_by(file, "pass") == experiments & set(catalogue())


def test_changes_with_the_code_only(outdated_by: Callable[[str, str], set[str]]) -> None:
    assert outdated_by("tools/prng.py", "def unused():\n    return 1 + 2") == {"keys"}
    assert outdated_by("tools/prng.py", "") == set()
    assert outdated_by("tools/prng.py", "# a comment") == set()


def test_does_not_change_with_docstrings_and_layout() -> None:
    terse = "def double(x):\n    return 2 * x\nclass Empty: pass"
    documented = '''
        """A module."""

        def double(x):
            """Twice as much."""
            return (
                2 * x  # of any type
            )

        class Empty:
            """A class."""
            pass
    '''
    assert digest._code(dedent(documented)) == digest._code(terse)
    assert digest._code(terse.replace("2", "3")) != digest._code(terse)
    assert digest._code("def f():\n    return 'text'") != digest._code("def f():\n    'text'")


def test_is_the_same_for_all_versions_of_python() -> None:
    # As 3.11 writes it; 3.12 added type parameters, and 3.13 leaves out empty fields.
    assert digest._code("def f(x): ...") == (
        "Module(body=[FunctionDef(name='f', args=arguments(args=[arg(arg='x')]), "
        "body=[Expr(value=Constant(value=Ellipsis))])])"
    )


def test_packages_count_where_they_define_what_is_imported(
    outdated_by: Callable[[str, str], set[str]],
) -> None:
    assert outdated_by("tools/prng.py", "import jaxcap.experiments") == {"keys"}
    assert outdated_by("experiments/__init__.py", "pass") == {"keys"}
    assert outdated_by("tools/transforms.py", "from ..kernels import linalg, __doc__") == {
        "typed_jit"
    }
    assert outdated_by("kernels/__init__.py", "pass") == {"typed_jit"}
    assert "typed_jit" in outdated_by("kernels/linalg.py", "pass")
