"""Products, decompositions, convolutions and Fourier transforms. All arrays are float32."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from jaxcap.releases.benchmarks.benchmark import JAX, NUMPY, Benchmark, Variants

Function = Callable[..., Any]


def _normal(*shape: int) -> Any:
    return np.random.default_rng(0).standard_normal(shape, dtype=np.float32)


def _symmetric(size: int) -> Any:
    """Return a symmetric matrix whose eigenvalues are all positive."""
    a = _normal(size, size)
    return a @ a.T / size + np.eye(size, dtype=np.float32)


def _beside_numpy(name: str, *arrays: Any) -> Variants:
    """Prepare a function that NumPy and JAX have under the same name, such as ``"linalg.svd"``."""
    in_jax: Any = jnp
    in_numpy: Any = np
    for part in name.split("."):
        in_jax, in_numpy = getattr(in_jax, part), getattr(in_numpy, part)
    return {
        JAX: partial(jax.jit(in_jax), *map(jnp.asarray, arrays)),
        NUMPY: partial(in_numpy, *arrays),
    }


def _batched_product() -> Variants:
    a, b = jnp.asarray(_normal(1000, 16, 16)), jnp.asarray(_normal(1000, 16, 16))
    return {JAX: partial(jax.jit(jnp.matmul), a, b)}


def _einsum() -> Variants:
    queries, keys = jnp.asarray(_normal(8, 64, 4, 32)), jnp.asarray(_normal(8, 64, 4, 32))
    return {JAX: partial(jax.jit(partial(jnp.einsum, "bqhd,bkhd->bhqk")), queries, keys)}


def _small_product() -> Variants:
    return _beside_numpy("matmul", _normal(10, 10), _normal(10, 10))


def _convolve(images: Any, kernel: Any) -> Any:
    return jax.lax.conv_general_dilated(
        images, kernel, (1, 1), "SAME", dimension_numbers=("NHWC", "HWIO", "NHWC")
    )


def _convolution() -> Variants:
    images, kernel = jnp.asarray(_normal(8, 28, 28, 16)), jnp.asarray(_normal(3, 3, 16, 32))
    return {JAX: partial(jax.jit(_convolve), images, kernel)}


def _convolution_gradient() -> Variants:
    images, kernel = jnp.asarray(_normal(8, 28, 28, 16)), jnp.asarray(_normal(3, 3, 16, 32))
    gradient = jax.grad(lambda kernel, images: jnp.sum(_convolve(images, kernel) ** 2))
    return {JAX: partial(jax.jit(gradient), kernel, images)}


BENCHMARKS = tuple(
    Benchmark(name=name, topic="linear algebra", prepare=prepare)
    for name, prepare in (
        ("product of 10 × 10 matrices", _small_product),
        (
            "product of 500 × 500 matrices",
            lambda: _beside_numpy("matmul", _normal(500, 500), _normal(500, 500)),
        ),
        ("1000 products of 16 × 16 matrices", _batched_product),
        ("einsum of attention scores", _einsum),
        (
            "solution of 200 equations",
            lambda: _beside_numpy("linalg.solve", _symmetric(200), _normal(200, 1)),
        ),
        (
            "Cholesky decomposition of 200 × 200",
            lambda: _beside_numpy("linalg.cholesky", _symmetric(200)),
        ),
        ("eigenvalues of 100 × 100", lambda: _beside_numpy("linalg.eigh", _symmetric(100))),
        ("singular values of 100 × 100", lambda: _beside_numpy("linalg.svd", _symmetric(100))),
        (
            "Fourier transform of 65,536 numbers",
            lambda: _beside_numpy("fft.fft", _normal(65_536).astype(np.complex64)),
        ),
        ("convolution of eight images", _convolution),
        ("gradient of a convolution", _convolution_gradient),
    )
)
