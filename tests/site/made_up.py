"""A small site with a folder of made-up recordings: what is in them, and in its two tutorials."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

from fakes import ENVIRONMENT, make_result, make_run, make_set
from sites import TUTORIALS

from jaxcap.experiments.ceilings import CEILINGS
from jaxcap.experiments.jit import JIT
from jaxcap.experiments.typed_jit import TYPED_JIT
from jaxcap.results import Device, Result
from jaxcap.results.files import recording_path

MEASURING_PAGE, CLAIMING_PAGE = "basics/introduction", "basics/jnp_and_numpy"
OTHER_PAGES = sorted(set(TUTORIALS) - {MEASURING_PAGE, CLAIMING_PAGE})
# A warning for readers, and one for those who build. A ratio that no machine measures, and one that
# every machine does.
CLAIMING = '''"""
Claims
======

It measures :measured:`speedup`.
"""
# %%
from warnings import warn

warn("lists are short", stacklevel=1)
warn("other work took 50% of the CPU", stacklevel=1)
# %%
import matplotlib.pyplot as plt
from jaxcap.report.claims import claim, speedup_of
from jaxcap.measure.timing import compare

results = compare({"a": list, "b": dict}, experiment="dictionaries", budget_s=0.01)
speedup = results.speedup("a", over="b")
strayed = "7.5"
untrue = claim(
    "lists are made <i>much</i> faster", results, speedup_of("a", over="b"), above=1e9
)
untrue
# %%
true = claim(
    "lists & dictionaries are made", results, speedup_of("a", over="b"), above=1e-9
)
true
# %%
_ = plt.plot([1, 2])
# %%
# Takeaway
# --------
best = true.estimate

# %%
# It came out :measured:`best`.
#
# - That was all.
#
# Next: :doc:`the topics </topics>`.
'''

SCRIPT = Device(platform="gpu", name="<script>alert(1)</script>")

# For HTML, for a script that holds JSON, for reStructuredText, for Markdown and for TeX.
HOSTILE = (
    "<img src=x onerror=\"document.title='ran'\"></script><script>document.title='ran'</script>"
    "</details> `x`_ |y| :math:`1` **z** [l](javascript:0) $\\frac{$ %(s)s {0} \\"
)
DEVICE = Device(platform="gpu", name=f"New GPU {HOSTILE}")
HOSTILE_ENVIRONMENT = ENVIRONMENT.model_copy(
    update={
        "device": DEVICE,
        "cpu": HOSTILE,
        "platform_version": HOSTILE,
        "versions": {"jax": HOSTILE, HOSTILE: "1"},
        "flags": {HOSTILE: HOSTILE},
        "os": HOSTILE,
        "python": HOSTILE,
        "commit": HOSTILE,
        "code": HOSTILE,
    }
)
ON_GPU = [point for point in JIT.full if point["device"] == "gpu"]
RUNS = (make_run([5e-4] * 6), make_run([6e-4] * 6))


def record_claims(folder: Path) -> None:
    """Pretend that a machine recorded this comparison, and one another."""
    for name, experiment in ((SCRIPT.name, "dictionaries"), ("Other GPU", "something else")):
        device = Device(platform="gpu", name=name)
        both = [
            make_result(
                variant,
                make_run(samples_s),
                experiment=experiment,
                device=device,
            )
            for variant, samples_s in (("a", [1e-9] * 6), ("b", [1e3] * 6))
        ]
        environment = ENVIRONMENT.model_copy(update={"device": device})
        recorded = make_set(*both).model_copy(update={"environment": environment})
        recorded.save(recording_path(folder, environment, experiment))


def record_everything(folder: Path) -> None:
    """Pretend that a machine whose names are hostile recorded what pages show."""
    save(folder, measured(MEASURING_PAGE.replace("/", " "), "abc", [{}]))
    save(folder, measured(JIT.name, ("op by op", "jit", HOSTILE), ON_GPU))
    save(folder, measured(TYPED_JIT.name, ("jax.jit", HOSTILE), [{"size": HOSTILE}]))
    save(folder, measured(CEILINGS.name, ("JAX",), CEILINGS.full))


def save(folder: Path, results: Iterable[Result]) -> None:
    recorded = make_set(*results).model_copy(update={"environment": HOSTILE_ENVIRONMENT})
    recorded.save(recording_path(folder, HOSTILE_ENVIRONMENT, recorded[0].experiment))


def measured(experiment: str, variants: Iterable[str], points: Iterable[Any]) -> list[Result]:
    variants = tuple(variants)
    return [
        make_result(
            variant,
            *RUNS,
            experiment=experiment,
            parameters=dict(point),
            device=DEVICE,
            flops=1e6,
            bytes_moved=1e6,
        )
        for point in points
        for variant in variants
    ]
