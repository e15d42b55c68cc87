"""The experiment on typed calls compares equal things."""

from __future__ import annotations

import inspect

import numpy as np

from jaxcap.experiments.typed_jit import TYPED_JIT, prepare


def test_variants_are_of_one_kind_and_agree() -> None:
    variants = prepare(size=10)
    functions = [call.func for call in variants.values()]  # type: ignore[attr-defined]
    assert len(set(map(id, functions))) == 3
    assert len({type(function) for function in functions}) == 1
    results = [np.asarray(call()) for call in variants.values()]
    assert results[0].shape == (10,)
    assert all(np.array_equal(result, results[0]) for result in results)


def test_points_fit_the_function_that_a_fresh_process_imports() -> None:
    assert TYPED_JIT.reference == "jaxcap.experiments.typed_jit:prepare"
    for point in (*TYPED_JIT.quick, *TYPED_JIT.full):
        inspect.signature(prepare).bind(**point)
