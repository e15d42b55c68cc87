"""Stand-ins for what tests must control: a clock, late results, and records of measurements."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from jaxcap.results import Device, Environment, ProcessSamples, Result, ResultSet

CPU = Device(platform="cpu", name="Test CPU")
GPU = Device(platform="gpu", name="Test GPU")

ENVIRONMENT = Environment(
    device=CPU,
    device_count=1,
    platform_version="cpu",
    driver=None,
    cpu="Test CPU",
    cores=2,
    cache_bytes=1000,
    versions={"jax": "0.10.0"},
    flags={"jax_enable_x64": "False"},
    python="3.11.0",
    os="Linux 6.1",
    commit="abc123",
    measured_at=datetime(2026, 11, 21, 12, 30, tzinfo=UTC),
)


@dataclass
class FakeClock:
    """Seconds that pass when told, and one tick at each reading."""

    tick_s: float = 0.0
    now_s: float = 0.0

    def __call__(self) -> float:
        self.now_s += self.tick_s
        return self.now_s

    def advance(self, seconds: float) -> None:
        self.now_s += seconds

    def taking(self, durations_s: Callable[[], float]) -> Callable[[], None]:
        """Make a variant whose calls take the durations that are drawn."""
        return lambda: self.advance(durations_s())


@dataclass
class Late:
    """A result that is there so many seconds after it was returned."""

    clock: FakeClock
    seconds: float

    def block_until_ready(self) -> Late:
        self.clock.advance(self.seconds)
        self.seconds = 0.0
        return self


def make_run(
    samples_s: Sequence[float] = (1e-3,) * 6,
    *,
    first_call_s: float = 1e-2,
    calls_per_sample: int = 1,
    dispatch_s: float = 1e-4,
    minor_faults: int = 0,
    involuntary_switches: int = 0,
    other_work: Sequence[float] = (),
    slowness: Sequence[float] = (),
) -> ProcessSamples:
    return ProcessSamples(
        first_call_s=first_call_s,
        calls_per_sample=calls_per_sample,
        samples_s=tuple(samples_s),
        dispatch_s=(dispatch_s,) * len(samples_s),
        minor_faults=(minor_faults,) * len(samples_s),
        involuntary_switches=(involuntary_switches,) * len(samples_s),
        other_work=tuple(other_work),
        slowness=tuple(slowness),
    )


def make_result(variant: str = "jit", *runs: ProcessSamples, **changes: Any) -> Result:
    facts: dict[str, Any] = {
        "experiment": "test",
        "variant": variant,
        "parameters": {},
        "device": CPU,
        "code": "c0de",
        "allocator": "steady",
        "working_set_bytes": 800,
        "runs": runs or (make_run(),),
    }
    facts |= changes
    # Variants with the same parameters took turns, unless a test says otherwise.
    together = facts["experiment"], sorted(facts["parameters"].items()), facts["allocator"]
    return Result(**({"comparison": str(together)} | facts))


def make_set(*results: Result) -> ResultSet:
    return ResultSet(environment=ENVIRONMENT, results=results or (make_result(),))


def make_pair(fast_s: Sequence[float], slow_s: Sequence[float], **changes: Any) -> ResultSet:
    """Two variants that took turns: ``"jit"`` and the slower ``"op by op"``."""
    return make_set(
        make_result("op by op", make_run(slow_s), **changes),
        make_result("jit", make_run(fast_s), **changes),
    )
