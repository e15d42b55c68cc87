"""The benchmarks, by name, in the order in which pages show them.

- ``benchmark``: what a benchmark is.
- ``calls``, ``arrays``, ``linear_algebra``, ``loops``, ``programs``: benchmarks by subject.
- ``issues``: replays of public issues.
- ``whole_programs``: programs that are timed from their start to their end.
"""

from __future__ import annotations

from jaxcap.releases.benchmarks import arrays, calls, issues, linear_algebra, loops, programs
from jaxcap.releases.benchmarks.benchmark import Benchmark, Variants

BENCHMARKS: dict[str, Benchmark] = {
    benchmark.name: benchmark
    for module in (calls, arrays, linear_algebra, loops, programs, issues)
    for benchmark in module.BENCHMARKS
}


def prepare(benchmark: str) -> Variants:
    """Prepare a benchmark by its name, in a fresh process."""
    return BENCHMARKS[benchmark].prepare()


__all__ = ["BENCHMARKS", "Benchmark", "prepare"]
