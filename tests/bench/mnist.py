"""How many images a second each way of training MNIST takes in, side by side.

The best way in JAX should reach 1.9 times the naive one and 0.8 times PyTorch's best on a CPU; on a
GPU it should be the fastest of all.
"""

from __future__ import annotations

from rich.console import Console

from jaxcap.experiments.mnist import NAIVE, THROUGHPUT, throughput
from jaxcap.measure.machine import capture
from jaxcap.results import Result, ResultSet
from jaxcap.results.tables import Table

PROCESSES = 3
BATCH, STEPS = 128, 8
BUDGET_S = 3.0


def main() -> None:
    """Measure, and say how the best way in JAX compares."""
    console = Console()
    machine = capture()
    console.print(f"{machine.device}, {machine.cores} cores, JAX {machine.versions['jax']}")
    point = {"batch": BATCH, "steps": STEPS, "compiled": True}
    results = THROUGHPUT.run(points=[point], processes=PROCESSES, budget_s=BUDGET_S)
    console.print(rates(results))
    in_jax = fastest(results, "Flax")
    for name in NAIVE, fastest(results, "PyTorch").variant:
        speedup = results.speedup(in_jax.variant, over=name)
        console.print(f"{in_jax.variant} over {name}: {speedup}")


def rates(results: ResultSet) -> str:
    """Images a second of each way, with their intervals."""
    found = [(result, throughput(result)) for result in results.results]
    rows = [(result.variant, one.short, one.range) for result, one in found]
    basis = found[0][1].basis
    return str(Table("Images a second", ("way to train", "median", f"over {basis}"), rows))


def fastest(results: ResultSet, framework: str) -> Result:
    """Fastest way of a framework."""
    ways = [result for result in results.results if result.variant.startswith(framework)]
    return min(ways, key=lambda result: result.time.value)


if __name__ == "__main__":
    main()
