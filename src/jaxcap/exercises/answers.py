"""Graders of answers to the exercises.

A grader returns a remark about a correct answer, often an empty one. It raises a `WrongError` for a
wrong answer, with a message that says what is expected without giving it away.
"""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import partial
from itertools import product
from math import cos, isclose, sin
from typing import Any
from unittest.mock import patch
from warnings import catch_warnings

import jax
import jax.numpy as jnp
import numpy as np
from jax import export
from jax.sharding import AbstractMesh, AxisType
from jax.stages import Compiled, Lowered, Traced, Wrapped

from jaxcap.results import ResultSet

# The value of x² sin x, and its slope, at x = 2.
VALUE = 4 * sin(2)
SLOPE = 4 * sin(2) + 4 * cos(2)

Grader = Callable[[Any], str]

TOLERANCE = 1e-6  # relative, of numbers

_WAIT_S = 0.01  # until the result is ready that a stopwatch is tried with

_close = partial(isclose, rel_tol=TOLERANCE)


class WrongError(Exception):
    """An answer is wrong; the message says why."""


def answered(answer: Any) -> Any:
    """Return an answer unchanged, and refuse the dots of an empty one."""
    if answer is ...:
        raise WrongError("there is no answer here. Put yours in place of the dots.")
    return answer


def array(expected: Any, hint: str) -> Grader:
    """Grade an array of integers."""
    solution = np.asarray(expected)

    def grade(answer: Any) -> str:
        if isinstance(answer, np.ndarray):
            raise WrongError("this is a NumPy array. Make it with jax.numpy.")
        if not isinstance(answer, jax.Array):
            raise WrongError(f"expected a JAX array, got {_kind(answer)}. {hint}")
        if answer.shape != solution.shape:
            raise WrongError(f"expected the shape {solution.shape}, got {answer.shape}. {hint}")
        correct = int((np.asarray(answer) == solution).sum())
        if correct < solution.size:
            raise WrongError(f"only {correct} of the {solution.size} elements are right. {hint}")
        if not np.issubdtype(answer.dtype, np.integer):
            raise WrongError(
                f"the values are right, but their type is {answer.dtype}. Use integers."
            )
        return ""

    return grade


def shape(answer: Any) -> str:
    """Grade the shape of a product."""
    if not isinstance(answer, tuple) or not np.array_equal(answer, (2, 2)):
        raise WrongError(
            "expected a tuple of two sizes, rows first. Arrays have an attribute for it."
        )
    return ""


@dataclass(frozen=True)
class Number:
    """Grades a number; ``mistakes`` explains wrong numbers that readers are likely to get."""

    expected: float
    hint: str
    mistakes: Mapping[float, str] = field(default_factory=dict)

    def __call__(self, answer: Any) -> str:
        """Grade an answer."""
        value = _float(answer)
        for mistake, explanation in self.mistakes.items():
            if _close(value, mistake):
                raise WrongError(explanation)
        if not _close(value, self.expected):
            raise WrongError(f"{value:.8g} is not the right number. {self.hint}")
        return ""


def augmentation(answer: Any) -> str:
    """Grade a function that mirrors an image at random, and adds noise that doesn't depend on it."""
    image = jnp.tile(jnp.arange(3.0) * 100, (2, 1))
    images, mirrored, noises = [], [], []
    for seed in range(32):
        augmented = _call(answer, jax.random.key(seed), image)
        if not isinstance(augmented, jax.Array) or augmented.shape != image.shape:
            raise WrongError(f"expected an image of the shape {image.shape}.")
        images.append(augmented)
        mirrored.append(bool(augmented[0, 0] > 100))
        noises.append(np.asarray(augmented - (image[:, ::-1] if mirrored[-1] else image)))
    if not 0 < sum(mirrored) < len(mirrored):
        raise WrongError(f"of {len(mirrored)} images, it mirrors {sum(mirrored)}. Draw for each.")
    if not 0.08 < np.std(noises) < 0.12:
        raise WrongError(f"the noise has a deviation of {np.std(noises):.2g} instead of 0.1.")
    if len(set(noises[0].ravel().tolist())) < image.size:
        raise WrongError("some pixels of an image get the same noise. Draw a number for each.")
    if not np.array_equal(_call(answer, jax.random.key(0), image), images[0]):
        raise WrongError("the same key gives a different image the next time. Draw from the key.")
    if mirrored == [bool(noise[0, 0] < 0) for noise in noises]:
        raise WrongError("the noise at the top left still tells which images are mirrored.")
    _require_unused_keys(answer, jax.random.key(0), image)
    return ""


def _require_unused_keys(function: Any, *args: Any) -> None:
    with jax.debug_key_reuse(True):
        try:
            _call(function, *args)
        except jax.errors.KeyReuseError:
            raise WrongError(
                "it uses a key twice. Don't draw from a key that you split, or twice from any."
            ) from None


def walk(answer: Any) -> str:
    """Grade a random walk that can stop and go on from its state, a key and a position."""
    start = (jax.random.key(3), 0.0)

    def place(*steps: int) -> float:
        state: Any = start
        for number in steps:
            state = _call(answer, state, number)
            if not isinstance(state, tuple) or len(state) != 2:
                raise WrongError("expected the new state: a tuple of a key and a position.")
        return _float(state[1])

    after = [place(steps) for steps in range(4)]
    moves = np.diff(after)
    if isclose(moves[0], moves[1], rel_tol=1e-4):
        raise WrongError("each step adds the same number. Make a new key for each.")
    if isclose(place(1, 1), 2 * after[1], rel_tol=1e-4):
        raise WrongError("the next call repeats the steps of the last. Return the new key, too.")
    if not isclose(place(3, 2), place(5), rel_tol=1e-4):
        raise WrongError("three steps, and then two more, should lead to the same place as five.")
    others = [(jax.random.key(seed), 0.0) for seed in range(20)]
    if all(_float(_call(answer, other, 1)[1]) > 0 for other in others):
        raise WrongError("its first step never goes down. Draw from the normal distribution.")
    _require_unused_keys(answer, start, 3)
    return ""


def steps_of_walkers(answer: Any) -> str:
    """Grade a function that draws a number from a key, for a walker and a step."""
    key = jax.random.key(7)
    seen: dict[float, tuple[int, int]] = {}
    numbers = 0, 1, 2, 3, 10, 100, 1000  # the latter meet where a walker and a step are added up
    for pair in product(numbers, numbers):
        value = _float(_call(answer, key, *pair))
        if value in seen:
            raise WrongError(
                f"walker {seen[value][0]} in step {seen[value][1]} and walker {pair[0]} in step "
                f"{pair[1]} get the same number."
            )
        seen[value] = pair
    value = _float(_call(answer, key, 1, 2))
    if seen.get(value) != (1, 2):
        raise WrongError("the same key, walker and step give a different number the next time.")
    if _float(_call(answer, jax.random.key(8), 1, 2)) == value:
        raise WrongError(
            "a different key gives the same number. Make each key from the one you get."
        )
    if min(seen) >= 0:
        raise WrongError("it never draws a number below zero. Use the normal distribution.")
    return ""


def derivative(answer: Any) -> str:
    """Grade a derivative of x² sin x by its values at a few points."""
    for x in (0.0, 1.0, -2.5, 17.0):
        expected = 2 * x * sin(x) + x**2 * cos(x)
        if not isclose(_float(_call(answer, x)), expected, rel_tol=1e-5, abs_tol=1e-6):
            raise WrongError(f"the value at x = {x} is wrong. Use the product rule.")
    return ""


def newton(answer: Any) -> str:
    """Grade a step of Newton's method towards a place where x² sin x has no slope."""
    for x in (2.0, 3.0):
        slope = 2 * x * sin(x) + x**2 * cos(x)
        bend = 2 * sin(x) + 4 * x * cos(x) - x**2 * sin(x)
        found = _float(_call(answer, x))
        if isclose(found, x - x**2 * sin(x) / slope, rel_tol=1e-5):
            raise WrongError("it looks for a zero of the function. Look for one of its slope.")
        if isclose(found, x + slope / bend, rel_tol=1e-5):
            raise WrongError("it goes the wrong way. Subtract.")
        if not isclose(found, x - slope / bend, rel_tol=1e-5):
            raise WrongError(
                f"from {x}, it goes to {found:.6g}. Divide the slope by its own slope."
            )
    return ""


def running_mean(answer: Any) -> str:
    """Grade a compiled function that takes in and returns the state of a mean."""
    _require_compiled(answer)
    state: Any = (0, 0.0)
    means = []
    for x in (3.0, 5.0, 10.0):
        made = _call(answer, state, x)
        if not isinstance(made, tuple) or len(made) != 2 or not isinstance(made[0], tuple):
            raise WrongError("expected a tuple of the new state, which is a tuple, and the mean.")
        state, mean = made
        means.append(_float(mean))
    if np.allclose(means, [3, 5, 10]):
        raise WrongError("the numbers before are forgotten. Return a state that includes them.")
    if not np.allclose(means, [3, 4, 6]):
        numbers = ", ".join(f"{mean:g}" for mean in means)
        raise WrongError(f"for 3, 5 and 10, the means are {numbers} instead of 3, 4 and 6.")
    return ""


class _Timed:
    """A value that takes a while, and records when it was ready for those who wait."""

    ready_s: float | None = None

    def block_until_ready(self) -> _Timed:
        time.sleep(_WAIT_S)
        self.ready_s = time.perf_counter()
        return self


def stopwatch(answer: Any) -> str:
    """Grade a function that times a call, with a function that records when it is called."""
    calls: list[_Timed] = []

    def only_call(*_: Any) -> None:
        raise WrongError("the function that it gets is compiled already. Only call it.")

    def function(x: Any) -> _Timed:
        if isinstance(x, jax.core.Tracer):
            only_call()
        if not calls:
            time.sleep(0.02)  # as if it compiled
        calls.append(_Timed())
        return calls[-1]

    vars(function)["lower"] = only_call
    began_s = time.perf_counter()
    seconds = _float(_call(answer, function, jnp.ones(())))
    ended_s = time.perf_counter()
    if len(calls) < 2:
        raise WrongError("it needs a call before the one that it times, which compiles.")
    if calls[-1].ready_s is None:
        raise WrongError("it doesn't wait for the result of the call that it times.")
    if any(call.ready_s is None for call in calls):
        raise WrongError(
            "when the clock starts, the call before may still be running. Wait for it."
        )
    if seconds > ended_s - began_s:
        raise WrongError(f"it returns {seconds:.3g}, but all of it took less. Return seconds.")
    if seconds > ended_s - (calls[0].ready_s or 0):
        raise WrongError("the time includes the first call, which compiles.")
    if seconds < 0.9 * _WAIT_S:
        raise WrongError("the clock stops before the result is ready. Wait, then read it.")
    timed = len(calls) - 1
    if timed > 1 and seconds >= 0.9 * timed * _WAIT_S:
        raise WrongError(f"it is the time of {timed} calls. Time a single one.")
    return ""


def patient_summary(answer: Any) -> str:
    """Grade a function that takes the mean and the largest of some losses, and waits for none."""
    batches = [jnp.full(2, x) for x in (1.0, 3.0, 2.0)]

    def summarised(*batches: Any) -> Any:
        return _call(answer, lambda batch: (batch**2).mean(), list(batches))

    made = summarised(*batches)
    if not isinstance(made, tuple) or len(made) != 2:
        raise WrongError(f"expected the mean and the largest loss, got {_kind(made)}.")
    for name, value, right in zip(("mean", "largest loss"), made, (14 / 3, 9), strict=True):
        if not isclose(_float(value), right, rel_tol=1e-5):
            raise WrongError(f"for losses of 1, 9 and 4, the {name} is {right:.3g}.")
    try:
        with (
            patch.object(jax, "block_until_ready", wraps=jax.block_until_ready) as wait,
            patch.object(jax, "device_get", wraps=jax.device_get) as get,
        ):
            jax.make_jaxpr(summarised)(*batches)
        for waiting, name in (wait, "block_until_ready"), (get, "device_get"):
            if waiting.called:
                raise WrongError(f"it waits for a loss with {name}.")
    except jax.errors.TracerBoolConversionError:
        raise WrongError(
            "it asks which of two losses is larger, and so waits for them. Python's if and max need an "
            "answer, and jax.numpy.maximum doesn't."
        ) from None
    except (jax.errors.ConcretizationTypeError, jax.errors.TracerArrayConversionError):
        raise WrongError("it makes a Python or NumPy number of a loss, and so waits.") from None
    except AttributeError as error:
        if "block_until_ready" not in str(error):
            raise
        raise WrongError("it waits for a loss with block_until_ready.") from None
    return ""


def comparison(answer: Any) -> str:
    """Grade a comparison of two variants, and remark on its result."""
    if not isinstance(answer, ResultSet):
        raise WrongError(
            f"expected what jaxcap.measure.timing.compare returns, got {_kind(answer)}."
        )
    if len(answer) != 2:
        raise WrongError(f"expected two variants, got {len(answer)}.")
    fast, slow = sorted(answer.results, key=lambda result: result.time.value)
    speedup = fast.speedup(slow)
    return f"{fast.variant!r} compared with {slow.variant!r}: {speedup}."


def static_blur(answer: Any) -> str:
    """Grade a compiled function of an array, a static width, a traced strength and a static kind."""
    _require_compiled(answer)
    x = np.array([4, 0, 8, 4, 0, 2], np.float32)
    windows = np.stack([x, np.roll(x, 1)])
    for kind, level in ("mean", windows.mean(axis=0)), ("max", windows.max(axis=0)):
        try:
            blurred = _call(answer, jnp.asarray(x), 2, 0.5, kind)
        except jax.errors.TracerIntegerConversionError:
            raise WrongError("width is traced, and range needs its value.") from None
        except TypeError as error:
            if "'str'" not in str(error):
                raise
            raise WrongError("kind is a string, and JAX can't trace strings.") from None
        _require_values(blurred, x + 0.5 * (level - x))
    _require_traced(lambda s: answer(jnp.asarray(x), 2, s, "mean"), 0.5, "strength")
    return ""


def peak(answer: Any) -> str:
    """Grade a compiled function that returns the largest of the first n numbers, with n traced."""
    _require_compiled(answer)
    small = jnp.array([-5.0, -3.0, -4.0, -1.0, -2.0])
    for x, n in ((small, 1), (small, 3), (small, 5), (1e30 * small, 3)):
        found, right = _float(_call(answer, x, n)), float(x[:n].max())
        if found == 0:
            raise WrongError("0 is none of the numbers, and larger than all of them.")
        if found == x.max() != right:
            raise WrongError(f"this is the largest of all, not of the first {n}.")
        if found != right:
            numbers = ", ".join(f"{number:g}" for number in x)
            raise WrongError(f"of {numbers}, the largest of the first {n} is {right:g}.")
    _require_traced(lambda n: answer(small, n), 2, "n")
    return ""


def _require_traced(call: Callable[[Any], Any], value: Any, name: str) -> None:
    """Refuse a compiled function whose call doesn't take a tracer in place of a value."""
    try:
        jax.make_jaxpr(call)(value)
    except ValueError as error:  # a tracer has no hash
        if "static" not in str(error):
            raise
        raise WrongError(f"it works, but {name} is static, so each new value compiles.") from None


def smoothing(answer: Any) -> str:
    """Grade a function that smooths numbers in a scan, 0.9 of the old mean and 0.1 of the new number."""
    numbers = np.array([10, 20, 0, 30], np.float32)
    expected = [1.0, 2.9, 2.61, 5.349]
    means = _call(answer, jnp.asarray(numbers))
    if isinstance(means, tuple):
        raise WrongError(
            "it returns a tuple. A scan returns the last state and an array: return only the array."
        )
    if not isinstance(means, jax.Array):
        raise WrongError(f"expected a JAX array, got {_kind(means)}.")
    if means.shape == ():
        raise WrongError("it returns the last mean alone. Collect one from each step.")
    if means.shape != numbers.shape:
        raise WrongError(f"of {numbers.size} numbers, it makes an array of shape {means.shape}.")
    if np.allclose(means, [0, *expected[:-1]]):
        raise WrongError("each step returns the mean as it was before. Return the new one, twice.")
    if not np.allclose(means, expected):
        raise WrongError(
            "the means are wrong. Start at 0, and take 0.9 of the old and 0.1 of the new."
        )
    if "scan[" not in _recorded(answer, numbers):
        raise WrongError("the means are right, but no scan computed them.")
    return ""


def power(answer: Any) -> str:
    """Grade a compiled power whose exponent is a number of steps, and its gradient."""
    _require_compiled(answer)
    if any(not _close(_float(_call(answer, 2.0, n)), 2.0**n) for n in (0, 3)):
        raise WrongError("it no longer computes x to the power of n.")
    if not _close(_float(jax.grad(answer)(2.0, 3)), 12):
        raise WrongError("its gradient at x = 2 with n = 3 is not 3 x².")
    return ""


def numbers_of_calls(
    expected: tuple[int, ...], reasons: tuple[str, ...], *, of: str = "call"
) -> Grader:
    """Grade a prediction of one number for each call, or whatever it is ``of``, with reasons."""

    def grade(answer: Any) -> str:
        if not isinstance(answer, (tuple, list)) or len(answer) != len(expected):
            raise WrongError(f"expected a tuple of {len(expected)} numbers, one for each {of}.")
        for place, (given, right, reason) in enumerate(
            zip(answer, expected, reasons, strict=True), 1
        ):
            if (number := _float(given)) != right:
                raise WrongError(f"{number:g} is not the number for {of} {place}. {reason}")
        return ""

    return grade


#: How many new arrays four calls need, besides their arguments.
copies = numbers_of_calls(
    (1, 1, 0, 1),
    (
        "May the array that was there before change?",
        "Who may still look at the array that was there before?",
        "Who may still look at the array that was there before?",
        "Which steps of the loop write into an array that you may still look at?",
    ),
)


def donating(answer: Any) -> str:
    """Grade a compiled function of an array, an index and a value, which donates the array."""
    _require_compiled(answer)
    history = jnp.zeros(4)
    _require_traced(lambda step: answer(history, step, 7.0), 2, "step")
    with catch_warnings(action="ignore"):  # of a donation that isn't used
        given = _call(answer.lower, history, 2, 7.0).args_info
        _require_values(_call(answer, history, 2, 7.0), np.array([0, 0, 7, 0]))
    if not history.is_deleted():
        raise WrongError("it works, but history is still there afterwards. Donate it.")
    if sum(argument.donated for argument in jax.tree.leaves(given)) > 1:
        raise WrongError(
            "it works, but you give up more than the history. The step and the value are too small for "
            "the result, so JAX can't use their memory, and warns you."
        )
    return ""


def bubbles(answer: Any) -> str:
    """Grade a compiled pass of bubble sort, which must not copy its array in each step."""
    _require_compiled(answer)
    x = np.random.default_rng(0).permutation(1000).astype(np.float32)
    expected = x.copy()
    for i in range(len(x) - 1):
        expected[i : i + 2] = sorted(expected[i : i + 2])
    found = _call(answer, x)
    if _same(found, np.sort(x)):
        raise WrongError("this sorts the whole array. Make a single pass.")
    _require_values(found, expected)
    # All that is compiled, up to the main part, is inside of the loop.
    inside, _, _ = (answer.lower(x).compile().as_text() or "").partition("ENTRY")
    if re.search(r"f32\[1000\]\S* copy\(", inside):
        raise WrongError(
            "the values are right, but the compiled loop copies the whole array in each step. Let one "
            "update take all that it needs from the old array."
        )
    return ""


def doubled(answer: Any) -> str:
    """Grade a prediction of what NumPy and JAX make of ones that are doubled at repeated indices."""
    if not isinstance(answer, (tuple, list)) or len(answer) != 2:
        raise WrongError("expected a tuple of two lists: NumPy's numbers, and JAX's.")
    by_numpy, by_jax = map(_numbers, answer)
    once, each = [2.0, 1.0, 2.0], [8.0, 1.0, 2.0]
    if (by_numpy, by_jax) == (each, once):
        raise WrongError("it is the other way round: NumPy's comes first.")
    if by_numpy == each:
        raise WrongError("NumPy reads all elements before it writes any of them.")
    if by_jax == once:
        raise WrongError("JAX doubles for each index, however often it comes up.")
    if (by_numpy, by_jax) != (once, each):
        raise WrongError(
            "there are three numbers in each list. Index 0 comes three times, and 1 never."
        )
    return ""


def group_means(answer: Any) -> str:
    """Grade a compiled function of values, groups and a static number of groups."""
    _require_compiled(answer)
    values, groups = np.array([1, 2, 6, 5, 4], np.float32), np.array([2, 0, 0, 1, 0])
    sums = np.bincount(groups, values)
    means = _call(answer, values, groups, 3)
    if isinstance(means, jax.Array) and np.array_equal(means, sums):
        raise WrongError("these are the sums. Divide them by how many values a group has.")
    _require_values(means, sums / np.bincount(groups))
    return ""


def _require_values(answer: Any, expected: np.ndarray) -> None:
    if not isinstance(answer, jax.Array):
        raise WrongError(f"it returned {_kind(answer)} instead of an array.")
    if answer.shape != expected.shape:
        raise WrongError(f"it returned the shape {answer.shape} instead of {expected.shape}.")
    if not np.allclose(answer, expected):
        raise WrongError("it returned other values. Try it on a short array.")


def _numbers(answer: Any) -> list[float]:
    try:
        return [_float(number) for number in answer]
    except TypeError:
        raise WrongError(f"expected a list of numbers, got {_kind(answer)}.") from None


def similarities(x: Any) -> Any:
    """Weigh examples by their similarity to each: the function of the exercise on memory."""
    return (x @ x.T) @ x


def temporaries(answer: Any) -> str:
    """Grade the bytes of temporaries that `similarities` needs for 1000 examples of 50 numbers."""
    memory = _memory(jax.jit(similarities), np.empty((1000, 50), np.float32))
    size = memory.temp_size_in_bytes
    outside = memory.argument_size_in_bytes + memory.output_size_in_bytes
    mistakes: dict[float, str] = {
        memory.argument_size_in_bytes: "this is the size of the argument, or of the result.",
        size / 4: "this is how many numbers there are. Each takes four bytes.",
        outside: "these are the argument and the result, without the temporaries.",
        outside + size: "this is everything. Answer with the temporaries alone.",
    }
    mistakes.pop(size, None)  # on another device, two of them may be the same
    hint = "Compile for the shape, and ask the compiled function for its temp_size_in_bytes."
    return Number(size, hint, mistakes)(answer)


def move(answer: Any) -> str:
    """Grade a compiled step that donates the position and keeps the velocity."""
    _require_compiled(answer)
    position, velocity = jax.numpy.ones(8), jax.numpy.arange(8.0)
    with catch_warnings(action="ignore"):  # of a donation that isn't used
        lowered = _call(answer.lower, position, velocity)
        donated = [argument.donated for argument in jax.tree.leaves(lowered.args_info)]
        moved = _call(answer, position, velocity)
    if donated[-1]:
        raise WrongError("the next step needs the velocity. Donate the position alone.")
    if not np.allclose(moved, 1 + 0.1 * np.arange(8)):
        raise WrongError("it returns other numbers than move.")
    if not position.is_deleted():
        raise WrongError("the old position is still there. Which argument does the result replace?")
    return ""


def simulate(x: Any) -> Any:
    """Push numbers a hundred times: the function of the exercise on memory."""

    def step(x: Any, _: None) -> tuple[Any, None]:
        return x + 0.1 * jax.numpy.sin(jax.numpy.exp(-x * x)), None

    x, _ = jax.lax.scan(step, x, length=100)
    return x.sum()


def thrifty(share: float, hint: str) -> Grader:
    """Grade a function like `simulate` whose gradient needs at most a share of its temporaries."""

    def grade(answer: Any) -> str:
        x = np.linspace(-1, 1, 10_000, dtype=np.float32)
        if not np.allclose(_call(answer, x), simulate(x), rtol=1e-5):
            raise WrongError("it doesn't return the number that simulate does.")
        sizes = [
            _memory(jax.jit(jax.grad(function)), x).temp_size_in_bytes
            for function in (answer, simulate)
        ]
        used = (
            f"its gradient needs {sizes[0] / sizes[1]:.0%} of the temporaries that simulate's needs"
        )
        if sizes[0] >= sizes[1]:
            raise WrongError(f"{used}. Wrap what the loop repeats, not the whole.")
        if sizes[0] > share * sizes[1]:
            raise WrongError(f"{used}. {hint}")
        return f"{used[0].upper()}{used[1:]}."

    return grade


def prints(answer: Any) -> str:
    """Grade how many lines Python's print and JAX's write in four calls with two shapes."""
    if not isinstance(answer, (tuple, list)) or len(answer) != 2:
        raise WrongError("expected a tuple of two numbers: Python's lines, and JAX's.")
    by_python, by_jax = map(_float, answer)
    if (by_python, by_jax) == (4, 2):
        raise WrongError("it is the other way round: Python's comes first.")
    if by_python != 2:
        reasons: dict[float, str] = {
            1: "JAX traces again for a new length.",
            3: "JAX still has the program for a length that comes again.",
            4: "Python isn't there when a compiled function runs.",
        }
        reason = reasons.get(by_python, "Python prints when JAX traces.")
        raise WrongError(f"{by_python:g} is not Python's number of lines. {reason}")
    if by_jax != 4:
        raise WrongError(f"{by_jax:g} is not JAX's number of lines. It prints in each call.")
    return ""


def mean_model(answer: Any) -> str:
    """Grade a function of a list of trees that returns a tree of means."""
    models = [
        {"weights": [np.array([n, 2.0 * n]), np.array(n - 1.0)], "offset": np.array(n**2.0)}
        for n in range(3)
    ]
    mean = {"weights": [np.array([1.0, 2.0]), np.array(0.0)], "offset": np.array(5 / 3)}
    result = _call(answer, models)
    if _structure(result) != _structure(mean):
        raise WrongError(
            "the result doesn't have the structure of each model: "
            f"{_structure(result)}. Pass each model to jax.tree.map as an argument of its own."
        )
    if _agree(result, jax.tree.map(lambda leaf: 3 * leaf, mean)):
        raise WrongError("these are the sums. Divide them by the number of models.")
    if not _agree(result, mean):
        raise WrongError("the structure is right, but of three models, these aren't the means.")
    return ""


def sphere(answer: Any) -> str:
    """Grade a class with a radius, which is a leaf, and a unit, which is static."""
    if not isinstance(answer, type):
        raise WrongError(f"expected a class, got {_kind(answer)}.")
    metres, kilometres = answer(1.0, "m"), answer(1.0, "km")
    if getattr(metres, "radius", None) != 1:
        raise WrongError("its first field isn't the radius. Keep the names and the order.")
    leaves = jax.tree.leaves(metres)
    if leaves == [metres]:
        raise WrongError("JAX doesn't know the class, so an object of it is a leaf. Register it.")
    if "m" in leaves:
        raise WrongError("the unit is a leaf, and jit refuses strings. Mark it as static.")
    if leaves != [1.0]:
        raise WrongError(
            "the radius isn't a leaf. If it is static, each radius is compiled for anew."
        )
    if _structure(metres) == _structure(kilometres):
        raise WrongError("the unit isn't part of the structure, so it is lost.")
    grown = jax.jit(lambda sphere: jax.tree.map(lambda leaf: 2 * leaf, sphere))(metres)
    if (radius := float(grown.radius)) != 2 or grown.unit != "m":
        raise WrongError(f"grow makes it a sphere of radius {radius:g} in {grown.unit!r}.")
    return ""


def momentum(answer: Any) -> str:
    """Grade a step of gradient descent with momentum on trees."""
    params = {"weights": np.array([1.0, 2.0]), "offset": np.array(3.0)}
    velocity = {"weights": np.array([0.5, 0.0]), "offset": np.array(-1.0)}
    slopes = {"weights": np.array([2.0, -1.0]), "offset": np.array(0.25)}
    old = {k: params[k] - 0.1 * velocity[k] for k in params}
    faster = {k: 0.9 * velocity[k] + slopes[k] for k in params}
    moved = {k: params[k] - 0.1 * faster[k] for k in params}
    climbed = {k: params[k] + 0.1 * faster[k] for k in params}
    result = _call(answer, params, velocity, slopes)
    if not isinstance(result, tuple) or len(result) != 2:
        if isinstance(result, dict) and all(isinstance(leaf, tuple) for leaf in result.values()):
            raise WrongError("it is a tree of pairs. Map twice, to get two trees.")
        raise WrongError("expected two trees, the parameters and the velocities.")
    if _agree(result, (faster, moved)):
        raise WrongError("both trees are right, but the parameters come first.")
    if not _agree(result[1], faster):
        raise WrongError("the velocities are wrong. Take 0.9 of the old ones, and add the slopes.")
    if _agree(result[0], old):
        raise WrongError("the parameters move by the old velocities. Use the new ones.")
    if _agree(result[0], climbed):
        raise WrongError("the parameters climb. Subtract, to go down.")
    if not _agree(result[0], moved):
        raise WrongError(
            "the velocities are right. Subtract 0.1 times as much from the parameters."
        )
    return ""


def _described(shape: tuple[int, ...], *split: str | None) -> jax.ShapeDtypeStruct:
    """Describe an array that is split among eight devices, none of which needs to exist."""
    mesh = AbstractMesh((8,), ("devices",), (AxisType.Explicit,))
    sharding = jax.NamedSharding(mesh, jax.P(*split))  # type: ignore[no-untyped-call]
    return jax.ShapeDtypeStruct(shape, "float32", sharding=sharding)  # type: ignore[no-untyped-call]


def product_by_rows(answer: Any) -> str:
    """Grade a product of two matrices whose common axis is split: some of its rows for each device."""
    x, y = _described((512, 256), None, "devices"), _described((256, 64), "devices")
    traced = jax.make_jaxpr(partial(_call, answer))(x, y)
    if [result.shape for result in traced.out_avals] != [(512, 64)]:
        raise WrongError("it doesn't return an array of the shape (512, 64).")
    spec = traced.out_avals[0].sharding.spec
    if spec.unreduced:
        raise WrongError("the parts of the product aren't added up yet. Ask for sums.")
    if not any(spec):
        raise WrongError(
            "every device gets the whole product. Ask for an eighth of its rows on each."
        )
    if spec[0] is None:
        raise WrongError("each device gets some columns for all examples. Split the rows instead.")
    program = traced.pretty_print(use_color=False)  # type: ignore[no-untyped-call]
    if re.search(r"f32\[(512,256|256,64)\] = reshard|= device_put", program):
        raise WrongError(
            "each device has its rows, but first you collect what they are made of. Let jax.numpy.matmul "
            "add up the parts."
        )
    for whole in re.findall(r"= reshard (\w+)", program):
        if f" {whole}:f32[512,64]{{U:devices}} =" not in program:  # not parts, still to be added up
            raise WrongError(
                "each device has its rows, but first you make all of them for everybody. Let "
                "jax.numpy.matmul split its result."
            )
    return ""


def sent_bytes(answer: Any) -> str:
    """Grade a function that counts the bytes that each device sends for messages of float32."""
    times_size: dict[str, Callable[[int], float]] = {
        "all-reduce": lambda devices: 2 * (devices - 1) / devices,
        "all-gather": lambda devices: (devices - 1) / devices,
        "reduce-scatter": lambda devices: devices - 1,
    }
    total = 0.0
    # Not among four, where a number's bytes would be mistaken for the number of devices.
    for devices, (kind, multiple) in product((3, 8), times_size.items()):
        numbers = 48 * multiple(devices)
        found = _float(_call(answer, [(kind, (8, 6))], devices))
        mistakes = {
            numbers: "these are numbers. Each of them takes four bytes",
            4 * numbers * devices: "this is what all devices send together",
            4
            * numbers
            / devices: "the shape is that of a device's part. What is added up is larger",
            4 * 48: "this is the size of the result, and not what each device sends",
            4 * numbers * devices / (devices - 1): "a device needn't send itself its own part",
        }
        if kind == "all-reduce":
            mistakes[4 * numbers / 2] = "everybody needs the sum, after it has been added up"
        for mistake, explanation in mistakes.items():
            if _close(found, mistake):
                raise WrongError(f"for one {kind} among {devices}, {explanation}.")
        if not _close(found, 4 * numbers):
            raise WrongError(f"for one {kind} among {devices}, {found:,.0f} bytes aren't right.")
        total += found if devices == 8 else 0
    every = [(kind, (8, 6)) for kind in times_size]
    if not _close(_float(_call(answer, every, 8)), total):
        raise WrongError("each message is right by itself, but several don't add up.")
    return ""


def _structure(tree: Any) -> Any:
    return jax.tree.structure(tree)


def _agree(tree: Any, expected: Any) -> bool:
    """Whether a tree has the structure of another, and numbers near its own."""
    if _structure(tree) != _structure(expected):
        return False
    pairs = zip(jax.tree.leaves(tree), jax.tree.leaves(expected), strict=True)
    return all(np.shape(a) == np.shape(b) and np.allclose(a, b) for a, b in pairs)


def centring(answer: Any) -> str:
    """Grade what a device does to subtract the mean of the numbers of all devices."""
    numbers = np.array([[0, 1], [4, 9], [16, 25]], np.float32)
    centred = jax.vmap(partial(_call, answer), axis_name="devices")(jnp.asarray(numbers))
    for mistake, mean in (
        ("this is the mean of a device's own numbers", numbers.mean(axis=1, keepdims=True)),
        ("there is a mean for each position. Take one of all numbers", numbers.mean(axis=0)),
        ("the means of all devices are added up", 3 * numbers.mean()),
    ):
        if _same(centred, numbers - mean):
            raise WrongError(f"{mistake}.")
    if _same(centred, np.full(3, numbers.mean())):
        raise WrongError("this is the mean. Subtract it from a device's numbers.")
    _require_values(centred, numbers - numbers.mean())
    return ""


@dataclass(frozen=True)
class Explained:
    """Grades a prediction of what is true of several things, and asks about the first wrong one."""

    expected: Mapping[str, tuple[bool, str]]

    @property
    def names(self) -> tuple[str, ...]:
        """What is asked about."""
        return tuple(self.expected)

    def __call__(self, answer: Any) -> str:
        """Grade an answer."""
        if not isinstance(answer, (tuple, list)) or len(answer) != len(self.expected):
            raise WrongError(f"expected a tuple of {len(self.expected)}, True or False for each.")
        for given, (name, (right, reason)) in zip(answer, self.expected.items(), strict=True):
            if not np.array_equal(given, right):  # arrays may be among the answers
                raise WrongError(f"look again at {name!r}. {reason}")
        return ""


def entropy(answer: Any) -> str:
    """Grade the entropy of probabilities of which some may be zero, and its gradient."""
    p = jnp.array([0.5, 0.25, 0.25, 0])
    value = _float(_call(answer, p))
    if np.isnan(value):
        raise WrongError("it returns NaN. Leave out what a probability of zero contributes.")
    if not isclose(value, 1.5 * np.log(2), rel_tol=1e-5):
        raise WrongError(f"it returns {value:.5g} for the four probabilities of the question.")
    slopes = np.asarray(jax.grad(answer)(p))
    if np.isnan(slopes[-1]):
        raise WrongError(
            "the value is right, but the gradient is NaN, because the logarithm still sees the zero. "
            "Put a positive number into it there."
        )
    if abs(slopes[-1]) > 1e-6:
        raise WrongError(f"the gradient where p is zero is {slopes[-1]:.4g} instead of zero.")
    if not np.allclose(slopes[:-1], -np.log(p[:-1]) - 1, rtol=1e-5):
        raise WrongError("the gradient is wrong where p is positive. It is -log(p) - 1.")
    return ""


def ahead_of_time(answer: Any) -> str:
    """Grade a function that is compiled to standardise ten float32 numbers."""
    unfinished = {
        Wrapped: "it compiles at its first call. Lower it for a shape, and compile that.",
        Traced: "it is traced, but neither lowered nor compiled.",
        Lowered: "it is lowered to XLA's language, and XLA hasn't compiled it yet.",
    }
    for kind, problem in unfinished.items():
        if isinstance(answer, kind):
            raise WrongError(problem)
    if not isinstance(answer, Compiled):
        raise WrongError(f"expected what compile() returns, got {_kind(answer)}.")
    shapes = [f"{aval.dtype}{list(aval.shape)}" for aval in jax.tree.leaves(answer.in_avals)]
    if shapes != ["float32[10]"]:
        raise WrongError(f"it is compiled for {', '.join(shapes)} instead of float32[10].")
    x = np.arange(10, dtype=np.float32)
    _require_values(_call(answer, x), (x - 4.5) / 8.25**0.5)
    return ""


def exported(answer: Any) -> str:
    """Grade an exported function that standardises vectors of any length."""
    if isinstance(answer, Wrapped):
        raise WrongError("it is compiled where it is called. Export it.")
    if not isinstance(answer, export.Exported):
        raise WrongError(f"expected what jax.export.export makes, got {_kind(answer)}.")
    shapes = [aval.shape for aval in answer.in_avals]
    if len(shapes) != 1 or len(shapes[0]) != 1:
        raise WrongError(f"expected a function of one vector, but its arguments are {shapes}.")
    if not export.is_symbolic_dim(shapes[0][0]):
        raise WrongError(f"it takes {shapes[0][0]} numbers, and no other length. Use a letter.")
    for x in (np.arange(10, dtype=np.float32), np.array([1, 3, 8], np.float32)):
        _require_values(_call(answer.call, x), (x - x.mean()) / x.std())
    return ""


def length(answer: Any) -> str:
    """Grade the length of a float16 vector whose squares are too large for float16."""
    for x, expected in (
        *(([3, 4], 5.0), ([300] * 10, 948.68), ([0.001] * 4, 0.002)),
        ([301, 407, 555], 751.18),  # whose squares lose digits in bfloat16
    ):
        found = _call(answer, jnp.array(x, jnp.float16))
        value = _float(found)
        if not np.isfinite(value):
            raise WrongError(
                f"the length of {len(x)} elements of {x[0]} is {value}: squares overflow."
            )
        if isclose(value, expected**2, rel_tol=1e-2):
            raise WrongError("this is the square of the length. Take its root.")
        if value == 0:
            raise WrongError(
                f"elements of {x[0]} have no length. Their squares are too small, too."
            )
        if not isclose(value, expected, rel_tol=1e-3):
            raise WrongError(f"the length of {x} should be about {expected:g}, not {value:g}.")
        if getattr(found, "dtype", None) != jnp.float16:
            raise WrongError("the length is right. Convert it to float16 at the end.")
    return ""


def scaled_slope(answer: Any) -> str:
    """Grade the gradient of mean((w x)²) in float16, brought back into range by a scale."""
    x = np.full(10, 1e-4, np.float16)
    expected = 2 * float(x[0]) ** 2
    found = _call(answer, jnp.float16(1), jnp.asarray(x))
    value = _float(found)
    if value == 0:
        raise WrongError(
            "it is still 0. Scale the loss before you differentiate, and convert to float32 before you "
            "divide."
        )
    if not np.isfinite(value):
        raise WrongError(f"it is {value}. That scale is too large for float16.")
    if getattr(found, "dtype", None) != jnp.float32:
        raise WrongError("return it in float32. A float16 can't hold it without the scale.")
    if value > 2 * expected:
        raise WrongError("it is still as large as the scale made it. Undo the scale.")
    if isclose(value, expected, rel_tol=0.2) and not isclose(value, expected, rel_tol=2e-2):
        raise WrongError(
            f"{value:.3g} is close to {expected:.1g}, but the smallest numbers of float16 have few "
            "digits. Take a larger scale."
        )
    if not isclose(value, expected, rel_tol=2e-2):  # which a scale of 1,024 reaches as well
        raise WrongError(f"{value:.3g} is not the right gradient, which is about {expected:.1g}.")
    if not re.search(r":f16\[\S*\] = mul", _recorded(answer, jnp.float16(1), x)):
        raise WrongError("the gradient is right, but it wasn't computed in float16.")
    return ""


def long_product(answer: Any) -> str:
    """Grade a product of bfloat16 matrices that is added up, and returned, in float32."""
    a = jnp.array([[1, 2**-9], [3, 2]], jnp.bfloat16)
    found = _call(answer, a, a.T)
    if not isinstance(found, jax.Array):
        raise WrongError(f"expected a JAX array, got {_kind(found)}.")
    if found.dtype != jnp.float32:
        raise WrongError(f"it returns {found.dtype}. Ask the product for a longer type.")
    exact = np.array([[1 + 2**-18, 3 + 2**-8], [3 + 2**-8, 13]], np.float32)
    if found.shape == exact.shape and np.array_equal(found, exact.astype(jnp.bfloat16)):
        raise WrongError("the result was rounded to bfloat16 before it became a float32.")
    _require_values(found, exact)
    if "f32[2,2] = convert_element_type" in _recorded(answer, a, a.T):
        raise WrongError("the product is right, but it was made of longer copies of the matrices.")
    return ""


def mapped_predictions(answer: Any) -> str:
    """Grade predictions for examples in columns, which the result has in rows."""
    rng = np.random.default_rng(0)
    weights = rng.standard_normal((2, 3), np.float32)
    for examples in (3, 5):
        columns = rng.standard_normal((3, examples), np.float32)
        args = jnp.asarray(weights), 0.5, jnp.asarray(columns)
        expected, found = _predict(weights, columns), _call(answer, *args)
        # Where there are as many examples as features, a wrong axis doesn't raise.
        if examples == 3 and _same(found, _predict(weights, columns.T)):
            raise WrongError(
                "each prediction was made from a row of the matrix. Which axis has the examples?"
            )
        if _same(found, expected.T):
            raise WrongError("the values are right, but each example has a column. Give it a row.")
        _require_values(found, expected)
        _require_no_loop(answer, args, "tanh", examples)
    return ""


def _predict(weights: np.ndarray, columns: np.ndarray) -> np.ndarray:
    return np.asarray(np.tanh(weights @ columns) + 0.5).T


def table_of_pairs(answer: Any) -> str:
    """Grade the likeness of each point of one matrix to each of another."""
    rng = np.random.default_rng(0)
    first, second = (rng.standard_normal((points, 2), np.float32) for points in (3, 4))
    expected = np.exp(-((first[:, None] - second) ** 2).sum(axis=-1))
    args = jnp.asarray(first), jnp.asarray(second)
    found = _call(answer, *args)
    if _same(found, expected.T):
        raise WrongError("this is the transposed table. Which of the two vmaps is the outer one?")
    _require_values(found, expected)
    _require_no_loop(answer, args, "exp", 3)
    return ""


def pulls(answer: Any) -> str:
    """Grade the length of each example's gradient of the logistic loss."""
    rng = np.random.default_rng(0)
    weights = rng.standard_normal(3, np.float32)
    features = rng.standard_normal((6, 3), np.float32)
    labels = np.array([0, 1, 1, 0, 1, 0], np.float32)
    slopes = (1 / (1 + np.exp(-features @ weights)) - labels)[:, None] * features
    expected = np.linalg.norm(slopes, axis=1)
    args = jnp.asarray(weights), jnp.asarray(features), jnp.asarray(labels)
    found = _call(answer, *args)
    for mistake, wrong in (
        ("these are the gradients. Return the length of each", slopes),
        ("these are gradients of the mean. Map a gradient of one loss", expected / 6),
        ("these are the squares of the lengths. Take the root", expected**2),
        ("this is the length of the mean gradient", np.linalg.norm(slopes.mean(axis=0))),
        (
            "the gradients were added up before their length was taken",
            np.linalg.norm(slopes.sum(0)),
        ),
    ):
        if _same(found, wrong):
            raise WrongError(f"{mistake}.")
    _require_values(found, expected)
    _require_no_loop(answer, args, "dot_general", 6)
    return ""


def share(answer: Any) -> str:
    """Grade a function of one example that divides each feature by its sum over the batch."""
    batch = np.array([[1, 10, 5], [3, 30, 1]], np.float32)
    found = jax.vmap(partial(_call, answer), axis_name="examples")(jnp.asarray(batch))
    for mistake, total in (
        (
            "this divides by the sum of an example's own features. (The check maps the function itself)",
            batch.sum(axis=1, keepdims=True),
        ),
        ("this divides by the mean over the batch. Add up", batch.mean(axis=0)),
        ("this divides by the sum of all features. Each has a sum of its own", batch.sum()),
    ):
        if _same(found, batch / total):
            raise WrongError(f"{mistake}.")
    _require_values(found, batch / batch.sum(axis=0))
    return ""


def _same(found: Any, values: Any) -> bool:
    """Whether an answer has the shape of some values, and is near them."""
    return np.shape(found) == np.shape(values) and np.allclose(found, values)


def _require_no_loop(answer: Any, args: tuple[Any, ...], operation: str, examples: int) -> None:
    """Refuse a loop: in Python, it records an operation again for each example."""
    recorded = _recorded(answer, *args)
    if re.search(r"\b(?:scan|while)\[", recorded):
        raise WrongError(
            "the values are right, but a loop takes one example after another. Map it."
        )
    if len(re.findall(rf"= {operation}\b", recorded)) >= examples:
        raise WrongError(
            f"the values are right, but Python loops: {operation} is recorded once for each "
            "example. vmap records it once for all."
        )


def _recorded(function: Callable[..., Any], *args: Any) -> str:
    """Return what JAX records of a call, without the colours that it has in a notebook."""
    recorded = jax.make_jaxpr(function)(*args)
    return str(recorded.pretty_print(use_color=False))  # type: ignore[no-untyped-call]


def _memory(function: Wrapped, *args: Any) -> Any:
    return function.lower(*args).compile().memory_analysis()


def _require_compiled(answer: Any) -> None:
    if not isinstance(answer, Wrapped):
        raise WrongError(f"expected a function from jax.jit, got {_kind(answer)}.")


def _call(fn: Any, *args: Any) -> Any:
    if not callable(fn):
        raise WrongError(f"expected a function, got {_kind(fn)}.")
    return answered(fn(*args))


def _float(answer: Any) -> float:
    try:
        return float(answered(answer))
    except (TypeError, ValueError):
        kind = f"an array of shape {np.shape(answer)}" if np.shape(answer) else _kind(answer)
        raise WrongError(f"expected a number, got {kind}.") from None


def _kind(answer: Any) -> str:
    return "nothing (None)" if answer is None else f"an object of type {type(answer).__name__}"
