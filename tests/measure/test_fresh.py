"""Functions that run in a fresh process: how it starts, what it loads, and which threads compute."""

from __future__ import annotations

import os
import pickle
import sys
import time
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import jax
import jax.numpy as jnp
import pytest
from jax.experimental.serialize_executable import serialize

from jaxcap.kernels import network
from jaxcap.measure import fresh, settings, start_up, threads

NO_CACHE = {"JAX_ENABLE_COMPILATION_CACHE": "0"}
on_linux = pytest.mark.skipif(sys.platform != "linux", reason="only Linux tells")


def test_function_is_called_in_another_process_with_its_settings() -> None:
    assert fresh.call(os.getpid) != os.getpid()
    assert fresh.call(os.getenv, "JAXCAP_MADE_UP", JAXCAP_MADE_UP="7") == "7"
    assert fresh.call(os.getenv, "JAXCAP_MADE_UP") is None


def test_failure_quotes_the_last_line() -> None:
    with pytest.raises(fresh.FreshProcessError, match=r"FileNotFoundError.*no such folder"):
        fresh.call(os.listdir, "no such folder")


def print_and_return(text: str) -> int:
    print(text, flush=True)
    return len(text)


def test_function_may_print() -> None:
    assert fresh.call(print_and_return, "aside") == 5


def test_process_ends_at_an_unknown_flag() -> None:
    with pytest.raises(fresh.FreshProcessError, match=r"Unknown flag.*--xla_made_up=1"):
        fresh.call(threads.usage, XLA_FLAGS="--xla_made_up=1", JAX_PLATFORMS="cpu")


def test_there_is_one_round_in_quick_mode(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(settings.QUICK, raising=False)
    assert list(fresh.rounds(3)) == [0, 1, 2]
    monkeypatch.setenv(settings.QUICK, "1")
    assert list(fresh.rounds(3)) == [0]


def test_stages_add_up_to_the_time_of_the_process() -> None:
    start = time.time()
    stages = fresh.call(start_up.first_result, start, **NO_CACHE)
    assert tuple(stages) == start_up.STAGES
    assert min(stages.values()) >= 0
    assert sum(stages.values()) < time.time() - start


def test_program_from_a_file_is_neither_traced_nor_lowered(tmp_path: Path) -> None:
    file = tmp_path / "gradient"
    gradient = jax.jit(jax.grad(network.loss))
    program = gradient.lower(*network.example(start_up.LAYERS)).compile()
    file.write_bytes(pickle.dumps(serialize(program)))
    stages = fresh.call(start_up.first_result, time.time(), str(file), **NO_CACHE)
    assert stages["lower"] == 0
    assert stages["compile"] > 0


def test_cache_keeps_the_program_below_the_threshold_only_if_told_to(tmp_path: Path) -> None:
    cache = {"JAX_COMPILATION_CACHE_DIR": str(tmp_path)}
    threshold = "JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS"
    for seconds, programs in (("1000", 0), ("0", 1)):
        fresh.call(start_up.first_result, time.time(), **cache, **{threshold: seconds})
        assert len(list(tmp_path.glob("*-cache"))) == programs


@on_linux
def test_cpu_time_is_that_of_the_process() -> None:
    for _ in range(100):
        jnp.ones(1000).sum().block_until_ready()
    by_thread = threads.cpu_time_by_thread()
    assert str(os.getpid()) in by_thread
    assert sum(by_thread.values()) <= time.process_time()


def test_threads_that_hardly_compute_do_not_count(monkeypatch: pytest.MonkeyPatch) -> None:
    readings: Any = iter([{"main": 1.0}, {"main": 1.1, "worker": 3.8, "idle": 0.1}])
    clock: Any = iter([10.0, 11.0, 12.0])
    monkeypatch.setattr(threads, "cpu_time_by_thread", lambda: next(readings))
    monkeypatch.setattr(threads, "time", SimpleNamespace(perf_counter=lambda: next(clock)))
    at_work, cores = threads.at_work(lambda: jnp.zeros(1), seconds=1.5)
    assert at_work == 1
    assert cores == pytest.approx((0.1 + 3.8 + 0.1) / 2)


@on_linux
def test_one_core_leaves_one_thread_that_computes() -> None:
    limited = fresh.call(threads.usage_on_one_core, JAX_PLATFORMS="cpu")
    assert limited["threads"] > 1
    assert limited["product"][0] == 1
