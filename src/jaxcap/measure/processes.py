"""Fresh processes that measure, each with a memory layout and compilation caches of its own."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from pkgutil import resolve_name
from typing import Any

from jaxcap.measure import machine
from jaxcap.measure.timing import sweep
from jaxcap.progress import progress_bar
from jaxcap.results import Result, ResultSet

# A fresh process hangs if it takes longer: so long to start, and at each point so long and so many
# budgets. First calls may take minutes, and the fewest rounds far more than the budget.
START_LIMIT_S, POINT_LIMIT_S, BUDGETS_LIMIT = 600, 1200, 100


class ProcessError(RuntimeError):
    """A fresh process failed to measure; the message ends with the last line that it printed."""


def run_in_processes(
    task: Mapping[str, Any], *, processes: int, on_process: Callable[[], object] | None
) -> ResultSet:
    """Carry out a task in fresh processes, one after another, and pool what they measured.

    Parameters
    ----------
    task
        See `run_task`; it must fit into JSON.
    processes, on_process
        See `jaxcap.measure.experiment.Experiment.run`.

    Raises
    ------
    ProcessError
        If a process fails or hangs.
    """
    # The same for all processes, even if somebody commits in the meantime.
    commit = machine.capture().commit or ""
    sets = []
    # A caller with a callback has a progress bar already.
    with progress_bar(hidden=on_process is not None) as bar:
        for _ in bar.track(range(processes), description=f"{task['name']}: fresh processes"):
            sets.append(_run_process(task, commit))
            if on_process:
                on_process()
    return _pool(sets, task["code"])


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
    limit_s = START_LIMIT_S + len(task["points"]) * (
        POINT_LIMIT_S + BUDGETS_LIMIT * task["budget_s"]
    )
    stdin, parent_is_alive = os.pipe()  # the system closes this end when the parent dies
    try:
        finished = subprocess.run(
            [sys.executable, "-P", "-m", "jaxcap.measure.worker", json.dumps(task)],
            stdin=stdin,
            env=_environment(commit),
            capture_output=True,
            text=True,
            encoding="utf-8",
            errors="replace",
            timeout=limit_s,
            check=False,
        )
    except subprocess.TimeoutExpired:
        raise ProcessError(
            f"experiment {task['name']!r} was stopped after {limit_s:,.0f} s in a fresh process, "
            "which is far more than its budget: measure it in this process to see where it hangs"
        ) from None
    finally:
        os.close(stdin)
        os.close(parent_is_alive)
    if finished.returncode != 0 or not finished.stdout:
        last_line = (finished.stderr.strip().splitlines() or ["it printed nothing"])[-1]
        raise ProcessError(
            f"experiment {task['name']!r} failed in a fresh process "
            f"(exit code {finished.returncode}): {last_line}"
        )
    return ResultSet.model_validate_json(finished.stdout, strict=True)


def _environment(commit: str) -> dict[str, str]:
    """Environment variables of a fresh process, which imports from where this one does."""
    return {
        # Variants of other libraries need memory on a GPU, too.
        "XLA_PYTHON_CLIENT_PREALLOCATE": "false",
        **os.environ,
        "PYTHONPATH": os.pathsep.join(path or str(Path.cwd()) for path in sys.path),
        "JAXCAP_COMMIT": commit,
        "JAX_TRACEBACK_FILTERING": "off",  # its note would be the last line
    }


def _pool(sets: Sequence[ResultSet], code: str) -> ResultSet:
    """Join what several processes measured with the same code, variants and points."""
    first, *others = sets
    for other in others:
        first.environment.require_same_machine(other.environment)

    def pooled(results: tuple[Result, ...]) -> Result:
        runs = tuple(run for result in results for run in result.runs)
        return results[0].model_copy(update={"runs": runs, "code": code})

    keys = {tuple(result.key for result in results) for results in sets}
    if len(keys) > 1:
        raise ProcessError("fresh processes prepared different variants, or in another order")
    same_results = zip(*(results.results for results in sets), strict=True)
    return first.model_copy(update={"results": tuple(map(pooled, same_results))})
