"""Situations that public issues report as slow, each in a few lines of our own.

`jaxcap.releases.changes.replays` says what was reported, and judges the results. Inputs are smaller
than in most reports, so that all releases can be measured.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import jax
import jax.experimental
import jax.numpy as jnp
import numpy as np
from jax import lax

from jaxcap.releases.benchmarks.benchmark import JAX, NUMPY, Benchmark, Variants

Function = Callable[..., Any]

# Old releases have ``enable_x64`` in ``jax.experimental`` only, new ones at the top only.
_HOME_OF_X64: Any = jax if hasattr(jax, "enable_x64") else jax.experimental


def _normal(*shape: int, dtype: Any = np.float32) -> Any:
    return np.random.default_rng(0).standard_normal(shape).astype(dtype)


def _compiled(fn: Function, *arrays: Any) -> Function:
    return partial(jax.jit(fn), *map(jnp.asarray, arrays))


def _compiled_in_float64(fn: Function, *arrays: Any) -> Function:
    """Prepare a call in double precision, which the setting has to surround."""
    with _HOME_OF_X64.enable_x64(True):
        call = _compiled(fn, *arrays)

    def call_in_float64() -> Any:
        with _HOME_OF_X64.enable_x64(True):
            return call()

    return call_in_float64


def _neuron() -> Variants:
    """Simulate four parts of a neuron: currents between them, and gates that depend on voltage."""

    def step(state: Any, _: Any) -> Any:
        voltage, opened, closed = state
        opening = 1.0 / (1.0 + jnp.exp(-(voltage + 40.0) / 9.0))
        closing = 1.0 / (1.0 + jnp.exp((voltage + 62.0) / 7.0))
        opened = opened + (opening - opened) * (1.0 - jnp.exp(-0.025 / opening))
        closed = closed + (closing - closed) * (1.0 - jnp.exp(-0.025 / closing))
        current = 120.0 * opened**3 * closed * (voltage - 50.0) + 0.3 * (voltage + 54.0)
        flow = jnp.diff(voltage)
        current = current.at[:-1].add(-flow).at[1:].add(flow)
        return (voltage - 0.001 * current, opened, closed), voltage[0]

    def simulate(voltage: Any) -> Any:
        state = voltage, jnp.full_like(voltage, 0.1), jnp.full_like(voltage, 0.6)
        return lax.scan(step, state, None, length=500)[1]

    return {JAX: _compiled_in_float64(simulate, np.linspace(-70.0, -60.0, 4))}


def _largest_so_far() -> Variants:
    def count(numbers: Any) -> Any:
        last = numbers[-1]

        def step(state: Any) -> Any:
            largest, position = state
            return jnp.maximum(largest, numbers[position]), position + 1

        return lax.while_loop(lambda state: state[0] < last, step, (0, 0))[1]

    return {JAX: _compiled(count, np.arange(10_000, dtype=np.int32))}


def _robot_arm() -> Variants:
    """Find where each joint of an arm is, and how that depends on the first angle."""
    link = np.eye(4)
    link[0, 3] = 0.1

    def positions(angles: Any) -> Any:
        frame, found = jnp.eye(4), []
        for angle in angles:
            cos, sin = jnp.cos(angle), jnp.sin(angle)
            turn = jnp.eye(4).at[:2, :2].set(jnp.array([[cos, -sin], [sin, cos]]))
            frame = frame @ turn @ link
            found.append(frame[:3, 3])
        return jnp.stack(found)

    def inertia(angles: Any) -> Any:
        jacobian = jax.jacfwd(positions)(angles)
        return jnp.einsum("pxi,pxj->ij", jacobian, jacobian)

    return {JAX: _compiled_in_float64(inertia, np.linspace(0.0, 1.0, 12))}


def _products_of_rotations() -> Variants:
    def turn(matrices: tuple[Any, Any], angles: Any) -> Any:
        identity, generator = matrices

        def step(rotation: Any, angle: Any) -> Any:
            rotation = (identity + angle * generator) @ rotation
            return rotation, rotation[0, 0]

        return lax.scan(step, identity, angles)

    generator = np.array([[0.0, -1.0, 0.0], [1.0, 0.0, 0.0], [0.0, 0.0, 0.0]])
    return {JAX: _compiled_in_float64(partial(turn, (np.eye(3), generator)), np.full(1000, 1e-3))}


def _gradient_of_many_scalars() -> Variants:
    """Carry a dictionary of beliefs, each one a scalar, as a network of nodes does."""

    def step(beliefs: Any, x: Any) -> Any:
        moved = {
            name: belief + 0.1 * jnp.tanh(x - belief) / (1.0 + belief * belief)
            for name, belief in beliefs.items()
        }
        return moved, sum(moved.values())

    def loss(start: Any, inputs: Any) -> Any:
        beliefs = {f"node {number}": start + 0.01 * number for number in range(20)}
        return jnp.sum(lax.scan(step, beliefs, inputs)[1])

    return {JAX: _compiled(jax.grad(loss), np.float32(0.5), _normal(100))}


def _smoothness_gradient() -> Variants:
    def roughness(x: Any) -> Any:
        return sum(jnp.sum(jnp.diff(x, axis=axis) ** 2) for axis in range(x.ndim))

    return {JAX: _compiled(jax.grad(roughness), _normal(128, 128, 128))}


def _small_systems() -> Variants:
    a = _normal(10_000, 3, 3)
    matrices = a @ np.swapaxes(a, 1, 2) + 0.01 * np.eye(3, dtype=np.float32)
    return {JAX: _compiled(jnp.linalg.solve, matrices, _normal(10_000, 3, 1))}


def _runge_kutta() -> Variants:
    """Solve an equation at given times, and keep every 200th value."""
    times = np.linspace(0.0, 20.0, 2001, dtype=np.float32)

    def solve(y: Any, times: Any) -> Any:
        def step(state: Any) -> Any:
            y, number, kept = state
            h = times[number + 1] - times[number]
            k1 = jnp.cos(y)
            k2 = jnp.cos(y + h / 2 * k1)
            k3 = jnp.cos(y + h / 2 * k2)
            k4 = jnp.cos(y + h * k3)
            y = y + h / 6 * (k1 + 2 * k2 + 2 * k3 + k4)
            return y, number + 1, kept.at[number // 200].set(y)

        return lax.while_loop(lambda state: state[1] < 2000, step, (y, 0, jnp.zeros(10)))[2]

    return {JAX: _compiled(solve, np.float32(1.0), times)}


def _orbit_gradient() -> Variants:
    """Differentiate the positions of three bodies after many small steps (leapfrog)."""
    masses = np.array([1.0, 1e-3, 5e-4])

    def acceleration(x: Any) -> Any:
        apart = x[None] - x[:, None]
        cubed = (jnp.sum(apart**2, axis=-1) + np.eye(3)) ** 1.5
        return jnp.sum(masses[None, :, None] * apart / cubed[..., None], axis=1)

    def step(state: Any, _: Any) -> Any:
        x, v = state
        x = x + 0.01 * v
        return (x, v + 0.01 * acceleration(x)), None

    def end(v: Any) -> Any:
        x = jnp.array([[0.0, 0.0, 0.0], [1.0, 0.0, 0.0], [0.0, 2.0, 0.0]])
        (x, _), _ = lax.scan(step, (x, v), None, length=300)
        return jnp.sum(x**2)

    v = np.array([[0.0, 0.0, 0.0], [0.0, 1.0, 0.0], [-0.7, 0.0, 0.1]])
    return {JAX: _compiled_in_float64(jax.grad(end), v)}


def _updates_from_random_places() -> Variants:
    def step(state: Any) -> Any:
        position, x = state
        chosen = jax.random.randint(jax.random.PRNGKey(position), (), 0, 2)
        return position + 1, x.at[position].set(x[chosen])

    def fill(x: Any) -> Any:
        return lax.while_loop(lambda state: state[0] < x.size, step, (0, x))[1]

    return {JAX: _compiled(fill, np.ones(10_000, np.float32))}


def _path() -> Variants:
    """Write down each state of a loop, in an array that is as long as the loop."""

    def step(t: Any, path: Any) -> Any:
        return path.at[t + 1].set(3.7 * path[t] * (1.0 - path[t]))

    return {JAX: _compiled(lambda x: lax.fori_loop(0, x.size - 1, step, x), _normal(5000))}


def _argsort() -> Variants:
    x = _normal(100, 1000)
    argsort = partial(jnp.argsort, axis=0)
    return {JAX: _compiled(argsort, x), NUMPY: partial(np.argsort, x, axis=0)}


def _cumsum() -> Variants:
    x = _normal(2000, 200)

    def accumulate(total: Any, row: Any) -> Any:
        return total + row, total + row

    return {
        JAX: _compiled(partial(jnp.cumsum, axis=0), x),
        "scan": _compiled(lambda x: lax.scan(accumulate, jnp.zeros_like(x[0]), x)[1], x),
        NUMPY: partial(np.cumsum, x, axis=0),
    }


def _sum_along_first_axis() -> Variants:
    x = _normal(128, 128, 128)
    return {JAX: _compiled(partial(jnp.sum, axis=0), x), NUMPY: partial(np.sum, x, axis=0)}


def _copy_of_array() -> Variants:
    x = np.ones(1, np.float32)
    return {JAX: partial(jnp.array, x, copy=True), NUMPY: partial(np.array, x, copy=True)}


def _array_from_list() -> Variants:
    numbers = list(range(5000))
    return {
        JAX: partial(jnp.array, numbers),
        "through NumPy": lambda: jnp.array(np.array(numbers)),
    }


def _fill(x: Any) -> Any:
    """Fill an array in a scan with a condition, as a solver does that may end early."""

    def step(state: Any, _: Any) -> Any:
        x, position = state
        is_running = position < x.size
        x = lax.cond(is_running, lambda x: x.at[position].set(1.0), lambda x: x, x)
        return (x, position + 1), None

    return lax.scan(step, (x, 0), None, length=x.size)[0][0]


def _vmap_of_updates_under_condition() -> Variants:
    x = np.zeros((2, 3000), np.float32)
    return {JAX: _compiled(jax.vmap(_fill), x), "without vmap": _compiled(_fill, x[0])}


def _fill_in_while_loop(first: Any, x: Any) -> Any:
    def step(state: Any) -> Any:
        position, x = state
        return position + 1, x.at[position].set(1.0)

    return lax.while_loop(lambda state: state[0] < x.size, step, (first, x))[1]


def _vmap_of_updates_in_while_loop() -> Variants:
    first, x = np.zeros(1, np.int32), np.zeros((1, 3000), np.float32)
    return {
        JAX: _compiled(jax.vmap(_fill_in_while_loop), first, x),
        "without vmap": _compiled(_fill_in_while_loop, first[0], x[0]),
    }


def _einsum_over_channels() -> Variants:
    def by_product(a: Any, b: Any) -> Any:
        product = jnp.transpose(a, (1, 2, 0, 3)) @ jnp.transpose(b, (1, 2, 3, 0))
        return jnp.transpose(product, (2, 3, 0, 1))

    a, b = _normal(50, 20, 20, 3), _normal(50, 20, 20, 3)
    return {
        JAX: _compiled(partial(jnp.einsum, "nxyc,mxyc->nmxy"), a, b),
        "transposed product": _compiled(by_product, a, b),
    }


def _inverse_by_cofactors(a: Any) -> Any:
    """Invert a 3 × 3 matrix: the cross products of its rows, divided by the determinant."""
    columns = jnp.stack([jnp.cross(a[i - 2], a[i - 1]) for i in range(3)], axis=1)
    return columns / jnp.dot(a[0], columns[:, 0])


def _small_inverses() -> Variants:
    a = _normal(5000, 3, 3)
    return {
        JAX: _compiled(jnp.linalg.inv, a),
        "by cofactors": _compiled(jax.vmap(_inverse_by_cofactors), a),
    }


def _recurrent_network() -> Variants:
    matrix, state = _normal(100, 100) / 10, np.ones(100, np.float32)

    def in_loop(matrix: Any, state: Any) -> Any:
        return lax.fori_loop(0, 25, lambda _, x: jnp.tanh(matrix @ x), state)

    def unrolled(matrix: Any, state: Any) -> Any:
        for _ in range(25):
            state = jnp.tanh(matrix @ state)
        return state

    return {
        JAX: _compiled(in_loop, matrix, state),
        "unrolled": _compiled(unrolled, matrix, state),
    }


def _shuffle() -> Variants:
    x = _normal(20_000)
    return {
        JAX: _compiled(jax.random.permutation, jax.random.PRNGKey(0), x),
        NUMPY: partial(np.random.default_rng(0).permutation, x),
    }


def _three_random_numbers() -> Variants:
    key = jax.random.PRNGKey(0)

    def draw() -> Any:
        _, subkey = jax.random.split(key)
        return jax.random.normal(subkey, (3,))

    return {JAX: draw, NUMPY: partial(np.random.default_rng(0).standard_normal, 3)}


def _elements() -> Variants:
    x, weights = jnp.ones(1000), jnp.ones(20)

    def weigh(weights: Any) -> Any:
        total = 0.0
        for number in range(20):
            total = total + x * weights[number]
        return total

    return {JAX: partial(weigh, weights), "list of weights": partial(weigh, [1.0] * 20)}


def _short_concatenation() -> Variants:
    halves = np.ones(5, np.float32), np.ones(6, np.float32)
    return {JAX: partial(jnp.concatenate, halves), NUMPY: partial(np.concatenate, halves)}


def _product_in_float64() -> Variants:
    a, b = _normal(256, 256, dtype=np.float64), _normal(256, 256, dtype=np.float64)
    return {JAX: _compiled_in_float64(jnp.dot, a, b), NUMPY: partial(np.dot, a, b)}


def _transposed_convolution() -> Variants:
    images, kernel = _normal(4, 28, 28, 16), _normal(5, 5, 16, 16)
    dimensions = ("NHWC", "HWIO", "NHWC")

    def convolve(images: Any, kernel: Any) -> Any:
        return lax.conv_general_dilated(
            images, kernel, (1, 1), "SAME", dimension_numbers=dimensions
        )

    def transposed(images: Any, kernel: Any) -> Any:
        return lax.conv_transpose(
            images[:, ::2, ::2], kernel, (2, 2), "SAME", dimension_numbers=dimensions
        )

    return {
        JAX: _compiled(transposed, images, kernel),
        "convolution": _compiled(convolve, images, kernel),
    }


def _indices_from_list() -> Variants:
    x, indices = np.ones(3000, np.float32), list(range(1000))

    def add(x: Any) -> Any:
        return x.at[(indices,)].add(1.0)

    def add_at_array(x: Any) -> Any:
        return x.at[np.array(indices)].add(1.0)

    return {JAX: _compiled(add, x), "array of indices": _compiled(add_at_array, x)}


def _update_of_new_array() -> Variants:
    def new_array() -> Any:
        return jnp.ones((200, 200, 200)).at[50, 50, 50].set(2.0)

    def given_array(x: Any) -> Any:
        return x.at[50, 50, 50].set(2.0)

    return {
        JAX: jax.jit(new_array),
        "array from outside": _compiled(given_array, np.ones((200, 200, 200), np.float32)),
    }


BENCHMARKS = (
    *(
        Benchmark(name=name, topic="issues", prepare=prepare)
        for name, prepare in (
            ("simulation of a neuron in float64", _neuron),
            ("while_loop of 10,000 maxima", _largest_so_far),
            ("mass matrix of a robot arm in float64", _robot_arm),
            ("scan of 1,000 products of 3 × 3 in float64", _products_of_rotations),
            ("gradient of a scan that carries 20 scalars", _gradient_of_many_scalars),
            ("gradient of squared differences in an image", _smoothness_gradient),
            ("solutions of 10,000 small systems", _small_systems),
            ("while_loop of 2,000 Runge-Kutta steps", _runge_kutta),
            ("gradient of orbits in float64", _orbit_gradient),
            ("while_loop of 10,000 updates from random places", _updates_from_random_places),
            ("fori_loop of 5,000 updates of a path", _path),
            ("argsort of columns", _argsort),
            ("cumulative sums of columns", _cumsum),
            ("sum along the first of three axes", _sum_along_first_axis),
            ("copy of an array of one number", _copy_of_array),
            ("array from a list of 5,000 numbers", _array_from_list),
            ("vmap of 3,000 updates under a condition", _vmap_of_updates_under_condition),
            ("vmap of 3,000 updates in a while_loop", _vmap_of_updates_in_while_loop),
            ("einsum over channels", _einsum_over_channels),
            ("inverses of 5,000 small matrices", _small_inverses),
            ("fori_loop of 25 products with a matrix", _recurrent_network),
            ("shuffle of 20,000 numbers", _shuffle),
            ("three random numbers from a new key", _three_random_numbers),
            ("20 elements as weights, not compiled", _elements),
            ("concatenation of two short arrays", _short_concatenation),
            ("product of 256 × 256 matrices in float64", _product_in_float64),
            ("transposed convolution of four images", _transposed_convolution),
        )
    ),
    *(
        Benchmark(name=name, topic="issues", prepare=prepare, quantity="first call")
        for name, prepare in (
            ("compilation with a list of 1,000 indices", _indices_from_list),
            ("compilation of an update of a new array", _update_of_new_array),
        )
    ),
)
