"""Pendulums against NumPy, against the conservation of energy and against elliptic integrals."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy.special import ellipk

from jaxcap.kernels.pendulum import (
    STEP,
    State,
    in_fori_loop,
    in_python,
    in_scan,
    in_while_loop,
    slopes,
    steps_to_bottom,
)

LOOPS = [in_python, in_fori_loop, in_scan, partial(in_scan, unroll=3), in_while_loop]
each_loop = pytest.mark.parametrize("loop", LOOPS)

Loop = Callable[..., State]


def start(dtype: Any = np.float32) -> tuple[np.ndarray, np.ndarray]:
    return np.linspace(-3, 3, 11, dtype=dtype), np.linspace(1, -0.5, 11, dtype=dtype)


@each_loop
@pytest.mark.parametrize("steps", [0, 1, 7, 100])
def test_loops_agree_with_numpy(loop: Loop, steps: int) -> None:
    angle, speed = start(np.float64)
    for _ in range(steps):
        speed -= 0.01 * np.sin(angle)
        angle += 0.01 * speed
    # Each step rounds an angle of at most 4 twice, and neighbours part slowly.
    tolerance = (steps + 1) * 16 * float(np.finfo(np.float32).eps)
    angle32, speed32 = start()
    result = loop((jnp.asarray(angle32), jnp.asarray(speed32)), steps)
    for part, expected in zip(result, (angle, speed), strict=True):
        assert part.dtype == jnp.float32
        np.testing.assert_allclose(part, expected, rtol=0, atol=tolerance)


def test_energy_is_kept_but_for_the_size_of_a_step() -> None:
    def energy(angle: Any, speed: Any) -> Any:
        return speed**2 / 2 - np.cos(angle)

    angle, speed = start()
    after = in_fori_loop((jnp.asarray(angle), jnp.asarray(speed)), 1000)
    np.testing.assert_allclose(energy(*after), energy(angle, speed), rtol=0, atol=2 * STEP)


@pytest.mark.parametrize("angle", [0.1, 1.0, 2.0, 3.0, 3.1415])
def test_a_quarter_of_the_period_is_an_elliptic_integral(angle: float) -> None:
    expected = float(ellipk(np.sin(angle / 2) ** 2)) / STEP
    # The last step passes the bottom, the speed is half a step late, and steps are not exact.
    assert float(steps_to_bottom(jnp.float32(angle))) == pytest.approx(expected, abs=1.6)


def test_python_leaves_all_steps_in_the_program_and_other_loops_leave_one() -> None:
    state = jnp.float32(1), jnp.float32(0)

    def size(loop: Loop, steps: int) -> int:
        return len(jax.make_jaxpr(partial(loop, steps=steps))(state).eqns)

    assert size(in_python, 40) == 10 * size(in_python, 4)
    for loop in (in_fori_loop, in_scan, in_while_loop):
        assert size(loop, 4) == size(loop, 40) == 1


@pytest.mark.parametrize("loop", [in_fori_loop, in_while_loop])
def test_number_of_steps_can_be_traced(loop: Loop) -> None:
    state = jnp.float32(1), jnp.float32(0)
    traced, static = jax.jit(loop)(state, 5), in_python(state, 5)
    np.testing.assert_allclose(traced, static, rtol=1e-6)


@pytest.mark.parametrize("loop", LOOPS[:-1])
def test_gradients_agree_with_differences(loop: Loop) -> None:
    def last_angle(angle: Any) -> Any:
        return loop((angle, jnp.zeros_like(angle)), 100)[0]

    with jax.enable_x64(True):
        slope = float(jax.grad(last_angle)(jnp.asarray(1.0)))
        high, low = (float(last_angle(jnp.asarray(x))) for x in (1 + 1e-5, 1 - 1e-5))
    assert slope == pytest.approx((high - low) / 2e-5, rel=1e-8)


@pytest.mark.parametrize("loop", LOOPS[:-1])
def test_slopes_are_those_of_each_pendulum_alone(loop: Loop) -> None:
    angle, speed = start(np.float64)

    def last_angles(angle: Any, speed: Any) -> np.ndarray:
        for _ in range(50):
            speed = speed - STEP * np.sin(angle)
            angle = angle + STEP * speed
        return np.asarray(angle)

    with jax.enable_x64(True):
        found = slopes(loop, (jnp.asarray(angle), jnp.asarray(speed)), 50)
    small = 1e-5
    difference = last_angles(angle + small, speed) - last_angles(angle - small, speed)
    np.testing.assert_allclose(found, difference / (2 * small), rtol=1e-8)


def test_a_while_loop_has_a_derivative_forwards_only() -> None:
    def last_angle(angle: Any) -> Any:
        return in_while_loop((angle, jnp.zeros_like(angle)), 100)[0]

    with pytest.raises(ValueError, match="Reverse-mode differentiation does not work"):
        jax.grad(last_angle)(1.0)
    expected = jax.grad(lambda angle: in_scan((angle, jnp.zeros_like(angle)), 100)[0])(1.0)
    assert float(jax.jvp(last_angle, (1.0,), (1.0,))[1]) == pytest.approx(float(expected), rel=1e-5)


def test_a_mapped_loop_counts_for_each_alone() -> None:
    starts = jnp.array([0.5, 1.5, 3.0])
    alone = [int(steps_to_bottom(angle)) for angle in starts]
    assert jax.vmap(steps_to_bottom)(starts).tolist() == alone
    assert len(set(alone)) == 3
