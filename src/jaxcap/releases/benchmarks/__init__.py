"""The benchmarks, by name: one module for each topic, in the order in which pages show them."""

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
