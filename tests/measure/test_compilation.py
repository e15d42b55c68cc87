"""What XLA says of functions whose kernels and work are known beforehand."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import pytest

from jaxcap.kernels.elementwise import wave
from jaxcap.measure.compilation import cost_analysis, kernels_compiled, kernels_op_by_op, program

X = jnp.arange(1024.0)


def double(x: jax.Array) -> jax.Array:
    return 2 * x


def add(x: jax.Array, *, y: jax.Array) -> jax.Array:
    return x + y


def test_op_by_op_has_a_kernel_for_each_operation() -> None:
    assert kernels_op_by_op(lambda x: jnp.sin(x) + jnp.cos(x), X) == 3


def test_compiling_fuses_elementwise_operations_into_one_kernel() -> None:
    assert kernels_compiled(wave, X) == 1


def test_what_cannot_be_fused_stays_apart() -> None:
    assert kernels_compiled(lambda a: jnp.sin(a @ a) @ a, jnp.ones((32, 32))) > 1


def test_program_shows_the_main_part_without_paths() -> None:
    text = program(wave, X)
    assert text.startswith("ENTRY ")
    assert text.endswith("}")
    assert "f32[1024]" in text
    assert "metadata" not in text
    assert __file__ not in text


@pytest.mark.parametrize(
    ("fn", "args", "arrays"),
    [
        (jax.jit(double), (X,), 2),
        (partial(jax.jit(double), X), (), 2),
        (partial(jax.jit(add), y=X), (X,), 3),
        (partial(jax.jit(add), X, y=X), (), 3),
    ],
)
def test_work_of_compiled_functions_is_counted(
    fn: Callable[..., Any], args: Any, arrays: int
) -> None:
    # One operation for each element; each array is read or written once.
    assert cost_analysis(fn, *args) == (1024, arrays * X.nbytes)


@pytest.mark.parametrize("fn", [double, partial(add, y=X), lambda x: jax.jit(double)(x)])
def test_work_of_other_functions_is_unknown(fn: Callable[..., Any]) -> None:
    assert cost_analysis(fn, X) is None


def test_work_that_xla_cannot_count_is_unknown(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(jax.stages.Compiled, "cost_analysis", lambda _: None)
    assert cost_analysis(jax.jit(double), X) is None


@pytest.mark.parametrize("fn", [jnp.linalg.cholesky, jnp.linalg.qr, jnp.linalg.eigh, jnp.sort])
def test_work_is_never_negative(fn: Callable[..., Any]) -> None:
    counted = cost_analysis(jax.jit(fn), jnp.eye(8))
    assert counted is None or min(counted) >= 0
