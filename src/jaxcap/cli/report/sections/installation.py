"""The installation, what this process may use of the machine, and how it measured."""

from __future__ import annotations

from collections.abc import Sequence

from rich.filesize import decimal

from jaxcap import __version__
from jaxcap.cli.report.measuring import Measured
from jaxcap.cli.report.sections.parts import not_measured
from jaxcap.measure.machine.doctor import Diagnosis
from jaxcap.measure.machine.limits import Limits
from jaxcap.report.document import Section
from jaxcap.results.environment import provenance
from jaxcap.results.tables import Table


def installation(findings: Sequence[Diagnosis]) -> Section:
    """Tell what is wrong, and what to do about it."""
    rows = [(subject, state, remedy or "nothing") for subject, state, remedy, _ in findings]
    return Section(
        name="installation",
        heading="The installation",
        tables=[Table("What was found", ("", "found", "what to do"), rows, text_columns=(1, 2))],
        data=[finding._asdict() for finding in findings],
    )


def limits(bounds: Limits, measured: Measured) -> Section:
    """Tell how many cores and how much memory there are, and who limits them."""
    sentences = []
    if bounds.effective_cores < bounds.usable_cores:
        sentences.append(
            f"This process sees {bounds.usable_cores} cores, but gets the time of "
            f"{bounds.cpu_quota:g}: libraries start a thread for each core that they see, so their "
            "threads wait for one another, and times vary."
        )
    return Section(
        name="limits",
        heading="Threads and limits",
        sentences=sentences,
        tables=[
            Table(
                "What this process may use",
                ("", "found"),
                [*_rows_of_limits(bounds), *_rows_of_threads(measured)],
                text_columns=(1,),
            )
        ],
        data={
            **vars(bounds),
            "variables": dict(bounds.variables),
            "threads": measured.threads,
        },
    )


def _rows_of_limits(bounds: Limits) -> list[tuple[str, str]]:
    quota = f"that of {bounds.cpu_quota:g} cores" if bounds.cpu_quota else "no limit is known"
    variables = ", ".join(f"{name}={value}" for name, value in bounds.variables.items())
    return [
        ("Cores", f"{bounds.usable_cores} of {bounds.cores} may be used"),
        ("Processor time", quota),
        ("Memory", _memory(bounds)),
        ("Variables", variables or "none is set that limits the threads of libraries"),
    ]


def _memory(bounds: Limits) -> str:
    if bounds.memory_bytes is None:
        return "not known"
    total = decimal(bounds.memory_bytes)
    if bounds.memory_limit_bytes is None:
        return f"{total}; no limit is known"
    return f"{decimal(bounds.memory_limit_bytes)} of {total}, the limit of a container"


def _rows_of_threads(measured: Measured) -> list[tuple[str, str]]:
    rows = []
    for name, call in (("product", "A matrix product"), ("tanh", "A million tanh")):
        if measured.threads:
            threads, cores = measured.threads[name]
            rows.append((call, f"takes {threads} threads, which keep {cores:.1f} cores busy"))
    return rows


def method(measured: Measured) -> Section:
    """Tell how the report was made, and all that its times depend on."""
    heading = "How this was measured"
    if measured.environment is None:
        return not_measured("method", heading, measured.why_missing(""), "Nothing was measured")
    effort = measured.effort
    processes = "one process" if effort.processes == 1 else f"{effort.processes} processes in turns"
    sentence = (
        f"By jaxcap {__version__}, in {processes}, with {effort.budget_s:g} s for each variant in each "
        f"process, in {measured.duration_s:.0f} s altogether."
    )
    sentences = [sentence]
    if effort.processes == 1:
        sentences.append(
            "A single process can't show how much the next one will differ. Leave out --quick to learn "
            "that."
        )
    sentences += [f"{warning[0].upper()}{warning[1:]}." for warning in measured.warnings]
    facts = list(provenance(measured.environment).items())
    return Section(
        name="method",
        heading=heading,
        sentences=sentences,
        tables=[Table("What timings depend on", ("", "found"), facts, text_columns=(1,))],
        data={
            "environment": measured.environment.model_dump(mode="json"),
            "processes": effort.processes,
            "budget_s": effort.budget_s,
            "duration_s": round(measured.duration_s, 1),
            "warnings": measured.warnings,
        },
    )
