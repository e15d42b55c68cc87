"""How long a call takes, and how certain that is.

JAX and CUDA return before the work is done, compile on the first call, and run on machines that
drift. So the clock here stops when the result is computed, the first call is timed separately,
variants take turns in random order, and every estimate has an interval. All times are seconds for
one call.
"""

from __future__ import annotations

import gc
import random
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from itertools import pairwise, repeat
from math import inf
from typing import Any
from uuid import uuid4

import jax

from jaxcap.measure import machine
from jaxcap.measure.allocator import use_allocator
from jaxcap.measure.arrays import Wait, array_leaves, device_of_result, size_bytes, waiter
from jaxcap.measure.compilation import cost_analysis, persistent_cache_disabled
from jaxcap.measure.parameters import validate_labels
from jaxcap.results import Allocator, Cost, Parameter, ProcessSamples, Result, ResultSet
from jaxcap.results.environment import Device
from jaxcap.results.statistics import Estimate

# A sample lasts at least this many ticks of the clock, so that they blur it by at most 0.1 %.
TICKS_PER_SAMPLE = 1000
# Sampling may stop when the interval of each median reaches no further than this share of it.
PRECISION = 0.01
# Fewer rounds give no 95 % interval. More make files large and improve little, so a long budget is
# spent on longer samples instead.
MIN_ROUNDS, MAX_ROUNDS = 6, 100
# The stopping rule looks after this many rounds and then at growing distances, and stops only when
# it sees precise times twice in a row: looking after each round would stop at the luckiest one.
FIRST_LOOK, NEXT_LOOK = 20, 1.5

_MAX_CALLS_PER_SAMPLE = 1_000_000
# Calls that take longer hardly notice that the CPU's caches hold something else when they begin.
SHORT_S = 0.01

Clock = Callable[[], float]
Variants = Mapping[str, Callable[..., Any]]


class MeasurementError(RuntimeError):
    """A variant cannot be measured; if it raised an exception, that is the cause."""


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
        that one as well.
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
        ends (see `~jaxcap.measure.allocator.use_allocator`); ``"default"`` changes nothing. The
        results name the allocator in effect.
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
    parameters = validate_labels(parameters or {}, experiment=experiment, variants=variants)
    allocator = use_allocator(allocator)
    environment = machine.capture()
    comparison = Comparison(variants, args, clock)
    with persistent_cache_disabled():
        comparison.call_first(empty_caches=empty_caches)
        comparison.compile()
        comparison.analyse()
        comparison.calibrate(budget_s / MAX_ROUNDS)
        with _no_garbage_collection():
            _sample_until_precise(comparison, budget_s * len(variants), precision, clock, on_round)
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


def time_sequence(
    fn: Callable[..., Any],
    arguments: Sequence[tuple[Any, ...]],
    *,
    repeats: int = 7,
    clock: Clock = time.perf_counter,
) -> list[Estimate]:
    """Time a sequence of calls whose order matters because earlier calls compile for later ones.

    Parameters
    ----------
    fn
        A function from `jax.jit`.
    arguments
        The arguments of each call.
    repeats
        How often to repeat the sequence, each time starting with empty compilation caches.
    clock
        A function that returns seconds; for tests.

    Returns
    -------
    list of Estimate
        The time of each call until its result is ready, over the repeats in this process.
    """
    samples: list[list[float]] = [[] for _ in arguments]
    with persistent_cache_disabled():
        for _ in range(repeats):
            jax.clear_caches()  # type: ignore[no-untyped-call]
            for times, args in zip(samples, arguments, strict=True):
                start = clock()
                jax.block_until_ready(fn(*args))  # type: ignore[no-untyped-call]
                times.append(clock() - start)
    return [Estimate.from_runs([times], unit="s") for times in samples]


class Comparison:
    """Variants that take turns in this process, and the samples taken of them so far."""

    def __init__(
        self,
        variants: Variants,
        args: tuple[Any, ...] = (),
        clock: Clock = time.perf_counter,
    ) -> None:
        if not variants:
            raise ValueError("variants is empty: give at least one callable by name")
        reading_s = reading_time(clock)
        self._samplers = [
            _Sampler(name, fn, args, clock, reading_s) for name, fn in variants.items()
        ]
        self._order = self._samplers.copy()
        self._shuffle = random.Random().shuffle  # the user's own random state stays as it is

    def call_first(self, *, empty_caches: bool) -> None:
        """Time the first call of each variant."""
        for sampler in self._samplers:
            sampler.call_first(empty_caches=empty_caches)

    def compile(self) -> None:
        """Compile again what the first calls of other variants may have removed from the caches."""
        for sampler in self._samplers:
            sampler.call()

    def analyse(self) -> None:
        """Analyse the cost of each variant, which compiles it once more."""
        for sampler in self._samplers:
            sampler.analyse()

    def calibrate(self, sample_s: float) -> None:
        """Find out how many calls of each variant last at least ``sample_s`` seconds."""
        for sampler in self._samplers:
            sampler.calibrate(sample_s)

    def refill_caches(self) -> None:
        """Call each short variant once, because other work has displaced it in the CPU's caches."""
        for sampler in self._samplers:
            if sampler.is_short:
                sampler.call()

    def sample(self) -> dict[str, float]:
        """Sample each variant once, in a new random order, and return the seconds of a call."""
        self._shuffle(self._order)
        for sampler in self._order:
            sampler.sample()
        return {sampler.name: sampler.samples_s[-1] for sampler in self._samplers}

    def is_precise(self, precision: float) -> bool:
        """Whether no interval reaches further than this share of its median to either side."""
        return all(sampler.is_precise(precision) for sampler in self._samplers)

    def results(
        self, experiment: str, parameters: dict[str, Parameter], allocator: Allocator
    ) -> tuple[Result, ...]:
        """Return one result for each variant."""
        comparison = uuid4().hex[:12]
        return tuple(
            Result(
                experiment=experiment,
                variant=sampler.name,
                parameters=parameters,
                device=sampler.device,
                comparison=comparison,
                allocator=allocator,
                working_set_bytes=sampler.working_set_bytes,
                flops=sampler.cost and sampler.cost.flops,
                bytes_moved=sampler.cost and sampler.cost.bytes_moved,
                runs=(sampler.run(),),
            )
            for sampler in self._samplers
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


@dataclass
class _Sampler:
    """One variant, how it is sampled, and the samples taken so far."""

    name: str
    fn: Callable[..., Any]
    args: tuple[Any, ...]
    clock: Clock
    reading_s: float
    # From the first call:
    wait: Wait | None = field(init=False)
    first_call_s: float = field(init=False)
    device: Device = field(init=False)
    working_set_bytes: int = field(init=False)
    # From the analysis and the calibration:
    cost: Cost | None = None
    calls: int = 1
    is_short: bool = True
    # By sample:
    samples_s: list[float] = field(default_factory=list)
    dispatch_s: list[float] = field(default_factory=list)
    minor_faults: list[int] = field(default_factory=list)

    def call_first(self, *, empty_caches: bool) -> None:
        if empty_caches:
            jax.clear_caches()  # type: ignore[no-untyped-call]
        with self._naming_the_variant():
            start = self.clock()
            result = self.fn(*self.args)
            self.wait = waiter(result)
            if self.wait:
                self.wait(result)
            self.first_call_s = self.clock() - start
        bound = (self.fn.args, self.fn.keywords) if isinstance(self.fn, partial) else ()
        inputs = (self.args, bound)
        self._require_undonated(inputs)
        self.device = device_of_result(result)
        self.working_set_bytes = size_bytes((inputs, result))

    def call(self) -> None:
        with self._naming_the_variant():
            self._time_calls(1)

    def analyse(self) -> None:
        with self._naming_the_variant():
            self.cost = cost_analysis(self.fn, *self.args)

    def calibrate(self, sample_s: float) -> None:
        shortest_s = max(sample_s, TICKS_PER_SAMPLE * tick(self.clock))
        with self._naming_the_variant():
            while True:
                total_s, _ = self._time_calls(self.calls)
                self.is_short = total_s < SHORT_S * self.calls
                if total_s >= shortest_s or self.calls >= _MAX_CALLS_PER_SAMPLE:
                    break
                self.calls *= 2

    def sample(self) -> None:
        faults_before = _minor_faults()
        with self._naming_the_variant():
            total_s, dispatch_s = self._time_calls(self.calls)
        if faults_before is not None:
            self.minor_faults.append((_minor_faults() or 0) - faults_before)
        self.samples_s.append(total_s / self.calls)
        self.dispatch_s.append(dispatch_s / self.calls)

    def is_precise(self, precision: float) -> bool:
        time_s = Estimate.from_runs([self.samples_s], unit="s")
        reach_s = max(time_s.high - time_s.value, time_s.value - time_s.low)
        return reach_s < precision * time_s.value

    def run(self) -> ProcessSamples:
        return ProcessSamples(
            first_call_s=self.first_call_s,
            calls_per_sample=self.calls,
            samples_s=tuple(self.samples_s),
            dispatch_s=tuple(self.dispatch_s),
            minor_faults=tuple(self.minor_faults),
        )

    def _time_calls(self, calls: int) -> tuple[float, float]:
        """Seconds that all calls took until their results were ready, and until they returned."""
        if self.wait is None:
            total_s = self._time_synchronous_calls(calls)
            return total_s, total_s
        return self._time_asynchronous_calls(calls, self.wait)

    def _time_synchronous_calls(self, calls: int) -> float:
        fn, args, clock = self.fn, self.args, self.clock
        start = clock()
        for _ in repeat(None, calls):
            fn(*args)
        return clock() - start

    def _time_asynchronous_calls(self, calls: int, wait: Wait) -> tuple[float, float]:
        fn, args, clock = self.fn, self.args, self.clock
        dispatch_s = 0.0
        start = now = clock()
        for _ in repeat(None, calls):
            result = fn(*args)
            dispatch_s += clock() - now
            wait(result)
            del result
            now = clock()
        # Each call contains two readings of the clock, and its dispatch one. Synchronous calls have
        # none between them, so the readings are taken out. Where a device computes during the first
        # of them, that takes out up to one reading too much: some 50 ns of a far longer call.
        readings_s = calls * self.reading_s
        return max(now - start - 2 * readings_s, 0.0), max(dispatch_s - readings_s, 0.0)

    def _require_undonated(self, inputs: object) -> None:
        if any(isinstance(leaf, jax.Array) and leaf.is_deleted() for leaf in array_leaves(inputs)):
            raise MeasurementError(
                f"variant {self.name!r} cannot be called again, because it donates an "
                "argument's memory: measure it without donation (donate_argnums, donate_argnames)"
            )

    @contextmanager
    def _naming_the_variant(self) -> Iterator[None]:
        try:
            yield
        except Exception as error:
            raise MeasurementError(
                f"variant {self.name!r} raised {type(error).__name__}: {error}"
            ) from error


def tick(clock: Clock) -> float:
    """Return the smallest step, in seconds, by which a clock advances."""
    readings = [clock() for _ in range(100)]
    steps = [b - a for a, b in pairwise(readings) if b > a]
    return min(steps, default=time.get_clock_info("perf_counter").resolution)


def reading_time(clock: Clock) -> float:
    """Return the time, in seconds, that one reading of a clock takes.

    It is that of the fastest of several batches, since other programs can only make a batch slower.
    """
    batches = [[clock() for _ in range(101)] for _ in range(10)]
    return min((readings[-1] - readings[0]) / 100 for readings in batches)


def _minor_faults() -> int | None:
    """Memory pages that the kernel has mapped for this process so far, where it counts them."""
    if sys.platform == "win32":
        return None
    import resource

    return resource.getrusage(resource.RUSAGE_SELF).ru_minflt


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
