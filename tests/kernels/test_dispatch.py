"""Small operations: NumPy, JAX and autograd give the same answers."""

from __future__ import annotations

from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from jaxcap.kernels import dispatch

EPSILON = float(np.finfo(np.float32).eps)


@pytest.mark.parametrize(
    ("operation", "shapes"),
    [
        ("dot", [(7,), (7,)]),
        ("einsum", [(7, 7), (7, 7)]),
        ("eig", [(7, 7)]),
        ("svd", [(7, 7)]),
    ],
)
def test_inputs_have_the_stated_shapes_and_dtype(operation: str, shapes: Any) -> None:
    arrays = dispatch.inputs(operation, 7)
    assert [a.shape for a in arrays] == shapes
    assert {a.dtype for a in arrays} == {np.dtype(np.float32)}


def test_inputs_differ_from_each_other_and_not_from_call_to_call() -> None:
    a, b = dispatch.inputs("einsum", 5)
    assert not np.array_equal(a, b)
    np.testing.assert_array_equal(a, dispatch.inputs("einsum", 5)[0])


@pytest.mark.parametrize("compiled", [False, True])
def test_dot_and_einsum_agree_with_plain_arithmetic(compiled: bool) -> None:
    for operation in ("dot", "einsum"):
        a, b = dispatch.inputs(operation, 10)
        products = a.astype(float) * b
        expected = products.sum() if operation == "dot" else products
        fn = dispatch.OPERATIONS[operation](jnp)
        result = (jax.jit(fn) if compiled else fn)(a, b)
        bound = 10 * EPSILON * abs(a).max() * abs(b).max()
        assert abs(np.asarray(result) - expected).max() <= bound


def test_einsum_compiles_as_a_closure_and_with_a_static_string() -> None:
    arrays = dispatch.inputs("einsum", 5)
    expected = np.einsum(dispatch.EINSUM, *arrays)
    closure = jax.jit(partial(jnp.einsum, dispatch.EINSUM))
    static = jax.jit(jnp.einsum, static_argnums=0)
    np.testing.assert_array_equal(closure(*arrays), expected)
    np.testing.assert_array_equal(static(dispatch.EINSUM, *arrays), expected)
    with pytest.raises(TypeError, match="type <class 'str'>"):
        jax.jit(jnp.einsum)(dispatch.EINSUM, *arrays)


@pytest.mark.parametrize("xp", [np, jnp])
def test_eig_finds_vectors_that_the_matrix_only_scales(xp: Any) -> None:
    (matrix,) = dispatch.inputs("eig", 10)
    values, vectors = dispatch.OPERATIONS["eig"](xp)(matrix)
    residual = matrix @ np.asarray(vectors) - np.asarray(vectors) * np.asarray(values)
    assert abs(residual).max() <= 100 * EPSILON * np.linalg.norm(matrix)
    assert abs(np.linalg.norm(vectors, axis=0) - 1).max() <= 10 * EPSILON


@pytest.mark.parametrize("xp", [np, jnp])
def test_svd_gives_factors_whose_product_is_the_matrix(xp: Any) -> None:
    (matrix,) = dispatch.inputs("svd", 10)
    left, values, right = map(np.asarray, dispatch.OPERATIONS["svd"](xp)(matrix))
    assert abs(left * values @ right - matrix).max() <= 100 * EPSILON * values[0]
    assert (np.diff(values) <= 0).all()


@pytest.mark.parametrize("operation", dispatch.OPERATIONS)
def test_autograd_gives_what_numpy_gives(operation: str) -> None:
    anp = pytest.importorskip("autograd.numpy")
    arrays = dispatch.inputs(operation, 5)
    result, expected = (dispatch.OPERATIONS[operation](xp)(*arrays) for xp in (anp, np))
    for a, b in zip(jax.tree.leaves(result), jax.tree.leaves(expected), strict=True):
        np.testing.assert_array_equal(a, b)


def test_chain_takes_as_many_sines_as_told() -> None:
    x = np.array([0.0, 0.5, 1.0], np.float32)
    np.testing.assert_array_equal(dispatch.chain(np, x, 0), x)
    np.testing.assert_array_equal(dispatch.chain(np, x, 3), np.sin(np.sin(np.sin(x))))
    assert len(jax.make_jaxpr(partial(dispatch.chain, jnp, length=7))(x).eqns) == 7
    np.testing.assert_allclose(
        dispatch.chain(jnp, x, 100), dispatch.chain(np, x, 100), rtol=0, atol=100 * EPSILON
    )


@pytest.mark.parametrize(("x", "expected"), [(0.0, 1.0), (1.0, 11.0), (2.0, 2047.0), (-1.0, 1.0)])
def test_polynomial_is_a_geometric_sum(x: float, expected: float) -> None:
    assert dispatch.polynomial(x) == expected


def test_polynomial_is_nineteen_operations() -> None:
    assert len(jax.make_jaxpr(dispatch.polynomial)(jnp.ones(3)).eqns) == 19


def test_complex_system_has_the_stated_shapes_and_is_well_conditioned() -> None:
    for n in (10, 100):
        c, m = dispatch.complex_system(n, 3)
        assert (c.shape, m.shape) == ((n, n), (n, 3))
        assert c.dtype == m.dtype == np.complex64
        assert np.linalg.cond(c) < 10


@pytest.mark.parametrize(
    "fn",
    [
        partial(dispatch.solve_and_reduce, np),
        partial(dispatch.solve_and_reduce, jnp),
        jax.jit(partial(dispatch.solve_and_reduce, jnp)),
    ],
    ids=["NumPy", "jnp", "jit"],
)
def test_solution_solves_and_is_weighed(fn: Any) -> None:
    c, m = dispatch.complex_system(30, 4)
    w, weighed = fn(c, m)
    assert (w.shape, weighed.shape) == ((30, 4), (4,))
    assert abs(c @ np.asarray(w) - m).max() <= 100 * EPSILON * abs(m).max()
    expected = [-0.5 * np.vdot(m[:, j], np.asarray(w)[:, j]) for j in range(4)]
    np.testing.assert_allclose(weighed, expected, rtol=100 * EPSILON)
