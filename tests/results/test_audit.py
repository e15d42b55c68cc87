"""Audits are kept in files, and the one that comes with the package can be read."""

from __future__ import annotations

from pathlib import Path

import pytest
from fakes import ENVIRONMENT

from jaxcap.results import ResultsError
from jaxcap.results.audit import JAXCAP, QUIET, RECORDED, TIMEIT, Audit, Pair, Run, recorded

PAIR = Pair(a_s=(1.0, 2.0), b_s=(3.0, 4.0), ratios=(0.3, 0.5))


def run(tool: str) -> Run:
    return Run(tool=tool, load=QUIET, number=1, duration_s=2.0, same={"dot": PAIR}, wave=None)


def test_audit_is_read_as_it_was_saved(tmp_path: Path) -> None:
    path = tmp_path / "audit.json"
    saved = Audit(environment=ENVIRONMENT, runs=(run(JAXCAP), run(TIMEIT)))
    saved.save(path)
    assert recorded(path) == saved
    assert len(path.read_text().splitlines()) == 4  # a line for each run
    Audit().save(path)
    assert recorded(path) == Audit()


def test_without_a_file_there_are_no_runs(tmp_path: Path) -> None:
    assert recorded(tmp_path / "none.json") == Audit()
    assert Audit().where == "not recorded yet"


def test_file_that_is_no_audit_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "audit.json"
    path.write_text('{"schema_version": 2, "runs": [{"tool": "jaxcap"}]}')
    with pytest.raises(ResultsError, match=r"not a valid result file: runs\.0"):
        recorded(path)


def test_recorded_audit_can_be_read_and_is_small() -> None:
    if RECORDED.exists():
        assert recorded().of(JAXCAP, QUIET)
        assert RECORDED.stat().st_size < 400_000
