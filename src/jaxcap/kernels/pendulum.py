"""A pendulum that swings step by step, in each kind of loop that JAX has.

A state is an angle in radians, zero at the bottom, and its speed: two arrays of one shape and of one
floating-point dtype, which are kept. Units of length and time are such that gravity is 1, so a small
swing takes 2π.
"""

from __future__ import annotations

import jax
import jax.numpy as jnp
from jax import Array

State = tuple[Array, Array]

STEP = 0.01  # in units of time


def step(state: State) -> State:
    """Move on by a small step of time, by the semi-implicit Euler method."""
    angle, speed = state
    speed = speed - STEP * jnp.sin(angle)
    return angle + STEP * speed, speed


def in_python(state: State, steps: int) -> State:
    """Take a number of steps in a Python loop, which JAX unrolls when it traces."""
    for _ in range(steps):
        state = step(state)
    return state


def in_fori_loop(state: State, steps: Array | int) -> State:
    """Take the same steps in a loop that counts; ``steps`` can be traced."""
    result: State = jax.lax.fori_loop(0, steps, lambda _, state: step(state), state)
    return result


def in_scan(state: State, steps: int, unroll: int = 1) -> State:
    """Take the same steps in a scan, ``unroll`` of them in each of its rounds."""
    last, _ = jax.lax.scan(lambda state, _: (step(state), None), state, length=steps, unroll=unroll)
    return last


def in_while_loop(state: State, steps: Array | int) -> State:
    """Take the same steps in a loop with a condition; ``steps`` can be traced."""
    last, _ = jax.lax.while_loop(
        lambda loop: loop[1] < steps, lambda loop: (step(loop[0]), loop[1] + 1), (state, 0)
    )
    return last


def steps_to_bottom(angle: Array) -> Array:
    """Count the steps until one pendulum that is let go at a positive angle has passed the bottom.

    Takes a scalar, and returns an integer scalar.
    """
    start = (angle, jnp.zeros_like(angle)), jnp.zeros_like(angle, int)
    _, count = jax.lax.while_loop(
        lambda loop: loop[0][0] > 0, lambda loop: (step(loop[0]), loop[1] + 1), start
    )
    return count
