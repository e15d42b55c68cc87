"""For tests of what needs a library that the package can do without."""

from __future__ import annotations

from importlib.util import find_spec

import pytest

needs_torch = pytest.mark.skipif(find_spec("torch") is None, reason="needs PyTorch")
