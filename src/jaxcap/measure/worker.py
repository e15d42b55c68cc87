"""A fresh process that measures one task: ``python -m jaxcap.measure.worker OUTPUT < task.json``."""

import json
import sys

from jaxcap.measure.processes import run_task

if __name__ == "__main__":
    run_task(json.load(sys.stdin)).save(sys.argv[1])
