"""The report on this machine: on one that works, on broken ones, and where nothing can be written."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from dataclasses import replace
from functools import cache
from importlib import import_module
from pathlib import Path

import click
import pytest
from click.testing import CliRunner, Result
from fakes import ENVIRONMENT, GPU, make_pair, make_result, make_run, make_set

from jaxcap.cli import cli
from jaxcap.cli.report import measuring, sections
from jaxcap.cli.report.measuring import QUICK, Measured
from jaxcap.measure.machine import doctor as installation
from jaxcap.measure.machine import lock
from jaxcap.measure.machine.doctor import Facts
from jaxcap.measure.machine.limits import Limits
from jaxcap.report.document import Document
from jaxcap.report.statements import tutorial_claims
from jaxcap.results import ResultSet
from jaxcap.results.recordings import Recording

# The modules have the names of the functions that they define.
COMMAND = import_module("jaxcap.cli.report")
RELEASE = import_module("jaxcap.cli.report.sections.release")
# Reading all recordings takes seconds.
LOOK_UP = cache(RELEASE._look_up)
JAXCAP = (sys.executable, "-m", "jaxcap")
BROKEN = "raise AttributeError('no <b>numpy</b>')"
# Hides JAX, as if it weren't installed.
HIDDEN = """
import sys

class Hidden:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in ("jax", "jaxlib"):
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)

sys.meta_path.insert(0, Hidden())
"""
WORKS = Facts(jax="0.10.2", jaxlib="0.10.2", backend="cpu", other_work=0.01)
FAILS = replace(WORKS, backend=None, failure="no luck")
ROOM = Limits(cores=2, usable_cores=2)


@pytest.fixture(autouse=True)
def _folder(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(lock, "LOCK", tmp_path / "lock")
    monkeypatch.setattr(RELEASE, "_look_up", LOOK_UP)
    monkeypatch.chdir(tmp_path)


def report(*arguments: str) -> Result:
    return CliRunner().invoke(cli, ["report", *arguments], catch_exceptions=False)


def document(measured: Measured, facts: Facts = WORKS, limits: Limits = ROOM) -> Document:
    return Document("A title", sections.build(facts, limits, measured))


def test_this_machine_is_measured_and_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    # There is time for the ceilings and the noise, which are always measured.
    monkeypatch.setattr(measuring, "QUICK", replace(QUICK, limit_s=1e-3, budget_s=1e-3))
    done = report("--quick", "--json", "report.json", "--results", "results.json")
    assert done.exit_code == 0, done.output
    assert done.stdout.startswith("```text\nJAX on ")
    *saved, hint = done.stderr.splitlines()
    files = ("jaxcap-report.html", "report.json", "results.json")
    assert saved == [f"saved {file}" for file in files]
    assert hint.endswith("/results/claims.html")
    data = json.loads(Path("report.json").read_text(encoding="utf-8"))
    results = ResultSet.load("results.json")
    assert results.by_experiment().keys() == {"ceilings", "precision"}
    devices = [ceilings["device"] for ceilings in data["ceilings"]]
    assert results.environment.device.model_dump() in devices
    assert all(ceilings["bytes_per_s"] > 0 for ceilings in data["ceilings"])
    assert data["dispatch"]["result"]["value"] > 0
    assert len(data["claims"]) == len(tutorial_claims())
    assert data["noise"]["ratios"].keys() == set(measuring.NOISE)
    without = [claim["reason"] for claim in data["claims"] if claim["outcome"] == "not measured"]
    assert len(without) == len(tutorial_claims()) - 1  # the noise decides one
    assert "not enough time" in without
    assert "missing" not in data["release"]
    assert "<h1>JAX on " in Path("jaxcap-report.html").read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("file", "code", "reason"),
    [
        ("jax.py", BROKEN, "no <b>numpy</b>"),
        ("sitecustomize.py", HIDDEN, "No module named 'jax'"),
    ],
    ids=["broken", "missing"],
)
def test_without_jax_there_is_a_report_that_says_so(
    tmp_path: Path, file: str, code: str, reason: str
) -> None:
    (tmp_path / "path").mkdir()
    (tmp_path / "path" / file).write_text(code, encoding="ascii")
    path = os.pathsep.join((str(tmp_path / "path"), *sys.path))
    done = subprocess.run(
        [*JAXCAP, "report", "--json", "report.json", "--results", "results.json"],
        capture_output=True,
        text=True,
        check=False,
        env=os.environ | {"PYTHONPATH": path},
    )
    assert done.returncode == 0, done.stderr
    assert "Traceback" not in done.stdout + done.stderr
    assert f"Not measured: JAX doesn't start ({reason})." in done.stdout
    assert "Nothing was measured, so results.json was not written." in done.stderr
    assert not Path("results.json").exists()
    data = json.loads(Path("report.json").read_text(encoding="utf-8"))
    assert data["ceilings"] == {"missing": f"JAX doesn't start ({reason})"}
    assert data["limits"]["cores"] >= 1
    assert "<b>numpy" not in Path("jaxcap-report.html").read_text(encoding="utf-8")


@pytest.mark.parametrize("option", ["--html", "--json", "--text", "--results"])
def test_a_file_that_cannot_be_written_is_refused_before_anything_is_measured(
    monkeypatch: pytest.MonkeyPatch, option: str
) -> None:
    monkeypatch.setattr(measuring, "measure", pytest.fail)
    done = report(option, "absent/file")
    assert done.exit_code == 2
    assert f"'{option}': absent/file can't be written (No such file or directory)" in done.stderr
    assert not Path("jaxcap-report.html").exists()


def test_only_one_file_goes_to_standard_output(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(measuring, "measure", pytest.fail)
    done = report("--json", "-", "--html", "-")
    assert done.exit_code == 2
    assert done.stderr == ("Error: --html and --json name the same file, -: name another one\n")


def test_a_system_without_temporary_files_is_refused_before_anything_is_measured(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def refuse() -> None:
        raise FileNotFoundError("No usable temporary directory found")

    monkeypatch.setattr(COMMAND, "gettempdir", refuse)
    monkeypatch.setattr(measuring, "measure", pytest.fail)
    done = report()
    assert done.exit_code == 2
    assert "no folder for temporary files can be written to" in done.stderr


def test_json_on_standard_output_takes_the_place_of_the_text(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(installation, "examine", lambda: FAILS)
    done = report("--json", "-")
    assert json.loads(done.stdout)["summary"]["jax"] == "0.10.2"


def test_a_measurement_elsewhere_on_the_machine_is_waited_for_by_hand(tmp_path: Path) -> None:
    with lock.measuring_alone():
        done = report()
    assert done.exit_code == 2
    assert "another recording or build is measuring on this machine" in done.stderr
    assert not Path("jaxcap-report.html").exists()


def test_whatever_fails_while_measuring_is_said_in_its_place(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def fail(*_: object) -> None:
        raise ZeroDivisionError("no luck")

    monkeypatch.setattr(measuring, "_measure", fail)
    measured = measuring.measure(QUICK, WORKS, ROOM, start_s=0.0, on_progress=print)
    assert "Not measured: ZeroDivisionError: no luck." in document(measured).text()


def test_a_gpu_that_jax_overlooks_is_the_first_thing_that_a_report_says() -> None:
    facts = replace(WORKS, driver="580.65.06")
    text = document(Measured(effort=QUICK), facts).text()
    problem = "Accelerator: an NVIDIA driver; JAX computes on the CPU"
    assert f"Problems: {problem}." in text
    assert "install JAX for CUDA: python -m pip" in text


def test_a_quota_is_said_to_make_times_vary() -> None:
    limits = replace(ROOM, cpu_quota=0.5, memory_bytes=8 * 10**9, memory_limit_bytes=10**9)
    text = document(Measured(effort=QUICK), limits=limits).text()
    assert "This process sees 2 cores, but gets the time of 0.5" in text
    assert "1.0 GB of 8.0 GB, the limit of a container" in text


@pytest.mark.parametrize(
    ("share", "words"),
    [(0.01, "was quiet"), (0.5, "was busy, so times are too long"), (None, "isn't known")],
)
def test_a_report_says_whether_the_machine_is_quiet(share: float | None, words: str) -> None:
    facts = replace(WORKS, other_work=share)
    assert words in document(Measured(effort=QUICK), facts).text()


@pytest.mark.parametrize(
    ("times_s", "words"),
    [
        ([1e-3] * 6, "may seem up to 0% faster or slower"),
        ([1e-3] * 3 + [9e-3] * 3, "may seem 2 or more times faster or slower"),
    ],
)
def test_the_noise_is_what_equal_calls_differ_by(times_s: list[float], words: str) -> None:
    results = make_set(
        *(
            make_result(
                variant, make_run(times), experiment="precision", parameters={"kernel": "sum"}
            )
            for variant, times in (("A", [1e-3] * 6), ("B", times_s))
        )
    )
    text = document(Measured(effort=QUICK, sets={"precision": results})).text()
    assert words in text


def ceilings(rate: float, **environment: object) -> ResultSet:
    """Make ceilings that are so many times those of a machine that copies 2 GB/s."""
    size = {"copy": 10**9, "product": 1000, "call": 1}
    results = make_set(
        *(
            make_result(
                "JAX",
                make_run([1 / rate] * 6),
                experiment="ceilings",
                parameters={"limit": limit, "dtype": "float32", "size": n},
            )
            for limit, n in size.items()
        )
    )
    return results.model_copy(update={"environment": ENVIRONMENT.model_copy(update=environment)})


def test_ceilings_are_ranked_among_those_of_recorded_devices() -> None:
    recordings = [
        Recording({"ceilings": ceilings(rate)}, number=n) for n, rate in ((1, 4.0), (2, 1.0))
    ]
    measured = Measured(
        effort=QUICK,
        environment=ENVIRONMENT,
        sets={"ceilings": ceilings(2.0)},
        recordings=recordings,
    )
    lines = document(measured).text().splitlines()
    (bandwidth,) = (line.split() for line in lines if "Memory bandwidth" in line)
    assert bandwidth == [
        "Memory",
        "bandwidth",
        "4.0",
        "GB/s",
        "8.0",
        "GB/s",
        "2.0",
        "GB/s",
        "2",
        "of",
        "3",
    ]
    (call,) = (line.split() for line in lines if "Shortest call" in line)
    assert call == ["Shortest", "call", "500.0", "ms", "250.0", "ms", "1.0", "s", "2", "of", "3"]


def test_a_device_of_a_kind_that_was_not_recorded_has_no_rank_to_lose() -> None:
    measured = Measured(effort=QUICK, environment=ENVIRONMENT, sets={"ceilings": ceilings(2.0)})
    text = document(measured).text()
    assert "No CPU was recorded to compare Test CPU (CPU) with." in text
    assert "1 of 1" in text


def test_a_claim_is_judged_in_the_words_of_the_site() -> None:
    results = make_pair([1e-3] * 6, [2e-3] * 6)
    results = results.subset(r.model_copy(update={"experiment": "introduction"}) for r in results)
    found = document(Measured(effort=QUICK, sets={"introduction": results}))
    count = len(tutorial_claims())
    assert (
        f"The {count} claims of the tutorials, here: holds 1, does not hold 0, about as fast 0, "
        f"undecided 0, not measured {count - 1}."
    ) in found.text()
    page = found.html()
    assert "✓ holds" in page
    assert (
        'href="https://jaxcap.github.io/jaxcap/latest/tutorials/basics/introduction.html"' in page
    )


def test_results_of_several_devices_stay_out_of_the_file_of_one_machine() -> None:
    one, other = ceilings(1.0), ceilings(1.0, device=GPU)
    assert Measured(effort=QUICK, sets={"a": one, "b": other}).results == one
    assert Measured(effort=QUICK).results is None


def test_help_appears_without_matplotlib() -> None:
    code = (
        "import sys; from jaxcap.cli import cli; "
        "sys.exit('matplotlib' in sys.modules or 'jax' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_the_command_is_in_the_help() -> None:
    assert isinstance(cli, click.Group)
    assert "report" in CliRunner().invoke(cli, ["--help"]).output
