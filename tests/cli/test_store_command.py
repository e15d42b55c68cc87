"""What ``jaxcap store`` says of kept results, and what it deletes."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result
from fakes import GPU, make_result, make_run, make_set

from jaxcap.cli import cli
from jaxcap.experiments import catalogue
from jaxcap.measure.experiment import Experiment
from jaxcap.measure.machine import lock
from jaxcap.measure.machine.description import capture
from jaxcap.measure.machine.lock import measuring_alone
from jaxcap.measure.store import Store
from jaxcap.results import ResultSet

KEYS, JIT = catalogue()["keys"], catalogue()["jit"]


@pytest.fixture(autouse=True)
def own_lock(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.delenv("JAXCAP_LOCK_HELD", raising=False)
    monkeypatch.setattr(lock, "LOCK", tmp_path / "lock")


def keep(
    folder: Path, experiment: Experiment, *, age: timedelta = timedelta(hours=3), **facts: Any
) -> Path:
    """Keep a result of an experiment, as if it had been measured some time ago."""
    environment = capture().model_copy(update={"measured_at": datetime.now(UTC) - age, **facts})
    result = make_result(
        "jit",
        make_run(),
        make_run(),
        experiment=experiment.name,
        code=experiment.code,
        parameters=dict(experiment.points[0]),
    )
    results = make_set(result).model_copy(update={"environment": environment})
    return Store(folder).save(results, experiment.plan())


def store(*arguments: str, folder: Path) -> Result:
    return CliRunner().invoke(cli, ["store", *arguments, "--folder", str(folder)])


def rows(listed: Result) -> Sequence[Sequence[str]]:
    assert listed.exit_code == 0, listed.output
    lines = listed.stdout.partition("──\n")[2].partition("\n\n")[0]
    return [line.split() for line in lines.splitlines() if line]


def test_lists_age_and_what_has_changed(tmp_path: Path) -> None:
    keep(tmp_path, KEYS)
    keep(tmp_path, JIT, age=timedelta(days=9), versions={**capture().versions, "jax": "0.1"})
    jit, keys = rows(store("list", folder=tmp_path))
    assert keys[0] == "keys"
    assert " ".join(keys).endswith("1 2 unknown 3 h 0 min nothing")
    assert " ".join(jit).endswith(f"1 2 unknown 9 days jax 0.1, now {capture().versions['jax']}")


def test_lists_what_a_page_may_ask_more_of(tmp_path: Path) -> None:
    path = keep(tmp_path, KEYS)
    results = ResultSet.load(path)
    results.subset(r.model_copy(update={"budget_s": 0.25}) for r in results).save(path)
    listed = store("list", folder=tmp_path)
    assert " ".join(rows(listed)[0]).endswith("1 2 0.25 s 3 h 0 min nothing")
    note = "measures again where its page asks for other points, more processes or a larger budget"
    assert note in " ".join(listed.stdout.split())


def test_lists_what_this_machine_cannot_take(tmp_path: Path) -> None:
    keep(tmp_path, KEYS, device=GPU)
    keep(tmp_path, JIT).write_text("{", encoding="utf-8")
    listed = store("list", folder=tmp_path).stdout
    assert "another machine" in listed
    assert "is not valid JSON" in listed


def test_clears_what_is_named(tmp_path: Path) -> None:
    keys, jit = keep(tmp_path, KEYS), keep(tmp_path, JIT)
    assert "deleted 1 of 1 files" in store("clear", "jit", folder=tmp_path).output
    assert (keys.exists(), jit.exists()) == (True, False)
    refused = store("clear", "jit", folder=tmp_path)
    assert refused.exit_code == 2
    assert "there are no kept results of jit" in refused.stderr
    assert keys.exists()


def test_clears_what_is_outdated(tmp_path: Path) -> None:
    keys, jit = keep(tmp_path, KEYS), keep(tmp_path, JIT, device=GPU)
    assert "deleted 1 of 2 files" in store("clear", "--outdated", folder=tmp_path).output
    assert (keys.exists(), jit.exists()) == (True, False)


def test_results_of_a_shorter_plan_are_not_outdated_as_only_pages_know_theirs(
    tmp_path: Path,
) -> None:
    path = keep(tmp_path, KEYS)
    results = ResultSet.load(path)
    results.subset(
        r.model_copy(update={"planned_processes": 2, "budget_s": 0.01}) for r in results
    ).save(path)
    assert "deleted 0 of 1 files" in store("clear", "--outdated", folder=tmp_path).output
    assert "Delete only results of other code, versions or settings" in " ".join(
        store("clear", "--help", folder=tmp_path).output.split()
    )


def test_clears_all_but_not_while_something_is_measured(tmp_path: Path) -> None:
    kept = [keep(tmp_path, KEYS), keep(tmp_path, JIT)]
    with measuring_alone():
        refused = store("clear", folder=tmp_path)
    assert refused.exit_code == 2
    assert "is measuring on this machine" in refused.stderr
    assert all(path.exists() for path in kept)
    assert "deleted 2 of 2 files" in store("clear", folder=tmp_path).output
    assert not any(path.exists() for path in kept)


def test_an_empty_store_is_no_error(tmp_path: Path) -> None:
    assert store("list", folder=tmp_path / "nothing here").exit_code == 0
