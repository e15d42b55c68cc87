"""The experiment on mistakes in timing: all variants of a question do the same work."""

from __future__ import annotations

from typing import Any

import jax
import numpy as np
import pytest

from jaxcap.experiments import mistakes
from jaxcap.experiments.mistakes import prepare, unaligned

DTYPES = {mistakes.NUMPY_64: "float64"}  # of the others it is float32


@pytest.mark.parametrize(
    "question",
    [
        mistakes.PRODUCTS,
        mistakes.COMPILING,
        mistakes.SENDING,
        mistakes.WRAPPING,
        mistakes.OPPONENTS,
    ],
)
def test_all_variants_agree(question: str) -> None:
    variants = prepare(question, 50)
    results: dict[str, Any] = {name: np.asarray(call()) for name, call in variants.items()}
    expected, *_ = results.values()
    for name, result in results.items():
        assert result.dtype == DTYPES.get(name, "float32")
        np.testing.assert_allclose(result, expected, rtol=0, atol=1e-5 * abs(expected).max())


def test_only_one_variant_is_sent_to_the_device() -> None:
    kinds = {
        name: isinstance(call.args[0], jax.Array)  # type: ignore[attr-defined]
        for name, call in prepare(mistakes.SENDING, 50).items()
    }
    assert kinds == {mistakes.SENT: False, mistakes.ON_DEVICE: True}


def test_only_a_new_function_is_traced_in_each_call(monkeypatch: pytest.MonkeyPatch) -> None:
    traced: list[object] = []

    def counted(x: Any) -> Any:
        traced.append(x)
        return x

    monkeypatch.setattr(mistakes, "wave", counted)
    counts = {}
    for name, call in prepare(mistakes.WRAPPING, 3).items():
        jax.clear_caches()  # type: ignore[no-untyped-call]
        traced.clear()
        for _ in range(3):
            call()
        counts[name] = len(traced)
    assert counts == {
        mistakes.NEW_LAMBDA: 3,
        mistakes.NEW_WRAPPER: 1,
        mistakes.WRAPPED_ONCE: 1,
    }


@pytest.mark.parametrize("size", [1, 100, 1_000_000])
def test_an_unaligned_array_is_equal_and_shared_by_chance_nowhere(size: int) -> None:
    x = np.arange(size, dtype=np.float32)
    copied = unaligned(x)
    np.testing.assert_array_equal(copied, x)
    assert copied.dtype == x.dtype
    assert copied.flags.c_contiguous
    assert copied.ctypes.data % 64 != 0
