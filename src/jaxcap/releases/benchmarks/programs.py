"""Gradients, random numbers, a training step, and what takes long to compile."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from itertools import pairwise
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from jaxcap.releases.benchmarks.benchmark import JAX, NUMPY, Benchmark, Variants

Function = Callable[..., Any]
Parameters = list[dict[str, Any]]


def _network(*widths: int) -> Parameters:
    rng = np.random.default_rng(0)
    return [
        {
            "weights": jnp.asarray(rng.standard_normal((m, n), np.float32) / m**0.5),
            "bias": jnp.zeros(n),
        }
        for m, n in pairwise(widths)
    ]


def _predict(parameters: Parameters, x: Any) -> Any:
    for layer in parameters[:-1]:
        x = jnp.tanh(x @ layer["weights"] + layer["bias"])
    return x @ parameters[-1]["weights"] + parameters[-1]["bias"]


def _loss(parameters: Parameters, x: Any, y: Any) -> Any:
    return jnp.mean((_predict(parameters, x) - y) ** 2)


def _batch(size: int, inputs: int) -> tuple[Any, Any]:
    rng = np.random.default_rng(1)
    x = rng.standard_normal((size, inputs), np.float32)
    return jnp.asarray(x), jnp.asarray(x[:, :1])


def _gradient() -> Variants:
    return {JAX: partial(jax.jit(jax.grad(_loss)), _network(20, 50, 50, 1), *_batch(100, 20))}


def _gradient_of_each() -> Variants:
    gradients = jax.vmap(jax.grad(_loss), in_axes=(None, 0, 0))
    return {JAX: partial(jax.jit(gradients), _network(20, 50, 1), *_batch(100, 20))}


def _hessian() -> Variants:
    def rosenbrock(x: Any) -> Any:
        return jnp.sum(100.0 * (x[1:] - x[:-1] ** 2) ** 2 + (1.0 - x[:-1]) ** 2)

    return {JAX: partial(jax.jit(jax.hessian(rosenbrock)), jnp.zeros(100))}


def _traced_gradient() -> Variants:
    return {JAX: partial(jax.grad(lambda x: jnp.sum(jnp.sin(x) ** 2)), jnp.ones(10))}


def _adam(parameters: Parameters, moments: Any, x: Any, y: Any) -> Any:
    """Do a step of Adam, written out, because optimisers have releases of their own."""
    map_ = jax.tree_util.tree_map
    loss, gradients = jax.value_and_grad(_loss)(parameters, x, y)
    first = map_(lambda m, g: 0.9 * m + 0.1 * g, moments[0], gradients)
    second = map_(lambda v, g: 0.999 * v + 0.001 * g * g, moments[1], gradients)
    parameters = map_(
        lambda p, m, v: p - 1e-3 * m / (jnp.sqrt(v) + 1e-8), parameters, first, second
    )
    return parameters, (first, second), loss


def _training_step() -> Variants:
    parameters = _network(784, 128, 10)
    zeros = jax.tree_util.tree_map(jnp.zeros_like, parameters)
    rng = np.random.default_rng(1)
    x, y = rng.random((64, 784), np.float32), rng.random((64, 10), np.float32)
    step = partial(jax.jit(_adam), parameters, (zeros, zeros))
    return {JAX: partial(step, jnp.asarray(x), jnp.asarray(y))}


def _normal_numbers() -> Variants:
    draw = jax.jit(lambda key: jax.random.normal(key, (100_000,)))
    return {
        JAX: partial(draw, jax.random.PRNGKey(0)),
        NUMPY: partial(np.random.default_rng(0).standard_normal, 100_000, np.float32),
    }


def _split() -> Variants:
    return {JAX: partial(jax.random.split, jax.random.PRNGKey(0))}


def _permutation() -> Variants:
    draw = jax.jit(lambda key: jax.random.permutation(key, 10_000))
    return {JAX: partial(draw, jax.random.PRNGKey(0))}


def _unrolled(x: Any) -> Any:
    for _ in range(200):
        x = jnp.sin(x) + 0.1
    return x


def _scanned(x: Any) -> Any:
    return jax.lax.scan(lambda x, _: (jnp.sin(x) + 0.1, None), x, None, length=200)[0]


def _deep_gradient() -> Variants:
    return {JAX: partial(jax.jit(jax.grad(_loss)), _network(*[20] * 20, 1), *_batch(10, 20))}


def _large_constant() -> Variants:
    constant = np.random.default_rng(0).random(1_000_000, np.float32)
    return {JAX: partial(jax.jit(lambda x: jnp.sum(x * constant)), jnp.ones(1_000_000))}


def _attention_gradient() -> Variants:
    def loss(queries: Any, keys: Any, values: Any) -> Any:
        scores = jax.nn.softmax(queries @ keys.T / 8.0)
        return jnp.sum((scores @ values) ** 2)

    rng = np.random.default_rng(0)
    arrays = [jnp.asarray(rng.standard_normal((512, 64), np.float32)) for _ in range(3)]
    return {JAX: partial(jax.jit(jax.grad(loss, argnums=(0, 1, 2))), *arrays)}


BENCHMARKS = (
    *(
        Benchmark(name=name, topic="gradients", prepare=prepare)
        for name, prepare in (
            ("gradient of a small network", _gradient),
            ("gradients of 100 examples, vmap(grad)", _gradient_of_each),
            ("Hessian of 100 variables", _hessian),
            ("gradient of sines, not compiled", _traced_gradient),
            ("training step with Adam", _training_step),
        )
    ),
    *(
        Benchmark(name=name, topic="random numbers", prepare=prepare)
        for name, prepare in (
            ("100,000 normal numbers", _normal_numbers),
            ("split of a key", _split),
            ("permutation of 10,000 numbers", _permutation),
        )
    ),
    *(
        Benchmark(name=name, topic="compilation", prepare=prepare, quantity="first call")
        for name, prepare in (
            (
                "compilation of 200 unrolled steps",
                lambda: {JAX: partial(jax.jit(_unrolled), jnp.ones(10))},
            ),
            (
                "compilation of a scan of 200 steps",
                lambda: {JAX: partial(jax.jit(_scanned), jnp.ones(10))},
            ),
            ("compilation of a gradient through 20 layers", _deep_gradient),
            ("compilation with a constant of 4 MB", _large_constant),
        )
    ),
    Benchmark(
        name="memory of a gradient of attention",
        topic="memory",
        prepare=_attention_gradient,
        quantity="temporary memory",
    ),
)
