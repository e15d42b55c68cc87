"""A fresh process that measures one task: ``python -m jaxcap.worker OUTPUT < task.json``."""

import json
import sys

from jaxcap.experiment import work

if __name__ == "__main__":
    work(json.load(sys.stdin)).save(sys.argv[1])
