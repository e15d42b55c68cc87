"""How many images a second does each way of training on MNIST process?

On a CPU, the best way in JAX should reach 1.9 times the rate of the naive one and 0.8 times that of
PyTorch's best; on a GPU it should be the fastest of all.
"""

from __future__ import annotations

from rich.console import Console

from jaxcap.experiments.mnist import NAIVE, THROUGHPUT, throughput
from jaxcap.measure.machine.description import capture
from jaxcap.results import Result, ResultSet
from jaxcap.results.tables import Table

PROCESSES = 3
BATCH, STEPS = 128, 8
BUDGET_S = 3.0


def main() -> None:
    """Measure all ways, and compare the best way in JAX with the others."""
    console = Console()
    machine = capture()
    console.print(f"{machine.device}, {machine.cores} cores, JAX {machine.versions['jax']}")
    point = {"batch": BATCH, "steps": STEPS, "compiled": True}
    results = THROUGHPUT.run(points=[point], processes=PROCESSES, budget_s=BUDGET_S)
    console.print(rate_table(results))
    in_jax = fastest(results, "Flax")
    for name in NAIVE, fastest(results, "PyTorch").variant:
        speedup = results.speedup(in_jax.variant, over=name)
        console.print(f"{in_jax.variant} over {name}: {speedup}")


def rate_table(results: ResultSet) -> str:
    """Format each way's images per second, with intervals."""
    rates = [(result.variant, throughput(result)) for result in results.results]
    rows = [(variant, rate.short, rate.range) for variant, rate in rates]
    heading = f"over {rates[0][1].basis}"
    return str(Table("Images a second", ("way to train", "median", heading), rows))


def fastest(results: ResultSet, framework: str) -> Result:
    """Return the fastest way of a framework."""
    ways = [result for result in results.results if result.variant.startswith(framework)]
    return min(ways, key=lambda result: result.time.value)


if __name__ == "__main__":
    main()
