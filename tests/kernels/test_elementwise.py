"""Elementwise kernels against NumPy in 64 bits."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import numpy.typing as npt
import pytest

from jaxcap.kernels.elementwise import FUNCTIONS, add, selu, sigmoid, wave

Reference = Callable[..., npt.NDArray[np.float64]]

REFERENCES: dict[str, Reference] = {
    "selu": lambda x: 1.05 * np.where(x > 0, x, 1.67 * np.expm1(x)),
    "sigmoid": lambda x: 0.5 * (1 + np.tanh(x / 2)),
    "add": lambda x, y: (x + y) * np.exp(x) - 2.05 + 0.56 * y,
    "wave": lambda x: 0.2 * x + np.sin(x) + np.cos(2 * x),
}
DTYPES = [jnp.float16, jnp.float32]


def inputs(name: str, dtype: Any) -> list[jax.Array]:
    # From -4 to 4 no intermediate result overflows in 16 bits.
    x = jnp.linspace(-4.0, 4.0, 1001).astype(dtype)
    return [x, x[::-1] / 2][: FUNCTIONS[name][1]]


@pytest.mark.parametrize("name", FUNCTIONS)
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("compiled", [False, True])
def test_agrees_with_numpy_in_64_bits(name: str, dtype: Any, compiled: bool) -> None:
    fn, _ = FUNCTIONS[name]
    arguments = inputs(name, dtype)
    result = (jax.jit(fn) if compiled else fn)(*arguments)
    expected = REFERENCES[name](*(np.asarray(x, np.float64) for x in arguments))
    # At most eight operations, each right to half a unit in the last place of the largest result;
    # exp, sin and cos of XLA to two.
    tolerance = 8 * float(np.finfo(dtype).eps) * abs(expected).max()
    assert result.dtype == dtype
    assert result.shape == expected.shape
    assert abs(np.asarray(result, np.float64) - expected).max() <= tolerance


@pytest.mark.parametrize(
    ("result", "expected"),
    [
        (wave(jnp.float32(3.0)), 1.7012904),
        (sigmoid(jnp.float32(0.0)), 0.5),
        (sigmoid(jnp.float32(-100.0)), 0.0),
        (selu(jnp.float32(2.0)), 2.1),
        (selu(jnp.float32(0.0)), 0.0),
        (selu(jnp.float32(-100.0)), -1.05 * 1.67),
        (add(jnp.float32(0.0), jnp.float32(1.0)), -0.49),
    ],
)
def test_known_values(result: jax.Array, expected: float) -> None:
    assert float(result) == pytest.approx(expected, abs=1e-6)


@pytest.mark.parametrize("name", FUNCTIONS)
def test_compiles_once_for_each_shape(name: str) -> None:
    fn, _ = FUNCTIONS[name]
    traced: list[tuple[int, ...]] = []

    @jax.jit
    def counted(*args: jax.Array) -> jax.Array:
        traced.append(args[0].shape)
        return fn(*args)

    arguments = inputs(name, jnp.float32)
    for _ in range(3):
        counted(*arguments)
    counted(*(x[:7] for x in arguments))
    assert traced == [(1001,), (7,)]
