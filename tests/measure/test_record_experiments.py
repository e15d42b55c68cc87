"""Recording: what is kept, what is measured again, and what survives a sudden end."""

from __future__ import annotations

import os
import random
import re
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from click.testing import Result as Outcome
from fakes import CPU, ENVIRONMENT, GPU, make_result, make_run, make_set
from sample_experiments import SUMS

from jaxcap.cli import cli
from jaxcap.experiments import catalogue, unknown_parameters
from jaxcap.measure import record_experiments
from jaxcap.measure.experiment import Experiment
from jaxcap.measure.machine import lock
from jaxcap.measure.machine.lock import BusyError, measuring_alone
from jaxcap.measure.record_experiments import outdated_experiments, record
from jaxcap.results import Result, ResultsError, ResultSet
from jaxcap.results.files import recording_path, slug
from jaxcap.results.recordings import (
    Recording,
    changes_since,
    load_all,
    load_recording,
    matching_results,
)

# Their only point has no parameters, as the results of `fakes` have none.
SUM = replace(SUMS, quick=({},))
BOTH = {name: replace(SUM, name=name) for name in ("first sums", "second sums")}


@pytest.fixture(autouse=True)
def own_lock(monkeypatch: pytest.MonkeyPatch, tmp_path_factory: pytest.TempPathFactory) -> None:
    monkeypatch.delenv("JAXCAP_LOCK_HELD", raising=False)
    monkeypatch.setattr(lock, "LOCK", tmp_path_factory.mktemp("lock") / "lock")


@pytest.fixture
def measured(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Names of the experiments that are measured, which is pretended."""
    names: list[str] = []

    def run(
        experiment: Experiment,
        processes: int,
        on_progress: Callable[[float], object] | None = None,
        **_: Any,
    ) -> ResultSet:
        names.append(experiment.name)
        if on_progress:
            on_progress(1.0)
        runs = [make_run()] * processes
        result = make_result("jit", *runs, experiment=experiment.name, code=experiment.code)
        return make_set(result)

    monkeypatch.setattr(Experiment, "run", run)
    monkeypatch.setattr(record_experiments, "capture", lambda: ENVIRONMENT)
    return names


def test_a_file_for_each_experiment_in_the_folder_of_the_device(
    tmp_path: Path, measured: list[str]
) -> None:
    written = record(tmp_path, BOTH)
    assert written == [
        tmp_path / "test-cpu" / "first-sums.json",
        tmp_path / "test-cpu" / "second-sums.json",
    ]
    assert [ResultSet.load(path).results[0].experiment for path in written] == list(BOTH)


def test_what_is_recorded_is_kept(tmp_path: Path, measured: list[str]) -> None:
    record(tmp_path, {"first sums": BOTH["first sums"]})
    record(tmp_path, BOTH)
    assert record(tmp_path, BOTH) == []
    assert measured == ["first sums", "second sums"]


def test_what_cannot_be_read_is_measured_again(tmp_path: Path, measured: list[str]) -> None:
    (path, _) = record(tmp_path, BOTH)
    path.write_text("{", encoding="utf-8")
    assert record(tmp_path, BOTH) == [path]


@pytest.mark.parametrize(
    ("changes", "reasons"),
    [
        ({"versions": {"jax": "0.9.0"}}, ["jax 0.9.0, now 0.10.0"]),
        ({"versions": {}}, ["jax missing, now 0.10.0"]),
        ({"device": GPU}, ["Test GPU (GPU), now Test CPU (CPU)"]),
        (
            {"flags": ENVIRONMENT.flags | {"XLA_FLAGS": "--other"}},
            ["XLA_FLAGS --other, now not set"],
        ),
        ({"commit": "another", "python": "3.14.0"}, []),
    ],
)
def test_a_recording_is_outdated_by_what_changes_its_meaning(
    changes: Mapping[str, Any], reasons: list[str], tmp_path: Path
) -> None:
    before = ENVIRONMENT.model_copy(update=dict(changes))
    recording = make_set(make_result(code=SUMS.code)).model_copy(update={"environment": before})
    assert changes_since(recording, ENVIRONMENT, SUMS.code) == reasons
    recording.save(recording_path(tmp_path, ENVIRONMENT, SUM.name))
    assert outdated_experiments(tmp_path, {SUM.name: SUM}, ENVIRONMENT, processes=1) == (
        [SUM] if reasons else []
    )


def test_a_recording_of_other_code_is_measured_again(tmp_path: Path) -> None:
    make_set(make_result(code="another")).save(recording_path(tmp_path, ENVIRONMENT, SUM.name))
    assert outdated_experiments(tmp_path, {SUM.name: SUM}, ENVIRONMENT, processes=1) == [SUM]


def test_two_recordings_at_once_are_refused(tmp_path: Path, measured: list[str]) -> None:
    with measuring_alone(), pytest.raises(BusyError, match="another recording or build is"):
        record(tmp_path, BOTH)
    assert record(tmp_path, BOTH)  # the lock is free again


def test_callbacks_say_what_begins_and_what_ends(tmp_path: Path, measured: list[str]) -> None:
    events: list[str] = []
    record(
        tmp_path,
        BOTH,
        on_start=lambda experiment: events.append(experiment.name),
        on_progress=lambda share: events.append(f"{share:.0%}"),
    )
    assert events == ["first sums", "100%", "second sums", "100%"]


def test_a_recording_with_fewer_processes_is_out_of_date(
    tmp_path: Path, measured: list[str]
) -> None:
    record(tmp_path, BOTH, processes=2)
    assert record(tmp_path, BOTH, processes=2) == []
    assert record(tmp_path, BOTH, processes=1) == []
    assert len(record(tmp_path, BOTH, processes=3)) == 2


def test_a_recording_is_as_new_as_its_newest_results() -> None:
    later = ENVIRONMENT.model_copy(
        update={"measured_at": ENVIRONMENT.measured_at + timedelta(days=1), "device": GPU}
    )
    sets = [make_set(), make_set().model_copy(update={"environment": later}), make_set()]
    recording = Recording(dict(zip("abc", sets, strict=True)))
    assert (recording.environment, recording.device) == (later, GPU)


def test_a_busy_machine_is_reported_in_a_sentence(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def busy() -> None:
        raise BusyError("another recording is measuring")

    monkeypatch.setattr(record_experiments, "measuring_alone", busy)
    result = CliRunner().invoke(cli, ["record", "--folder", str(tmp_path), "product"])
    assert result.exit_code == 2
    assert "Error: another recording is measuring" in result.stderr


def test_the_command_records_what_is_named(tmp_path: Path) -> None:
    arguments = ["record", "--processes", "2", "--budget", "0.001", "--folder", str(tmp_path)]
    result = CliRunner().invoke(cli, [*arguments, "typed_jit"], catch_exceptions=False)
    assert result.exit_code == 0
    file, environment = sorted(tmp_path.rglob("*.json"), key=lambda path: -len(path.read_bytes()))
    assert (file.name, environment.name) == ("typed-jit.json", "environment.json")
    assert len(ResultSet.load(file).results[0].runs) == 2
    again = CliRunner().invoke(cli, [*arguments, "typed_jit"], catch_exceptions=False)
    assert "1 of 1 experiments are up to date" in again.output


def test_an_unknown_experiment_is_refused_with_those_there_are(tmp_path: Path) -> None:
    result = CliRunner().invoke(cli, ["record", "--folder", str(tmp_path), "nothing"])
    assert result.exit_code == 2
    assert "there is no experiment named nothing: choose from" in result.stderr
    assert "dispatch chain" in result.stderr
    assert list(tmp_path.iterdir()) == []


def test_all_experiments_have_names_of_their_own() -> None:
    names = list(catalogue())
    assert {"jit", "dispatch", "mnist scaling"} <= set(names)
    assert len({slug(name) for name in names}) == len(names)
    titles = {experiment.title for experiment in catalogue().values()}
    assert len(titles - set(names)) == len(names)


def test_recordings_of_all_devices_are_read(tmp_path: Path, measured: list[str]) -> None:
    record(tmp_path, BOTH)
    on_gpu = ENVIRONMENT.model_copy(update={"device": GPU, "versions": {"jax": "0.11.0"}})
    found = make_set(make_result(experiment="first sums", device=GPU))
    found = found.model_copy(update={"environment": on_gpu})
    found.save(recording_path(tmp_path, on_gpu, "first sums"))
    cpu, gpu = load_all(tmp_path, on_invalid=pytest.fail)
    assert list(cpu.sets) == list(BOTH)
    assert (gpu.device, gpu.environment, gpu.sets) == (GPU, on_gpu, {"first sums": found})
    assert load_all(tmp_path / "nothing here", on_invalid=pytest.fail) == []


def test_what_cannot_be_used_is_left_out_with_a_reason(tmp_path: Path, measured: list[str]) -> None:
    good, bad = record(tmp_path, BOTH)
    bad.write_text("{", encoding="utf-8")
    misplaced = tmp_path / "other-device" / good.name
    misplaced.parent.mkdir()
    misplaced.write_bytes(good.read_bytes())
    reasons: list[str] = []
    (found,) = load_all(tmp_path, on_invalid=reasons.append)
    assert list(found.sets) == ["first sums"]
    broken, elsewhere = reasons
    assert (
        f"{misplaced} is not where it belongs: results of 'first sums' are kept in {good.relative_to(tmp_path)}, "
        in broken + elsewhere
    )
    assert f"{bad} is not valid JSON" in broken + elsewhere


@pytest.mark.parametrize("path", ["..", ".", "first-sums.json", "../test-cpu/first-sums.json"])
def test_validate_knows_recordings_wherever_it_runs(
    path: str, tmp_path: Path, measured: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    record(tmp_path, BOTH)
    monkeypatch.chdir(tmp_path / "test-cpu")
    assert "first-sums.json: valid, 1 results" in validate(path).output


ON_GPU = ENVIRONMENT.model_copy(update={"device": GPU})


@pytest.mark.parametrize(
    ("misplaced", "place"),
    [
        (make_set(make_result(experiment="first sums")), "test-cpu/first-sums.json"),
        (
            make_set(*(make_result(experiment=name) for name in reversed(BOTH))),
            "test-cpu/second-sums.json",
        ),
        (
            ResultSet(environment=ON_GPU, results=(make_result(experiment="second sums"),)),
            "test-gpu/second-sums.json",
        ),
    ],
    ids=["another experiment", "two experiments", "another device"],
)
def test_validate_refuses_what_a_build_would_leave_out(
    misplaced: ResultSet, place: str, tmp_path: Path, measured: list[str]
) -> None:
    good, bad = record(tmp_path, BOTH)
    misplaced.save(bad)
    result = validate(tmp_path)
    assert result.exit_code == 2
    assert f"{good}: valid" in result.stdout
    assert f"{bad} is not where it belongs: " in result.stderr
    assert f"are kept in {place}, without those of any other experiment" in result.stderr
    misplaced.save(tmp_path / "no-recording.json")  # it may be anywhere
    assert validate(tmp_path / "no-recording.json").exit_code == 0


def validate(path: object) -> Outcome:
    return CliRunner().invoke(cli, ["results", "validate", str(path)])


@pytest.mark.parametrize(
    ("changes", "doubt"),
    [
        (
            {"runs": (make_run([1e-13] * 6),)},
            "'jit' took 1e-13 s, which is too short for any clock",
        ),
        ({"runs": (make_run(first_call_s=0.0),)}, "'jit' took 0.0 s"),
    ],
)
def test_what_nobody_can_have_measured_is_refused(
    changes: dict[str, Any], doubt: str, tmp_path: Path
) -> None:
    sound: dict[str, Any] = {
        "experiment": "gradients",
        "parameters": {"points": 1000, "device": "cpu"},
    }
    path = recording_path(tmp_path, ENVIRONMENT, "gradients")
    make_set(make_result(**sound)).save(path)
    assert load_recording(path)
    make_set(make_result(**(sound | changes))).save(path)
    with pytest.raises(ResultsError, match=f"{re.escape(str(path))}: {doubt}.*: record it again"):
        load_recording(path)


@pytest.mark.parametrize(
    ("parameters", "reason"),
    [
        ({"points": 1000}, "'jit' has the parameters points"),
        ({}, "'jit' has no parameters"),
    ],
)
def test_parameters_of_no_point_are_left_out_of_a_build(
    parameters: dict[str, Any], reason: str, tmp_path: Path
) -> None:
    path = recording_path(tmp_path, ENVIRONMENT, "gradients")
    make_set(make_result(experiment="gradients", parameters=parameters)).save(path)
    reasons: list[str] = []
    assert load_all(tmp_path, on_invalid=reasons.append, check=unknown_parameters) == []
    assert reasons == [f"{path}: {reason}: record it again"]
    assert load_all(tmp_path, on_invalid=pytest.fail)  # another program may know them


def test_machines_split_what_they_measured_by_device(measured: list[str]) -> None:
    on_gpu = make_result(device=GPU)
    machine = Recording(
        {"test": make_set(make_result(), on_gpu).model_copy(update={"environment": ON_GPU})}
    )
    cpu, gpu = machine.on_each_device("test")
    assert (cpu.device, cpu.label) == (
        CPU,
        "Test CPU (CPU) beside Test GPU, recorded 2026-11-21",
    )
    assert (gpu.device, gpu.label) == (GPU, "Test GPU (GPU), recorded 2026-11-21")
    assert gpu.results.results == (on_gpu,)
    _, gpu = replace(machine, live=True).on_each_device("test")
    assert gpu.label == "Test GPU (GPU), this site"
    assert machine.on_each_device("nothing") == []


def test_counterparts_have_what_is_common_to_all_that_is_shown() -> None:
    def one(size: int, **changes: Any) -> Result:
        parameters = {"function": "wave", "size": size, "device": "cpu"} | changes.pop(
            "parameters", {}
        )
        return make_result(parameters=parameters, **changes)

    shown = make_set(one(1), one(2))
    there = [
        one(1, parameters={"device": "gpu"}, device=GPU),
        one(3, parameters={"device": "gpu"}, device=GPU),
        one(1, parameters={"function": "selu"}, device=GPU),
        one(1, allocator="default"),
    ]
    machine = Recording({"test": make_set(*there).model_copy(update={"environment": ON_GPU})})
    assert matching_results(shown, [replace(machine, live=True)]) == {}
    ((where, found),) = matching_results(shown, [machine]).items()
    assert where == "Test GPU (GPU), recorded 2026-11-21"
    assert found.results == tuple(there[:2])  # another size is shown, another function isn't
    assert matching_results(make_set(make_result(experiment="another")), [machine]) == {}


def test_a_file_has_a_line_for_each_list_of_numbers(tmp_path: Path, measured: list[str]) -> None:
    (path, _) = record(tmp_path, BOTH, processes=1)
    lines = path.read_text(encoding="utf-8").splitlines()
    (samples,) = [line.strip() for line in lines if '"samples_s"' in line]
    assert samples == '"samples_s": [0.001, 0.001, 0.001, 0.001, 0.001, 0.001],'


KILLED = """
import sys, time
from pathlib import Path
from fakes import ENVIRONMENT, make_result, make_set
from sample_experiments import SUMS
from dataclasses import replace
from jaxcap.measure.experiment import Experiment
from jaxcap.measure import record_experiments
from jaxcap.measure.machine import lock

def run(experiment, **_):
    time.sleep(0.005)
    return make_set(make_result(experiment=experiment.name, code=experiment.code))

lock.LOCK = Path(sys.argv[1], "lock")
Experiment.run, record_experiments.capture = run, lambda: ENVIRONMENT
names = [f"sums {number}" for number in range(200)]
print("ready", flush=True)
record_experiments.record(
    Path(sys.argv[1], "recorded"),
    {name: replace(SUMS, name=name, quick=({},)) for name in names},
    processes=1,
    on_start=lambda experiment: print(experiment.name, flush=True),
)
"""


def test_a_recording_that_is_killed_loses_at_most_the_experiment_in_progress(
    tmp_path: Path,
) -> None:
    moments = random.Random(0)
    kept: set[str] = set()
    for _ in range(5):
        with subprocess.Popen(
            [sys.executable, "-c", KILLED, str(tmp_path)],
            env=os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)},
            stdout=subprocess.PIPE,
            text=True,
        ) as process:
            assert process.stdout is not None
            assert process.stdout.readline() == "ready\n"
            started = [process.stdout.readline().strip() for _ in range(moments.randint(1, 9))]
            time.sleep(moments.uniform(0, 0.02))
            process.kill()
            *done, _ = [*started, *process.stdout.read().splitlines()]
        assert kept.isdisjoint(done)  # nothing is done twice
        files = (tmp_path / "recorded").rglob("sums*.json")
        kept = {ResultSet.load(file).results[0].experiment for file in files}
        assert set(done) <= kept
    assert kept
