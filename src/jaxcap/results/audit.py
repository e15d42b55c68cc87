"""An audit: the same things measured again and again, by this package and by other tools.

`jaxcap.report.reliability` uses it to judge how far timings can be trusted. The benchmark
``tests/bench/precision.py`` makes the one that comes with the package.
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

from pydantic import AfterValidator, Field, PositiveFloat, PositiveInt

from jaxcap.results.atomic import write_atomically
from jaxcap.results.base import FrozenModel, PrintableText
from jaxcap.results.environment import Environment
from jaxcap.results.files import SCHEMA_VERSION, load_results
from jaxcap.results.models import Seconds

# The file of the audit that comes with the package.
RECORDED = Path(__file__).with_suffix(".json")

TOOLS = JAXCAP, TIMEIT, PYTORCH, PYPERF = "jaxcap", "timeit", "PyTorch's Timer", "pyperf"
Load = Literal["quiet", "one core busy"]
QUIET: Load = "quiet"
BUSY: Load = "one core busy"
LOADS = (QUIET, BUSY)

Ratio = Annotated[PositiveFloat, AfterValidator(lambda ratio: float(f"{ratio:.6g}"))]


class Pair(FrozenModel):
    """What a tool measured of two calls that it compares.

    Attributes
    ----------
    a_s
        Seconds of the first call: for jaxcap the median of each process, for PyTorch's Timer
        minimum, quartiles and maximum of its blocks, for the others all that they report.
    b_s
        The same of the second call.
    ratios
        For jaxcap the median of ``a / b`` over the rounds of each process. Empty for the others,
        which don't let calls take turns.
    """

    a_s: tuple[Seconds, ...] = Field(min_length=1)
    b_s: tuple[Seconds, ...] = Field(min_length=1)
    ratios: tuple[Ratio, ...] = ()


class Run(FrozenModel):
    """What a tool measured in one go, in processes of its own.

    Attributes
    ----------
    tool
        Its name.
    load
        ``"quiet"``, or ``"one core busy"`` if another process kept a core busy.
    number
        From 1. Runs of one number and one load followed one another, in random order.
    duration_s
        Seconds that it took, the start of its processes included.
    same
        A call compared with itself, by kernel.
    wave
        A comparison with a difference to be found.
    """

    tool: PrintableText
    load: Load
    number: PositiveInt
    duration_s: Seconds
    same: dict[PrintableText, Pair]
    wave: Pair | None


class Audit(FrozenModel):
    """Runs of all tools on one machine.

    Attributes
    ----------
    schema_version
        As that of other files of results.
    environment
        The machine; None if nothing was measured.
    runs
        In the order in which they were made.
    """

    schema_version: Literal[2] = SCHEMA_VERSION
    environment: Environment | None = None
    runs: tuple[Run, ...] = ()

    def save(self, path: Path) -> None:
        """Write to a JSON file, a line for each run."""
        head, _, tail = self.model_copy(update={"runs": ()}).model_dump_json().rpartition("[]")
        runs = ",\n".join(run.model_dump_json() for run in self.runs)
        write_atomically(path, f"{head}[\n{runs}\n]{tail}\n")

    def of(self, tool: str, load: Load) -> list[Run]:
        """List the runs of a tool under a load."""
        return [run for run in self.runs if run.tool == tool and run.load == load]

    @property
    def where(self) -> str:
        """The device and the date, or that nothing was measured."""
        if self.environment is None:
            return "not recorded yet"
        return f"{self.environment.device}, {self.environment.measured_at.date()}"


def recorded(path: Path | None = None) -> Audit:
    """Read an audit, by default the one that comes with the package; without a file it has no runs.

    Raises
    ------
    ResultsError
        If the file is not an audit.
    """
    path = path or RECORDED
    return load_results(path, Audit) if path.exists() else Audit()
