"""A fresh process that measures when it is asked to: ``python -m jaxcap.measure.worker``.

The first line on its standard input is the task, and each further one a request. It answers each
with a line on its standard output, where nothing else goes, and ends when its input does: a process
whose parent was killed would disturb whatever is measured next.
"""

from __future__ import annotations

import gc
import os
import sys
import time
from pkgutil import resolve_name
from queue import SimpleQueue
from threading import Thread
from typing import TextIO

from jaxcap.measure import machine
from jaxcap.measure.allocator import use_allocator
from jaxcap.measure.compilation import persistent_cache_disabled
from jaxcap.measure.processes import Answer, Request, Task
from jaxcap.measure.timing import Comparison
from jaxcap.results import ResultSet


class Bench:
    """The comparisons of a task, one for each point, in this process."""

    def __init__(self, task: Task) -> None:
        self._task = task
        self._allocator = use_allocator(task.allocator)
        self._environment = machine.capture()
        self._prepare = resolve_name(task.reference)
        self._comparisons: list[Comparison] = []

    def handle(self, request: Request) -> Answer:
        """Do what is asked."""
        results, samples = None, None
        match request.action:
            case "prepare":
                comparison = Comparison(self._prepare(**self._task.points[request.point]))
                with persistent_cache_disabled():
                    comparison.call_first(empty_caches=self._task.empty_caches)
                self._comparisons.append(comparison)
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
                self._comparisons[request.point].refill_caches()
                samples = self._comparisons[request.point].sample()
            case "report":
                results = self._results()
        return self.answer(samples_s=samples, results=results)

    def answer(
        self, samples_s: dict[str, float] | None = None, results: ResultSet | None = None
    ) -> Answer:
        """Tell the results, if there are any, and what this process has used."""
        return Answer(
            samples_s=samples_s or {},
            cpu_s=time.process_time(),
            memory_bytes=machine.peak_memory_bytes(self._environment.device.platform),
            results=results,
        )

    def _results(self) -> ResultSet:
        results = (
            comparison.results(self._task.name, point, self._allocator)
            for comparison, point in zip(self._comparisons, self._task.points, strict=True)
        )
        return ResultSet(environment=self._environment, results=sum(results, ()))


def serve(output: TextIO) -> None:
    """Answer what comes on standard input until it ends, and with it this process."""
    lines: SimpleQueue[str] = SimpleQueue()

    def receive() -> None:
        for line in sys.stdin:
            lines.put(line)
        os._exit(1)  # even in the midst of a call that never returns

    Thread(target=receive, daemon=True).start()
    bench = Bench(Task.model_validate_json(lines.get()))
    answer = bench.answer()
    while True:
        print(answer.model_dump_json(), file=output, flush=True)
        answer = bench.handle(Request.model_validate_json(lines.get()))


if __name__ == "__main__":
    answers = os.fdopen(os.dup(sys.stdout.fileno()), "w", encoding="utf-8")
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())  # variants may print
    serve(answers)
