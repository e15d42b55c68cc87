"""The calls that precision.py compares, as benchmarks for pyperf, which runs this script many times.

What both scripts need is here, so that pyperf's processes import as little as possible.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from functools import partial

import pyperf

from jaxcap.experiments import jit
from jaxcap.experiments.precision import WAVE, A, B, prepare
from jaxcap.measure.arrays import Wait, waiter

Call = Callable[[], object]


def names(question: str) -> tuple[str, str]:
    """Return the names of both sides of a comparison."""
    return (jit.OP_BY_OP, jit.COMPILED) if question == WAVE else (A, B)


def awaited(question: str) -> list[Call]:
    """Return both calls, warmed up, each waiting for its result."""
    return [_awaited(call) for call in prepare(question).values()]


def _awaited(call: Call) -> Call:
    wait = waiter(call())
    waiting = call if wait is None else partial(_wait_for, call, wait)
    waiting()
    return waiting


def _wait_for(call: Call, wait: Wait) -> None:
    wait(call())


if __name__ == "__main__":
    script, question, *_ = sys.argv
    runner = pyperf.Runner(program_args=(script, question))  # its workers need the question, too
    runner.argparser.add_argument("question")
    for name, call in zip(names(question), awaited(question), strict=True):
        runner.bench_func(name, call)
