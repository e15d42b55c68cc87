"""Python as on a machine without PyTorch, where it's always the same day and clocks are read alike.

What was measured, and when, is then the same in all builds that have this on their path.
"""

from __future__ import annotations

import datetime as dt
import resource
from importlib.machinery import ModuleSpec, PathFinder
from itertools import count
from typing import Any
from unittest.mock import patch
from uuid import UUID

find_spec = PathFinder.find_spec


def without_torch(name: str, *places: Any) -> ModuleSpec | None:
    return None if name.partition(".")[0] == "torch" else find_spec(name, *places)


class SameDay(dt.datetime):
    __slots__ = ()  # or compiled modules complain of its size

    @classmethod
    def now(cls, tz: dt.tzinfo | None = None) -> SameDay:
        return cls(2026, 1, 2, 3, 4, tzinfo=tz)


# In signatures, too.
SameDay.__module__, SameDay.__qualname__ = dt.datetime.__module__, dt.datetime.__qualname__

patch("importlib.machinery.PathFinder.find_spec", without_torch).start()
patch("datetime.datetime", SameDay).start()
patch("time.perf_counter", map(float, count()).__next__).start()  # a second later at each look
# The kernel counts what happens by chance.
patch("resource.getrusage", return_value=resource.getrusage(resource.RUSAGE_SELF)).start()
patch("uuid.uuid4", (UUID(int=number << 80) for number in count()).__next__).start()
