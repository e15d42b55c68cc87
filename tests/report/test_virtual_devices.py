"""Other processes see as many devices as asked for, and a failing one says why."""

from __future__ import annotations

import pytest

from jaxcap.report.virtual_devices import run_python


def test_a_cpu_acts_as_several_devices() -> None:
    code = "import jax; print(jax.default_backend(), jax.device_count())"
    assert run_python("-c", code, devices=3) == "cpu 3\n"


def test_a_failure_is_raised_with_what_it_said() -> None:
    with pytest.raises(RuntimeError, match=r"failed with status 1: .*\bno such luck\b"):
        run_python("-c", "raise SystemExit('no such luck')", devices=1)
