"""Checks accept right answers, and say of wrong ones what is expected."""

from __future__ import annotations

import itertools
import re
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from math import prod
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from fakes import make_pair, make_result, make_set
from jax import export
from jax.sharding import AbstractMesh, AxisType

from jaxcap.exercises import check

PAGES = sorted(
    Path(__file__).parents[2].glob("docs/exercises/[0-9]*.md"),
    key=lambda path: int(path.stem.partition("_")[0]),
)
FIRST = jnp.arange(1, 7).reshape(2, 3)
SECOND = jnp.full((3, 2), 2)
THIRD = FIRST @ SECOND
FOURTH = jnp.vstack([SECOND, jnp.array([3, 4])])
FIFTH = jnp.hstack([FOURTH, jnp.ones((4, 1), int)])
CHANGED = jnp.array([[4, 4, 4], [2, 7, 3]])


GENERATOR = np.random.default_rng(0)


def augment(key: Any, image: Any, *, noise: float = 0.1, chance: float = 0.5) -> Any:
    mirror_key, noise_key = jax.random.split(key)
    return _augmented(mirror_key, noise_key, image, noise, chance)


def _augmented(
    mirror_key: Any, noise_key: Any, image: Any, noise: float = 0.1, chance: float = 0.5
) -> Any:
    return _mirrored(mirror_key, image, chance) + noise * jax.random.normal(noise_key, image.shape)


def _mirrored(key: Any, image: Any, chance: float = 0.5) -> Any:
    return jnp.where(jax.random.bernoulli(key, chance), image[:, ::-1], image)


def augment_alike(key: Any, image: Any) -> Any:
    """Add the same number to all pixels."""
    mirror_key, noise_key = jax.random.split(key)
    return _mirrored(mirror_key, image) + 0.1 * jax.random.normal(noise_key)


def augment_by_numpy(key: Any, image: Any) -> Any:
    return _mirrored(key, image) + 0.1 * GENERATOR.standard_normal(image.shape)


def augment_from_parent(key: Any, image: Any) -> Any:
    """Draw from a key that is split as well."""
    return _augmented(key, jax.random.split(key)[1], image)


def walk(state: Any, steps: int, sample: Any = jax.random.normal) -> Any:
    key, position = state
    for _ in range(steps):
        key, step_key = jax.random.split(key)
        position += sample(step_key)
    return key, position


def forgetful_walk(state: Any, steps: int) -> Any:
    """Return the key that came in."""
    return state[0], walk(state, steps)[1]


def lame_walk(state: Any, steps: int) -> Any:
    """Take each step with the same key."""
    key, position = state
    return key, position + steps * jax.random.normal(key)


def walk_by_batch(state: Any, steps: int) -> Any:
    """Split as many keys as there are steps."""
    key, *step_keys = jax.random.split(state[0], steps + 1)
    return key, state[1] + sum(map(jax.random.normal, step_keys))


def careless_walk(state: Any, steps: int) -> Any:
    """Draw from a key, and then split it."""
    key, position = state
    for _ in range(steps):
        position += jax.random.normal(key)
        key, _ = jax.random.split(key)
    return key, position


def draw(key: Any, walker: int, step: int, sample: Any = jax.random.normal) -> Any:
    return sample(jax.random.fold_in(jax.random.fold_in(key, walker), step))


def hill(x: Any) -> Any:
    return x**2 * jnp.sin(x)


hill_slope = jax.grad(hill)


def newton_step(x: Any, function: Callable[[Any], Any] = hill_slope) -> Any:
    return x - function(x) / jax.grad(function)(x)


@jax.jit
def update(state: Any, x: Any) -> Any:
    count, total = state
    return (count + 1, total + x), (total + x) / (count + 1)


def forgetful_update(state: Any, x: Any) -> Any:
    return state, update(state, x)[1]


def stopwatch(function: Callable[[Any], Any], x: Any, *, unit: float = 1) -> float:
    function(x).block_until_ready()
    start = time.perf_counter()
    function(x).block_until_ready()
    return unit * (time.perf_counter() - start)


def total_stopwatch(function: Callable[[Any], Any], x: Any) -> float:
    function(x).block_until_ready()
    start = time.perf_counter()
    for _ in range(10):
        function(x).block_until_ready()
    return time.perf_counter() - start


def cold_stopwatch(function: Callable[[Any], Any], x: Any) -> float:
    start = time.perf_counter()
    function(x).block_until_ready()
    return time.perf_counter() - start


def impatient_stopwatch(function: Callable[[Any], Any], x: Any) -> float:
    """Stop the clock before the result is ready."""
    function(x).block_until_ready()
    start = time.perf_counter()
    result = function(x)
    stop = time.perf_counter()
    result.block_until_ready()
    return stop - start


def inclusive_stopwatch(function: Callable[[Any], Any], x: Any) -> float:
    """Start the clock before the first call."""
    start = time.perf_counter()
    for _ in range(2):
        function(x).block_until_ready()
    return time.perf_counter() - start


def summary(
    step: Callable[[Any], Any],
    batches: Any,
    number: Callable[[Any], Any] = lambda x: x,
    largest: Callable[[Any, Any], Any] = jnp.maximum,
) -> Any:
    total, worst = 0.0, 0.0
    for batch in batches:
        loss = step(batch)
        total += number(loss)
        worst = largest(worst, loss)
    return total / len(batches), worst


def blur(x: Any, width: int, strength: Any, kind: str) -> Any:
    windows = jnp.stack([jnp.roll(x, shift) for shift in range(width)])
    level = windows.mean(axis=0) if kind == "mean" else windows.max(axis=0)
    return x + strength * (level - x)


def peak(x: Any, n: Any, lowest: float = -jnp.inf) -> Any:
    return jnp.where(jnp.arange(len(x)) < n, x, lowest).max()


def smooth(numbers: Any) -> Any:
    def step(mean: Any, number: Any) -> Any:
        mean = 0.9 * mean + 0.1 * number
        return mean, mean

    return jax.lax.scan(step, 0.0, numbers)[1]


def smooth_in_python(numbers: Any) -> Any:
    means = [0.0]
    for number in numbers:
        means.append(0.9 * means[-1] + 0.1 * number)
    return jnp.array(means[1:])


def late_smooth(numbers: Any) -> Any:
    """Collect the means of before, as a step does that returns the old state."""
    return jax.lax.scan(lambda m, x: (0.9 * m + 0.1 * x, m), 0.0, numbers)[1]


def power(x: Any, n: Any) -> Any:
    return jax.lax.fori_loop(0, n, lambda _, y: x * y, 1.0)


def record(history: Any, step: int, value: float) -> Any:
    return history.at[step].set(value)


def bubble(x: Any) -> Any:
    """One pass of bubble sort, which reads the old array after it has made a new one."""

    def step(i: Any, x: Any) -> Any:
        low, high = jnp.minimum(x[i], x[i + 1]), jnp.maximum(x[i], x[i + 1])
        return x.at[i].set(low).at[i + 1].set(high)

    return jax.lax.fori_loop(0, len(x) - 1, step, x)


def bubble_at_once(x: Any) -> Any:
    def step(i: Any, x: Any) -> Any:
        both = jnp.stack([i, i + 1])
        return x.at[both].set(jnp.sort(x[both]))

    return jax.lax.fori_loop(0, len(x) - 1, step, x)


def bubble_by_scan(x: Any) -> Any:
    """Carry the largest number so far."""
    largest, others = jax.lax.scan(
        lambda largest, number: (jnp.maximum(largest, number), jnp.minimum(largest, number)),
        x[0],
        x[1:],
    )
    return jnp.append(others, largest)


def group_means(values: Any, groups: Any, count: int) -> Any:
    sums = partial(jax.ops.segment_sum, segment_ids=groups, num_segments=count)
    return sums(values) / sums(jnp.ones_like(values))


def move(position: Any, velocity: Any) -> Any:
    return position + 0.1 * velocity


def push(x: Any, _: None) -> tuple[Any, None]:
    return x + 0.1 * jnp.sin(jnp.exp(-x * x)), None


def simulate(x: Any, length: int = 100, wrap: Callable[..., Any] = lambda step: step) -> Any:
    return jax.lax.scan(wrap(push), x, length=length)[0].sum()


def grouped(x: Any) -> Any:
    @jax.checkpoint
    def group(x: Any, _: None) -> tuple[Any, None]:
        return jax.lax.scan(push, x, length=10)

    return jax.lax.scan(group, x, length=10)[0].sum()


def entropy(p: Any) -> Any:
    positive = p > 0
    return -jnp.where(positive, p * jnp.log(jnp.where(positive, p, 1)), 0).sum()


def mean_model(models: Any) -> Any:
    return jax.tree.map(lambda *leaves: sum(leaves) / len(leaves), *models)


def sphere() -> type:
    """Make a class that JAX doesn't know."""

    @dataclass
    class Sphere:
        radius: float
        unit: str

    return Sphere


def sphere_in(unit: str) -> type:
    """Make a class whose objects are put together with this unit, whatever they had."""
    kind = sphere()
    jax.tree_util.register_pytree_node(
        kind, lambda s: ((s.radius,), s.unit), lambda _, children: kind(*children, unit)
    )
    return kind


def sphere_from_unit() -> type:
    """Make a class with its two fields in the other order."""

    @dataclass
    class Sphere:
        unit: str
        radius: float

    return register(Sphere, ["radius"], ["unit"])


def forgetful_sphere() -> type:
    """Make a class whose objects lose their unit when they are taken apart."""
    kind = sphere()
    jax.tree_util.register_pytree_node(
        kind, lambda made: ((made.radius,), None), lambda _, leaves: kind(*leaves, "m")
    )
    return kind


def momentum_step(params: Any, velocity: Any, slopes: Any) -> Any:
    velocity = jax.tree.map(lambda v, slope: 0.9 * v + slope, velocity, slopes)
    return jax.tree.map(lambda p, v: p - 0.1 * v, params, velocity), velocity


def late_step(params: Any, velocity: Any, slopes: Any) -> Any:
    """Move by the old velocity."""
    _, new = momentum_step(params, velocity, slopes)
    return jax.tree.map(lambda p, v: p - 0.1 * v, params, velocity), new


def climbing_step(params: Any, velocity: Any, slopes: Any) -> Any:
    _, new = momentum_step(params, velocity, slopes)
    return jax.tree.map(lambda p, v: p + 0.1 * v, params, new), new


def split_among_eight(*split: str | None) -> jax.NamedSharding:
    mesh = AbstractMesh((8,), ("devices",), (AxisType.Explicit,))
    return jax.NamedSharding(mesh, jax.P(*split))  # type: ignore[no-untyped-call]


def by_rows(product: Any) -> Any:
    return jax.reshard(product, split_among_eight("devices"))  # type: ignore[no-untyped-call]


def collected_product(x: Any, y: Any) -> Any:
    x, y = jax.reshard((x, y), split_among_eight())  # type: ignore[no-untyped-call]
    return by_rows(x @ y)


def sent_product(x: Any, y: Any) -> Any:
    return by_rows(jax.device_put(x, split_among_eight()) @ jax.device_put(y, split_among_eight()))


def cut_product(x: Any, y: Any) -> Any:
    return by_rows(jnp.matmul(x, y, out_sharding=split_among_eight()))


def unreduced_product(x: Any, y: Any) -> Any:
    whole = split_among_eight()
    parts = whole.update(spec=jax.P(unreduced={"devices"}))  # type: ignore[no-untyped-call]
    return jnp.matmul(x, y, out_sharding=parts)


def sent(
    messages: list[tuple[str, tuple[int, ...]]],
    devices: int,
    *,
    bytes_each: int = 4,
    gathers_as: str = "all-gather",
    reduces_as: str = "all-reduce",
    scatters_as: str = "reduce-scatter",
) -> float:
    multiples = {
        "all-gather": (devices - 1) / devices,
        "all-reduce": 2 * (devices - 1) / devices,
        "reduce-scatter": devices - 1,
    }
    counted = {
        "all-gather": gathers_as,
        "all-reduce": reduces_as,
        "reduce-scatter": scatters_as,
    }
    sizes = [(counted[kind], bytes_each * prod(shape)) for kind, shape in messages]
    return sum(multiples[kind] * size for kind, size in sizes)


def centred(part: Any, mean: Any = jax.lax.pmean) -> Any:
    return part - mean(part.mean(), "devices")


def standardise(x: Any) -> Any:
    return (x - x.mean()) / x.std()


shape: Any = jax.ShapeDtypeStruct
TEN, ANY_LENGTH, EVEN_LENGTH = (
    shape(size, "float32")
    for size in ((10,), export.symbolic_shape("n"), export.symbolic_shape("2*n"))
)


def exported(function: Callable[..., Any], *shapes: jax.ShapeDtypeStruct) -> export.Exported:
    return export.export(jax.jit(function))(*shapes)


def length(x: Any, dtype: str = "float32") -> Any:
    return jnp.sqrt(jnp.sum(x.astype(dtype) ** 2)).astype(x.dtype)


def length_by_largest(x: Any) -> Any:
    return x.max() * length(x / x.max(), "float16")


def scaled_slope(w: Any, x: Any, scale: float = 2.0**12, dtype: str = "float32") -> Any:
    scaled = jax.grad(lambda w: scale * jnp.mean((w * x) ** 2))(w)
    return scaled.astype(dtype) / scale


def slope_in_float32(w: Any, x: Any) -> Any:
    return scaled_slope(w.astype("float32"), x.astype("float32"))


def predict(weights: Any, offset: Any, features: Any) -> Any:
    return jnp.tanh(weights @ features) + offset


def predict_all(axis: int = 1, out_axes: int = 0) -> Callable[..., Any]:
    return jax.vmap(predict, in_axes=(None, None, axis), out_axes=out_axes)


def predict_in_python(weights: Any, offset: Any, columns: Any) -> Any:
    return jnp.stack([predict(weights, offset, column) for column in columns.T])


def predict_in_turn(weights: Any, offset: Any, columns: Any) -> Any:
    return jax.lax.map(partial(predict, weights, offset), columns.T)


def likeness(a: Any, b: Any) -> Any:
    return jnp.exp(-jnp.sum((a - b) ** 2))


def table_in_python(first: Any, second: Any) -> Any:
    return jnp.array([[likeness(a, b) for b in second] for a in first])


table = jax.vmap(jax.vmap(likeness, in_axes=(None, 0)), in_axes=(0, None))
transposed_table = jax.vmap(jax.vmap(likeness, in_axes=(0, None)), in_axes=(None, 0))


def logistic_loss(weights: Any, features: Any, label: Any) -> Any:
    score = jnp.dot(weights, features)
    return jnp.logaddexp(0, score) - label * score


each_slope = jax.vmap(jax.grad(logistic_loss), in_axes=(None, 0, 0))


def pulls(*args: Any) -> Any:
    return jnp.linalg.norm(each_slope(*args), axis=1)


def pulls_in_python(weights: Any, features: Any, labels: Any) -> Any:
    slopes = [
        jax.grad(logistic_loss)(weights, *pair) for pair in zip(features, labels, strict=True)
    ]
    return jnp.linalg.norm(jnp.stack(slopes), axis=1)


def share(features: Any, total: Callable[[Any, str], Any] = jax.lax.psum) -> Any:
    return features / total(features, "examples")


def sum_of_all(features: Any, axis: str) -> Any:
    return jax.lax.psum(features.sum(), axis)  # type: ignore[no-untyped-call]


def sum_over_unknown_axis(features: Any, _: str) -> Any:
    return jax.lax.psum(features, "batch")  # type: ignore[no-untyped-call]


COMPARISON = make_pair([1e-3] * 6, [4e-3] * 6)
COUNT = itertools.count(1)
static = partial(jax.jit, static_argnums=(1,))
register = jax.tree_util.register_dataclass

RIGHT: dict[str, Any] = {
    "1.1": FIRST,
    "1.2": SECOND,
    "1.3": THIRD,
    "1.4": THIRD.shape,
    "1.5": 2 * THIRD,
    "1.6": THIRD * jnp.arange(1, 5).reshape(2, 2),
    "1.7": FOURTH,
    "1.8": FIFTH,
    "1.9": CHANGED,
    "1.10": (True, False, True, False),
    "2.1": (True, True, False, False),
    "2.2": augment,
    "2.3": walk,
    "2.4": (1, 4, 1, 4),
    "2.5": draw,
    "3.1": (4, 4, 12, 4),
    "3.2": update,
    "3.3": stopwatch,
    "3.4": summary,
    "3.5": COMPARISON,
    "4.1": (True, False, True, False, False),
    "4.2": jax.jit(blur, static_argnames=("width", "kind")),
    "4.3": (True, False, True, True, False),
    "4.4": jax.jit(peak),
    "4.5": [True, False, True, True, True, False],
    "5.1": hill(2.0),
    "5.2": hill_slope(2.0),
    "5.3": hill_slope,
    "5.4": (True, False, True, False),
    "5.5": newton_step,
    "6.1": (True, False, True, True, False),
    "6.2": predict_all(),
    "6.3": table,
    "6.4": pulls,
    "6.5": share,
    "7.1": 1,
    "7.2": smooth,
    "7.3": static(power),
    "7.4": 111,
    "7.5": 1000,
    "8.1": (1, 1, 0, 1),
    "8.2": jax.jit(record, donate_argnums=0),
    "8.3": jax.jit(bubble_at_once),
    "8.4": ([2, 1, 2], [8, 1, 2]),
    "8.5": jax.jit(group_means, static_argnums=2),
    "9.1": 4,
    "9.2": mean_model,
    "9.3": (0, 1, 1, 0),
    "9.4": register(sphere(), ["radius"], ["unit"]),
    "9.5": momentum_step,
    "10.1": 512,
    "10.2": (False, True, False, True),
    "10.3": length,
    "10.4": scaled_slope,
    "10.5": partial(jnp.matmul, preferred_element_type="float32"),
    "11.1": (True, True, True, False),
    "11.2": (True, True, False, False, False),
    "11.3": jax.jit(standardise).lower(TEN).compile(),
    "11.4": exported(standardise, ANY_LENGTH),
    "11.5": (False, True, True),
    "12.1": 4_000_000,
    "12.2": (True, False, True, False),
    "12.3": jax.jit(move, donate_argnums=0),
    "12.4": partial(simulate, wrap=jax.checkpoint),
    "12.5": grouped,
    "13.1": (2, 4),
    "13.2": (True, False, True, True, True, False),
    "13.3": 54,
    "13.4": entropy,
    "13.5": [True, False, False, True],
    "14.1": (True, True, False, True),
    "14.2": partial(jnp.matmul, out_sharding=split_among_eight("devices")),
    "14.3": sent,
    "14.4": 768,
    "14.5": centred,
}


@pytest.mark.parametrize("part", RIGHT)
def test_right_answer_is_correct(part: str) -> None:
    outcome = check(part, RIGHT[part])
    assert outcome, outcome
    assert outcome.message.startswith("Correct.")


@pytest.mark.parametrize("part", RIGHT)
def test_no_answer_differs_from_a_wrong_one(part: str) -> None:
    outcome = check(part, ...)
    assert not outcome
    assert outcome.message.startswith("Not yet: there is no answer here.")


@pytest.mark.parametrize("part", RIGHT)
@pytest.mark.parametrize(
    "answer", [None, "7", object(), lambda *_: None, jnp.arange(7), (FIRST,) * 3], ids=type
)
def test_answer_of_another_kind_is_wrong(part: str, answer: Any) -> None:
    outcome = check(part, answer)
    assert not outcome
    assert outcome.message.startswith("Not yet: ")
    # Only functions are called, and only they may raise.
    assert callable(answer) or "raised" not in outcome.message


@pytest.mark.parametrize(
    ("part", "values"),
    [
        ("1.1", [[1, 2, 3], [4, 5, 6]]),
        ("1.2", [[2, 2], [2, 2], [2, 2]]),
        ("1.3", [[12, 12], [30, 30]]),
        ("1.5", [[24, 24], [60, 60]]),
        ("1.6", [[12, 24], [90, 120]]),
        ("1.7", [[2, 2], [2, 2], [2, 2], [3, 4]]),
        ("1.8", [[2, 2, 1], [2, 2, 1], [2, 2, 1], [3, 4, 1]]),
    ],
)
def test_arrays_of_the_exercise_sheet(part: str, values: list[list[int]]) -> None:
    np.testing.assert_array_equal(RIGHT[part], values)
    assert check(part, jnp.array(values))


WRONG: list[tuple[str, Any, str]] = [
    ("1.1", FIRST.T, r"expected the shape \(2, 3\), got \(3, 2\)"),
    ("1.1", jnp.arange(1, 7).reshape(3, 2).T, "2 of the 6 elements are right. Row-major"),
    ("1.1", np.asarray(FIRST), "NumPy array"),
    ("1.1", FIRST.tolist(), "expected a JAX array, got an object of type list"),
    ("1.2", SECOND.astype(float), "the values are right, but their type is float32"),
    ("1.3", 2 * THIRD, "0 of the 4 elements"),
    ("1.4", [2, 2], "a tuple of two sizes"),
    ("1.4", 4, "a tuple of two sizes"),
    ("1.6", 2 * RIGHT["1.6"], "start from third itself"),
    ("1.7", SECOND, r"expected the shape \(4, 2\)"),
    ("1.8", jnp.hstack([FOURTH, jnp.ones((4, 1))]), "type is float32. Use integers"),
    ("1.9", jnp.array([[2, 2, 2], [2, 7, 3]]), "3 of the 6 elements"),
    ("1.10", (False, False, True, False), "look again at 'line 1'. Does it change the array"),
    ("1.10", (True, True, True, False), "look again at 'line 2'. Does it change the array"),
    ("1.10", (True, False, False, False), "look again at 'line 3'. The transposed array"),
    ("1.10", (True, False, True, True), "look again at 'line 4'. .* out of bounds"),
    ("1.10", TypeError, "a tuple of 4"),
    ("2.1", (False, True, False, False), "generator'. What does a draw leave behind"),
    ("2.1", (True, False, False, False), "chain'. What is the last key made from"),
    ("2.1", (True, True, True, False), "folded'. What is the key of its last number"),
    ("2.1", (True, True, False, True), "batch'. Compare split"),
    ("2.2", lambda key, image: _augmented(key, key, image), "the noise at the top left still"),
    ("2.2", augment_from_parent, "it uses a key twice"),
    ("2.2", lambda _, image: augment(jax.random.key(0), image), "of 32 images, it mirrors"),
    ("2.2", partial(augment, chance=0.0), "of 32 images, it mirrors 0"),
    ("2.2", partial(augment, noise=0), "a deviation of 0 instead of 0.1"),
    ("2.2", augment_alike, "some pixels of an image get the same noise"),
    ("2.2", augment_by_numpy, "the same key gives a different image"),
    ("2.2", lambda key, image: augment(key, image)[0], r"an image of the shape \(2, 3\)"),
    ("2.3", lame_walk, "Make a new key for each"),
    ("2.3", forgetful_walk, "repeats the steps of the last"),
    ("2.3", walk_by_batch, "lead to the same place as five"),
    ("2.3", partial(walk, sample=jax.random.uniform), "never goes down"),
    ("2.3", careless_walk, "it uses a key twice"),
    ("2.3", lambda *args: walk(*args)[1], "expected the new state"),
    ("2.4", (4, 4, 1, 4), "4 is not the number for list 1. Does the key change"),
    ("2.4", (1, 1, 1, 4), "1 is not the number for list 2. Does one key fill"),
    ("2.4", (1, 4, 4, 4), "4 is not the number for list 3. How often does Python"),
    ("2.4", (1, 4, 1, 8), r"8 is not the number for list 4. Compare split\(key, 4\)\[1\]"),
    ("2.4", (1, 4, 1), "a tuple of 4 numbers, one for each list"),
    ("2.5", lambda key, w, s: draw(key, w + s, 0), "walker 0 in step 1 and walker 1 in step 0"),
    ("2.5", lambda key, w, _: draw(key, w, 0), "walker 0 in step 0 and walker 0 in step 1"),
    ("2.5", lambda key, w, s: draw(key, 100 * w + s, 0), "walker 0 in step 100 and walker 1"),
    ("2.5", lambda *_: next(COUNT), "a different number the next time"),
    ("2.5", lambda _, w, s: draw(jax.random.key(0), w, s), "a different key gives the same"),
    ("2.5", partial(draw, sample=jax.random.uniform), "it never draws a number below zero"),
    ("2.5", lambda *args: draw(*args)[None], r"expected a number, got an array of shape \(1,\)"),
    ("2.5", draw(jax.random.key(0), 0, 0), "expected a function"),
    ("5.1", 4 * np.sin(np.deg2rad(2)), "The angle is in radians"),
    ("5.2", hill(2.0), "the function's value"),
    ("5.2", 1.98, r"1\.98 is not the right number"),
    ("5.3", hill, r"at x = 1\.0"),
    ("5.3", lambda x: 2 * x * jnp.cos(x), r"at x = 1\.0"),
    ("5.3", lambda _: 13, r"at x = 0\.0"),
    ("5.3", lambda x: hill_slope(max(x, 0.0)), r"at x = -2\.5"),
    ("5.3", lambda x: hill_slope(min(x, 9.0)), r"at x = 17\.0"),
    ("5.3", lambda _: ..., "no answer"),
    ("5.3", 1.97, "expected a function, got an object of type float"),
    ("5.4", (False, False, True, False), "look again at 'argument 1'. Can it change"),
    ("5.4", (True, True, True, False), "look again at 'argument 2'. Can it change"),
    ("5.4", (True, False, False, False), "look again at 'argument 3'. What shape has the result"),
    ("5.4", (True, False, True, True), "look again at 'argument 4'. What shape has the result"),
    ("5.5", partial(newton_step, function=hill), "a zero of the function"),
    ("5.5", lambda x: 2 * x - newton_step(x), "the wrong way"),
    ("5.5", lambda x: x - 0.1 * hill_slope(x), r"from 2\.0, it goes to 1\.80274"),
    ("3.1", (2, 4, 12, 4), "call 1. What is the scale, and"),
    ("3.1", (4, 6, 12, 6), "call 2. Does this call trace"),
    ("3.1", (4, 4, 8, 4), "call 3. Does this call trace the function"),
    ("3.1", (4, 4, 12, 6), "call 4. Which of the two programs"),
    ("3.2", lambda state, x: (state, x), "expected a function from jax.jit"),
    ("3.2", jax.jit(forgetful_update), "the numbers before are forgotten"),
    ("3.2", jax.jit(lambda *args: update(*args)[1]), "expected a tuple of the new state"),
    ("3.2", jax.jit(lambda *args: update(*args)[::-1]), "new state, which is a tuple"),
    ("3.2", jax.jit(lambda s, x: (update(s, x)[0], x + s[1])), "means are 3, 8, 18 instead"),
    ("3.3", cold_stopwatch, "a call before the one that it times"),
    ("3.3", lambda f, x: [f(x), cold_stopwatch(f, x)][1], "the call before may still be"),
    ("3.3", lambda f, x: float(f(x) is f(x)), "doesn't wait for the result"),
    ("3.3", total_stopwatch, "it is the time of 10 calls"),
    ("3.3", lambda f, x: stopwatch(jax.jit(f), x), "compiled already"),
    ("3.3", lambda f, x: f.lower(x).compile(), "Only call it"),
    ("3.3", impatient_stopwatch, "stops before the result is ready"),
    ("3.3", inclusive_stopwatch, "includes the first call"),
    ("3.3", partial(stopwatch, unit=1e3), "all of it took less. Return seconds"),
    ("3.4", partial(summary, number=float), "it makes a Python or NumPy number of a loss"),
    ("3.4", partial(summary, number=np.asarray), "it makes a Python or NumPy number of a loss"),
    ("3.4", partial(summary, largest=max), "asks which of two losses is larger"),
    ("3.4", partial(summary, number=lambda x: x.block_until_ready()), "with block_until_ready"),
    ("3.4", partial(summary, number=lambda x: jax.block_until_ready(x)), "with block_until_ready"),  # type: ignore[no-untyped-call]
    (
        "3.4",
        partial(summary, number=lambda x: jax.device_get(x)),
        "waits for a loss with device_get",
    ),
    ("3.4", lambda *args: summary(*args)[0], "expected the mean and the largest loss"),
    ("3.4", partial(summary, largest=jnp.minimum), "the largest loss is 9"),
    ("3.4", lambda step, batches: (sum(map(step, batches)), 9.0), "the mean is 4.67"),
    ("3.5", 2.0, "what jaxcap.measure.timing.compare returns"),
    ("3.5", make_set(), "expected two variants, got 1"),
    ("3.5", make_set(*map(make_result, "abc")), "expected two variants, got 3"),
    ("3.5", make_set(make_result("a"), make_result("b", comparison="another")), "ResultsError"),
    ("4.1", (False, False, True, False, False), "function 1'. What does range have to know"),
    ("4.1", (True, True, True, False, False), "function 2'. What does the loop"),
    ("4.1", (True, False, False, False, False), "function 3'. What does this if"),
    ("4.1", (True, False, True, True, False), "function 4'. What does len"),
    ("4.1", (True, False, True, False, True), "function 5'. What does the product"),
    ("4.2", blur, "expected a function from jax.jit"),
    ("4.2", jax.jit(blur), "JAX can't trace strings"),
    ("4.2", jax.jit(blur, static_argnames="kind"), "range needs its value"),
    ("4.2", jax.jit(blur, static_argnums=(1, 2, 3)), "works, but strength is static"),
    ("4.2", jax.jit(blur, static_argnums=(0, 1, 3)), "^Not yet: an array is static"),
    ("4.2", jax.jit(lambda x, *_: x + jnp.ones(2), static_argnums=(1, 3)), "it raised TypeError"),
    ("4.2", jax.jit(lambda x, *_: x, static_argnums=(1, 3)), "it returned other values"),
    ("4.3", (True, True, True, True, False), "call 2'. What is different from call 1, and is it"),
    ("4.3", (True, False, False, True, False), "call 3'. What is different from call 2, and is it"),
    ("4.3", (True, False, True, False, False), "call 4'. What is different from call 3: a value"),
    ("4.3", (True, False, True, True, True), "call 5'. Which earlier call"),
    ("4.3", (True, False, True), "a tuple of 5"),
    ("4.4", peak, "expected a function from jax.jit"),
    ("4.4", jax.jit(lambda x, n: x[:n].max()), "it raised IndexError|it raised TypeError"),
    ("4.4", static(lambda x, n: x[:n].max()), "works, but n is static"),
    ("4.4", jax.jit(partial(peak, lowest=0.0)), "0 is none of the numbers"),
    (
        "4.4",
        jax.jit(partial(peak, lowest=-100.0)),
        "of -5e.30, .*, the largest of the first 3 is -3e.30",
    ),
    ("4.4", jax.jit(lambda x, _: x.max()), "the largest of all, not of the first 1"),
    ("4.4", jax.jit(lambda x, n: -peak(-x, n)), "the largest of the first 3 is -3"),
    ("4.5", (True, True, True, True, True, False), "call 2'. What is different from call 1"),
    ("4.5", (True, False, True, False, True, False), "call 4'. Does this lambda equal"),
    ("4.5", (True, False, True, True, True, True), "call 6'. Does this object equal"),
    ("7.1", 5, "Python isn't there to print"),
    ("7.1", 0, "0 is not the right number"),
    ("7.2", smooth_in_python, "no scan computed them"),
    ("7.2", late_smooth, "as it was before"),
    ("7.2", lambda x: smooth(x)[-1], "the last mean alone"),
    ("7.2", lambda x: (x[-1], smooth(x)), "a tuple"),
    ("7.2", lambda x: smooth(x)[1:], r"of 4 numbers, it makes an array of shape \(3,\)"),
    ("7.2", lambda x: smooth(x).tolist(), "expected a JAX array, got an object of type list"),
    ("7.2", lambda x: smooth(x) + 1, "the means are wrong"),
    ("7.3", power, "expected a function from jax.jit"),
    ("7.3", jax.jit(power), "it raised ValueError: Reverse-mode differentiation does not work"),
    ("7.3", static(lambda x, n: x * n), "no longer computes"),
    ("7.3", static(lambda x, n: jax.lax.stop_gradient(power(x, n))), "its gradient at x = 2"),
    ("7.4", 120, "this is the sum"),
    ("7.4", 444, "once, for all four"),
    ("7.4", 112, "until no number has a step left"),
    ("7.5", 1, "without vmap"),
    ("7.5", 999, "the other branch"),
    ("8.1", (0, 1, 0, 1), "0 is not the number for call 1. May"),
    ("8.1", (1, 0, 0, 1), "0 is not the number for call 2. Who may"),
    ("8.1", (1, 1, 1, 1), "1 is not the number for call 3. Who may"),
    ("8.1", (1, 1, 0, 1000), "1000 is not the number for call 4. Which"),
    ("8.1", (1, 1, 0), "a tuple of 4 numbers"),
    ("8.2", record, "expected a function from jax.jit"),
    ("8.2", jax.jit(record), "still there afterwards"),
    ("8.2", jax.jit(record, donate_argnums=(0, 1, 2)), "you give up more than the history"),
    ("8.2", jax.jit(record, donate_argnums=2), "Donate it"),
    ("8.2", jax.jit(record, donate_argnums=0, static_argnums=1), "works, but step is static"),
    ("8.2", jax.jit(lambda history, *_: history), "it returned other values"),
    ("8.2", jax.jit(lambda *_: 0), r"the shape \(\) instead of \(4,\)"),
    ("8.2", jax.jit(lambda *_: {}), "an object of type dict instead of an array"),
    ("8.3", bubble, "expected a function from jax.jit"),
    ("8.3", jax.jit(bubble), "copies the whole array in each step"),
    ("8.3", jax.jit(jnp.sort), "this sorts the whole array"),
    ("8.4", ([8, 1, 2], [2, 1, 2]), "the other way round"),
    ("8.4", ([8, 1, 2], [8, 1, 2]), "NumPy reads all elements before"),
    ("8.4", ([2, 1, 2], [2, 1, 2]), "JAX doubles for each index"),
    ("8.4", ([2, 1], [8, 2]), "three numbers in each list"),
    ("8.4", (1, 3), "expected a list of numbers, got an object of type int"),
    ("8.4", [8, 1, 2], "NumPy's numbers, and JAX's"),
    ("8.5", group_means, "expected a function from jax.jit"),
    ("8.5", jax.jit(jax.ops.segment_sum, static_argnums=2), "these are the sums"),
    ("8.5", jax.jit(group_means), "it raised ConcretizationTypeError|it raised Tracer"),
    ("8.5", jax.jit(lambda *_: jnp.ones(3)), "it returned other values"),
    ("12.1", 200_000, "size of the argument"),
    ("12.1", 1_000_000, "Each takes four bytes"),
    ("12.1", 400_000, "without the temporaries"),
    ("12.1", 4_400_000, "the temporaries alone"),
    ("12.1", 4.0, "4 is not the right number. Compile for the shape"),
    ("12.2", (True, True, True, True), "look again at 'x.sum\\(\\)'. Could its result"),
    ("12.3", move, "expected a function from jax.jit"),
    ("12.3", jax.jit(move), "the old position is still there"),
    ("12.3", jax.jit(move, donate_argnums=1), "the next step needs the velocity"),
    ("12.3", jax.jit(move, donate_argnums=(0, 1)), "Donate the position alone"),
    ("12.3", jax.jit(lambda x, _: x, donate_argnums=0), "other numbers"),
    ("12.4", partial(simulate, length=50), "return the number that simulate does"),
    ("12.4", simulate, "needs 100% of the temporaries"),
    ("12.4", jax.checkpoint(simulate), "Wrap what the loop repeats, not the whole"),
    ("12.5", partial(simulate, wrap=jax.checkpoint), r"needs \d\d% .* by the outer loop"),
    ("9.1", 3, "A string is a leaf"),
    ("9.1", 5, "one of these isn't a leaf"),
    ("9.1", 6, "aren't leaves themselves"),
    ("9.1", 8, "8 is not the right number"),
    ("9.2", partial(jax.tree.map, jnp.mean), "have the structure of each model"),
    ("9.2", lambda models: jax.tree.map(lambda *x: sum(x), *models), "these are the sums"),
    ("9.2", lambda models: models[0], "these aren't the means"),
    ("9.2", lambda models: jax.tree.map(lambda a, b: (a + b) / 2, *models), "raised TypeError"),
    ("9.3", (1, 1, 1, 0), "1 is not the number for call 1. In which order"),
    ("9.3", (0, 0, 1, 0), "0 is not the number for call 2. Its leaves are"),
    ("9.3", (0, 1, 0, 0), "0 is not the number for call 3. None has no leaves"),
    ("9.3", (0, 1, 1, 1), "1 is not the number for call 4. Has JAX seen a list"),
    ("9.3", (False, True), "a tuple of 4 numbers"),
    ("9.4", 4, "expected a class, got an object of type int"),
    ("9.4", sphere(), "Register it"),
    ("9.4", sphere_from_unit(), "its first field isn't the radius"),
    ("9.4", register(sphere(), ["radius", "unit"], []), "jit refuses strings"),
    ("9.4", register(sphere(), [], ["radius", "unit"]), "each radius is compiled for"),
    ("9.4", forgetful_sphere(), "so it is lost"),
    ("9.4", sphere_in("km"), "a sphere of radius 2 in 'km'"),
    ("9.5", lambda *trees: momentum_step(*trees)[0], "expected two trees"),
    ("9.5", partial(jax.tree.map, lambda p, v, slope: (p, 0.9 * v + slope)), "a tree of pairs"),
    ("9.5", lambda *trees: momentum_step(*trees)[::-1], "the parameters come first"),
    ("9.5", lambda *trees: (trees[0], trees[2]), "Take 0.9 of the old ones"),
    ("9.5", late_step, "Use the new ones"),
    ("9.5", climbing_step, "Subtract, to go down"),
    ("9.5", lambda *trees: (trees[0], momentum_step(*trees)[1]), "Subtract 0.1 times as much"),
    ("11.1", (False, False, False, False), "look again at 'import'. Who reads the cache"),
    (
        "11.1",
        (True, False, True, False),
        "look again at 'trace'. What does JAX look a program up by",
    ),
    (
        "11.1",
        (True, True, False, False),
        "look again at 'lower'. What does JAX look a program up by",
    ),
    ("11.1", (True, True, True, True), "look again at 'compile'. What is it that the cache saves"),
    ("11.1", (True, True), "a tuple of 4"),
    ("11.2", (True, True, False, True, False), "constant'. When does Python read"),
    ("11.3", jax.jit(standardise), "compiles at its first call"),
    ("11.3", jax.jit(standardise).trace(TEN), "neither lowered nor compiled"),
    ("11.3", jax.jit(standardise).lower(TEN), "XLA hasn't compiled it yet"),
    ("11.3", standardise, "expected what compile\\(\\) returns, got an object of type function"),
    ("11.3", jax.jit(jnp.cumsum).lower(TEN).compile(), "it returned other values"),
    ("11.3", jax.jit(standardise).lower(jnp.ones(3)).compile(), "for float32\\[3\\] instead of"),
    ("11.4", jax.jit(standardise), "compiled where it is called. Export it"),
    ("11.4", exported(standardise, TEN), "it takes 10 numbers, and no other length"),
    ("11.4", exported(jnp.add, TEN, TEN), "expected a function of one vector"),
    ("11.4", exported(standardise, EVEN_LENGTH), "it raised ValueError"),
    ("11.4", exported(jnp.cumsum, ANY_LENGTH), "it returned other values"),
    ("11.4", export.export(jax.jit(standardise)), "expected what jax.export.export makes, got"),
    ("11.5", (True, True, True), "look again at 'XLA_FLAGS'. Who finds the mistake"),
    ("11.5", (False, False, True), "look again at 'compiler_options'. Who finds the mistake"),
    ("11.5", (False, True, False), "look again at 'config.update'. Who knows"),
    ("13.1", 2, "expected a tuple of two numbers"),
    ("13.1", (4, 2), "the other way round"),
    ("13.1", (1, 4), "1 is not Python's .* traces again for a new length"),
    ("13.1", (3, 4), "3 is not Python's .* still has the program"),
    ("13.1", (4, 4), "4 is not Python's .* isn't there"),
    ("13.1", (0, 4), "0 is not Python's .* prints when JAX traces"),
    ("13.1", (2, 2), "2 is not JAX's number of lines"),
    ("13.2", True, "expected a tuple of 6"),
    ("13.2", (True, True, True, True, True, False), "call 2.* different from call 1"),
    ("13.2", (True, False, False, False, True, False), "call 3.* different from call 2"),
    ("13.2", (True, False, True, False, True, False), "call 4.* weak types"),
    ("13.2", (True, False, True, True, False, False), "call 5.* What shape"),
    ("13.2", (True, False, True, True, True, True), "call 6.* Which call before"),
    ("13.3", 154, "would count twice"),
    ("13.3", 92, "all operations"),
    ("13.3", 32, "way forward"),
    ("13.3", 38, "the sort"),
    ("13.3", 54e-6, "not the right number. Add up"),
    ("13.4", lambda p: -(p * jnp.log(p)).sum(), "it returns NaN"),
    ("13.4", lambda p: -jnp.where(p > 0, p * jnp.log(p), 0).sum(), "the gradient is NaN"),
    ("13.4", lambda p: -(p * jnp.log(p + 1e-9)).sum(), r"is 2\d\.\d+ instead of zero"),
    ("13.4", lambda p: -entropy(p), r"it returns -1\.0397"),
    ("13.4", lambda p: jax.lax.stop_gradient(entropy(p)), "wrong where p is positive"),
    ("13.5", (True, True, False, True), "call 2.* the logarithm of 0"),
    ("13.5", (True, False, True, True), "call 3.* in the result"),
    ("13.5", (True, False, False, False), "call 4.* divide by"),
    ("14.1", (True, True, True, True), "look again at 'x.sum\\(axis=0\\)'. Which devices"),
    ("14.2", jnp.matmul, "it raised ShardingTypeError: Contracting dimensions are sharded"),
    ("14.2", partial(jnp.matmul, out_sharding=split_among_eight()), "gets the whole product"),
    ("14.2", partial(jnp.matmul, out_sharding=split_among_eight(None, "devices")), "some columns"),
    ("14.2", cut_product, "first you make all of them"),
    ("14.2", collected_product, "first you collect what they are made of"),
    ("14.2", sent_product, "first you collect what they are made of"),
    ("14.2", unreduced_product, "aren't added up yet"),
    ("14.2", lambda x, _: x, r"doesn't return an array of the shape \(512, 64\)"),
    ("14.3", partial(sent, bytes_each=1), "these are numbers"),
    ("14.3", lambda messages, n: n * sent(messages, n), "all devices send together"),
    ("14.3", lambda messages, n: sent(messages, n, gathers_as="all-reduce"), "aren't right"),
    (
        "14.3",
        lambda messages, n: sent(messages, n, reduces_as="all-gather"),
        "everybody needs the sum",
    ),
    (
        "14.3",
        lambda messages, n: sent(messages, n, scatters_as="all-gather"),
        "that of a device.s part",
    ),
    ("14.3", lambda messages, n: sent(messages, n) * n / (n - 1), "send itself its own part"),
    ("14.3", lambda messages, n: sent(messages[:1], n), "several don't add up"),
    ("14.3", lambda *_: 1.0, "1 bytes aren't right"),
    ("14.4", 12288, "changes both amounts"),
    ("14.4", 48, "changes both amounts"),
    ("14.4", 3072, "as the network is wide"),
    ("14.4", 192, "as the network is wide"),
    ("14.4", 384, "there are two matrices"),
    ("14.4", 16, "as many numbers as the two matrices"),
    ("14.5", lambda part: part - part.mean(), "a device's own numbers"),
    ("14.5", lambda x: x - jax.lax.pmean(x, "devices"), "each position"),  # type: ignore[no-untyped-call]
    ("14.5", partial(centred, mean=jax.lax.psum), "are added up"),
    ("14.5", lambda part: part, "other values"),
    ("14.5", lambda part: jax.lax.pmean(part.mean(), "devices"), "Subtract it"),  # type: ignore[no-untyped-call]
    ("10.1", 256, "2 can still be added"),
    ("10.1", 514, "between two numbers"),
    ("10.1", 516, "Ties go to"),
    ("10.1", 1024, "half a gap"),
    ("10.1", 20_000, "without rounding"),
    ("10.1", 65504, "65504 is not the right number"),
    ("10.2", (True, True, False, True), "look again at 'x.sum\\(\\)'. How large"),
    ("10.3", partial(length, dtype="float16"), "of 10 elements of 300 is inf"),
    ("10.3", lambda x: jnp.sum(x.astype("float32") ** 2), "the square of the length"),
    ("10.3", lambda x: jnp.linalg.norm(x.astype("float32")), "Convert it to float16"),
    ("10.3", lambda x: length(x / 100, "float16") * 100, "Their squares are too small"),
    ("10.3", partial(length, dtype="bfloat16"), "should be about"),
    ("10.3", jnp.max, "should be about 5, not 4"),
    ("10.4", partial(scaled_slope, scale=1.0), "it is still 0"),
    ("10.4", partial(scaled_slope, dtype="float16"), "it is still 0"),
    ("10.4", partial(scaled_slope, scale=2.0**40), "too large for float16"),
    ("10.4", lambda w, x: 2.0**12 * scaled_slope(w, x), "Undo the scale"),
    ("10.4", lambda w, x: scaled_slope(w, x) / 2, "is not the right gradient"),
    ("10.4", lambda w, x: scaled_slope(w, x, dtype="bfloat16"), "return it in float32"),
    ("10.4", slope_in_float32, "wasn't computed in float16"),
    ("10.5", jnp.matmul, "it returns bfloat16"),
    ("10.5", lambda a, b: (a @ b).astype("float32"), "rounded to bfloat16 before"),
    ("10.5", lambda a, b: a.astype("float32") @ b.astype("float32"), "longer copies"),
    ("10.5", lambda *_: jnp.zeros((2, 2)), "it returned other values"),
    ("10.5", lambda a, b: float((a @ b).sum()), "expected a JAX array"),
    ("6.1", (True, True, True, True, False), "call 2.* How long is axis 0"),
    ("6.1", (True, False, True, False, False), "call 4.* Can dot multiply a row"),
    ("6.2", predict_all(axis=0), "from a row of the matrix"),
    ("6.2", predict_all(out_axes=1), "each example has a column"),
    ("6.2", lambda w, b, x: jnp.tanh(w @ x) + b, "each example has a column"),
    ("6.2", jax.vmap(predict), "it raised ValueError: vmap"),
    ("6.2", predict_in_python, "Python loops: tanh"),
    ("6.2", predict_in_turn, "one example after another"),
    ("6.3", transposed_table, "the transposed table"),
    ("6.3", jax.vmap(likeness), "it raised ValueError: vmap got inconsistent sizes"),
    ("6.3", table_in_python, "Python loops: exp"),
    ("6.4", each_slope, "Return the length of each"),
    ("6.4", lambda *args: pulls(*args) / 6, "gradients of the mean"),
    ("6.4", lambda *args: jnp.linalg.norm(each_slope(*args).mean(0)), "the mean gradient"),
    ("6.4", lambda *args: jnp.linalg.norm(each_slope(*args).sum(0)), "added up before"),
    ("6.4", lambda *args: pulls(*args) ** 2, "the squares of the lengths"),
    ("6.4", pulls_in_python, "Python loops: dot_general"),
    ("6.5", lambda features: features / features.sum(), "an example's own features"),
    ("6.5", jax.vmap(share, axis_name="examples"), "The check maps the function itself"),
    ("6.5", partial(share, total=jax.lax.pmean), "the mean over the batch"),
    ("6.5", partial(share, total=sum_of_all), "the sum of all features"),
    ("6.5", partial(share, total=sum_over_unknown_axis), "it raised NameError"),
    ("6.5", lambda x: x, "other values"),
]


@pytest.mark.parametrize(("part", "answer", "message"), WRONG)
def test_wrong_answer_gets_a_message_that_helps(part: str, answer: Any, message: str) -> None:
    outcome = check(part, answer)
    assert not outcome
    assert re.search(message, outcome.message), outcome
    assert "\n" not in outcome.message


# Compiles a function with each change of exercise 11.2, and says which programs were in the cache.
CACHED = """
import sys
import jax
import jax.numpy as jnp
import numpy as np

jax.config.update("jax_compilation_cache_dir", sys.argv[1])
jax.config.update("jax_persistent_cache_min_compile_time_secs", 0)
hits = []
jax.monitoring.register_event_listener(
    lambda name, **_: hits.append(name) if name.endswith("compilation_cache/cache_hits") else None
)

def is_found(source, numbers, **options):
    names = {"jax": jax}
    exec(source, names)
    x = jax.device_put(np.array(numbers, np.float32))
    jax.clear_caches()
    hits.clear()
    jax.jit(names["scaled"], **options)(x).block_until_ready()
    return bool(hits)

usual = "FACTOR = 2.0\\ndef scaled(x):\\n    return FACTOR * x"
is_found(usual, [1, 2])
fast = {"xla_cpu_enable_fast_math": True}
print(
    is_found(usual.replace("FACTOR * x", "FACTOR * x  # twice"), [1, 2]),
    is_found(usual, [0, 0]),
    is_found(usual, [1, 2, 3]),
    is_found(usual.replace("2.0", "5.0"), [1, 2]),
    is_found(usual, [1, 2], compiler_options=fast),
    file=sys.stderr,
)
"""


def test_cache_has_the_programs_that_the_exercise_says(tmp_path: Path) -> None:
    command = (sys.executable, "-c", CACHED, str(tmp_path))
    done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=120)
    found = [word == "True" for word in done.stderr.splitlines()[-1].split()]
    assert check("11.2", found)


def test_gradient_may_be_scaled_by_a_smaller_power_of_two() -> None:
    assert check("10.4", partial(scaled_slope, scale=2.0**10))


def test_stopwatch_may_wait_for_its_input() -> None:
    def waiting_first(function: Callable[[Any], Any], x: Any) -> float:
        x.block_until_ready()
        return stopwatch(function, x)

    assert check("3.3", waiting_first)


def test_stopwatch_may_wait_by_jax_and_take_the_best_of_several_calls() -> None:
    def best_of_three(function: Callable[[Any], Any], x: Any) -> float:
        def awaited(x: Any) -> Any:
            return jax.block_until_ready(function(x))  # type: ignore[no-untyped-call]

        awaited(x)
        times = []
        for _ in range(3):
            start = time.perf_counter()
            awaited(x)
            times.append(time.perf_counter() - start)
        return min(times)

    assert check("3.3", best_of_three)


def test_losses_may_be_summed_up_after_the_loop() -> None:
    def stacked(step: Callable[[Any], Any], batches: Any) -> Any:
        losses = jnp.stack([step(batch) for batch in batches])
        return losses.mean(), losses.max()

    assert check("3.4", stacked)


def test_parts_of_a_product_may_be_added_up_by_a_reshard() -> None:
    assert check("14.2", lambda x, y: by_rows(unreduced_product(x, y)))


def test_a_length_may_be_computed_in_units_of_the_largest_element() -> None:
    assert check("10.3", length_by_largest)


def test_a_loop_without_updates_copies_nothing() -> None:
    assert check("8.3", jax.jit(bubble_by_scan))


def test_comparison_is_summed_up() -> None:
    speedup = COMPARISON.speedup("jit", over="op by op")
    assert check("3.5", COMPARISON).message == (
        f"Correct. 'jit' compared with 'op by op': {speedup}."
    )


@pytest.mark.parametrize("part", ["9.9", "1.11", "1.3 ", 1.3, None])
def test_unknown_part_is_answered_with_a_list_of_parts(part: Any) -> None:
    with pytest.raises(ValueError, match=f"there is no part {part!r}: the parts are '1.1', '1.2'"):
        check(part, 1)


def test_outcome_shows_its_message_as_text_and_harmlessly_as_html() -> None:
    def raises(*_: object) -> None:
        raise RuntimeError("<b>")

    outcome = check("2.5", raises)
    assert repr(outcome) == outcome.message == "Not yet: it raised RuntimeError: <b>"
    html = outcome._repr_html_()
    assert html == '<p class="jaxcap-check">Not yet: it raised RuntimeError: &lt;b&gt;</p>'


def test_pages_ask_for_each_part_once_and_solve_it_once() -> None:
    asked = [
        part
        for page in PAGES
        for part in re.findall(r'^check\("([\d.]+)", ', page.read_text("utf-8"), re.MULTILINE)
    ]
    assert asked == [part for part in RIGHT for _ in ("question", "solution")]
