"""Checks for answers to the exercises: ``check("1.3", answer)``."""

from __future__ import annotations

from dataclasses import dataclass
from html import escape
from itertools import product
from typing import Any

import numpy as np

from jaxcap.exercises import answers


@dataclass(frozen=True, repr=False)
class Grade:
    """The outcome of `check`: true if the answer is correct, and shown as its message.

    Attributes
    ----------
    correct
        Whether the answer is correct.
    message
        A sentence or two about the answer.
    """

    correct: bool
    message: str

    def __bool__(self) -> bool:
        return self.correct

    def __repr__(self) -> str:
        return self.message

    def _repr_html_(self) -> str:
        # A paragraph wraps on a narrow screen; preformatted text doesn't.
        return f'<p class="jaxcap-check">{escape(self.message)}</p>'


def check(part: str, answer: Any) -> Grade:
    """Check an answer to a part of the exercises.

    Parameters
    ----------
    part
        The number of the part in quotes, such as ``"1.3"``.
    answer
        The array, number, function or other object that the part asks for. Functions are called
        with small arguments.

    Returns
    -------
    Grade
        A notebook shows it as a message; ``print`` it elsewhere. A function that raises is a wrong
        answer, and the message quotes its exception.

    Raises
    ------
    ValueError
        If there is no such part.
    """
    grade = _GRADERS.get(part)
    if grade is None:
        raise ValueError(
            f"there is no part {part!r}: the parts are {', '.join(map(repr, _GRADERS))}"
        )
    try:
        remark = grade(answers.answered(answer))
    except answers.WrongError as wrong:
        return Grade(False, f"Not yet: {wrong}")
    except Exception as error:  # noqa: BLE001 (a reader's function may raise anything)
        first_line = str(error).partition("\n")[0]
        return Grade(False, f"Not yet: it raised {type(error).__name__}: {first_line}")
    return Grade(True, f"Correct. {remark}".rstrip())


def by_value(part: str) -> dict[str, Any] | None:
    """Return what `check` says of each answer to a part, for pages that check it without Python.

    Returns
    -------
    dict or None
        None if the answer is no number and no choice between true and false. Otherwise,
        ``"names"`` has what to choose for, and ``"messages"`` what is said of each choice, such as of
        ``"TF"``. For a number, ``"messages"`` pairs numbers with what is said of them, the first one
        within ``"tolerance"`` applies, ``"other"`` is said of any other number, with ``{}`` in its
        place, and ``"no_number"`` of what isn't a number.
    """
    match _GRADERS[part]:
        case answers.Number(expected, _, mistakes):
            # Differs from all numbers that have a message of their own.
            other = 1.5 * max(map(abs, (1, expected, *mistakes)))
            return {
                "messages": [(v, check(part, v).message) for v in (*mistakes, expected)],
                "tolerance": answers.TOLERANCE,
                "other": check(part, other).message.replace(f"{other:.8g}", "{}"),
                "no_number": check(part, "").message,
            }
        case answers.Explained(names=names):
            choices = product((True, False), repeat=len(names))
            said = {"".join("FT"[c] for c in chosen): check(part, chosen) for chosen in choices}
            return {"names": names, "messages": {key: grade.message for key, grade in said.items()}}
    return None


_SECOND = [[2, 2], [2, 2], [2, 2]]
_THIRD = np.array([[12, 12], [30, 30]])
_FOURTH = [*_SECOND, [3, 4]]

_GRADERS: dict[str, answers.Grader] = {
    "1.1": answers.array([[1, 2, 3], [4, 5, 6]], "Row-major order fills the first row first."),
    "1.2": answers.array(_SECOND, "The shape is given rows first."),
    "1.3": answers.array(
        _THIRD, "Take the product of matrices, of first and second in this order."
    ),
    "1.4": answers.shape,
    "1.5": answers.array(2 * _THIRD, "Every element of third becomes twice as large."),
    "1.6": answers.array(
        _THIRD * [[1, 2], [3, 4]], "Multiply element by element, and start from third itself."
    ),
    "1.7": answers.array(_FOURTH, "The new row comes last."),
    "1.8": answers.array(np.column_stack([_FOURTH, [1] * 4]), "The new column comes last."),
    "1.9": answers.array(
        [[4, 4, 4], [2, 7, 3]], "The first row is doubled, and below it only the 1 changes."
    ),
    "1.10": answers.Explained(
        {
            "line 1": (True, "It assigns to an element."),
            "line 2": (False, "It makes a new array, and gives the old name to it."),
            "line 3": (True, "A row of the transposed array can't be written to either."),
            "line 4": (False, "What does JAX do with an update out of bounds?"),
        }
    ),
    "2.1": answers.Explained(
        {
            "generator": (True, "Each draw takes the next number of a sequence."),
            "chain": (True, "Each key is made from the one before it."),
            "folded": (
                False,
                "The second number's key is made from the first key and the number 1.",
            ),
            "batch": (False, "Since JAX 0.5, a key of a batch depends only on its position."),
        }
    ),
    "2.2": answers.augmentation,
    "2.3": answers.walk,
    "2.4": answers.numbers_of_calls(
        (1, 4, 1, 4),
        (
            "The same key gives the same number.",
            "One key can fill an array with different numbers.",
            "NumPy draws when JAX traces the function, and at no other time.",
            "split(key, 4)[1] is the same key as fold_in(key, 1).",
        ),
        of="list",
    ),
    "2.5": answers.steps_of_walkers,
    "3.1": answers.Number(
        answers.VALUE, "Is it the square of x, times the sine of x? The angle is in radians."
    ),
    "3.2": answers.Number(
        answers.SLOPE,
        "Differentiate with jax.grad, then call the result with 2.0.",
        mistakes={
            answers.VALUE: "this is the function's value. Its slope is a different function."
        },
    ),
    "3.3": answers.derivative,
    "3.4": answers.Explained(
        {
            "argument 1": (True, "An integer can't change by a little."),
            "argument 2": (False, "A short float is still a float."),
            "argument 3": (True, "The result has an axis, so it isn't a scalar."),
            "argument 4": (False, "An array without axes is a scalar."),
        }
    ),
    "3.5": answers.newton,
    "4.1": answers.numbers_of_calls(
        (4, 4, 12, 4),
        (
            "The scale is 2, and the sum of the array is 2 as well.",
            "The program of call 1 has its scale built in.",
            "Another shape has to be traced, and what is the scale then?",
            "The program of call 1 is still there, for arrays of this shape.",
        ),
    ),
    "4.2": answers.running_mean,
    "4.3": answers.stopwatch,
    "4.4": answers.patient_summary,
    "4.5": answers.comparison,
    "5.1": answers.Explained(
        {
            "function 1": (True, "range needs the value of n."),
            "function 2": (False, "How many rows there are is part of the shape of x."),
            "function 3": (True, "if needs the value of n."),
            "function 4": (False, "The length of x is part of its shape."),
            "function 5": (False, "n is a number to compute with."),
        }
    ),
    "5.2": answers.static_blur,
    "5.3": answers.Explained(
        {
            "call 1": (True, "Nothing has been compiled before."),
            "call 2": (
                False,
                "x and strength are traced, so other values are no reason to compile.",
            ),
            "call 3": (True, "kind is static, so each value has a program of its own."),
            "call 4": (True, "strength has a different type than before."),
            "call 5": (False, "Which earlier call had arguments of the same types, and this kind?"),
        }
    ),
    "5.4": answers.peak,
    "5.5": answers.Explained(
        {
            "call 1": (True, "Nothing has been compiled before."),
            "call 2": (False, "x is traced, and the function is as it was."),
            "call 3": (True, "Nobody has passed this function before."),
            "call 4": (True, "This is a new function, whose code happens to be the same."),
            "call 5": (True, "Nobody has passed an object like this before."),
            "call 6": (False, "A frozen dataclass is equal to another with the same values."),
        }
    ),
    "6.1": answers.Number(
        1,
        "Python runs the body while JAX traces it, and at no other time.",
        mistakes={5: "the compiled body runs 5 times, but Python isn't there to print."},
    ),
    "6.2": answers.smoothing,
    "6.3": answers.power,
    "6.4": answers.Number(
        111,
        "The whole batch takes each step together, until no number has a step left.",
        mistakes={
            120: "this is the sum: so many steps would be taken one number after another.",
            444: "each step is taken once, for all four numbers.",
        },
    ),
    "6.5": answers.Number(
        1000,
        "A batch of conditions is no longer a condition. What becomes of it?",
        mistakes={
            1: "so it would be without vmap. A batch selects between results that it has.",
            999: "this is the other branch, if only one of the two ran for each number.",
        },
    ),
    "7.1": answers.copies,
    "7.2": answers.donating,
    "7.3": answers.bubbles,
    "7.4": answers.doubled,
    "7.5": answers.group_means,
    "8.1": answers.temporaries,
    "8.2": answers.Explained(
        {
            "2 * x": (True, "The result has the shape and the type of the argument."),
            "x.sum()": (False, "A single number doesn't fill the place of a thousand."),
            "x[::-1]": (True, "The result has the shape and the type of the argument."),
            "x[:500]": (False, "Half of the numbers don't fill the place of all."),
        }
    ),
    "8.3": answers.move,
    "8.4": answers.thrifty(0.5, "What does a step remember besides its argument?"),
    "8.5": answers.thrifty(
        0.2, "What is remembered by the outer loop, and what by one run of the inner loop?"
    ),
    "9.1": answers.Number(
        4,
        "Whatever isn't a container is a leaf.",
        mistakes={
            3: "one leaf is missing. A string is a leaf, although jit refuses it.",
            5: "one of these isn't a leaf. None and the empty dict have no leaves.",
            6: "None and the empty dict have no leaves, and aren't leaves themselves.",
        },
    ),
    "9.2": answers.mean_model,
    "9.3": answers.numbers_of_calls(
        (0, 1, 1, 0),
        (
            "JAX sorts the keys, and the numbers don't matter.",
            "A list isn't a dict, although it has the same leaves.",
            "None has no leaves, but it is part of the structure, and so is its key.",
            "Has it seen a list of two arrays before?",
        ),
    ),
    "9.4": answers.sphere,
    "9.5": answers.momentum,
    "10.1": answers.Explained(
        {
            "import": (True, "No process computes with JAX before it has imported JAX."),
            "trace": (True, "JAX looks a program up by its text, which tracing begins."),
            "lower": (True, "JAX looks a program up by its text, which lowering completes."),
            "compile": (False, "This is what the cache saves."),
        }
    ),
    "10.2": answers.Explained(
        {
            "a comment": (True, "The program that XLA compiles has no comments."),
            "a new value": (True, "Values of arguments aren't in the program."),
            "a new length": (False, "The program has the shapes of its arguments."),
            "a new constant": (False, "A number that Python reads becomes part of the program."),
            "other options": (False, "They change what XLA makes of the same program."),
        }
    ),
    "10.3": answers.ahead_of_time,
    "10.4": answers.exported,
    "10.5": answers.Explained(
        {
            "XLA_FLAGS": (False, "XLA ends the process, and Python has no say."),
            "compiler_options": (True, "XLA returns an error, and JAX raises it."),
            "config.update": (True, "Python knows the names of JAX's own settings."),
        }
    ),
    "11.1": answers.prints,
    "11.2": answers.Explained(
        {
            "call 1": (True, "Nothing has been compiled before."),
            "call 2": (False, "The program takes any number of this type."),
            "call 3": (True, "An integer's type differs from a float's."),
            "call 4": (True, "NumPy's number has a fixed type, and Python's a weak one."),
            "call 5": (True, "An array with more axes has a different shape."),
            "call 6": (False, "The shape and both types have come before."),
        }
    ),
    "11.3": answers.Number(
        54,
        "Add up the operations that come from layer.",
        mistakes={
            154: "the first event contains all others, so its time would count twice.",
            100: "this is all that the thread did, with the gaps.",
            92: "these are all operations, and one of them belongs to a different part.",
            38: "this is the sort, which belongs to median.",
            32: "these are the operations of the way forward. The way back is of the same part.",
            22: "this is the way back alone.",
        },
    ),
    "11.4": answers.entropy,
    "11.5": answers.Explained(
        {
            "call 1": (True, "The logarithm of a negative number is NaN, and it is returned."),
            "call 2": (False, "An infinity isn't NaN."),
            "call 3": (
                False,
                "The NaN is there, but where selects the other side, and that is returned.",
            ),
            "call 4": (
                True,
                "The gradient divides zero by zero, although where selects the other side.",
            ),
        }
    ),
    "12.1": answers.Explained(
        {
            "x.T": (True, "Each device still has the examples that it had."),
            "x.sum(axis=1)": (True, "Each device can add up its own examples' numbers."),
            "x.sum(axis=0)": (
                False,
                "It adds up numbers of all devices. By JAX's rule, each gets it.",
            ),
            "x.T @ x": (True, "It sums over the split axis, and JAX asks how to split the result."),
        }
    ),
    "12.2": answers.product_by_rows,
    "12.3": answers.sent_bytes,
    "12.4": answers.Number(
        768,
        "The gradients have as many numbers as the two matrices. How many have the predictions?",
        mistakes={
            12288: "the number of devices changes both amounts by the same factor.",
            48: "the number of devices changes both amounts by the same factor.",
            3072: "a prediction has as many numbers as the network is wide.",
            192: "a prediction has as many numbers as the network is wide.",
            384: "there are two matrices, and each has a gradient.",
        },
    ),
    "12.5": answers.centring,
    "13.1": answers.Number(
        512,
        "From where on are the gaps of bfloat16 twice as large as what is added?",
        mistakes={
            256: "adding 1 stops here. The gaps from here on are 2, and 2 can still be added.",
            514: "514 lies between two numbers of bfloat16. Which of them is it rounded to?",
            516: "514 is as far from 512 as from 516. Ties go to the number whose last bit is 0.",
            1024: "the gaps are 4 before that, from 512 on. What becomes of half a gap?",
            20_000: "that would be the total without rounding.",
        },
    ),
    "13.2": answers.Explained(
        {
            "x.sum()": (False, "The sum is 100,000, which is too large to be stored."),
            "x.mean()": (True, "It is added up and divided in float32, and the mean itself fits."),
            "x @ x": (False, "The product is ten million, which is too large to be stored."),
            "(x / 100) @ (x / 100)": (True, "A thousand products of 1 make 1,000, which fits."),
        }
    ),
    "13.3": answers.length,
    "13.4": answers.scaled_slope,
    "13.5": answers.long_product,
    "14.1": answers.Explained(
        {
            "call 1": (True, "Four rows of three numbers meet four others."),
            "call 2": (False, "Axis 0 of x has four entries, and axis 0 of y has three."),
            "call 3": (True, "Each row of x meets a column of y, and both have three numbers."),
            "call 4": (True, "Each row of x meets all of y, as a vector times a matrix."),
            "call 5": (False, "All of x meets a row of y, and has one number too few for it."),
        }
    ),
    "14.2": answers.mapped_predictions,
    "14.3": answers.table_of_pairs,
    "14.4": answers.pulls,
    "14.5": answers.share,
}
