"""A fresh process that measures: ``python -m jaxcap.measure.worker``.

It reads a task from standard input and writes its results to standard output, where nothing else
goes. It ends when its standard input does: a process whose parent was killed would disturb whatever
is measured next.
"""

import os
import sys
from threading import Thread

from jaxcap.measure.processes import Task


def _end_with_parent() -> None:
    os.read(sys.stdin.fileno(), 1)  # returns when the parent's end is closed: no more is written
    os._exit(1)


if __name__ == "__main__":
    task = Task.model_validate_json(sys.stdin.readline(), strict=True)
    Thread(target=_end_with_parent, daemon=True).start()
    output = os.dup(sys.stdout.fileno())
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())  # variants may print
    results = task.run()
    with os.fdopen(output, "w", encoding="utf-8") as file:
        file.write(results.model_dump_json())
