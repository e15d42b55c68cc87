"""A pendulum that swings step by step, in each kind of loop that JAX has.

A state is an angle in radians, zero at the bottom, and its speed: two arrays of one shape and of one
floating-point dtype, which are kept. Units of length and time are such that gravity is 1, so a small
swing takes 2π.
"""

from __future__ import annotations

from collections.abc import Callable

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
    """Take steps in a Python loop, which JAX unrolls when it traces."""
    for _ in range(steps):
        state = step(state)
    return state


def in_fori_loop(state: State, steps: Array | int) -> State:
    """Take the same steps in a loop that counts; steps can be traced."""
    last: State = jax.lax.fori_loop(0, steps, lambda _, s: step(s), state)
    return last


def in_scan(state: State, steps: int, unroll: int = 1) -> State:
    """Take the same steps in a scan, one or several in each round."""

    def body(state: State, _: None) -> tuple[State, None]:
        return step(state), None

    last, _ = jax.lax.scan(body, state, length=steps, unroll=unroll)
    return last


def in_while_loop(state: State, steps: Array | int) -> State:
    """Take the same steps in a loop with a condition; steps can be traced."""

    def has_steps_left(loop: tuple[State, int]) -> Array | bool:
        return loop[1] < steps

    def body(loop: tuple[State, int]) -> tuple[State, int]:
        return step(loop[0]), loop[1] + 1

    last, _ = jax.lax.while_loop(has_steps_left, body, (state, 0))
    return last


def slopes(loop: Callable[..., State], state: State, steps: int) -> Array:
    """Differentiate the last angles, each with respect to its angle at the start."""
    angle, speed = state
    result: Array = jax.grad(lambda angle: loop((angle, speed), steps=steps)[0].sum())(angle)
    return result


def steps_to_bottom(angle: Array) -> Array:
    """Count the steps that one pendulum takes down from a positive angle."""

    def is_above(loop: tuple[State, Array]) -> Array:
        (angle, _), _ = loop
        return angle > 0

    def body(loop: tuple[State, Array]) -> tuple[State, Array]:
        state, count = loop
        return step(state), count + 1

    start = angle, jnp.zeros_like(angle)
    none = jnp.zeros_like(angle, int)
    _, count = jax.lax.while_loop(is_above, body, (start, none))
    return count
