"""A fresh process that measures: ``python -m jaxcap.measure.worker TASK``, the task as JSON.

It writes its results to standard output, where nothing else goes, and ends when its standard input
does: a process whose parent was killed would disturb whatever is measured next.
"""

import json
import os
import sys
from threading import Thread

from jaxcap.measure.processes import run_task


def _end_with_parent() -> None:
    os.read(sys.stdin.fileno(), 1)  # returns when the other end is closed: nothing is written there
    os._exit(1)


if __name__ == "__main__":
    Thread(target=_end_with_parent, daemon=True).start()
    output = os.dup(sys.stdout.fileno())
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())  # variants may print
    results = run_task(json.loads(sys.argv[1]))
    with os.fdopen(output, "w", encoding="utf-8") as file:
        file.write(results.model_dump_json())
