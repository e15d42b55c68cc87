"""Experiments: comparisons that can be imported, and so repeated in fresh processes.

Inside one process repeats agree far better than the next process will: memory layout, the
allocator and the order of compilation are drawn once for each process. What a reader who reruns a
page will see is therefore the spread over processes.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from importlib import import_module
from itertools import product
from pathlib import Path
from typing import Any

import jax

from jaxcap import environment
from jaxcap.results import Allocator, Parameter, Result, ResultSet

Point = Mapping[str, Parameter]
Points = Sequence[Point]
Prepare = Callable[..., Mapping[str, Callable[[], Any]]]


@dataclass(frozen=True, slots=True)
class Experiment:
    """A question to several variants, asked at several points.

    Attributes
    ----------
    name
        Recorded in the results.
    prepare
        Makes the inputs for one point, given as keyword arguments, and returns the variants: by
        name, callables without arguments. A function at the top level of an importable module.
    quick
        Points for a CPU.
    full
        Points for an accelerator.
    empty_caches
        As of `jaxcap.timing.compare`.
    title
        What a page about it is called; its name, if not given.
    """

    name: str
    prepare: Prepare
    quick: Points
    full: Points
    empty_caches: bool = True
    title: str = ""

    @property
    def points(self) -> Points:
        """The points that suit this machine's default device."""
        return self.quick if jax.default_backend() == "cpu" else self.full

    @property
    def reference(self) -> str:
        """Where another process finds ``prepare``, as ``"module:name"``.

        Raises
        ------
        ValueError
            If no other process could import it.
        """
        # An object that can be called, such as a partial, has no name, and a repr in brackets.
        name = getattr(self.prepare, "__qualname__", repr(self.prepare))
        module = self.prepare.__module__
        if module == "__main__" or "<" in name:
            raise ValueError(
                f"experiment {self.name!r} cannot run in fresh processes, because "
                f"{name} of {module} cannot be imported: move it to the top level of a module"
            )
        return f"{module}:{name}"


class ProcessError(RuntimeError):
    """A fresh process failed to measure; the message ends with what it said last."""


def grid(**values: Iterable[Parameter]) -> Points:
    """All combinations of the given values: ``grid(size=(1, 2))`` is two points."""
    return [
        dict(zip(values, combination, strict=True)) for combination in product(*values.values())
    ]


def run_in_processes(
    experiment: Experiment,
    *,
    points: Points | None,
    processes: int,
    budget_s: float,
    allocator: Allocator,
    between: Callable[[], object] | None = None,
) -> ResultSet:
    """Measure an experiment in fresh processes, one after another.

    See `jaxcap.timing.compare`, which calls this, for the parameters.

    Raises
    ------
    ProcessError
        If a process fails.
    ValueError
        If the experiment cannot be imported elsewhere, or there is no point or process.
    """
    points = experiment.points if points is None else points
    if not points:
        raise ValueError(f"experiment {experiment.name!r} has no points: give at least one")
    if processes < 1:
        raise ValueError(f"processes must be at least 1, got {processes}")
    task = {
        "name": experiment.name,
        "reference": experiment.reference,
        "points": points,
        "budget_s": budget_s,
        "allocator": allocator,
        "empty_caches": experiment.empty_caches,
    }
    # One answer for all: somebody may commit in the meantime.
    commit = environment.capture().commit or ""
    # Who wants to be told has a display of progress already.
    repeats = range(processes) if between else _with_progress(processes, experiment.name)
    sets = []
    for _ in repeats:
        sets.append(_run_process(task, commit))
        if between:
            between()
    return _pool(sets)


def run_here(
    name: str, prepare: Prepare, points: Iterable[Point], *, budget_s: float, **options: Any
) -> ResultSet:
    """Measure an experiment in this process, at one point after another.

    Parameters
    ----------
    name, prepare
        As of an `Experiment`.
    points
        At least one.
    budget_s, **options
        As of `jaxcap.timing.compare`.
    """
    from jaxcap.timing import compare  # which imports this module

    sets = [
        compare(prepare(**point), experiment=name, parameters=point, budget_s=budget_s, **options)
        for point in points
    ]
    return ResultSet(
        environment=sets[0].environment,
        results=tuple(result for one in sets for result in one.results),
    )


def work(task: Mapping[str, Any]) -> ResultSet:
    """Measure all points of a task in this process: what a fresh process does."""
    module, name = task["reference"].split(":")
    return run_here(
        task["name"],
        getattr(import_module(module), name),
        task["points"],
        budget_s=task["budget_s"],
        allocator=task["allocator"],
        empty_caches=task["empty_caches"],
        precision=0,
    )


def _run_process(task: Mapping[str, Any], commit: str) -> ResultSet:
    with tempfile.TemporaryDirectory(prefix="jaxcap-") as folder:
        output = Path(folder, "results.json")
        finished = subprocess.run(
            [sys.executable, "-m", "jaxcap.worker", output],
            input=json.dumps(task),
            env=os.environ
            | {
                "PYTHONPATH": os.pathsep.join(filter(None, sys.path)),
                "JAXCAP_COMMIT": commit,
                "JAX_TRACEBACK_FILTERING": "off",  # it would have the last word
            },
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            text=True,
            encoding="utf-8",
            errors="replace",
            check=False,
        )
        if finished.returncode != 0 or not output.exists():
            said = finished.stderr.strip().splitlines()
            last = said[-1] if said else "nothing was said"
            raise ProcessError(
                f"experiment {task['name']!r} failed in a fresh process "
                f"(exit code {finished.returncode}): {last}"
            )
        return ResultSet.load(output)


def _pool(sets: Sequence[ResultSet]) -> ResultSet:
    """Join the runs that several processes made of the same results."""
    first, *others = sets
    for other in others:
        first.environment.require_same_machine(other.environment)

    def pooled(results: tuple[Result, ...]) -> Result:
        runs = tuple(run for result in results for run in result.runs)
        return results[0].model_copy(update={"runs": runs})

    together = zip(*(one.results for one in sets), strict=True)
    return first.model_copy(update={"results": tuple(map(pooled, together))})


def _with_progress(processes: int, name: str) -> Iterable[int]:
    """Count processes, with a bar on a terminal.

    Its thread would take time from what is measured, so it is drawn between processes only.
    """
    from rich.console import Console
    from rich.progress import track

    console = Console(stderr=True)
    return track(
        range(processes),
        description=f"{name}: fresh processes",
        console=console,
        auto_refresh=False,
        transient=True,
        disable=not console.is_terminal,
    )
