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
        if first_line.startswith("Non-hashable static"):
            return Grade(False, "Not yet: an array is static, and JAX can't look an array up.")
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
            "line 1": (True, "Does it change the array, or make a new one?"),
            "line 2": (False, "Does it change the array, or give its name to another?"),
            "line 3": (True, "The transposed array is a JAX array, too."),
            "line 4": (False, "What does JAX do with an update out of bounds?"),
        }
    ),
    "2.1": answers.Explained(
        {
            "generator": (True, "What does a draw leave behind for the next?"),
            "chain": (True, "What is the last key made from?"),
            "folded": (False, "What is the key of its last number made from?"),
            "batch": (False, "Compare split(key, 2)[1] with split(key, 3)[1]."),
        }
    ),
    "2.2": answers.augmentation,
    "2.3": answers.walk,
    "2.4": answers.numbers_of_calls(
        (1, 4, 1, 4),
        (
            "Does the key change between the draws?",
            "Does one key fill an array with one number?",
            "How often does Python get to the line that calls NumPy?",
            "Compare split(key, 4)[1] with fold_in(key, 1).",
        ),
        of="list",
    ),
    "2.5": answers.steps_of_walkers,
    "3.1": answers.numbers_of_calls(
        (4, 4, 12, 4),
        (
            "What is the scale, and what is the sum of the array?",
            "Does this call trace the function again?",
            "Does this call trace the function? And what is the scale then?",
            "Which of the two programs runs, and when was it made?",
        ),
    ),
    "3.2": answers.running_mean,
    "3.3": answers.stopwatch,
    "3.4": answers.patient_summary,
    "3.5": answers.comparison,
    "4.1": answers.Explained(
        {
            "function 1": (True, "What does range have to know of n?"),
            "function 2": (False, "What does the loop have to know of x?"),
            "function 3": (True, "What does this if have to know of n?"),
            "function 4": (False, "What does len have to know of x?"),
            "function 5": (False, "What does the product have to know of n?"),
        }
    ),
    "4.2": answers.static_blur,
    "4.3": answers.Explained(
        {
            "call 1": (True, "Is there a program yet?"),
            "call 2": (False, "What is different from call 1, and is it static?"),
            "call 3": (True, "What is different from call 2, and is it static?"),
            "call 4": (True, "What is different from call 3: a value, or more than that?"),
            "call 5": (False, "Which earlier call had arguments of the same types, and this kind?"),
        }
    ),
    "4.4": answers.peak,
    "4.5": answers.Explained(
        {
            "call 1": (True, "Is there a program yet?"),
            "call 2": (False, "What is different from call 1, and is it static?"),
            "call 3": (True, "Has an equal function been passed before?"),
            "call 4": (True, "Does this lambda equal that of call 3?"),
            "call 5": (True, "Has an equal object been passed before?"),
            "call 6": (False, "Does this object equal that of call 5?"),
        }
    ),
    "5.1": answers.Number(
        answers.VALUE, "Is it the square of x, times the sine of x? The angle is in radians."
    ),
    "5.2": answers.Number(
        answers.SLOPE,
        "Differentiate with jax.grad, then call the result with 2.0.",
        mistakes={
            answers.VALUE: "this is the function's value. Its slope is a different function."
        },
    ),
    "5.3": answers.derivative,
    "5.4": answers.Explained(
        {
            "argument 1": (True, "Can it change by a little?"),
            "argument 2": (False, "Can it change by a little?"),
            "argument 3": (True, "What shape has the result of my_function?"),
            "argument 4": (False, "What shape has the result of my_function?"),
        }
    ),
    "5.5": answers.newton,
    "6.1": answers.Explained(
        {
            "call 1": (True, "Can dot multiply a row of x by another one?"),
            "call 2": (False, "How long is axis 0 of x, and how long that of y?"),
            "call 3": (True, "What is left of y when axis 1 is removed?"),
            "call 4": (True, "Can dot multiply a row of x by all of y?"),
            "call 5": (False, "Can dot multiply all of x by a row of y?"),
        }
    ),
    "6.2": answers.mapped_predictions,
    "6.3": answers.table_of_pairs,
    "6.4": answers.pulls,
    "6.5": answers.share,
    "7.1": answers.Number(
        1,
        "Python runs the body while JAX traces it, and at no other time.",
        mistakes={5: "the compiled body runs 5 times, but Python isn't there to print."},
    ),
    "7.2": answers.smoothing,
    "7.3": answers.power,
    "7.4": answers.Number(
        111,
        "The whole batch takes each step together, until no number has a step left.",
        mistakes={
            120: "this is the sum: so many steps would be taken one number after another.",
            444: "each step is taken once, for all four numbers.",
        },
    ),
    "7.5": answers.Number(
        1000,
        "A batch of conditions is no longer a condition. What becomes of it?",
        mistakes={
            1: "so it would be without vmap. A batch selects between results that it has.",
            999: "this is the other branch, if only one of the two ran for each number.",
        },
    ),
    "8.1": answers.copies,
    "8.2": answers.donating,
    "8.3": answers.bubbles,
    "8.4": answers.doubled,
    "8.5": answers.group_means,
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
            "In which order does JAX go through a dict?",
            "Its leaves are those of the first dict. Is its structure?",
            "None has no leaves. Is it in the structure all the same?",
            "Has JAX seen a list of two arrays before?",
        ),
    ),
    "9.4": answers.sphere,
    "9.5": answers.momentum,
    "10.1": answers.Number(
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
    "10.2": answers.Explained(
        {
            "x.sum()": (False, "How large is it?"),
            "x.mean()": (True, "Which number becomes a float16: the sum, or the mean?"),
            "x @ x": (False, "How large is it?"),
            "(x / 100) @ (x / 100)": (True, "How large is it?"),
        }
    ),
    "10.3": answers.length,
    "10.4": answers.scaled_slope,
    "10.5": answers.long_product,
    "11.1": answers.Explained(
        {
            "import": (True, "Who reads the cache?"),
            "trace": (True, "What does JAX look a program up by, and where does it come from?"),
            "lower": (True, "What does JAX look a program up by, and where does it come from?"),
            "compile": (False, "What is it that the cache saves?"),
        }
    ),
    "11.2": answers.Explained(
        {
            "a comment": (True, "Is it in the program that JAX gives to XLA?"),
            "a new value": (True, "Is the array in the program, or passed to it?"),
            "a new length": (False, "What does the program say of its argument?"),
            "a new constant": (False, "When does Python read this number?"),
            "other options": (False, "Would XLA make the same of this program?"),
        }
    ),
    "11.3": answers.ahead_of_time,
    "11.4": answers.exported,
    "11.5": answers.Explained(
        {
            "XLA_FLAGS": (False, "Who finds the mistake, and what can it do about it?"),
            "compiler_options": (True, "Who finds the mistake, and whom can it tell?"),
            "config.update": (True, "Who knows the names of JAX's own settings?"),
        }
    ),
    "12.1": answers.temporaries,
    "12.2": answers.Explained(
        {
            "2 * x": (True, "Could its result be written in the place of the argument?"),
            "x.sum()": (False, "Could its result be written in the place of the argument?"),
            "x[::-1]": (True, "Could its result be written in the place of the argument?"),
            "x[:500]": (False, "Could its result be written in the place of the argument?"),
        }
    ),
    "12.3": answers.move,
    "12.4": answers.thrifty(0.5, "What does a step remember besides its argument?"),
    "12.5": answers.thrifty(
        0.2, "What is remembered by the outer loop, and what by one run of the inner loop?"
    ),
    "13.1": answers.prints,
    "13.2": answers.Explained(
        {
            "call 1": (True, "Is there a program yet?"),
            "call 2": (False, "What is different from call 1: a value, or more than that?"),
            "call 3": (True, "What is different from call 2: a value, or more than that?"),
            "call 4": (True, "Python's numbers have weak types. Has NumPy's?"),
            "call 5": (True, "What shape has x here?"),
            "call 6": (False, "Which call before had this shape and these types?"),
        }
    ),
    "13.3": answers.Number(
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
    "13.4": answers.entropy,
    "13.5": answers.Explained(
        {
            "call 1": (True, "What is the logarithm of -1?"),
            "call 2": (False, "What is the logarithm of 0?"),
            "call 3": (False, "There is a NaN inside. Is there one in the result?"),
            "call 4": (True, "Going backwards, what does the logarithm divide by?"),
        }
    ),
    "14.1": answers.Explained(
        {
            "x.T": (True, "Where are an example's numbers now?"),
            "x.sum(axis=1)": (True, "Which devices have the numbers of one sum?"),
            "x.sum(axis=0)": (False, "Which devices have the numbers of one sum?"),
            "x - x.mean(axis=0)": (True, "What does a device subtract the means from?"),
        }
    ),
    "14.2": answers.product_by_rows,
    "14.3": answers.sent_bytes,
    "14.4": answers.Number(
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
    "14.5": answers.centring,
}
