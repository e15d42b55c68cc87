"""The dispatch experiments prepare what they say, and the crossover is results."""

from __future__ import annotations

import sys
from typing import Any

import jax
import numpy as np
import pytest
from fakes import make_result, make_run, make_set

from jaxcap.experiments import dispatch
from jaxcap.experiments.dispatch import (
    AUTOGRAD,
    CHAIN,
    DISPATCH,
    GROWTH,
    JAX_ARRAYS,
    JIT,
    JNP,
    NUMPY,
    NUMPY_ARRAYS,
    OWN_ARRAYS,
    REWRAPPED,
    SOLVE,
    crossover,
    prepare,
    tabulate,
)
from jaxcap.measure.experiment import Experiment
from jaxcap.results import ResultSet

EPSILON = float(np.finfo(np.float32).eps)


@pytest.mark.parametrize("arrays", [NUMPY_ARRAYS, JAX_ARRAYS, OWN_ARRAYS])
@pytest.mark.parametrize("operation", ["dot", "einsum", "eig", "svd"])
def test_all_libraries_agree_in_32_bits(operation: str, arrays: str) -> None:
    def values_or_array(output: Any) -> Any:
        if operation == "svd":
            return np.asarray(output[1])
        return np.sort_complex(output[0]) if operation == "eig" else np.asarray(output)

    variants = prepare(operation=operation, arrays=arrays, size=5)
    results = {name: values_or_array(call()) for name, call in variants.items()}
    assert set(results) - {AUTOGRAD} == {NUMPY, JNP, JIT, REWRAPPED}
    assert {a.dtype.itemsize for a in results.values()} == {8 if operation == "eig" else 4}
    tolerance = 50 * EPSILON * abs(results[NUMPY]).max()
    for other in results.values():
        np.testing.assert_allclose(other, results[NUMPY], rtol=0, atol=tolerance)


@pytest.mark.parametrize(("arrays", "kind"), [(NUMPY_ARRAYS, np.ndarray), (JAX_ARRAYS, jax.Array)])
def test_each_variant_gets_the_arrays_that_were_asked_for(arrays: str, kind: type) -> None:
    for call in prepare(operation="dot", arrays=arrays, size=5).values():
        assert all(isinstance(array, kind) for array in call.args)  # type: ignore[attr-defined]


def test_each_library_gets_arrays_of_its_own() -> None:
    calls = prepare(operation="dot", arrays=OWN_ARRAYS, size=5)
    by_jax = {
        name
        for name, call in calls.items()
        if all(isinstance(array, jax.Array) for array in call.args)  # type: ignore[attr-defined]
    }
    assert by_jax == {JNP, JIT, REWRAPPED}


def test_autograd_is_left_out_where_it_is_not_installed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(dispatch, "find_spec", lambda _: None)
    assert AUTOGRAD not in prepare(operation="dot", arrays=NUMPY_ARRAYS, size=5)


def test_autograd_is_not_imported_with_the_experiments() -> None:
    assert "autograd" not in vars(dispatch)
    assert "autograd" not in vars(sys.modules["jaxcap.kernels.dispatch"])


@pytest.mark.parametrize(
    "experiment", [CHAIN, GROWTH, SOLVE], ids=lambda experiment: experiment.name
)
def test_variants_of_all_experiments_agree_at_their_smallest_point(experiment: Experiment) -> None:
    for point in experiment.quick[::5]:  # for GROWTH, the smallest of each computation
        variants = experiment.prepare(**point)
        expected = jax.tree.leaves(variants[NUMPY]())
        for call in variants.values():
            for a, b in zip(jax.tree.leaves(call()), expected, strict=True):
                np.testing.assert_allclose(a, b, rtol=1e-4, atol=1e-6)


def test_points_are_those_of_the_notebook() -> None:
    sizes = {
        operation: sorted({p["size"] for p in DISPATCH.quick if p["operation"] == operation})
        for operation in ("dot", "einsum", "eig")
    }
    assert sizes == {
        "dot": [5, 10, 50, 100, 1000, 10_000],
        "einsum": [5, 10, 50],
        "eig": [5, 10, 50],
    }
    assert {p["length"] for p in CHAIN.quick} >= {1, 100}


def test_times_are_tabulated_in_a_column_for_each_variant() -> None:
    results = []
    for size, seconds in (5, 1.0), (5000, 2.0):
        facts: Any = {"parameters": {"operation": "dot", "arrays": JAX_ARRAYS, "size": size}}
        results.append(make_result(NUMPY, make_run((seconds,) * 6), **facts))
        results.append(make_result(JIT, make_run((3 * seconds,) * 6), **facts))
    table = tabulate(make_set(*results), "dot")
    assert table.headers == ("arrays", "size", NUMPY, JIT)
    assert list(table.rows) == [
        ("JAX", "5", "1.000 s", "3.000 s"),
        ("JAX", "5,000", "2.000 s", "6.000 s"),
    ]


def growth(jit_s: dict[int, float]) -> ResultSet:
    """NumPy takes a second at all sizes; jit takes these."""
    results = []
    for size, seconds in jit_s.items():
        facts: Any = {"parameters": {"size": size}}
        results.append(make_result(NUMPY, make_run((1.0,) * 6), **facts))
        results.append(make_result(JIT, make_run((seconds,) * 6), **facts))
    return make_set(*results)


@pytest.mark.parametrize(
    ("jit_s", "expected"),
    [
        ({1: 2.0, 10: 0.5, 100: 0.1}, 10),
        ({100: 0.1, 10: 0.5, 1: 2.0}, 10),
        ({1: 0.5, 10: 2.0, 100: 0.1}, 100),
        ({1: 0.5, 10: 0.5}, 1),
        ({1: 0.5, 10: 1.0}, None),
        ({1: 2.0, 10: 2.0}, None),
    ],
)
def test_overtakes_where_it_stays_ahead(jit_s: dict[int, float], expected: int | None) -> None:
    assert crossover(growth(jit_s), JIT, over=NUMPY, x="size") == expected
