"""The order in which lessons are read."""

from __future__ import annotations

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


def place(script: str) -> int:
    """Return a script's place among all lessons."""
    return LESSONS.index(Path(script).stem)


class LessonOrder:
    """Sort key of a script within its section, as sphinx-gallery wants it."""

    def __init__(self, _: str) -> None: ...

    def __call__(self, script: str) -> int:
        """Return the script's place among all lessons."""
        return place(script)

    def __repr__(self) -> str:
        return type(self).__name__
