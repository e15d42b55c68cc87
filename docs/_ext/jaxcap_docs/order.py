"""The order in which lessons are read."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path

SECTIONS = ("basics", "transformations", "performance", "applications")
LESSONS = (
    "introduction",
    "jnp_and_numpy",
    "random_numbers",
    "jit",
    "asynchronous_dispatch",
    "static_arguments",
    "grad",
    "vmap",
    "typed_transformations",
    "timing",
    "dispatch_overhead",
    "linear_algebra",
    "calibration",
    "mnist",
    "scaling_out",
)
# Where PyTorch isn't installed, the pages of these are built without being run.
NEED_TORCH = ("grad", "mnist", "scaling_out")


def place(script: str) -> int:
    """Return a script's place among all lessons."""
    return LESSONS.index(Path(script).stem)


def lacks_torch(script: str) -> bool:
    """Whether a script cannot run here, for want of PyTorch."""
    return Path(script).stem in NEED_TORCH and find_spec("torch") is None


def runnable(wanted: str) -> str:
    """Narrow a pattern of scripts to run down to those that can."""
    left_out = "|".join(filter(lacks_torch, LESSONS))
    return rf"^(?!.*\b({left_out})\.py$).*({wanted})" if left_out else wanted


class LessonOrder:
    """Sort key of a script within its section, as sphinx-gallery wants it."""

    def __init__(self, _: str) -> None: ...

    def __call__(self, script: str) -> int:
        """Return the script's place among all lessons."""
        return place(script)

    def __repr__(self) -> str:
        return type(self).__name__
