"""How long until the command answers? Beside what it can't do without, each time in a fresh process."""

from __future__ import annotations

import os
import random
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from math import inf
from pathlib import Path
from statistics import median
from typing import NamedTuple

from goals import Comparison, briefly, run
from rich.progress import Progress

from jaxcap.results.statistics import Speedup

ROOT = Path(__file__).parents[2]
ROUNDS, FEW_ROUNDS = 12, 4
RESULTS = ROOT / "docs" / "recorded" / "amd-epyc" / "jit.json"
# Installed packages are compiled already. What this process compiles stays, too.
ENVIRONMENT = os.environ | {"PYTHONDONTWRITEBYTECODE": "", "MPLBACKEND": "agg"}

# Programs that do the least that a start can't do without.
LEAST = {
    "import click": "import click",
    "import pydantic": "import pydantic",
    "imports of Click, Pydantic and rich": (
        "import click, rich.console, rich.table; from pydantic import BaseModel"
    ),
    "one call in JAX": (
        "import jax, jax.numpy as jnp; jax.jit(jnp.sin)(jnp.ones(9)).block_until_ready()"
    ),
    "one plot in Matplotlib": (
        "import matplotlib.pyplot as plt; plt.subplots()[0].savefig('/dev/null', format='png')"
    ),
}


FIRST_MEASUREMENT = """\
import jax.numpy as jnp
from jaxcap.measure import measure
measure(jnp.sin, jnp.ones(9), budget_s=1e-6)
"""
FIRST_PLOT = f"""\
from jaxcap.report import figures
from jaxcap.results import ResultSet
results = ResultSet.load({str(RESULTS)!r}).select(device="cpu")
figures.scaling(results, x="size").savefig("/dev/null", format="png")
"""


class Start(NamedTuple):
    """What a fresh process does, beside the least that it could do, and how long it may take."""

    name: str
    arguments: tuple[str, ...]
    beside: str
    most: float = inf


STARTS = (
    Start("jaxcap --help", ("-m", "jaxcap", "--help"), "import click", most=2),
    Start("jaxcap --version", ("-m", "jaxcap", "--version"), "import click", most=2),
    Start("jaxcap jit --help", ("-m", "jaxcap", "jit", "--help"), "import click"),
    Start(
        "import of ResultSet",
        ("-c", "from jaxcap.results import ResultSet"),
        "import pydantic",
        most=3,
    ),
    Start(
        "jaxcap results list FILE",
        ("-m", "jaxcap", "results", "list", str(RESULTS)),
        "imports of Click, Pydantic and rich",
    ),
    Start("first measurement", ("-c", FIRST_MEASUREMENT), "one call in JAX"),
    Start("first plot", ("-c", FIRST_PLOT), "one plot in Matplotlib"),
)


def compare(bar: Progress, quick: bool) -> Iterator[Comparison]:
    """Let each start and its peer take turns, in random order; the first round warms up."""
    programs = {start.name: start.arguments for start in STARTS}
    programs |= {name: ("-c", program) for name, program in LEAST.items()}
    taken_s: dict[str, list[float]] = {name: [] for name in programs}
    for number in bar.track(range(1 + (FEW_ROUNDS if quick else ROUNDS)), description="Starting"):
        for name in random.sample(list(programs), len(programs)):
            took_s = seconds(programs[name])
            if number:
                taken_s[name].append(took_s)
    for start in STARTS:
        ours_s, least_s = taken_s[start.name], taken_s[start.beside]
        ratios = [[own / least] for own, least in zip(ours_s, least_s, strict=True)]
        yield Comparison(
            name=start.name,
            ours=milliseconds(ours_s),
            peer=f"{start.beside}: {milliseconds(least_s)}",
            ratio=Speedup.from_runs(ratios),
            most=start.most,
        )


def milliseconds(times_s: Sequence[float]) -> str:
    """Format the median of several times."""
    return f"{median(times_s) * 1000:.0f} ms"


def seconds(arguments: Sequence[str]) -> float:
    """Run Python, and return how long it took."""
    start_s = time.perf_counter()
    subprocess.run(
        (sys.executable, *arguments), env=ENVIRONMENT, stdout=subprocess.DEVNULL, check=True
    )
    return time.perf_counter() - start_s


if __name__ == "__main__":
    run({"the command's start": compare}, quick=briefly(__doc__))
