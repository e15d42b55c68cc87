"""How many images a second does each way of training on MNIST process?

The best way in JAX should reach 1.1 times the rate of PyTorch's best, 1.9 times that of the usual example
for Flax, and 55% of what the device's product of matrices allows.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from goals import Comparison, briefly, run
from rich.progress import Progress

from jaxcap.experiments.ceilings import CEILINGS
from jaxcap.experiments.mnist import THROUGHPUT, throughput
from jaxcap.experiments.mnist_changes import NAIVE
from jaxcap.measure.experiment import Point
from jaxcap.measure.machine.description import capture
from jaxcap.mnist.model import work_of_step
from jaxcap.report.roofline import roofline_fraction
from jaxcap.results import Cost, Result, ResultSet
from jaxcap.results.ceilings import Ceilings
from jaxcap.results.tables import Table


class Plan(NamedTuple):
    """How much is measured."""

    batch: int
    steps: int
    compiled: bool
    processes: int
    budget_s: float

    @property
    def point(self) -> Point:
        """The point of the experiment."""
        ways = {"compiled": self.compiled, "changes": False}
        return {"batch": self.batch, "steps": self.steps, **ways}


FULL = Plan(batch=128, steps=8, compiled=True, processes=6, budget_s=3.0)
TRIAL = Plan(batch=32, steps=2, compiled=False, processes=1, budget_s=0.1)
OVER_PYTORCH, OVER_NAIVE, OF_ROOFLINE = 1.1, 1.9, 0.55


def compare(bar: Progress, quick: bool) -> Iterator[Comparison]:
    """Measure all ways, and compare the best way in JAX with the others."""
    machine = capture()
    bar.console.print(f"{machine.device}, {machine.cores} cores, JAX {machine.versions['jax']}")
    plan = TRIAL if quick else FULL
    task = bar.add_task("Training", total=1)
    results = THROUGHPUT.run(
        points=[plan.point],
        processes=plan.processes,
        budget_s=plan.budget_s,
        on_progress=lambda share: bar.update(task, completed=share, refresh=True),
    )
    bar.console.print(rate_table(results))
    in_jax, in_pytorch = fastest(results, "Flax"), fastest(results, "PyTorch")
    for peer, least in (in_pytorch, OVER_PYTORCH), (results.only(NAIVE), OVER_NAIVE):
        yield Comparison(
            name="training, images a second",
            ours=f"{in_jax.variant}: {throughput(in_jax).short}",
            peer=f"{peer.variant}: {throughput(peer).short}",
            ratio=in_jax.speedup(peer),
            least=least,
        )
    limits = CEILINGS.run(processes=plan.processes, budget_s=plan.budget_s / 60)
    ceilings = Ceilings.from_results(limits, in_jax.device)
    step, steps = work_of_step(plan.batch), plan.steps
    work = Cost(step.flops * steps, step.bytes_moved * steps)
    yield Comparison(
        name="training, share of the roofline",
        ours=f"{in_jax.variant}: {throughput(in_jax).short}",
        peer=f"products at {ceilings.flops_per_s['float32'] / 1e9:,.0f} GFLOP/s",
        ratio=roofline_fraction(in_jax, ceilings, cost=work),
        least=OF_ROOFLINE,
    )


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
    run({"training": compare}, quick=briefly(__doc__))
