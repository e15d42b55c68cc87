"""What XLA says of functions whose kernels and work are known; what first calls compile."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import pytest
from jax import Array

from jaxcap.kernels.elementwise import wave
from jaxcap.measure.compilation import (
    compiled_call,
    cost_analysis,
    kernels_compiled,
    kernels_op_by_op,
    persistent_cache_disabled,
    program,
    temporary_bytes,
)
from jaxcap.results.models import Cost

X = jnp.arange(1024.0)


def double(x: jax.Array) -> jax.Array:
    return 2 * x


def add(x: jax.Array, *, y: jax.Array) -> jax.Array:
    return x + y


def test_op_by_op_has_a_kernel_for_each_operation() -> None:
    assert kernels_op_by_op(lambda x: jnp.sin(x) + jnp.cos(x), X) == 3


def test_compiling_fuses_elementwise_operations_into_one_kernel() -> None:
    assert kernels_compiled(wave, X) == 1


def test_what_cannot_be_fused_stays_apart() -> None:
    assert kernels_compiled(lambda a: jnp.sin(a @ a) @ a, jnp.ones((32, 32))) > 1


def test_program_shows_the_main_part_without_paths() -> None:
    text = program(wave, X)
    assert text.startswith("ENTRY ")
    assert text.endswith("}")
    assert "f32[1024]" in text
    assert "metadata" not in text
    assert __file__ not in text


def cost(fn: Callable[..., Any], *args: Any) -> Cost | None:
    compiled = compiled_call(fn, *args)
    return cost_analysis(compiled) if compiled else None


@pytest.mark.parametrize(
    ("fn", "args", "arrays"),
    [
        (jax.jit(double), (X,), 2),
        (partial(jax.jit(double), X), (), 2),
        (partial(jax.jit(add), y=X), (X,), 3),
        (partial(jax.jit(add), X, y=X), (), 3),
    ],
)
def test_work_of_compiled_functions_is_counted(
    fn: Callable[..., Any], args: Any, arrays: int
) -> None:
    # One operation for each element; each array is read or written once.
    assert cost(fn, *args) == (1024, arrays * X.nbytes)


@pytest.mark.parametrize("fn", [double, partial(add, y=X), lambda x: jax.jit(double)(x)])
def test_work_of_other_functions_is_unknown(fn: Callable[..., Any]) -> None:
    assert compiled_call(fn, X) is None


def test_temporary_memory_of_a_call_is_what_xla_says() -> None:
    def outer(x: Array) -> Array:
        return jnp.sort(jnp.outer(x, x)).sum()

    compiled = compiled_call(jax.jit(outer), X)
    assert compiled is not None
    size_bytes = temporary_bytes(compiled)
    assert size_bytes is not None
    assert size_bytes >= X.size * X.nbytes


def test_work_that_xla_cannot_count_is_unknown(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(jax.stages.Compiled, "cost_analysis", lambda _: None)
    assert cost(jax.jit(double), X) is None


def loop(x: Array) -> Any:
    return jax.lax.fori_loop(0, 200, lambda _, y: jnp.sin(y), x)


def elsewhere(x: Array) -> Any:
    return jax.pure_callback(lambda y: y, x, x)


@pytest.mark.parametrize(
    "fn",
    [loop, elsewhere, jnp.linalg.cholesky, jnp.linalg.inv, jnp.linalg.qr, jnp.linalg.eigh],
)
@pytest.mark.parametrize("size", [1, 8])
def test_work_in_loops_and_in_other_libraries_is_unknown(fn: Callable[..., Any], size: int) -> None:
    # XLA takes a loop to run its body once, and LAPACK to do nothing, or less than nothing.
    assert cost(jax.jit(fn), jnp.eye(size)) is None


def test_work_of_products_and_of_sorting_is_counted() -> None:
    assert cost(jax.jit(jnp.dot), jnp.eye(8), jnp.eye(8)) == (2 * 8**3, 3 * 8 * 8 * 4)
    assert cost(jax.jit(jnp.sort), X) is not None


CACHED = """
import sys
from pathlib import Path

import jax
import jax.numpy as jnp
from jaxcap.measure.timing import measure

folder, events = Path(sys.argv[1]), []
jax.monitoring.register_event_listener(lambda event, **_: events.append(event))
jax.config.update("jax_compilation_cache_dir", str(folder))
jax.config.update("jax_persistent_cache_min_compile_time_secs", 0)
jax.config.update("jax_persistent_cache_min_entry_size_bytes", -1)

def count(kind):
    return sum(event.endswith(kind) for event in events)

x = jnp.ones(10)
cached = jax.jit(lambda x: jnp.sin(x) + 1)
cached(x)
jax.clear_caches()
cached(x)
print(count("cache_hits"), end=" ")
events.clear()
files = set(folder.iterdir())
measure(cached, x, budget_s=1e-6)
measure(jax.jit(lambda x: jnp.cos(x) + 1), x, budget_s=1e-6)
print(count("cache_hits"), len(set(folder.iterdir()) - files), end=" ")
jax.jit(lambda x: jnp.tan(x) + 1)(x)
print(len(set(folder.iterdir()) - files) > 0, jax.config.jax_enable_compilation_cache)
"""


def test_first_calls_neither_read_nor_fill_the_persistent_cache(tmp_path: Path) -> None:
    command = [sys.executable, "-c", CACHED, str(tmp_path)]
    output = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    # One hit before measuring, neither hit nor new file while measuring; afterwards it works again.
    assert output.split() == ["1", "0", "0", "True", "True"]


def test_a_persistent_cache_that_is_off_stays_off() -> None:
    setting = "jax_enable_compilation_cache"
    before = getattr(jax.config, setting)
    jax.config.update(setting, False)  # type: ignore[no-untyped-call]
    try:
        with persistent_cache_disabled():
            pass
        assert not getattr(jax.config, setting)
    finally:
        jax.config.update(setting, before)  # type: ignore[no-untyped-call]
