"""How long a call takes, and how certain that is.

JAX and CUDA return before the work is done, compile on the first call, and run on machines that
drift. So the clock here stops when the result is computed, the first call is timed separately,
variants take turns in random order, and every estimate has an interval. All times are seconds for
one call.
"""

from __future__ import annotations

import gc
import logging
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from math import inf
from typing import Any

from jaxcap.measure.compilation import persistent_cache_disabled
from jaxcap.measure.machine import description
from jaxcap.measure.machine.allocator import use_allocator
from jaxcap.measure.parameters import validate_labels
from jaxcap.measure.sampling import Clock, Comparison, Variants
from jaxcap.measure.settings import QUICK_BUDGET_S, quick_is_on
from jaxcap.results import Allocator, Parameter, Result, ResultSet

# Sampling may stop when the interval of each median reaches no further than this share of it.
PRECISION = 0.01
# Fewer rounds give no 95 % interval. More make files large and improve little, so a long budget is
# spent on longer samples instead.
MIN_ROUNDS, MAX_ROUNDS = 6, 100
# The stopping rule looks after this many rounds and then at growing distances, and stops only when
# it sees precise times twice in a row: looking after each round would stop at the luckiest one.
FIRST_LOOK, NEXT_LOOK = 20, 1.5

logger = logging.getLogger(__name__)


def measure(
    fn: Callable[..., Any],
    /,
    *args: Any,
    experiment: str = "measure",
    variant: str | None = None,
    **options: Any,
) -> Result:
    """Time ``fn(*args)``, as `compare` times a single variant.

    Parameters
    ----------
    fn
        Any callable.
    variant
        Its name in the result, by default that of ``fn``.
    *args, experiment, **options
        See `compare`, also for the errors.

    Returns
    -------
    Result
        With one run. Its interval is for repeats inside this process, which agree better with one
        another than with the next process. An `~jaxcap.measure.experiment.Experiment` predicts
        the next process as well.
    """
    name = variant or str(getattr(fn, "__name__", type(fn).__name__))
    return compare({name: fn}, *args, experiment=experiment, **options)[0]


def compare(
    variants: Variants,
    /,
    *args: Any,
    experiment: str = "compare",
    parameters: Mapping[str, Parameter] | None = None,
    budget_s: float = 1.0,
    precision: float = PRECISION,
    allocator: Allocator = "steady",
    clock: Clock = time.perf_counter,
    empty_caches: bool = True,
    on_round: Callable[[], object] | None = None,
) -> ResultSet:
    """Time variants that do the same work and take turns.

    In each round every variant is sampled once, in a new random order, so that a drifting machine
    affects them alike; speed-ups come from the ratios within rounds. Before that, each variant is
    called once with empty compilation caches (`jax.clear_caches`, and without the persistent
    cache), which gives its first-call time, and again to warm up.

    Parameters
    ----------
    variants
        Callables by name. A result may be a pytree of NumPy, JAX or PyTorch arrays of any shapes
        and dtypes; the clock stops when all of them are computed.
    *args
        Passed to each call of each variant. For keyword arguments, make a variant a
        `functools.partial`.
    experiment, parameters
        Recorded in the results.
    budget_s
        Seconds of sampling for each variant, on average: the variants share the time, and because
        all have the same number of samples, a slow variant leaves fewer to a fast one. Exceeded
        only to take the six samples that an interval needs.
    precision
        Sampling ends early when the interval of each variant reaches no further than this share of
        the median to either side. Zero uses the whole budget.
    allocator
        ``"steady"`` changes malloc so that this process keeps freed memory, from now until it
        ends (see `~jaxcap.measure.machine.allocator.use_allocator`); ``"default"`` changes
        nothing. The results name the allocator in effect.
    clock
        Returns seconds; for tests.
    empty_caches
        Whether to empty JAX's caches before each first call, so that it is the first in every
        respect. All variants but the last are then compiled again. Where the variants share no
        compiled function, that time can be saved.
    on_round
        Called after each round, so that a progress display takes no time from the samples.

    Returns
    -------
    ResultSet
        One result for each variant.

    Raises
    ------
    MeasurementError
        If a variant raises, or donates its arguments; the message names it.
    ValueError
        If there is no variant, the budget is not positive, or a result cannot record a name or
        parameter.

    Examples
    --------
    >>> import jax.numpy as jnp
    >>> def wave(x):
    ...     return jnp.sin(x) + jnp.cos(x)
    >>> results = compare(
    ...     {"op by op": wave, "compiled": jax.jit(wave)}, jnp.ones(1000), budget_s=0.01
    ... )
    >>> results.variants
    ('op by op', 'compiled')
    >>> print(results.speedup("compiled", over="op by op"))  # doctest: +SKIP
    3.07 (95% interval 2.99 to 3.15, one process)
    """
    if not 0 < budget_s < inf:
        raise ValueError(f"budget_s must be a positive number of seconds, got {budget_s!r}")
    if quick_is_on():
        budget_s = min(budget_s, QUICK_BUDGET_S)
    parameters = validate_labels(parameters or {}, experiment=experiment, variants=variants)
    allocator = use_allocator(allocator)
    environment = description.capture()
    comparison = Comparison(variants, args, clock)
    start_s = time.perf_counter()
    with persistent_cache_disabled():
        comparison.call_first(empty_caches=empty_caches)
        comparison.compile()
        comparison.analyse()
        comparison.calibrate(budget_s / MAX_ROUNDS)
        with _no_garbage_collection():
            _sample_until_precise(comparison, budget_s * len(variants), precision, clock, on_round)
    seconds = time.perf_counter() - start_s
    logger.info("measured %r for %.1f s", experiment, seconds, extra={"measured_s": seconds})
    results = comparison.results(experiment, parameters, allocator)
    return ResultSet(environment=environment, results=results)


def sweep(
    prepare: Callable[..., Variants],
    points: Iterable[Mapping[str, Parameter]],
    *,
    experiment: str,
    **options: Any,
) -> ResultSet:
    """Compare variants in this process, at one point after another.

    Parameters
    ----------
    prepare
        Makes the variants for one point, which is passed as keyword arguments.
    points
        At least one set of parameters.
    experiment
        Recorded in the results.
    **options
        See `compare`.
    """
    sets = [
        compare(prepare(**point), experiment=experiment, parameters=point, **options)
        for point in points
    ]
    if not sets:
        raise ValueError("there are no points: give at least one set of parameters")
    return ResultSet(
        environment=sets[0].environment,
        results=tuple(result for results in sets for result in results),
    )


def _sample_until_precise(
    comparison: Comparison,
    budget_s: float,
    precision: float,
    clock: Clock,
    on_round: Callable[[], object] | None,
) -> None:
    next_look: float = FIRST_LOOK
    is_precise = False
    start = clock()
    for rounds in range(1, MAX_ROUNDS + 1):
        comparison.sample()
        if on_round:
            on_round()
        if rounds >= MIN_ROUNDS and clock() - start >= budget_s:
            return
        if rounds >= next_look:
            next_look *= NEXT_LOOK
            was_precise, is_precise = is_precise, comparison.is_precise(precision)
            if was_precise and is_precise:
                return


@contextmanager
def _no_garbage_collection() -> Iterator[None]:
    was_enabled = gc.isenabled()
    gc.collect()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()
