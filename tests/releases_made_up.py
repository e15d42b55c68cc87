"""A made-up recording of releases: one benchmark that regresses, one with modes, one unchanged."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
from fakes import ENVIRONMENT

from jaxcap.releases.recording.files import EXPERIMENT, TWIN, ReleaseFiles
from jaxcap.results import ProcessSamples, Result, ResultSet

NAMES = ["0.4.31", "0.4.33", "0.5.0", "0.6.0", "0.7.0", "0.8.0"]
REGRESSES = "scan of 1,000 small steps"
MODES = "sort of 10,000 numbers"
UNCHANGED = "sum of a million numbers"
CONTROL_MOVES = "jnp.add of 10 numbers"

# Seconds, by the position of the release; NumPy's is the control.
Level = Callable[[int, np.random.Generator], float]
LEVELS: dict[tuple[str, str], Level] = {
    (REGRESSES, "JAX"): lambda place, _: 60e-6 if place == 0 else 180e-6,
    (MODES, "JAX"): lambda _, rng: float(rng.choice([0.4e-3, 120e-3])),
    (UNCHANGED, "JAX"): lambda *_: 250e-6,
    (CONTROL_MOVES, "JAX"): lambda place, _: 3e-6 if place < 3 else 6e-6,
    (CONTROL_MOVES, "NumPy"): lambda place, _: 0.5e-6 if place < 3 else 1e-6,
}


def record(
    folder: Path,
    *,
    processes: int = 5,
    names: Sequence[str] = NAMES,
    seed: int = 0,
    unchanged: Sequence[str] = (),
) -> ReleaseFiles:
    """Write the files of a recording, with its newest release twice, and with more benchmarks."""
    more: dict[tuple[str, str], Level] = {(name, "JAX"): lambda *_: 250e-6 for name in unchanged}
    rng = np.random.default_rng(seed)
    files = ReleaseFiles(folder)
    folder.mkdir(parents=True, exist_ok=True)
    for place, release in [*enumerate(names), (len(names) - 1, names[-1] + TWIN)]:
        versions = ENVIRONMENT.versions | {"jaxlib": release.removesuffix(TWIN)}
        results = tuple(
            result(benchmark, variant, [_run(level(place, rng), rng) for _ in range(processes)])
            for (benchmark, variant), level in (LEVELS | more).items()
        )
        environment = ENVIRONMENT.model_copy(update={"versions": versions})
        files.save(release, ResultSet(environment=environment, results=results))
        files.save_requirements(release, f"jax=={release.removesuffix(TWIN)}\nnumpy==2.0.0\n")
    return files


def result(benchmark: str, variant: str, runs: Sequence[ProcessSamples]) -> Result:
    return Result(
        experiment=EXPERIMENT,
        variant=variant,
        parameters={"benchmark": benchmark},
        device=ENVIRONMENT.device,
        comparison=benchmark,
        code="0",
        allocator="steady",
        working_set_bytes=80,
        temporary_bytes=4096 if variant == "JAX" else None,
        runs=tuple(runs),
    )


def _run(level_s: float, rng: np.random.Generator) -> ProcessSamples:
    """Measure with noise of 3 % from process to process, and of 1 % in each."""
    level_s *= rng.lognormal(0, 0.03)
    samples = tuple(float(level_s * rng.lognormal(0, 0.01)) for _ in range(5))
    return ProcessSamples(
        first_call_s=0.05 * rng.lognormal(0, 0.03),
        calls_per_sample=1,
        samples_s=samples,
        dispatch_s=samples,
        minor_faults=(),
    )
