"""Compiled functions: their kernels, their cost, and how to compile them again."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from typing import Any

import jax
from jax.experimental.compilation_cache.compilation_cache import reset_cache
from jax.stages import Compiled, Lowered

from jaxcap.results import Cost

# Instructions of a compiled program that launch nothing: they name or regroup existing values.
_NO_KERNEL = frozenset({"parameter", "constant", "tuple", "get-tuple-element", "bitcast"})
# Loops, and calls of libraries other than those whose products and convolutions XLA counts.
_UNCOUNTED = re.compile(r'\swhile\(|custom_call_target="(?!__(?:cublas|cudnn|onednn))')
_PERSISTENT_CACHE = "jax_enable_compilation_cache"


def kernels_op_by_op(fn: Callable[..., Any], *args: Any) -> int:
    """Count the kernels that ``fn(*args)`` launches when it is not compiled.

    Each operation that JAX traces is a kernel, and a nested `jax.jit` counts as a single one.
    """
    return len(jax.make_jaxpr(fn)(*args).eqns)


def kernels_compiled(fn: Callable[..., Any], *args: Any) -> int:
    """Count the kernels that a compiled ``fn(*args)`` launches, after fusion."""
    operations = re.findall(
        r"^\s+(?:ROOT )?%\S+ = .*?\s([\w-]+)\(", program(fn, *args), re.MULTILINE
    )
    return sum(operation not in _NO_KERNEL for operation in operations)


def program(fn: Callable[..., Any], *args: Any) -> str:
    """Return the main part of the compiled ``fn(*args)``, in XLA's notation (HLO).

    It leaves out fused computations and references to source files.
    """
    text = jax.jit(fn).lower(*args).compile().as_text() or ""
    main = re.search(r"^ENTRY .*?^}", text, re.MULTILINE | re.DOTALL)
    return re.sub(
        r", (metadata|backend_config)=\{.*\}$", "", main[0] if main else "", flags=re.MULTILINE
    )


def compiled_call(fn: Callable[..., Any], /, *args: Any, **keywords: Any) -> Compiled | None:
    """Compile a call of ``fn``, a function from `jax.jit` or a `functools.partial` of one.

    For any other function the result is ``None``: what Python code does is unknown before it runs.
    """
    if isinstance(fn, partial):
        return compiled_call(fn.func, *fn.args, *args, **(fn.keywords | keywords))
    # Not ``isinstance`` of jax.stages.Wrapped, which old releases of JAX refuse.
    lower: Callable[..., Lowered] | None = getattr(fn, "lower", None)
    return lower(*args, **keywords).compile() if lower else None


def cost_analysis(compiled: Compiled) -> Cost | None:
    """Return XLA's analysis of what a compiled call costs.

    It is ``None`` where XLA does not count: it takes the body of a loop to run once, and a function
    of another library, such as LAPACK, to cost nothing.
    """
    costs = compiled.cost_analysis() or {}
    if isinstance(costs, list):  # JAX before 0.5
        costs = costs[0]
    cost = Cost(float(costs.get("flops", -1)), float(costs.get("bytes accessed", -1)))
    return None if min(cost) < 0 or _UNCOUNTED.search(compiled.as_text() or "") else cost


def temporary_bytes(compiled: Compiled) -> int | None:
    """Return the memory that a compiled call needs besides its inputs and results, if XLA says."""
    memory = compiled.memory_analysis()
    return None if memory is None else int(memory.temp_size_in_bytes)


@contextmanager
def persistent_cache_disabled() -> Iterator[None]:
    """Compile without JAX's persistent cache, which may hold programs from earlier processes.

    The user's setting applies again afterwards.
    """
    if not getattr(jax.config, "jax_compilation_cache_dir", None):  # JAX 0.4.18 lacks it
        yield  # there is no such cache
        return
    is_enabled: bool = getattr(jax.config, _PERSISTENT_CACHE)
    try:
        _enable_persistent_cache(False)
        yield
    finally:
        _enable_persistent_cache(is_enabled)


def _enable_persistent_cache(value: bool) -> None:
    jax.config.update(_PERSISTENT_CACHE, value)  # type: ignore[no-untyped-call]
    reset_cache()  # otherwise JAX looks at the setting only when it compiles for the first time
