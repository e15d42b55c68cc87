"""Fresh processes that measure, each with a memory layout and compilation caches of its own."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from pkgutil import resolve_name
from typing import Any

from jaxcap.measure import machine
from jaxcap.measure.timing import sweep
from jaxcap.results import Result, ResultSet


class ProcessError(RuntimeError):
    """A fresh process failed to measure; the message ends with what it said last."""


def run_in_processes(
    task: Mapping[str, Any], *, processes: int, on_process: Callable[[], object] | None
) -> ResultSet:
    """Carry out a task in fresh processes, one after another, and pool what they measured.

    Parameters
    ----------
    task
        As `run_task` takes it; JSON can hold it.
    processes, on_process
        As of `jaxcap.measure.experiment.Experiment.run`.

    Raises
    ------
    ProcessError
        If a process fails.
    """
    # Asked once for all processes, because somebody may commit in the meantime.
    commit = machine.capture().commit or ""
    # A caller that wants to be told has a display of progress already.
    repeats = range(processes) if on_process else _with_progress(processes, task["name"])
    sets = []
    for _ in repeats:
        sets.append(_run_process(task, commit))
        if on_process:
            on_process()
    return _pool(sets)


def run_task(task: Mapping[str, Any]) -> ResultSet:
    """Measure all points of a task in this process: what a fresh process does."""
    return sweep(
        resolve_name(task["reference"]),
        task["points"],
        experiment=task["name"],
        budget_s=task["budget_s"],
        allocator=task["allocator"],
        empty_caches=task["empty_caches"],
        precision=0,
    )


def _run_process(task: Mapping[str, Any], commit: str) -> ResultSet:
    with tempfile.TemporaryDirectory(prefix="jaxcap-") as folder:
        output = Path(folder, "results.json")
        finished = subprocess.run(
            [sys.executable, "-m", "jaxcap.measure.worker", output],
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

    together = zip(*(results.results for results in sets), strict=True)
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
