"""All ratios that this project claims, side by side in one run, each with its goal.

Each of them also has a benchmark of its own, which shows more.
"""

from __future__ import annotations

import lighthouse
import mnist
import precision
import rebuild
import start
from goals import Compare, briefly, run

from jaxcap.measure.machine.lock import measuring_alone

PARTS: dict[str, Compare] = {
    "the command's start": start.compare,
    "training": mnist.compare,
    "timers": precision.compare,
    "rebuild": rebuild.compare,
    "weight of the site": lighthouse.compare,
}

if __name__ == "__main__":
    quick = briefly(__doc__)
    with measuring_alone():
        run(PARTS, quick=quick)
