"""Which Python runs fresh processes. Needs no JAX."""

from __future__ import annotations

import sys
from dataclasses import dataclass


@dataclass(frozen=True)
class Interpreter:
    """The Python that runs fresh processes; by default this one.

    Attributes
    ----------
    executable
        Its file.
    path
        Folders that it imports from, before its own; by default those of this process.
    """

    executable: str = sys.executable
    path: tuple[str, ...] = ()
