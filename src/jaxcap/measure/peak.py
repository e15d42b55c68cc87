"""How much a call adds to the most memory that its process has held.

That number never falls, so only the largest call of a process shows in it: each call gets a fresh
process.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from pkgutil import resolve_name
from typing import Any, NamedTuple

import jax
from jax.stages import Compiled

from jaxcap.measure import fresh
from jaxcap.measure.compilation import compiled_call
from jaxcap.measure.experiment import Experiment
from jaxcap.measure.machine.description import peak_memory_bytes
from jaxcap.results import Parameter


class Growth(NamedTuple):
    """The memory that a call takes besides its arguments.

    Attributes
    ----------
    analysed_bytes
        Temporaries and results, by XLA's analysis; None where XLA has none.
    seen_bytes
        By how much the peak grew: that of the process on a CPU, and that of JAX on other devices.
        None where it is unknown.
    """

    analysed_bytes: int | None
    seen_bytes: int | None


def growth(call: partial[Any]) -> Growth:
    """Compile a call, a partial of a function from `jax.jit`, and run it."""
    compiled = compiled_call(call)
    assert compiled, "the function is from jax.jit"
    platform = jax.default_backend()
    jax.block_until_ready((call.args, call.keywords))
    before = peak_memory_bytes(platform)
    jax.block_until_ready(compiled(*call.args, **call.keywords))
    after = peak_memory_bytes(platform)
    seen = None if before is None or after is None else after - before
    return Growth(_bytes_besides_arguments(compiled), seen)


def growth_in_fresh_process(experiment: Experiment, variant: str, **point: Parameter) -> Growth:
    """Run `growth` in a fresh process, for a variant of an experiment at a point.

    Raises
    ------
    FreshProcessError
        If the process fails.
    """
    return Growth(*fresh.call(_growth_of_variant, experiment.reference, variant, point))


def _growth_of_variant(reference: str, variant: str, point: Mapping[str, Parameter]) -> Growth:
    return growth(resolve_name(reference)(**point)[variant])


def _bytes_besides_arguments(compiled: Compiled) -> int | None:
    memory = compiled.memory_analysis()
    return memory and memory.temp_size_in_bytes + memory.output_size_in_bytes
