"""How long a call takes, and how surely.

JAX and CUDA return before the work is done, compile on the first call, and run on machines that
drift. So the clock here stops when the result is there, the first call is timed apart, variants
take turns in random order, and every figure has an interval. All times are seconds for one call.
"""

from __future__ import annotations

import gc
import random
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from itertools import pairwise, repeat
from math import inf
from typing import Any

import jax

from jaxcap.measure import machine
from jaxcap.measure.allocator import steady_allocator
from jaxcap.measure.arrays import device_of_result, size_bytes, waiter
from jaxcap.measure.compilation import cost_analysis
from jaxcap.results import Allocator, Parameter, ProcessSamples, Result, ResultSet
from jaxcap.results.statistics import median_interval

# A sample lasts at least this many ticks of the clock, so that they blur it by at most 0.1 %.
TICKS_PER_SAMPLE = 1000
# Sampling may stop when the interval of each median is within this share of it.
PRECISION = 0.01
# Fewer rounds give no 95 % interval, more make files large and improve little: a long budget makes
# longer samples instead.
FEWEST_ROUNDS, MOST_ROUNDS = 6, 100
# The stopping rule looks after this many rounds, and then at growing distances, and believes what
# it saw twice in a row: to look after each round would be to stop at the luckiest.
FIRST_LOOK, NEXT_LOOK = 20, 1.5

_MOST_CALLS_PER_SAMPLE = 1_000_000

Clock = Callable[[], float]
Variants = Mapping[str, Callable[..., Any]]


class MeasurementError(RuntimeError):
    """A variant raised while it was measured; its own exception is the cause."""


def measure(
    fn: Callable[..., Any],
    /,
    *args: Any,
    experiment: str = "measure",
    variant: str | None = None,
    parameters: Mapping[str, Parameter] | None = None,
    budget_s: float = 1.0,
    precision: float = PRECISION,
    allocator: Allocator = "steady",
    clock: Clock = time.perf_counter,
) -> Result:
    """Time ``fn(*args)``.

    Parameters
    ----------
    fn
        Any callable. Its result may be a pytree of NumPy, JAX or PyTorch arrays, of any shapes
        and dtypes; the clock stops when all of them are computed.
    *args
        Passed to each call.
    experiment, variant, parameters
        Recorded in the result; the variant is named after ``fn`` if not given.
    budget_s
        Seconds of sampling, exceeded only to take the six samples that an interval needs.
    precision
        Sampling ends early when the interval reaches no further than this share of the median to
        either side. Zero uses the whole budget.
    allocator
        ``"steady"`` keeps freed memory in the process (see
        `~jaxcap.measure.allocator.steady_allocator`).
    clock
        Returns seconds; for tests.

    Returns
    -------
    Result
        With one run: its interval is over repeats inside this process, which agree with one
        another better than the next process will. To know about that one too, run an
        `~jaxcap.measure.experiment.Experiment`.

    Raises
    ------
    MeasurementError
        If ``fn`` raises.
    ValueError
        If the budget is not positive.
    """
    name = variant or str(getattr(fn, "__name__", type(fn).__name__))
    return compare(
        {name: fn},
        *args,
        experiment=experiment,
        parameters=parameters,
        budget_s=budget_s,
        precision=precision,
        allocator=allocator,
        clock=clock,
    ).results[0]


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
    """Time variants that do the same work, taking turns.

    In each round every variant is sampled once, in a new random order, so that a machine that
    drifts hits them alike; speed-ups come from the ratios within rounds. First all variants are
    called once with empty compilation caches (`jax.clear_caches`), which gives their first-call
    times, and again to warm up.

    Parameters
    ----------
    variants
        Callables by name.
    *args
        Passed to each call of each variant.
    experiment, parameters
        Recorded in the results.
    budget_s
        Seconds of sampling for each variant.
    precision, allocator, clock
        As in `measure`; sampling ends when all variants are precise enough.
    empty_caches
        Whether to empty JAX's caches before each first call, so that it is the first in every
        respect. Then all but the last have to be compiled again. That can be saved where the
        variants share no compiled function.
    on_round
        Called after each round: for a progress display that takes no time from what is measured.

    Returns
    -------
    ResultSet
        One result for each variant.

    Raises
    ------
    MeasurementError
        If a variant raises; the message names it.
    ValueError
        If there is no variant, or the budget is not positive.
    """
    if not 0 < budget_s < inf:
        raise ValueError(f"budget_s must be a positive number of seconds, got {budget_s!r}")
    if not variants:
        raise ValueError("variants is empty: give at least one callable by name")
    if allocator == "steady":
        steady_allocator()
    here = machine.capture()
    samplers = [_Sampler(name, fn, args, clock) for name, fn in variants.items()]
    for sampler in samplers:
        sampler.call_first(empty_caches=empty_caches)
    for sampler in samplers:
        sampler.warm_up(budget_s / MOST_ROUNDS)
    with _no_garbage_collection():
        _take_turns(samplers, budget_s * len(samplers), precision, clock, on_round)
    results = tuple(
        Result(
            experiment=experiment,
            variant=sampler.name,
            parameters=dict(parameters or {}),
            device=sampler.device,
            rounds_with=tuple(variants),
            allocator=allocator,
            working_set_bytes=sampler.working_set_bytes,
            flops=sampler.work and sampler.work.flops,
            bytes_moved=sampler.work and sampler.work.bytes_moved,
            runs=(sampler.run(),),
        )
        for sampler in samplers
    )
    return ResultSet(environment=here, results=results)


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
        Makes the variants for a point, given as keyword arguments.
    points
        At least one set of parameters.
    experiment
        Recorded in the results.
    **options
        As of `compare`.
    """
    sets = [
        compare(prepare(**point), experiment=experiment, parameters=point, **options)
        for point in points
    ]
    return ResultSet(
        environment=sets[0].environment,
        results=tuple(result for results in sets for result in results.results),
    )


@dataclass
class _Sampler:
    """One variant, its calibration and the samples taken of it so far."""

    name: str
    fn: Callable[..., Any]
    args: tuple[Any, ...]
    clock: Clock
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
        self.device = device_of_result(result)
        inputs = (self.fn.args, self.fn.keywords) if isinstance(self.fn, partial) else ()
        self.working_set_bytes = size_bytes((self.args, inputs, result))

    def warm_up(self, sample_s: float) -> None:
        """Compile again what other variants' first calls emptied, and find the sample size.

        A sample takes at least ``sample_s`` seconds.
        """
        with self._naming_the_variant():
            self._time_calls(1)
            self.work = cost_analysis(self.fn, *self.args)
            self.calls = 1
            enough = max(sample_s, TICKS_PER_SAMPLE * tick(self.clock))
            while self._time_calls(self.calls)[0] < enough and self.calls < _MOST_CALLS_PER_SAMPLE:
                self.calls *= 2

    def sample(self) -> None:
        faults_before = _minor_faults()
        with self._naming_the_variant():
            total_s, dispatch_s = self._time_calls(self.calls)
        self.minor_faults.append(_minor_faults() - faults_before)
        self.samples_s.append(total_s / self.calls)
        self.dispatch_s.append(dispatch_s / self.calls)

    def is_precise(self, precision: float) -> bool:
        time_s = median_interval(self.samples_s, unit="s", basis="")
        return time_s.high - time_s.low < 2 * precision * time_s.value

    def run(self) -> ProcessSamples:
        return ProcessSamples(
            first_call_s=self.first_call_s,
            calls_per_sample=self.calls,
            samples_s=tuple(self.samples_s),
            dispatch_s=tuple(self.dispatch_s),
            minor_faults=tuple(self.minor_faults),
        )

    def _time_calls(self, calls: int) -> tuple[float, float]:
        """Seconds that ``calls`` calls took in all, and until each had returned."""
        fn, args, clock, wait = self.fn, self.args, self.clock, self.wait
        if wait is None:
            start = clock()
            for _ in repeat(None, calls):
                fn(*args)
            total_s = clock() - start
            return total_s, total_s
        dispatch_s = 0.0
        start = now = clock()
        for _ in repeat(None, calls):
            result = fn(*args)
            dispatch_s += clock() - now
            wait(result)
            del result
            now = clock()
        return now - start, dispatch_s

    @contextmanager
    def _naming_the_variant(self) -> Iterator[None]:
        try:
            yield
        except Exception as error:
            raise MeasurementError(
                f"variant {self.name!r} raised {type(error).__name__}: {error}"
            ) from error


def _take_turns(
    samplers: list[_Sampler],
    budget_s: float,
    precision: float,
    clock: Clock,
    on_round: Callable[[], object] | None,
) -> None:
    order = samplers.copy()
    shuffle = random.Random().shuffle  # the user's own random state stays as it is
    next_look: float = FIRST_LOOK
    is_precise = False
    start = clock()
    for rounds in range(1, MOST_ROUNDS + 1):
        shuffle(order)
        for sampler in order:
            sampler.sample()
        if on_round:
            on_round()
        if rounds < FEWEST_ROUNDS:
            continue
        if clock() - start >= budget_s:
            return
        if rounds >= next_look:
            next_look *= NEXT_LOOK
            was_precise, is_precise = is_precise, all(s.is_precise(precision) for s in samplers)
            if was_precise and is_precise:
                return


def tick(clock: Clock = time.perf_counter) -> float:
    """Smallest step in seconds by which a clock was seen to advance."""
    readings = [clock() for _ in range(100)]
    steps = [b - a for a, b in pairwise(readings) if b > a]
    return min(steps, default=time.get_clock_info("perf_counter").resolution)


def _minor_faults() -> int:
    """Memory pages that the kernel has mapped for this process so far, where it counts them."""
    if sys.platform == "win32":
        return 0
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
