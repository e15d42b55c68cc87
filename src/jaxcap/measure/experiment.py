"""Experiments: comparisons that can be imported, and so repeated in fresh processes.

Repeats inside one process agree far better with one another than with the next process, because
memory layout, the state of the allocator and the order of compilation are set by chance once for
each process. What readers see when they rerun a page is therefore the spread over processes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from math import inf

from jaxcap.measure import store
from jaxcap.measure.digest import digest
from jaxcap.measure.parameters import validate_labels
from jaxcap.measure.sampling import Variants
from jaxcap.measure.settings import QUICK_BUDGET_S, quick_is_on
from jaxcap.measure.timing import MAX_ROUNDS
from jaxcap.measure.turns import measure_in_turns
from jaxcap.measure.worker import Task
from jaxcap.results import Allocator, Parameter, ResultSet

Point = Mapping[str, Parameter]
Points = Sequence[Point]
Prepare = Callable[..., Variants]


@dataclass(frozen=True, slots=True)
class Experiment:
    """Variants that do the same work, to be compared at several points.

    Attributes
    ----------
    name
        Recorded in the results.
    prepare
        Makes the inputs for one point, which is passed as keyword arguments, and returns the
        variants: callables without arguments, by name. It must be importable: a function at the
        top level of a module, or a method of a class there.
    quick
        Points for a CPU.
    full
        Points for an accelerator, by default those for a CPU.
    allocator
        See `jaxcap.measure.timing.compare`.
    empty_caches
        See `jaxcap.measure.timing.compare`.
    title
        Title of its page, by default the name.

    Examples
    --------
    >>> from functools import partial
    >>> import jax.numpy as jnp
    >>> import numpy as np
    >>> def prepare(size):
    ...     x = np.ones(size)
    ...     return {"NumPy": partial(np.sum, x), "JAX": partial(jnp.sum, jnp.asarray(x))}
    >>> sums = Experiment(name="sums", prepare=prepare, quick=grid(size=(10, 1000)))
    >>> sums.points
    [{'size': 10}, {'size': 1000}]
    >>> results = sums.run()  # doctest: +SKIP
    >>> print(results.speedup("NumPy", over="JAX", size=10))  # doctest: +SKIP
    3.4 (95% interval 2.9 to 4.0, 6 processes)
    """

    name: str
    prepare: Prepare
    quick: Points
    full: Points = ()
    allocator: Allocator = "steady"
    empty_caches: bool = True
    title: str = ""

    def __post_init__(self) -> None:
        object.__setattr__(self, "title", self.title or self.name)  # it is frozen

    @property
    def points(self) -> Points:
        """The points suited to the best device of the machine that is measured."""
        has_accelerator = store.measured_platform() != "cpu"
        return self.full if self.full and has_accelerator else self.quick

    @property
    def code(self) -> str:
        """`~jaxcap.measure.digest.digest` of the code that it measures and is measured by."""
        return digest(self.prepare.__module__)

    @property
    def reference(self) -> str:
        """Where another process finds ``prepare``, as ``"module:name"``.

        Raises
        ------
        ValueError
            If no other process could import it.
        """
        # A callable object, such as a partial, has no name, and its ``repr`` has brackets.
        name = getattr(self.prepare, "__qualname__", repr(self.prepare))
        module = self.prepare.__module__
        if module == "__main__" or "<" in name:
            raise ValueError(
                f"experiment {self.name!r} cannot run in fresh processes, because "
                f"{name} of {module} cannot be imported: move it to the top level of a module"
            )
        return f"{module}:{name}"

    def run(
        self,
        *,
        points: Points | None = None,
        processes: int = 6,
        budget_s: float = 1.0,
        on_progress: Callable[[float], object] | None = None,
    ) -> ResultSet:
        """Measure all variants at all points, in fresh processes that take turns.

        Where environment variables of `jaxcap.measure.settings` say so, results are kept, or taken
        from what was kept before, or measured as briefly as possible.

        Parameters
        ----------
        points
            The sets of parameters to measure with; by default `points`.
        processes
            How many fresh processes. The intervals predict the next run (see
            `~jaxcap.results.statistics.prediction_interval`), and are useful from four processes
            on: they reach 13 standard deviations to either side with two processes, 3.5 with three,
            2.2 with four and 1.5 with six.
        budget_s
            Seconds of sampling for each variant, in each process and at each point, on average:
            see `~jaxcap.measure.turns.measure_in_turns`.
        on_progress
            Called between rounds with the share of the work that is done, for a progress display.
            By default a bar is shown if standard error is a terminal.

        Returns
        -------
        ResultSet
            One result for each variant and point.

        Raises
        ------
        ProcessError
            If a process fails or hangs.
        jaxcap.measure.store.NotRecordedError
            If another machine's results were asked for, and it has none.
        ValueError
            If other processes cannot import the experiment, there is no point or process, a point
            is given twice, results cannot record the name or a parameter, or the budget is not
            positive.
        """
        points = self.points if points is None else points
        if not points:
            raise ValueError(f"experiment {self.name!r} has no points: give at least one")
        if processes < 1:
            raise ValueError(f"processes must be at least 1, got {processes}")
        if not 0 < budget_s < inf:
            raise ValueError(f"budget_s must be a positive number of seconds, got {budget_s!r}")
        distinct: list[dict[str, Parameter]] = []
        for point in points:
            plain = validate_labels(point, experiment=self.name)
            if plain in distinct:
                raise ValueError(f"experiment {self.name!r} is given the point {plain} twice")
            distinct.append(plain)
        if quick_is_on():
            processes, budget_s = 1, min(budget_s, QUICK_BUDGET_S)
        plan = self.plan(distinct, processes=processes, budget_s=budget_s)
        if kept := store.kept_results(plan):
            return kept
        task = Task(
            name=self.name,
            reference=self.reference,
            points=tuple(distinct),
            sample_s=budget_s / MAX_ROUNDS,
            allocator=self.allocator,
            empty_caches=self.empty_caches,
        )
        results = measure_in_turns(
            task,
            processes=processes,
            budget_s=budget_s,
            code=self.code,
            on_progress=on_progress,
        )
        asked = {"planned_processes": processes, "budget_s": budget_s}
        results = results.subset(result.model_copy(update=asked) for result in results)
        store.keep(results, plan)
        return results

    def plan(
        self, points: Points | None = None, *, processes: int = 6, budget_s: float = 1.0
    ) -> store.Plan:
        """Describe what `run` measures with these arguments, for a `~jaxcap.measure.store.Store`."""
        points = self.points if points is None else points
        return store.Plan(
            experiment=self.name,
            points=points,
            is_complete=list(map(dict, points)) == list(map(dict, self.points)),
            processes=processes,
            budget_s=budget_s,
            code=self.code,
        )


def grid(**values: Iterable[Parameter]) -> Points:
    """All combinations of the given values: ``grid(size=(1, 2))`` is two points."""
    return [
        dict(zip(values, combination, strict=True)) for combination in product(*values.values())
    ]
