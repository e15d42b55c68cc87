"""Samples of variants that take turns in one process.

JAX and CUDA return before the work is done, and a clock ticks and takes time itself. So a sample
ends when the results are computed, lasts a thousand ticks or more, and leaves out the readings of
the clock. All times are seconds for one call.
"""

from __future__ import annotations

import random
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from itertools import pairwise, repeat
from typing import Any, NamedTuple
from uuid import uuid4

import jax

from jaxcap.measure.arrays import Wait, array_leaves, device_of_result, size_bytes, waiter
from jaxcap.measure.compilation import compiled_call, cost_analysis, temporary_bytes
from jaxcap.measure.machine.speed import Probe
from jaxcap.results import Allocator, Cost, Device, Parameter, ProcessSamples, Result
from jaxcap.results.statistics import Estimate

# A sample lasts at least this many ticks of the clock, so that they blur it by at most 0.1 %.
TICKS_PER_SAMPLE = 1000
_MAX_CALLS_PER_SAMPLE = 1_000_000
# Calls that take longer hardly notice that the CPU's caches hold something else when they begin.
SHORT_S = 0.01

# Samples that take longer are long enough, however unlucky they were.
LONG_S = 0.5
# Threads of OpenBLAS and OpenMP go on spinning for up to 0.1 s after a parallel call. Whether a process
# is idle shows in so short a sleep.
SPIN_LIMIT_S, SLEEP_S = 0.2, 3e-4

Clock = Callable[[], float]
Variants = Mapping[str, Callable[..., Any]]


class MeasurementError(RuntimeError):
    """A variant cannot be measured; if it raised an exception, that is the cause."""


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
        self._probe = Probe()
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

    def sample(self, *, among_others: bool = False) -> dict[str, float]:
        """Sample each variant once, in a new random order, and return the seconds of a call.

        Parameters
        ----------
        among_others
            Whether this process takes turns with others. Then each variant is called once before
            its sample if it is short, because what others did has displaced it in the CPU's caches,
            and nothing is left running after it. The speed of the machine is noted with each sample.
        """
        self._shuffle(self._order)
        for sampler in self._order:
            if not among_others:
                sampler.sample()
                continue
            if sampler.is_short:
                sampler.call()
            before_s = self._probe.wait_until_fast()
            sampler.sample()
            sampler.probes_s.append(max(before_s, self._probe.time_s()))
            wait_until_idle()
        return {sampler.name: sampler.samples_s[-1] for sampler in self._samplers}

    @property
    def slow(self) -> tuple[str, ...]:
        """The variants whose last sample was taken while the machine was slow, as far as known."""
        return tuple(s.name for s in self._samplers if self._probe.is_slow(s.probes_s[-1]))

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
                temporary_bytes=sampler.temporary_bytes,
                runs=(sampler.run(self._probe.fastest_s),),
            )
            for sampler in self._samplers
        )


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
    temporary_bytes: int | None = None
    calls: int = 1
    is_short: bool = True
    # By sample:
    samples_s: list[float] = field(default_factory=list)
    dispatch_s: list[float] = field(default_factory=list)
    minor_faults: list[int] = field(default_factory=list)
    involuntary_switches: list[int] = field(default_factory=list)
    probes_s: list[float] = field(default_factory=list)

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
            if compiled := compiled_call(self.fn, *self.args):
                self.cost = cost_analysis(compiled)
                self.temporary_bytes = temporary_bytes(compiled)

    def calibrate(self, sample_s: float) -> None:
        shortest_s = max(sample_s, TICKS_PER_SAMPLE * tick(self.clock))
        with self._naming_the_variant():
            while (
                fastest_s := self._fastest_s()
            ) < shortest_s and self.calls < _MAX_CALLS_PER_SAMPLE:
                self.calls *= 2
        self.is_short = fastest_s < SHORT_S * self.calls

    def _fastest_s(self) -> float:
        """Time the calls of a sample three times if they are short: a single time may be unlucky."""
        times_s = [self._time_calls(self.calls)[0]]
        while len(times_s) < 3 and sum(times_s) < LONG_S:
            times_s.append(self._time_calls(self.calls)[0])
        return min(times_s)

    def sample(self) -> None:
        before = _kernel_counts()
        with self._naming_the_variant():
            total_s, dispatch_s = self._time_calls(self.calls)
        after = _kernel_counts()
        if before and after:
            self.minor_faults.append(after.minor_faults - before.minor_faults)
            self.involuntary_switches.append(
                after.involuntary_switches - before.involuntary_switches
            )
        self.samples_s.append(total_s / self.calls)
        self.dispatch_s.append(dispatch_s / self.calls)

    def is_precise(self, precision: float) -> bool:
        time_s = Estimate.from_runs([self.samples_s], unit="s")
        reach_s = max(time_s.high - time_s.value, time_s.value - time_s.low)
        return reach_s < precision * time_s.value

    def run(self, fastest_probe_s: float) -> ProcessSamples:
        return ProcessSamples(
            first_call_s=self.first_call_s,
            calls_per_sample=self.calls,
            samples_s=tuple(self.samples_s),
            dispatch_s=tuple(self.dispatch_s),
            minor_faults=tuple(self.minor_faults),
            involuntary_switches=tuple(self.involuntary_switches),
            slowness=tuple(seconds / fastest_probe_s for seconds in self.probes_s),
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


def wait_until_idle() -> None:
    """Wait until no thread of this process is busy, so that none disturbs what is measured next."""
    deadline_s = time.monotonic() + SPIN_LIMIT_S
    while time.monotonic() < deadline_s:
        before_s = time.process_time()
        time.sleep(SLEEP_S)
        if time.process_time() - before_s < SLEEP_S / 2:
            return


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


class _KernelCounts(NamedTuple):
    """What the kernel has counted for all threads of this process so far."""

    minor_faults: int
    involuntary_switches: int


def _kernel_counts() -> _KernelCounts | None:
    """Read the counts, where the system has them."""
    if sys.platform == "win32":
        return None
    import resource

    usage = resource.getrusage(resource.RUSAGE_SELF)
    return _KernelCounts(usage.ru_minflt, usage.ru_nivcsw)
