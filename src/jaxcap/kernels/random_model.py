"""A model of two random numbers, evaluated many times: one key after another, or all at once.

Keys are arrays of the dtype of `jax.random.key`.
"""

from collections.abc import Callable, Sequence

import jax
from jax import Array


def my_model(keys: Sequence[Array] | Array) -> Array:
    """Evaluate ``14 a^2 + 13 b`` for two independent standard normal numbers, a float32 scalar.

    Its mean is 14 and its variance ``14^2 * 2 + 13^2 = 561``.

    Parameters
    ----------
    keys
        Two keys, one for each number.
    """
    return 14 * jax.random.normal(keys[0]) ** 2 + 13 * jax.random.normal(keys[1])


def looped(
    model: Callable[[Sequence[Array]], Array], key: Array, loops: int, *, awaited: bool = False
) -> list[Array]:
    """Split a key and evaluate a model in a Python loop, which waits for each value if ``awaited``.

    Returns ``loops`` values.
    """
    values = []
    for _ in range(loops):
        key, *subkeys = jax.random.split(key, 3)
        value = model(subkeys)
        if awaited:
            value.block_until_ready()
        values.append(value)
    return values


def step(key: Array) -> tuple[Array, Array]:
    """Split a key and evaluate `my_model`; return the next key and the value."""
    key, *subkeys = jax.random.split(key, 3)
    return key, my_model(subkeys)


def looped_steps(
    step: Callable[[Array], tuple[Array, Array]], key: Array, loops: int
) -> list[Array]:
    """Values of ``loops`` calls of `step`, as it is or compiled, in a Python loop."""
    values = []
    for _ in range(loops):
        key, value = step(key)
        values.append(value)
    return values


def chained(key: Array, loops: int) -> Array:
    """Values of ``loops`` steps, each with the key that the previous step left: shape ``(loops,)``."""
    return jax.lax.scan(lambda key, _: step(key), key, length=loops)[1]


def batched(key: Array, loops: int) -> Array:
    """Values of ``loops`` calls of `my_model`, with keys split all at once: shape ``(loops,)``.

    The keys are not those of `chained`, so the values differ, although their distribution does not.
    """
    return jax.vmap(my_model)(jax.random.split(key, (loops, 2)))
