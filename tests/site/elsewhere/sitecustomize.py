"""Python as on a machine without PyTorch, where it's always the same day and clocks are read alike.

What was measured, and when, is then equal in all builds that have this on their path.
"""

from __future__ import annotations

import datetime
import time
from importlib.machinery import ModuleSpec, PathFinder
from itertools import count
from typing import Any

_find_spec = PathFinder.find_spec


def _without_torch(name: str, *places: Any) -> ModuleSpec | None:
    return None if name.partition(".")[0] == "torch" else _find_spec(name, *places)


class _SameDay(datetime.datetime):
    @classmethod
    def now(cls, tz: datetime.tzinfo | None = None) -> _SameDay:
        return cls(2026, 1, 2, 3, 4, tzinfo=tz)


setattr(PathFinder, "find_spec", _without_torch)
setattr(datetime, "datetime", _SameDay)
setattr(time, "perf_counter", map(float, count()).__next__)  # a second has gone by at each look
