"""Graders of answers to the exercises.

A grader returns a remark about a correct answer, often an empty one. It raises a `WrongError` for a
wrong answer, with a message that says what is expected without giving it away.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import partial
from math import isclose
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax.stages import Wrapped

from jaxcap.results import ResultSet

# The value of bar(key1) + 2 * baz(key2) for each setting of jax_threefry_partitionable.
FOO = {False: 2.3250647, True: 1.8121928}

Grader = Callable[[Any], str]

_close = partial(isclose, rel_tol=1e-6)


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


def number(expected: float, hint: str, mistakes: dict[float, str] | None = None) -> Grader:
    """Grade a number; ``mistakes`` explains wrong numbers that readers are likely to get."""

    def grade(answer: Any) -> str:
        value = _float(answer)
        for mistake, explanation in (mistakes or {}).items():
            if _close(value, mistake):
                raise WrongError(explanation)
        if not _close(value, expected):
            raise WrongError(f"{value:.8g} is not the right number. {hint}")
        return ""

    return grade


def two_orders(answer: Any) -> str:
    """Grade the values of foo1 and foo2 with NumPy's random numbers."""
    expected = (1.9791922366721637, 1.812816374227069)
    if not isinstance(answer, (tuple, list)) or len(answer) != 2:
        raise WrongError(f"expected a tuple of two numbers, got {_kind(answer)}.")
    values = tuple(_float(value) for value in answer)
    if all(map(_close, values, reversed(expected))):
        raise WrongError("these are the right numbers in the wrong order: foo1 comes first.")
    if not all(map(_close, values, expected)):
        raise WrongError(
            "call np.random.seed(0) before each of the two calls, and change nothing else."
        )
    return ""


def foo(answer: Any) -> str:
    """Grade the value of foo with JAX's random numbers."""
    value = _float(answer)
    setting = bool(jax.config.jax_threefry_partitionable)  # type: ignore[attr-defined]
    if _close(value, FOO[setting]):
        return f"{FOO[setting]} is the value for jax_threefry_partitionable={setting}, as set here."
    if _close(value, FOO[not setting]):
        raise WrongError(
            f"{FOO[not setting]} is the value with jax_threefry_partitionable={not setting}, but here "
            f"the setting is {setting}. Answer with what your own code returns."
        )
    raise WrongError(
        "foo returns another number here. Draw 32-bit numbers with jax.random.uniform: bar's from "
        "the first subkey of jax.random.key(0), baz's from the second."
    )


def derivative(answer: Any) -> str:
    """Grade a derivative of 14x³ + 13x by its values at a few points."""
    for x in (0.0, 1.0, -2.5, 17.0):
        if not _close(_float(_call(answer, x)), 42 * x**2 + 13):
            raise WrongError(
                f"the value at x = {x} is wrong. Differentiate 14x³ and 13x separately."
            )
    return ""


def type_error(answer: Any) -> str:
    """Grade the name of an exception that was a TypeError."""
    kind = answer if isinstance(answer, type) else type(answer)
    if not issubclass(kind, Exception):
        raise WrongError(f"expected an exception class such as IndexError, got {_kind(answer)}.")
    if not issubclass(kind, TypeError):
        raise WrongError(
            f"the exception is not {kind.__name__}. The last lines of the traceback name it."
        )
    return ""


def model(answer: Any) -> str:
    """Grade a function that draws 14a² + 13b from two keys."""
    keys = list(jax.random.split(jax.random.PRNGKey(1)))
    a, b = (float(jax.random.normal(key)) for key in keys)
    value = _float(_call(answer, keys))
    if isclose(value, 14 * a**2 + 13 * a, rel_tol=1e-5):
        raise WrongError("both draws use the first key, so they give the same number.")
    if not isclose(value, 14 * a**2 + 13 * b, rel_tol=1e-5):
        raise WrongError("expected 14 a² + 13 b, with a from the first key and b from the second.")
    return ""


def compiled_model(answer: Any) -> str:
    """Grade the same function, compiled."""
    _require_compiled(answer)
    return model(answer)


class _Pending:
    """A value that records whether it was waited for."""

    awaited = False

    def block_until_ready(self) -> _Pending:
        self.awaited = True
        return self


def loop(*, waits: bool) -> Grader:
    """Grade a function that calls a model repeatedly, with a model that records its calls."""

    def grade(answer: Any) -> str:
        seen: list[bytes] = []
        values: list[_Pending] = []

        def model(keys: Any) -> _Pending:
            seen.extend(np.asarray(jax.random.key_data(key)).tobytes() for key in keys)
            values.append(_Pending())
            return values[-1]

        last = _call(answer, model, 3)
        if len(values) != 3:
            raise WrongError(
                f"in 3 iterations, it called the model {len(values)} times instead of 3."
            )
        if len(seen) != 6:
            raise WrongError("pass two keys to the model in each iteration.")
        if len(set(seen)) != 6:
            raise WrongError("it uses a key twice. Split the key again in each iteration.")
        if last is not values[-1]:
            raise WrongError(f"return the model's last value: yours returned {_kind(last)}.")
        if waits and not last.awaited:
            raise WrongError("it returns the last value without waiting for it.")
        return ""

    return grade


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


def static_loops(answer: Any) -> str:
    """Grade a compiled function of x and a number of loops."""
    _require_compiled(answer)
    if any(_float(_call(answer, 14, loops)) != 14 for loops in (2, 3)):
        raise WrongError("it no longer returns x.")
    return ""


def static_columns(answer: Any) -> str:
    """Grade a compiled function that makes an array with a number of columns."""
    _require_compiled(answer)
    for columns in (2, 3):
        array(np.full((2, columns), 25), "This is for x = 5.")(_call(answer, 5, columns))
    return ""


def truths(expected: tuple[bool, ...], hint: str) -> Grader:
    """Grade a prediction of what is true of each of several calls."""

    def grade(answer: Any) -> str:
        if not isinstance(answer, (tuple, list)) or len(answer) != len(expected):
            raise WrongError(f"expected a tuple of {len(expected)}, True or False for each.")
        correct = sum(map(np.array_equal, answer, expected))  # arrays may be among the answers
        if correct < len(expected):
            raise WrongError(f"only {correct} of the {len(expected)} are right. {hint}")
        return ""

    return grade


def smoothing(answer: Any) -> str:
    """Grade a function that smooths numbers in a scan, 0.9 of the old mean and 0.1 of the new number."""
    numbers = np.array([10, 20, 0, 30], np.float32)
    expected = [1.0, 2.9, 2.61, 5.349]
    means = _call(answer, jnp.asarray(numbers))
    if isinstance(means, tuple):
        raise WrongError(
            "it returns a tuple. A scan returns the last state and an array: take that."
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
    if "scan[" not in str(jax.make_jaxpr(answer)(numbers)):
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


def copies(answer: Any) -> str:
    """Grade a prediction of how many new arrays four calls need, besides their arguments."""
    reasons = (
        "Without compiling, the old array must stay as it was.",
        "The caller may still look at the argument of a compiled function.",
        "A donated argument's memory is free for the result.",
        "A compiled loop writes in place, once it has an array of its own.",
    )
    expected = (1, 1, 0, 1)
    if not isinstance(answer, (tuple, list)) or len(answer) != len(expected):
        raise WrongError(f"expected a tuple of {len(expected)} numbers, one for each call.")
    for place, (given, right, reason) in enumerate(zip(answer, expected, reasons, strict=True), 1):
        if (number := _float(given)) != right:
            raise WrongError(f"{number:g} is not the number for call {place}. {reason}")
    return ""


def donating(answer: Any) -> str:
    """Grade a compiled function of an array, an index and a value, which donates the array."""
    _require_compiled(answer)
    history = jnp.zeros(4)
    _require_values(_call(answer, history, 2, 7.0), np.array([0, 0, 7, 0]))
    if not history.is_deleted():
        raise WrongError("it works, but history is still there afterwards. Donate it.")
    return ""


def bubbles(answer: Any) -> str:
    """Grade a compiled pass of bubble sort, which must not copy its array in each step."""
    _require_compiled(answer)
    x = np.random.default_rng(0).permutation(1000).astype(np.float32)
    expected = x.copy()
    for i in range(len(x) - 1):
        expected[i : i + 2] = sorted(expected[i : i + 2])
    _require_values(_call(answer, x), expected)
    # All that is compiled, up to the main part, is inside of the loop.
    inside, _, _ = (answer.lower(x).compile().as_text() or "").partition("ENTRY")
    if re.search(r"f32\[1000\]\S* copy\(", inside):
        raise WrongError(
            "the values are right, but the compiled loop copies the whole array in each step. Let one "
            "update take all that it needs from the old array."
        )
    return ""


def counts(answer: Any) -> str:
    """Grade a prediction of what NumPy and JAX count where an index is repeated."""
    if not isinstance(answer, (tuple, list)) or len(answer) != 2:
        raise WrongError("expected a tuple of two lists: NumPy's counts, and JAX's.")
    by_numpy, by_jax = map(_numbers, answer)
    once, each = [1.0, 0.0, 1.0], [3.0, 0.0, 1.0]
    if (by_numpy, by_jax) == (each, once):
        raise WrongError("it is the other way round: NumPy's comes first.")
    if by_numpy == each:
        raise WrongError("NumPy reads all elements before it writes any of them.")
    if by_jax == once:
        raise WrongError("JAX adds for each index, however often it comes up.")
    if (by_numpy, by_jax) != (once, each):
        raise WrongError(
            "there are three counts in each list. Index 0 comes three times, and 1 never."
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
    return number(size, hint, mistakes)(answer)


def move(answer: Any) -> str:
    """Grade a compiled step that donates the position and keeps the velocity."""
    _require_compiled(answer)
    position, velocity = jax.numpy.ones(8), jax.numpy.arange(8.0)
    moved = _call(answer, position, velocity)
    if velocity.is_deleted():
        raise WrongError("the velocity is gone, but the next step needs it. Donate the position.")
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
            raise WrongError("it returns another number than simulate.")
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
            1: "JAX traces again for another length.",
            3: "JAX still has the program for a length that comes again.",
            4: "Python isn't there when a compiled function runs.",
        }
        reason = reasons.get(by_python, "Python prints when JAX traces.")
        raise WrongError(f"{by_python:g} is not Python's number of lines. {reason}")
    if by_jax != 4:
        raise WrongError(f"{by_jax:g} is not JAX's number of lines. It prints in each call.")
    return ""


def verdicts(expected: tuple[bool, ...], reasons: tuple[str, ...]) -> Grader:
    """Grade a prediction for each of several calls; each has a reason, for those who miss it."""

    def grade(answer: Any) -> str:
        if not isinstance(answer, (tuple, list)) or len(answer) != len(expected):
            raise WrongError(f"expected a tuple of {len(expected)}, True or False for each.")
        for place, (given, right, reason) in enumerate(
            zip(answer, expected, reasons, strict=True), start=1
        ):
            if not np.array_equal(given, right):
                raise WrongError(f"call {place} is another case. {reason}")
        return ""

    return grade


def entropy(answer: Any) -> str:
    """Grade the entropy of probabilities of which some may be zero, and its gradient."""
    p = np.array([0.5, 0.25, 0.25, 0], np.float32)
    value = _float(_call(answer, p))
    if np.isnan(value):
        raise WrongError("it returns NaN. Leave out what a probability of zero contributes.")
    if not isclose(value, 1.5 * np.log(2), rel_tol=1e-5):
        raise WrongError(f"it returns {value:.5g} for the four probabilities of the question.")
    slopes = np.asarray(jax.grad(answer)(p))
    if np.isnan(slopes[-1]):
        raise WrongError(
            "the value is right, but the gradient is NaN, because the logarithm still sees the zero. "
            "Put another number into it there."
        )
    if abs(slopes[-1]) > 1e-6:
        raise WrongError(f"the gradient where p is zero is {slopes[-1]:.4g} instead of zero.")
    if not np.allclose(slopes[:-1], -np.log(p[:-1]) - 1, rtol=1e-5):
        raise WrongError("the gradient is wrong where p is positive. It is -log(p) - 1.")
    return ""


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
        raise WrongError(f"expected a number, got {_kind(answer)}.") from None


def _kind(answer: Any) -> str:
    return "nothing (None)" if answer is None else f"an object of type {type(answer).__name__}"
