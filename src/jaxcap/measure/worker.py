"""What runs in a worker, a fresh process that measures: ``python -m jaxcap.measure.worker``.

The parent writes lines of JSON to the worker's standard input: first a `Task`, then one `Request`
at a time. The worker writes an `Answer` to each of them to its standard output, and nothing else.
It ends when its input ends, even in the middle of a request: a worker that outlived its parent
would disturb the next measurement. The parent's side is in `jaxcap.measure.processes`.
"""

from __future__ import annotations

import gc
import os
import sys
import time
from pkgutil import resolve_name
from queue import SimpleQueue
from threading import Thread
from typing import Any, Literal, TextIO

from pydantic import Field

from jaxcap.measure.compilation import persistent_cache_disabled
from jaxcap.measure.machine import description
from jaxcap.measure.machine.allocator import use_allocator
from jaxcap.measure.parameters import validate_labels
from jaxcap.measure.sampling import Comparison
from jaxcap.results import Allocator, Environment, Parameter, ResultSet
from jaxcap.results.base import FrozenModel

Action = Literal[
    "prepare",  # a point, and call its variants for the first time
    "compile",  # the variants of all points again
    "analyse",  # the cost of a call, at all points
    "calibrate",  # the length of samples, at all points
    "measure",  # one round at a point
    "report",  # the results of all points
]


class Task(FrozenModel):
    """What a worker measures: an `~jaxcap.measure.experiment.Experiment` and options of its run."""

    name: str
    reference: str
    points: tuple[dict[str, Parameter], ...]
    sample_s: float  # the least length of a sample
    allocator: Allocator
    empty_caches: bool
    # The processes that analyse the cost of all calls, which compiles everything once more.
    analysed: Literal["first", "all", "none"] = "first"


class Request(FrozenModel):
    """The next step of a worker. While it measures, all other workers wait."""

    action: Action
    point: int = 0  # index of the point to prepare or measure


class Answer(FrozenModel):
    """What a worker writes when it is ready, and when it has done what was requested."""

    cpu_s: float  # used so far
    memory_bytes: int | None  # the most that was held on the device; None if unknown
    variants: tuple[str, ...] = ()  # names, after preparing a point
    samples_s: dict[str, float] = Field(default_factory=dict)  # by variant, after a round
    slow: tuple[str, ...] = ()  # variants that the machine was slow beside in that round
    results: ResultSet | None = None  # in a report


class Worker:
    """A task in this process, with one comparison for each point that has been prepared."""

    def __init__(self, task: Task) -> None:
        self._task = task
        self._allocator = use_allocator(task.allocator)
        self._environment: Environment | None = None
        self._prepare = resolve_name(task.reference)
        self._comparisons: list[Comparison] = []

    def handle(self, request: Request) -> Answer:
        """Do what is requested."""
        match request.action:
            case "prepare":
                return self.answer(variants=self._prepare_point(self._task.points[request.point]))
            case "compile":
                for comparison in self._comparisons:
                    comparison.compile()
            case "analyse":
                for comparison in self._comparisons:
                    comparison.analyse()
            case "calibrate":
                for comparison in self._comparisons:
                    comparison.calibrate(self._task.sample_s)
                gc.collect()
                gc.disable()
            case "measure":
                comparison = self._comparisons[request.point]
                samples_s = comparison.sample(among_others=True)
                return self.answer(samples_s=samples_s, slow=comparison.slow)
            case "report":
                return self.answer(results=self._results())
        return self.answer()

    def answer(self, **content: Any) -> Answer:
        """Return an answer with this content, and with what the process has used so far."""
        here = self._environment
        memory_bytes = description.peak_memory_bytes(here.device.platform) if here else None
        return Answer(cpu_s=time.process_time(), memory_bytes=memory_bytes, **content)

    def _prepare_point(self, point: dict[str, Parameter]) -> tuple[str, ...]:
        variants = self._prepare(**point)
        # Not earlier, because it starts JAX's backend, and the function may choose its devices.
        self._environment = self._environment or description.capture()
        validate_labels(point, experiment=self._task.name, variants=variants)
        comparison = Comparison(variants)
        with persistent_cache_disabled():
            comparison.call_first(empty_caches=self._task.empty_caches)
        self._comparisons.append(comparison)
        return tuple(variants)

    def _results(self) -> ResultSet:
        results = (
            comparison.results(self._task.name, point, self._allocator)
            for comparison, point in zip(self._comparisons, self._task.points, strict=True)
        )
        assert self._environment, "nothing was prepared"
        return ResultSet(environment=self._environment, results=sum(results, ()))


def serve(output: TextIO) -> None:
    """Answer the lines of standard input. When they end, this process ends as well."""
    lines: SimpleQueue[str] = SimpleQueue()

    def receive() -> None:
        for line in sys.stdin:
            lines.put(line)
        os._exit(1)  # even if the other thread is in a call that never returns

    Thread(target=receive, daemon=True).start()
    worker = Worker(Task.model_validate_json(lines.get()))
    answer = worker.answer()
    while True:
        print(answer.model_dump_json(), file=output, flush=True)
        answer = worker.handle(Request.model_validate_json(lines.get()))


if __name__ == "__main__":
    answers = os.fdopen(os.dup(sys.stdout.fileno()), "w", encoding="utf-8")
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())  # variants may print
    serve(answers)
