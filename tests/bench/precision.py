"""How repeatable is a speed-up? `compare` beside timeit, PyTorch's Timer and pyperf.

Each tool measures the same speed-up (wave on a million floats, op by op over jit) ten times in
one process and ten times in fresh processes, in random order and with equal time. The smaller the
spread of a tool's answers, the more each of them is worth.
"""

from __future__ import annotations

import json
import random
import subprocess
import sys
import tempfile
import time
import timeit
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from statistics import median

import jax
import pyperf
from rich.console import Console
from rich.progress import track
from rich.table import Table

from jaxcap.experiments.jit import COMPILED, JIT, OP_BY_OP
from jaxcap.measure.experiment import Point
from jaxcap.measure.machine.description import capture
from jaxcap.measure.timing import compare
from jaxcap.results.statistics import Estimate

REPEATS = 10
COVERAGE_RUNS = 20
INSIDE_S, BETWEEN_S = 4.0, 24.0  # for one speed-up, imports included
PROCESSES = 6
POINT: Point = {"function": "wave", "size": 1_000_000, "device": "cpu"}
PYPERF = Path(__file__).with_name("precision_pyperf.py")


def by_compare(seconds: float) -> Estimate:
    """Measure with `compare` in this process."""
    results = compare(JIT.prepare(**POINT), budget_s=seconds / 2, precision=0)
    return results.speedup(COMPILED, over=OP_BY_OP)


def by_compare_in_processes(seconds: float) -> Estimate:
    """Measure with `compare` in several fresh processes, less the time they need to import JAX."""
    start_s = 1.6 * (PROCESSES + 1)
    results = JIT.run(
        points=[POINT],
        processes=PROCESSES,
        budget_s=max(seconds - start_s, 0.5) / PROCESSES / 2,
    )
    return results.speedup(COMPILED, over=OP_BY_OP)


def by_timeit(seconds: float) -> float:
    """Return the ratio of the minimum times, which timeit's documentation recommends."""
    minima = {}
    for name, call in _awaited().items():
        call()
        once = min(timeit.repeat(call, number=1, repeat=3))
        repeats = max(int(seconds / 2 / once / 5), 3)
        minima[name] = min(timeit.repeat(call, number=5, repeat=repeats))
    return minima[OP_BY_OP] / minima[COMPILED]


def by_torch(seconds: float) -> float:
    """Return the ratio of the medians of torch.utils.benchmark."""
    from torch.utils.benchmark import Timer

    times = {}
    for name, call in _awaited().items():
        call()
        timer = Timer("call()", globals={"call": call})
        times[name] = timer.blocked_autorange(min_run_time=seconds / 2).median
    return times[OP_BY_OP] / times[COMPILED]


def by_pyperf(seconds: float) -> float:
    """Return the ratio of pyperf's means; pyperf starts its own processes."""
    values = max(int(seconds / 2.5), 2)
    with tempfile.TemporaryDirectory() as folder:
        output = Path(folder, "pyperf.json")
        command = [sys.executable, str(PYPERF), f"--output={output}", f"--values={values}"]
        command += ["--quiet", "--processes=2", "--warmups=1", "--min-time=0.1"]
        subprocess.run(command, check=True, capture_output=True)
        suite = pyperf.BenchmarkSuite.load(str(output))
    return float(suite.get_benchmark(OP_BY_OP).mean() / suite.get_benchmark(COMPILED).mean())


def _awaited() -> dict[str, Callable[[], object]]:
    def awaited(call: Callable[[], jax.Array]) -> Callable[[], object]:
        return lambda: call().block_until_ready()

    return {name: awaited(call) for name, call in JIT.prepare(**POINT).items()}


INSIDE: dict[str, Callable[[float], float]] = {
    "compare": lambda seconds: by_compare(seconds).value,
    "timeit minima": by_timeit,
    "torch medians": by_torch,
}
BETWEEN: dict[str, Callable[[float], float | Estimate]] = {
    "compare": by_compare_in_processes,
    "timeit minima": by_timeit,
    "torch medians": by_torch,
    "pyperf means": by_pyperf,
}


def in_fresh_process(tool: str) -> tuple[list[float], float]:
    """Run one tool once in a fresh process; return its answer and the seconds that it took."""
    start = time.perf_counter()
    command = [sys.executable, __file__, tool]
    out = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    return json.loads(out.splitlines()[-1]), time.perf_counter() - start


def answer(tool: str) -> list[float]:
    """Return the speed-up, and the ends of its interval if the tool gives one."""
    speedup = BETWEEN[tool](BETWEEN_S - 1.4 * (tool != "compare"))
    if isinstance(speedup, Estimate):
        return [speedup.value, speedup.low, speedup.high]
    return [speedup]


def spread(values: Sequence[float]) -> float:
    """Return the range of the values as a share of their median."""
    return (max(values) - min(values)) / median(values)


def shuffled(tools: Sequence[str], repeats: int) -> Iterator[str]:
    """Yield each tool once per round, in a new random order each time."""
    for _ in range(repeats):
        yield from random.sample(tools, len(tools))


def show(console: Console, title: str, values: dict[str, list[float]], seconds: str) -> None:
    """Print a table with a row for each tool."""
    table = Table(title=title, title_justify="left")
    for heading in ("tool", "median speed-up", "lowest", "highest", "spread", seconds):
        table.add_column(heading, justify="left" if heading == "tool" else "right")
    for tool, answers in values.items():
        ratios, costs = answers[::2], answers[1::2]
        row = (median(ratios), min(ratios), max(ratios))
        table.add_row(
            tool, *(f"{r:.3f}" for r in row), f"{spread(ratios):.1%}", f"{median(costs):.1f}"
        )
    console.print(table)


def main() -> None:
    """Run the comparison and print it."""
    console = Console()
    machine = capture()
    console.print(f"{machine.device}, {machine.cores} cores, JAX {machine.versions['jax']}")
    inside: dict[str, list[float]] = {tool: [] for tool in INSIDE}
    # The peers go first, because compare changes the allocator's settings for the whole process.
    peers = [tool for tool in INSIDE if tool != "compare"]
    turns = [*shuffled(peers, REPEATS), *["compare"] * REPEATS]
    for tool in track(turns, "in one process", console=console, auto_refresh=False):
        start = time.perf_counter()
        inside[tool] += [INSIDE[tool](INSIDE_S), time.perf_counter() - start]
    show(console, f"{REPEATS} repeats in one process", inside, "seconds each")

    between: dict[str, list[float]] = {tool: [] for tool in BETWEEN}
    intervals: list[list[float]] = []
    turns = [*shuffled(list(BETWEEN), REPEATS), *["compare"] * (COVERAGE_RUNS - REPEATS)]
    for number, tool in enumerate(
        track(turns, "in fresh processes", console=console, auto_refresh=False)
    ):
        values, seconds = in_fresh_process(tool)
        if tool == "compare":
            intervals.append(values)
        if number < REPEATS * len(BETWEEN):
            between[tool] += [values[0], seconds]
    show(console, f"{REPEATS} fresh processes", between, "seconds each")

    truth = median(value for value, _, _ in intervals)
    covered = sum(low <= truth <= high for _, low, high in intervals)
    console.print(
        f"The 95 % interval of compare contained the median of all runs ({truth:.3f}) in "
        f"{covered} of {COVERAGE_RUNS} fresh processes."
    )


if __name__ == "__main__":
    if len(sys.argv) > 1:
        print(json.dumps(answer(sys.argv[1])))
    else:
        main()
