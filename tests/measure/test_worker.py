"""What runs in a worker, here in the process of the tests."""

from __future__ import annotations

import gc
from collections.abc import Iterator

import pytest

from jaxcap.measure.worker import Request, Task, Worker
from jaxcap.results import Parameter

TASK = Task(
    name="sums",
    reference="sample_experiments:prepare_sums",
    points=({"size": 10}, {"size": 20}),
    sample_s=1e-6,
    allocator="default",
    empty_caches=False,
)


@pytest.fixture
def worker() -> Iterator[Worker]:
    yield Worker(TASK)
    gc.enable()


def test_names_the_variants_that_it_prepares(worker: Worker) -> None:
    assert worker.handle(Request(action="prepare")).variants == ("NumPy", "JAX")


def test_reports_all_rounds(worker: Worker) -> None:
    for point in range(2):
        worker.handle(Request(action="prepare", point=point))
    worker.handle(Request(action="compile"))
    worker.handle(Request(action="analyse"))
    worker.handle(Request(action="calibrate"))
    rounds = [worker.handle(Request(action="measure", point=1)).samples_s for _ in range(6)]
    other = worker.handle(Request(action="measure")).samples_s
    results = worker.handle(Request(action="report")).results
    assert results
    assert [(r.variant, r.parameters["size"]) for r in results] == [
        ("NumPy", 10),
        ("JAX", 10),
        ("NumPy", 20),
        ("JAX", 20),
    ]
    for result in results:
        expected = [other] if result.parameters["size"] == 10 else rounds
        samples_s = [samples[result.variant] for samples in expected]
        assert result.runs[0].samples_s == pytest.approx(samples_s, rel=1e-5)  # they are rounded


def test_answers_tell_what_the_process_has_used(worker: Worker) -> None:
    before, after = worker.answer(), worker.handle(Request(action="prepare"))
    assert 0 < before.cpu_s < after.cpu_s
    assert before.memory_bytes is None or before.memory_bytes > 0


def test_tasks_keep_the_types_of_parameters_on_their_way() -> None:
    point: dict[str, Parameter] = {"n": 1, "x": 1.0, "flag": True, "dtype": "float32"}
    task = Task(
        name="types",
        reference="sample_experiments:prepare_sums",
        points=(point,),
        sample_s=1.0,
        allocator="steady",
        empty_caches=False,
    )
    received = Task.model_validate_json(task.model_dump_json())
    assert received == task
    assert [type(value) for value in received.points[0].values()] == [int, float, bool, str]
