"""How far can timings be trusted? This package beside timeit, PyTorch's Timer and pyperf.

Each tool compares kernels with themselves and measures one speed-up, again and again, in fresh
processes, in random order and in equal time: first on a quiet machine, then with one core kept busy.
The page "Can you trust the intervals on this site?" shows what is recorded here.
"""

from __future__ import annotations

import argparse
import json
import random
import subprocess
import sys
import tempfile
import time
import timeit
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from math import isnan, sqrt
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pyperf
import scipy
from goals import Comparison, NotMeasuredError
from precision_pyperf import Call, awaited, names
from rich.console import Console
from rich.progress import Progress

from jaxcap.experiments.precision import KERNELS, PRECISION, WAVE
from jaxcap.measure.machine.description import capture
from jaxcap.measure.machine.lock import measuring_alone
from jaxcap.measure.processes import ProcessError
from jaxcap.measure.progress import progress_bar
from jaxcap.report import reliability
from jaxcap.results import audit
from jaxcap.results.audit import (
    BUSY,
    JAXCAP,
    PYPERF,
    PYTORCH,
    QUIET,
    TIMEIT,
    TOOLS,
    Audit,
    Load,
    Pair,
    Run,
)
from jaxcap.results.statistics import CONFIDENCE, Estimate

OUTPUT = Path(__file__).parents[2] / "src" / "jaxcap" / "results" / audit.RECORDED.name
PYPERF_SCRIPT = Path(__file__).with_name("precision_pyperf.py")
# Pyperf's own defaults, but for the number of processes, of which it would start twenty.
PYPERF_VALUES, PYPERF_VALUE_S = 3, 0.15
# What it takes one of its processes to import JAX and to prepare.
PYPERF_START_S = 1.6
# Samples that `timeit.repeat` takes by default.
TIMEIT_REPEATS = 5
# Ends when its input does, even if this process is killed.
KEEP_BUSY = """
import os, sys, threading
threading.Thread(target=lambda: (sys.stdin.read(), os._exit(0)), daemon=True).start()
while True:
    pass
"""


class Plan(NamedTuple):
    """How much is measured."""

    kernels: Sequence[str]
    runs: Mapping[Load, int]
    processes: int
    budget_s: float


FULL = Plan(tuple(KERNELS), {QUIET: 20, BUSY: 6}, processes=6, budget_s=0.03)
# For a single question: how far the speed-up of a wave differs from run to run.
WAVES = Plan(tuple(KERNELS)[:1], {QUIET: 20}, processes=6, budget_s=0.03)
FEW_WAVES = Plan(tuple(KERNELS)[:1], {QUIET: 3}, processes=3, budget_s=0.02)
TRIAL = Plan(tuple(KERNELS)[:3], {QUIET: 2, BUSY: 2}, processes=3, budget_s=0.02)


def by_jaxcap(plan: Plan, questions: Sequence[str]) -> dict[str, Pair]:
    """Measure in fresh processes that take turns."""
    results = PRECISION.run(
        points=[{"kernel": question} for question in questions],
        processes=plan.processes,
        budget_s=plan.budget_s,
        on_progress=lambda _: None,
    )
    pairs = {}
    for question in questions:
        part = results.select(kernel=question)
        a, b = names(question)
        pairs[question] = Pair(
            a_s=part.only(a).time.medians,
            b_s=part.only(b).time.medians,
            ratios=part.speedup(b, over=a).medians,
        )
    return pairs


def by_timeit(call: Call, seconds: float) -> list[float]:
    """Repeat as `timeit.repeat` does by default, after a search for the number of calls.

    `timeit.Timer.autorange` would search for one that takes 0.2 s, which is too long for this time.
    """
    timer = timeit.Timer(call)
    number = 1
    while timer.timeit(number) < seconds / (3 * TIMEIT_REPEATS):
        number *= 2
    return [total_s / number for total_s in timer.repeat(TIMEIT_REPEATS, number)]


def by_pytorch(call: Call, seconds: float) -> list[float]:
    """Use `blocked_autorange`, which its documentation recommends; return quartiles and extremes."""
    from torch.utils.benchmark import Timer

    timer = Timer("call()", globals={"call": call})
    times = timer.blocked_autorange(min_run_time=0.9 * seconds).times
    quartiles: list[float] = np.quantile(times, np.linspace(0, 1, 5)).tolist()
    return quartiles


IN_ONE_PROCESS = {TIMEIT: by_timeit, PYTORCH: by_pytorch}


def in_one_process(tool: str, questions: Sequence[str], seconds: float) -> dict[str, Any]:
    """Answer all questions in this process, in random order, until so many seconds have passed."""
    end_s = time.perf_counter() + seconds
    calls = {question: awaited(question) for question in questions}
    pairs = {}
    for done, question in enumerate(random.sample(questions, len(questions))):
        sides: dict[str, list[float]] = {}
        for side, call in zip(("a_s", "b_s"), calls[question], strict=True):
            left_s = end_s - time.perf_counter()
            left = 2 * (len(questions) - done) - len(sides)
            sides[side] = IN_ONE_PROCESS[tool](call, max(left_s / left, 0.01))
        pairs[question] = sides
    return pairs


def by_peer(tool: str, questions: Sequence[str], seconds: float) -> dict[str, Pair]:
    """Let timeit or PyTorch's Timer measure, in a fresh process."""
    command = [sys.executable, __file__, "--tool", tool, "--seconds", str(seconds), *questions]
    output = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout
    pairs = json.loads(output.splitlines()[-1])
    return {question: Pair(**pairs[question]) for question in questions}


def by_pyperf(question: str, seconds: float) -> Pair:
    """Let pyperf measure, which starts processes for each side, and one to find the loops."""
    values_s = (PYPERF_VALUES + 1) * PYPERF_VALUE_S
    processes = max(int(seconds / 2 / (PYPERF_START_S + values_s)) - 1, 2)
    with tempfile.TemporaryDirectory() as folder:
        output = Path(folder, "pyperf.json")
        command = [sys.executable, str(PYPERF_SCRIPT), question, f"--output={output}", "--quiet"]
        command += [f"--processes={processes}", f"--values={PYPERF_VALUES}"]
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
        suite = pyperf.BenchmarkSuite.load(str(output))
    a, b = (suite.get_benchmark(name).get_values() for name in names(question))
    return Pair(a_s=a, b_s=b)


def turns(plan: Plan, number: int) -> list[tuple[str, Sequence[str]]]:
    """List the tools and what they are asked in a run, in random order.

    Pyperf starts processes for each call. In the time in which the others answer all questions it
    answers one: in turn one of the kernels, and how much faster the compiled wave is. The tools that
    measure in one process take part in every other run, which is enough: they answer all questions.
    """
    kernels = plan.kernels
    one = WAVE if number % 2 else kernels[number // 2 % len(kernels)]
    chosen: list[tuple[str, Sequence[str]]] = [(PYPERF, (one,))]
    tools = (JAXCAP, *IN_ONE_PROCESS) if number % 2 else (JAXCAP,)
    chosen += [(tool, (*kernels, WAVE)) for tool in tools]
    return random.sample(chosen, len(chosen))


def ask(tool: str, questions: Sequence[str], plan: Plan, seconds: float) -> dict[str, Pair]:
    """Let a tool measure for so many seconds; jaxcap takes the time of its plan."""
    if tool == JAXCAP:
        return by_jaxcap(plan, questions)
    if tool == PYPERF:
        (question,) = questions
        return {question: by_pyperf(question, seconds)}
    return by_peer(tool, questions, seconds)


@contextmanager
def one_core_busy() -> Iterator[None]:
    """Keep a core busy by another process."""
    with subprocess.Popen([sys.executable, "-c", KEEP_BUSY], stdin=subprocess.PIPE):
        yield  # its input ends with the context, and thereby the process


def measure(plan: Plan, bar: Progress) -> Iterator[Run]:
    """Let all tools measure, under each load; leave out what a tool fails to measure."""
    for load, runs in plan.runs.items():
        task = bar.add_task(load, total=runs)
        with one_core_busy() if load == BUSY else nullcontext():
            start_s = time.perf_counter()
            by_jaxcap(
                plan, (*plan.kernels, WAVE)
            )  # warms up, and finds the time that all others get
            seconds = time.perf_counter() - start_s
            for number in range(1, runs + 1):
                for tool, questions in turns(plan, number):
                    start_s = time.perf_counter()
                    try:
                        same = ask(tool, questions, plan, seconds)
                    except (subprocess.CalledProcessError, ProcessError) as error:
                        bar.console.print(f"{tool} failed in run {number}: {error}")
                        continue
                    wave = same.pop(WAVE, None)
                    yield Run(
                        tool=tool,
                        load=load,
                        number=number,
                        duration_s=time.perf_counter() - start_s,
                        same=same,
                        wave=wave,
                    )
                bar.update(task, advance=1, refresh=True)


def compare(bar: Progress, quick: bool) -> Iterator[Comparison]:
    """Compare how far each tool's speed-up of one wave differs from run to run, in equal time."""
    runs = tuple(measure(FEW_WAVES if quick else WAVES, bar))
    measured = Audit(environment=capture(), runs=runs)
    ours = reliability.spread(measured, JAXCAP, QUIET).value
    if isnan(ours):
        raise NotMeasuredError(
            "a tool failed in all runs but one: see above, and repeat the benchmark"
        )
    freedom = min(len(reliability.waves(measured, tool, QUIET)) for tool in TOOLS) - 1
    # Normally distributed logarithms, as for each spread by itself: a quotient of variances.
    reach = sqrt(scipy.stats.f.ppf(1 - reliability.TAIL, freedom, freedom))
    for tool in TOOLS[1:]:
        theirs = reliability.spread(measured, tool, QUIET).value
        ratio = ours / theirs
        yield Comparison(
            name="timers, spread of a speed-up over runs",
            ours=f"{ours:.1%}",
            peer=f"{tool}: {theirs:.1%}",
            ratio=Estimate(
                ratio, ratio / reach, ratio * reach, CONFIDENCE, "", f"{freedom + 1} runs"
            ),
            most=1,
        )


def main() -> None:
    """Make an audit, print it, and save it where the page finds it; a trial is saved elsewhere."""
    parser = argparse.ArgumentParser(description=main.__doc__)
    parser.add_argument("--quick", action="store_true", help="try it out, in about a minute")
    parser.add_argument("--output", type=Path, help="where to save it instead")
    # How this script calls itself:
    parser.add_argument("--tool", choices=IN_ONE_PROCESS, help=argparse.SUPPRESS)
    parser.add_argument("--seconds", type=float, help=argparse.SUPPRESS)
    parser.add_argument("questions", nargs="*", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.tool:
        print(json.dumps(in_one_process(options.tool, options.questions, options.seconds)))
        return
    console = Console(width=120)
    with measuring_alone(), progress_bar() as bar:
        machine = capture()
        console.print(f"{machine.device}, {machine.cores} cores, JAX {machine.versions['jax']}")
        runs = tuple(measure(TRIAL if options.quick else FULL, bar))
    measured = Audit(environment=machine, runs=runs)
    if output := options.output or (None if options.quick else OUTPUT):
        measured.save(output)
        console.print(f"saved as {output}")
    for table in (
        reliability.table_of_verdicts(measured),
        reliability.table_of_intervals(measured, "time"),
        reliability.table_of_intervals(measured, "speed-up"),
        reliability.table_of_deviations(measured),
    ):
        console.print(table)


if __name__ == "__main__":
    main()
