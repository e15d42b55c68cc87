"""Every published value gets a conclusion, and no conclusion is given without a measurement."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Any

import jax
import jax.numpy as jnp
import matplotlib.pyplot as plt
import numpy as np
import pytest
from fakes import CPU, ENVIRONMENT, GPU, make_result, make_run
from seed_slopes import SEED_TOLERANCE

from jaxcap import published
from jaxcap.experiments import catalogue
from jaxcap.kernels import calibration
from jaxcap.kernels.elementwise import wave
from jaxcap.measure.experiment import Experiment
from jaxcap.mnist.model import PARAMETERS
from jaxcap.published import Conclusion, PublishedValue, assess, load
from jaxcap.published.recomputations import COMPUTATIONS, count_parameters
from jaxcap.published.replications import find_replications, least_time_s
from jaxcap.published.values import FIRST_COUNTED, MISTAKES, NOT_AWAITED
from jaxcap.results import Device, Result, ResultSet
from jaxcap.results.recordings import Recording

VALUES = load()
TIMED = {number: value for number, value in VALUES.items() if value.variant}
DEVICES = {"cpu": CPU, "gpu": GPU}


def result(
    value: PublishedValue,
    time_s: float,
    *,
    variant: str = "",
    dispatch_s: float | None = None,
    first_call_s: float | None = None,
    device: Device | None = None,
) -> Result:
    """Make up what was measured of the work behind a value."""
    run = make_run(
        [time_s] * 6,
        first_call_s=time_s if first_call_s is None else first_call_s,
        dispatch_s=time_s if dispatch_s is None else dispatch_s,
    )
    return make_result(
        variant or value.variant,
        run,
        experiment=value.experiment,
        parameters=dict(value.parameters),
        device=device or DEVICES[value.platform],
    )


def recording(*results: Result) -> Recording:
    sets: dict[str, list[Result]] = {}
    for each in results:
        sets.setdefault(each.experiment, []).append(each)
    return Recording(
        {
            name: ResultSet(environment=ENVIRONMENT, results=tuple(group))
            for name, group in sets.items()
        }
    )


def measured_all(*platforms: str, times: float) -> Recording:
    """Make up results for all values on some platforms: ``times`` their published times."""
    made_up: dict[Any, Result] = {}
    for value in TIMED.values():
        assert value.time_s is not None
        for variant in filter(None, (value.variant, value.corrected_variant)):
            key = value.experiment, variant, *value.parameters.items(), value.platform
            made_up.setdefault(key, result(value, value.time_s * times, variant=variant))
    return recording(*(each for each in made_up.values() if each.device.platform in platforms))


MADE_UP = {
    "nothing": [],
    "a CPU": [measured_all("cpu", times=1)],
    "a slow CPU": [measured_all("cpu", times=10)],
    "a GPU": [measured_all("gpu", times=1)],
    "a CPU and a fast GPU": [measured_all("cpu", times=1), measured_all("gpu", times=0.01)],
    "all on one": [measured_all("cpu", "gpu", times=1)],
}


def test_there_are_178_values_from_five_documents() -> None:
    assert sorted(VALUES) == [f"{number:03}" for number in range(1, 179)]
    assert {each.document for each in VALUES.values()} == set(published.DOCUMENTS)
    assert len(published.DOCUMENTS) == 5


@pytest.mark.parametrize("recordings", MADE_UP.values(), ids=MADE_UP)
def test_every_value_has_a_conclusion_and_a_reason(recordings: list[Recording]) -> None:
    assessments = [assess(value, recordings) for value in VALUES.values()]
    assert len(assessments) == 178
    for each in assessments:
        assert each.conclusion in Conclusion
        assert each.reason.endswith(".")
        assert len(each.reason.split()) >= 4, each.reason
        assert bool(each.mistake) == (each.conclusion is Conclusion.MISTAKE)
    told = []
    for table in published.tables(assessments):
        reasons = [row[-1] for row in table.rows]
        told += reasons
        compared = [not reason.startswith("not comparable") for reason in reasons]
        assert compared == sorted(compared, reverse=True)  # the others stand last
    assert sorted(told) == sorted(f"{each.label}. {each.reason}" for each in assessments)


def test_a_value_that_is_neither_measured_nor_computed_waits_for_a_machine() -> None:
    (reason,) = {assess(VALUES[number], MADE_UP["all on one"]).reason for number in ("049", "050")}
    assert reason == "None of our machines has done this yet."


def test_all_that_can_be_measured_is_reproduced_where_we_measure_the_same() -> None:
    for value in TIMED.values():
        assessment = assess(value, MADE_UP["all on one"])
        expected = Conclusion.MISTAKE if value.number in ("059", "064") else Conclusion.REPRODUCED
        assert assessment.conclusion is expected, assessment


# One value each, and the same value with another measurement.
NOT_WAITING = VALUES["013"]  # 58.1 ms a call; it has no reference
FLAT = VALUES["010"]  # 34.5 µs a call, as for a hundredth and for ten times as many numbers
REWRAPPED = VALUES["078"]  # 260 µs; its reference is 079
COMPILING = VALUES["045"]  # 9.87 ms a call in ten
LOOPED = next(value for value in VALUES.values() if "loops over scalars" in value.mistakes)
SEVERAL = VALUES["001"]  # 498 µs a call; its references are 053 to 056
SIMPLE = VALUES["077"]  # 310 µs; its reference is 079


def replaced(number: str, **changes: Any) -> PublishedValue:
    return VALUES[number].model_copy(update=changes)


def reference(value: PublishedValue, times: float, place: int = 0) -> Result:
    """Make up a reference that took the published computer so many times as long as ours."""
    numpy = VALUES[value.reference_numbers[place]]
    assert numpy.time_s is not None
    return result(numpy, numpy.time_s / times)


@pytest.mark.parametrize(
    ("value", "results", "conclusion"),
    [
        (NOT_WAITING, [result(NOT_WAITING, 86e-3, dispatch_s=17e-3)], Conclusion.REPRODUCED),
        (NOT_WAITING, [result(NOT_WAITING, 34.0, dispatch_s=17e-3)], Conclusion.MISTAKE),
        (NOT_WAITING, [result(NOT_WAITING, 34.0, dispatch_s=32.0)], Conclusion.OTHER_DEVICE),
        # The mistake would have to yield about that number, not a tenth of it.
        (NOT_WAITING, [result(NOT_WAITING, 129e-3, dispatch_s=5e-3)], Conclusion.OTHER_DEVICE),
        (SIMPLE, [result(SIMPLE, 9e-6, dispatch_s=8e-6)], Conclusion.OTHER_DEVICE),
        (
            SIMPLE,
            [result(SIMPLE, 9e-6, dispatch_s=8e-6), reference(SIMPLE, 1.1)],
            Conclusion.FASTER_LIBRARY,
        ),
        (
            SIMPLE,
            [result(SIMPLE, 9e-6, dispatch_s=8e-6), reference(SIMPLE, 30)],
            Conclusion.OTHER_DEVICE,
        ),
        (SIMPLE, [result(SIMPLE, 9e-3), reference(SIMPLE, 1.1)], Conclusion.SLOWER_LIBRARY),
        (SIMPLE, [result(SIMPLE, 9e-3), reference(SIMPLE, 0.1)], Conclusion.OTHER_DEVICE),
        # A clock that didn't wait does not prove that the library was faster than today's.
        (
            SIMPLE,
            [result(SIMPLE, 9e-3, dispatch_s=400e-6), reference(SIMPLE, 1.1)],
            Conclusion.MISTAKE,
        ),
        (
            SIMPLE,
            [result(SIMPLE, 630e-6, dispatch_s=600e-6), reference(SIMPLE, 1.1)],
            Conclusion.OTHER_DEVICE,
        ),
        (
            REWRAPPED,
            [result(REWRAPPED, 85e-6), result(REWRAPPED, 9e-6, variant="jit")],
            Conclusion.MISTAKE,
        ),
        (
            REWRAPPED,
            [result(REWRAPPED, 9e-6), result(REWRAPPED, 9e-6, variant="jit")],
            Conclusion.OTHER_DEVICE,
        ),
        (REWRAPPED, [result(REWRAPPED, 85e-6)], Conclusion.NOT_COMPARABLE),
        (COMPILING, [result(COMPILING, 2.7e-3, first_call_s=80e-3)], Conclusion.MISTAKE),
        (COMPILING, [result(COMPILING, 2.7e-3, first_call_s=3e-3)], Conclusion.OTHER_DEVICE),
        (COMPILING, [result(COMPILING, 2.7e-3, device=GPU)], Conclusion.NOT_COMPARABLE),
    ],
)
def test_a_conclusion_follows_from_what_was_measured(
    value: PublishedValue, results: list[Result], conclusion: Conclusion
) -> None:
    assessment = assess(value, [recording(*results)])
    assert assessment.conclusion is conclusion, assessment.reason
    if conclusion is Conclusion.MISTAKE:
        assert assessment.label == f"mistake: {value.mistakes[0]}"
        assert assessment.replications[0].mistaken_time.short in assessment.reason


def test_dispatch_replaces_the_time_only_where_the_clock_did_not_wait() -> None:
    for value, expected in ((SIMPLE, 8e-6), (LOOPED, 5e-3)):
        corrected = value.corrected_variant or value.variant
        results = [result(value, 1e-3, variant=corrected)] if value is LOOPED else []
        results.append(result(value, 5e-3, dispatch_s=8e-6))
        (replication,) = find_replications(value, [recording(*results)])
        assert replication.mistaken_time.value == expected


@pytest.mark.parametrize(
    ("number", "expected"), [("045", (80 + 9 * 1) / 10), ("053", (80 + 2) / 2)]
)
def test_a_first_call_that_was_counted_is_one_of_the_calls(number: str, expected: float) -> None:
    measured = result(VALUES[number], 2e-3, first_call_s=80e-3, dispatch_s=1e-3)
    (replication,) = find_replications(VALUES[number], [recording(measured)])
    assert replication.mistaken_time.value == pytest.approx(expected * 1e-3)


def test_the_reference_must_be_measured_on_the_same_device() -> None:
    elsewhere = reference(SIMPLE, 30).model_copy(
        update={"device": Device(platform="cpu", name="Another CPU")}
    )
    ours = recording(result(SIMPLE, 9e-6))
    (replication,) = find_replications(SIMPLE, [recording(elsewhere), ours])
    assert replication.reference_ratios == []
    (replication,) = find_replications(
        SIMPLE, [recording(elsewhere), ours, recording(reference(SIMPLE, 1.1))]
    )
    assert replication.reference_ratios == pytest.approx([1.1])


def test_the_reference_of_the_same_machine_comes_first() -> None:
    namesake = recording(reference(SIMPLE, 30))
    ours = recording(result(SIMPLE, 9e-6), reference(SIMPLE, 1.1))
    (replication,) = find_replications(SIMPLE, [namesake, ours])
    assert replication.reference_ratios == pytest.approx([1.1])


# The rules hold up to their thresholds and no further: just inside, and just outside.
INSIDE, OUTSIDE = 1.99, 2.01


def conclusion_about(value: PublishedValue, *results: Result) -> Conclusion:
    return assess(value, [recording(*results)]).conclusion


def times(value: PublishedValue, factor: float) -> float:
    """Return a multiple of the published time."""
    assert value.time_s is not None
    return factor * value.time_s


@pytest.mark.parametrize(
    ("factor", "conclusion"),
    [
        (INSIDE, Conclusion.REPRODUCED),
        (1 / INSIDE, Conclusion.REPRODUCED),
        (OUTSIDE, Conclusion.OTHER_DEVICE),
        (1 / OUTSIDE, Conclusion.OTHER_DEVICE),
    ],
)
def test_a_time_is_reproduced_up_to_the_factor(factor: float, conclusion: Conclusion) -> None:
    assert conclusion_about(SIMPLE, result(SIMPLE, times(SIMPLE, factor))) is conclusion


@pytest.mark.parametrize(
    ("ratio", "is_near"),
    [(INSIDE, True), (1 / INSIDE, True), (OUTSIDE, False), (1 / OUTSIDE, False)],
)
def test_the_library_differs_only_where_the_reference_is_near(ratio: float, is_near: bool) -> None:
    for factor, conclusion in ((0.1, Conclusion.FASTER_LIBRARY), (10, Conclusion.SLOWER_LIBRARY)):
        measured = result(SIMPLE, times(SIMPLE, factor)), reference(SIMPLE, ratio)
        assert conclusion_about(SIMPLE, *measured) is (
            conclusion if is_near else Conclusion.OTHER_DEVICE
        )


@pytest.mark.parametrize(
    ("factor", "conclusion"), [(3.1, Conclusion.FASTER_LIBRARY), (2.9, Conclusion.OTHER_DEVICE)]
)
def test_the_library_is_faster_only_beyond_what_the_computer_explains(
    factor: float, conclusion: Conclusion
) -> None:
    measured = result(SIMPLE, times(SIMPLE, 1 / factor)), reference(SIMPLE, 1.5)
    assert conclusion_about(SIMPLE, *measured) is conclusion


def test_the_library_differs_only_where_all_references_are_near() -> None:
    fast = result(SEVERAL, times(SEVERAL, 0.1), dispatch_s=times(SEVERAL, 0.09))
    near = [reference(SEVERAL, 1.1, place) for place in range(3)]
    assessment = assess(SEVERAL, [recording(fast, *near)])
    assert assessment.conclusion is Conclusion.FASTER_LIBRARY
    assert "1.10 to 1.10 times as long for 3 tasks" in assessment.reason
    far = reference(SEVERAL, OUTSIDE, 3)
    assert conclusion_about(SEVERAL, fast, *near, far) is Conclusion.OTHER_DEVICE


@pytest.mark.parametrize(
    ("largest_s", "conclusion"), [(30e-3, Conclusion.MISTAKE), (3e-3, Conclusion.OTHER_DEVICE)]
)
def test_the_same_time_for_far_more_work_shows_that_nobody_waited(
    largest_s: float, conclusion: Conclusion
) -> None:
    sizes = {"002": 0.2e-3, FLAT.number: 2e-3, "014": largest_s}
    measured = [result(VALUES[n], s, dispatch_s=0.95 * s) for n, s in sizes.items()]
    assessment = assess(FLAT, [recording(*measured)])
    assert assessment.conclusion is conclusion
    if conclusion is Conclusion.MISTAKE:
        assert "numbers, the published times only range from 33.9" in assessment.reason


def test_a_reference_that_we_lack_is_told_from_one_that_was_never_published() -> None:
    slower = result(SIMPLE, times(SIMPLE, 10))
    for value, lacks in (
        (SIMPLE, "but we have none of our own"),
        (replaced(SIMPLE.number, reference_numbers=()), "No time of NumPy was published"),
    ):
        assert lacks in assess(value, [recording(slower)]).reason


@pytest.mark.parametrize(
    ("factor", "conclusion"),
    [(OUTSIDE, Conclusion.SLOWER_LIBRARY), (INSIDE, Conclusion.OTHER_DEVICE)],
)
def test_the_library_is_slower_only_if_the_mistakes_do_not_make_up_for_it(
    factor: float, conclusion: Conclusion
) -> None:
    slow = result(SIMPLE, times(SIMPLE, 2.02), dispatch_s=times(SIMPLE, factor))
    assert conclusion_about(SIMPLE, slow, reference(SIMPLE, 1.1)) is conclusion


@pytest.mark.parametrize(
    ("share", "explains"), [(0.49, False), (0.51, True), (1.99, True), (2.01, False)]
)
@pytest.mark.parametrize("factor", [100, 0.01])
def test_a_mistake_explains_half_of_the_distance_to_twice_of_it(
    factor: float, share: float, explains: bool
) -> None:
    ours_s = times(SIMPLE, factor)
    measured = result(SIMPLE, ours_s, dispatch_s=ours_s * factor**-share)
    expected = Conclusion.MISTAKE if explains else Conclusion.OTHER_DEVICE
    assert conclusion_about(SIMPLE, measured) is expected


@pytest.mark.parametrize(
    ("factor", "conclusion"),
    [(1 / OUTSIDE, Conclusion.MISTAKE), (1 / INSIDE, Conclusion.NOT_COMPARABLE)],
)
def test_a_time_is_impossible_below_half_of_the_least(
    factor: float, conclusion: Conclusion
) -> None:
    least_s = least_time_s(VALUES["059"])
    assert least_s is not None
    assert assess(replaced("059", value=factor * least_s), []).conclusion is conclusion


@pytest.mark.parametrize(
    ("factor", "conclusion"), [(INSIDE, Conclusion.OTHER_DEVICE), (OUTSIDE, Conclusion.MISTAKE)]
)
def test_a_device_is_slow_up_to_twice_its_least_time(factor: float, conclusion: Conclusion) -> None:
    least_s = least_time_s(VALUES["063"])
    assert least_s is not None
    value = replaced("063", value=factor * least_s)
    assert conclusion_about(value, result(value, 5e-3, first_call_s=factor * least_s)) is conclusion


def test_an_impossible_time_is_a_mistake_even_if_the_work_cannot_be_repeated() -> None:
    unknown = replaced("059", incomparable="the data are lost")
    assert assess(unknown, []).label == f"mistake: {NOT_AWAITED}"
    assert assess(replaced("063", incomparable="the data are lost"), []).reason == (
        "The data are lost."
    )


def test_a_mean_with_the_first_call_has_no_processes_of_the_first_call() -> None:
    alone = result(COMPILING, 1e-3, first_call_s=1.0)
    measured = alone.model_copy(update={"runs": alone.runs * 3})
    (replication,) = find_replications(COMPILING, [recording(measured)])
    mean = replication.mistaken_time
    assert mean.low <= mean.observed[0] <= mean.observed[1] <= mean.high < 1.0


def test_the_mistake_named_is_the_one_that_changes_the_time_in_that_direction() -> None:
    too_long = result(COMPILING, 2.7e-3, first_call_s=80e-3, dispatch_s=1e-3)
    assert assess(COMPILING, [recording(too_long)]).mistake == FIRST_COUNTED
    too_short = result(COMPILING, 1.0, first_call_s=50e-3, dispatch_s=5e-3)
    assert assess(COMPILING, [recording(too_short)]).mistake == NOT_AWAITED
    looped = [
        result(LOOPED, times(LOOPED, 100), variant=LOOPED.corrected_variant),
        result(LOOPED, times(LOOPED, 1)),
    ]
    assert assess(LOOPED, [recording(*looped)]).mistake == "loops over scalars"


def test_a_mistake_that_may_be_chance_explains_nothing() -> None:
    noisy = result(NOT_WAITING, 1.0).model_copy(
        update={"runs": (make_run([1e-6, 1e-6, 1e-3, 1e-3, 1e-3, 1e-3], dispatch_s=10e-6),)}
    )
    assert assess(NOT_WAITING, [recording(noisy)]).conclusion is Conclusion.OTHER_DEVICE


def test_a_time_that_the_device_cannot_reach_is_a_mistake_without_a_measurement() -> None:
    impossible = [assess(value, []) for value in VALUES.values() if value.variant]
    mistakes = {each.published.number: each for each in impossible if each.mistake}
    assert set(mistakes) == {"059", "064"}
    assert {each.label for each in mistakes.values()} == {f"mistake: {NOT_AWAITED}"}
    slower = VALUES["059"].model_copy(update={"value": 1.2})
    assert assess(slower, []).conclusion is Conclusion.NOT_COMPARABLE


def test_what_the_published_device_needs_is_no_mistake() -> None:
    product = VALUES["063"]  # 1.2 s, of which that card needs about one
    fast = recording(result(product, 5e-3, first_call_s=1.0))
    assessment = assess(product, [fast])
    assert assessment.conclusion is Conclusion.OTHER_DEVICE
    assert "data sheet" in assessment.reason
    longer = product.model_copy(update={"value": 3.0})
    assert assess(longer, [fast]).conclusion is Conclusion.MISTAKE


def test_a_missing_device_is_named() -> None:
    other = recording(result(VALUES["068"], 1e-3))
    for recordings in ([], [other]):
        for number, kind in ("065", "GPU"), ("066", "CPU"):
            reason = f"This has not been measured on a {kind} yet."
            assert assess(VALUES[number], recordings).reason == reason


def test_the_first_machine_decides_and_is_shown() -> None:
    other = Device(platform="cpu", name="Another CPU")
    assert SIMPLE.time_s is not None
    here = recording(result(SIMPLE, 9e-6), reference(SIMPLE, 1))
    there = recording(result(SIMPLE, SIMPLE.time_s, device=other))
    again = recording(result(SIMPLE, SIMPLE.time_s))
    assessment = assess(SIMPLE, [here, there, again])
    assert [each.device for each in assessment.replications] == [CPU, other]
    assert assessment.conclusion is Conclusion.FASTER_LIBRARY
    assert assess(SIMPLE, [there, here]).conclusion is Conclusion.REPRODUCED
    (table,) = published.tables([assess(SIMPLE, [there, here])])
    assert table.headers[3] == "now: Another CPU (CPU)"
    # The reference may be in another recording of the same device.
    apart = [recording(result(SIMPLE, 9e-6)), there, recording(reference(SIMPLE, 1))]
    assert assess(SIMPLE, apart).conclusion is Conclusion.FASTER_LIBRARY


def test_a_time_of_zero_counts_for_nothing() -> None:
    assert assess(SIMPLE, [recording(result(SIMPLE, 0.0))]).conclusion is Conclusion.NOT_COMPARABLE


def test_unknown_lengths_and_shapes_stay_incomparable_whatever_is_measured() -> None:
    stated = [each for each in VALUES.values() if each.incomparable]
    for value in stated:
        assessment = assess(value, MADE_UP["all on one"])
        assert assessment.conclusion is Conclusion.NOT_COMPARABLE
        assert value.incomparable[1:] in assessment.reason


@pytest.mark.parametrize("number", ["047", "048", "166", "167", "168"])
def test_values_are_computed_again(number: str) -> None:
    value = VALUES[number]
    assert assess(value, []).conclusion is Conclusion.REPRODUCED
    other = value.model_copy(update={"value": value.value * (1 + 1e-6)})
    assessment = assess(other, [])
    assert assessment.conclusion is Conclusion.NOT_COMPARABLE
    assert "nothing explains the difference" in assessment.reason


def test_counts_and_errors_of_a_fit_have_ours_beside_them() -> None:
    """Their data are lost, and ours give an error near that of one of the two optimisers."""
    reasons = {number: assess(VALUES[number], []).reason for number in map(str, range(169, 177))}
    data = calibration.sensors()
    fit = calibration.fit_by_scipy(*data)
    assert reasons["169"].endswith(f"it is {fit.fun:.4f}.")
    assert reasons["173"] == reasons["169"]
    for number, count in ("170", fit.nit), ("171", fit.nfev), ("172", fit.njev):
        assert reasons[number].endswith(f"there were {count}.")
    # JAX computes the gradient with each error.
    assert reasons["175"] == reasons["176"] != reasons["171"]


def test_the_twenty_slopes_are_computed_again() -> None:
    x = jnp.linspace(0, 4 * jnp.pi, 20)
    now = {"x": x, "value": wave(x), "slope": jax.vmap(jax.grad(wave))(x)}
    then = published.load_wave()
    assert set(then) == set(now)
    for name, column in then.items():
        np.testing.assert_allclose(now[name], column, rtol=0, atol=SEED_TOLERANCE)


def test_the_random_sum_needs_the_setting_of_its_time() -> None:
    assessment = assess(VALUES["166"], [])
    assert "2.3250647 with jax_threefry_partitionable=False" in assessment.reason
    assert "today's default gives 1.8121928" in assessment.reason


def test_the_other_network_is_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    assert count_parameters(24) == PARAMETERS
    assert count_parameters(28) == 3_232_906
    assessment = assess(VALUES["051"], [])
    assert assessment.label == "mistake: trains another network"
    assert f"{PARAMETERS:,}" in assessment.reason
    monkeypatch.setattr("jaxcap.published.recomputations._SAME", 24)
    assert assess(VALUES["051"], []).conclusion is Conclusion.NOT_COMPARABLE


def test_what_values_refer_to_exists() -> None:
    for value in VALUES.values():
        assert set(value.mistakes) <= set(MISTAKES)
        assert value.computation in {"", "parameters", *COMPUTATIONS}
        for number in value.reference_numbers:
            numpy = VALUES[number]
            assert (numpy.variant, numpy.device) == ("NumPy", value.device)
            assert numpy.time_s


def test_printed_values_are_those_of_their_documents() -> None:
    printed = [VALUES[number].printed for number in ("001", "047", "049", "066", "069")]
    assert printed == [
        "4.97852 s for 10,000 calls",
        "1.7012903690338135",
        "97.6 %",
        "355 ms",
        "82.2 µs",
    ]
    assert [VALUES[number].time_s for number in ("055", "066")] == [4.869536, 0.355]
    assert VALUES["001"].time_s == pytest.approx(497.852e-6)


CATALOGUE = catalogue()
NAMED = sorted({each.experiment for each in TIMED.values()})


def points(experiment: Experiment) -> Iterable[Mapping[str, Any]]:
    return [*experiment.quick, *experiment.full]


@pytest.mark.parametrize("name", NAMED)
def test_values_name_points_that_are_measured(name: str) -> None:
    experiment = CATALOGUE[name]
    for value in TIMED.values():
        if value.experiment == name:
            assert any(value.parameters.items() <= point.items() for point in points(experiment)), (
                value
            )


@pytest.mark.parametrize("name", NAMED)
def test_values_name_variants_that_are_measured(name: str) -> None:
    experiment = CATALOGUE[name]
    values = [each for each in TIMED.values() if each.experiment == name]
    # Sizes don't matter for which variants there are, and small ones are soon prepared.
    sizes = {"size", "points"}
    questions = {
        frozenset((key, 5 if key in sizes else value) for key, value in each.parameters.items())
        for each in values
        if each.parameters.get("device") != "gpu"
    }
    if any("torch" in value.variant.lower() for value in values):
        pytest.importorskip("torch", reason="needs PyTorch")
    for question in questions:
        variants = set(experiment.prepare(**dict(question)))
        named = {
            variant
            for each in values
            for variant in filter(None, (each.variant, each.corrected_variant))
            if {key: 5 if key in sizes else value for key, value in each.parameters.items()}
            == dict(question)
        }
        assert named <= variants


def test_published_work_is_done_in_the_published_type() -> None:
    for operation in ("dot", "einsum", "eig"):
        variants = CATALOGUE["published small arrays"].prepare(operation=operation, size=5)
        for call in variants.values():
            assert {str(array.dtype) for array in call.args} == {"float64"}  # type: ignore[attr-defined]
    prepare = CATALOGUE["published matrices"].prepare
    kinds = {
        task: str(prepare(task=task, size=3)["NumPy"]().dtype)
        for task in ("generate", "product", "inverse", "product with the transpose")
    }
    assert kinds.pop("product with the transpose") == "float32"
    assert set(kinds.values()) == {"float64"}


@pytest.mark.parametrize("recordings", MADE_UP.values(), ids=MADE_UP)
def test_the_chart_draws_and_counts_what_was_measured(
    recordings: list[Recording],
) -> None:
    assessments = [assess(value, recordings) for value in VALUES.values()]
    plot = published.chart(assessments)
    (axes,) = plot.axes
    counts = Counter(each.conclusion for each in assessments if each.replications)
    labels = [str(line.get_label()) for line in axes.lines]
    seen = {each.conclusion for each in assessments if each.replications}
    for conclusion in Conclusion:
        label = f"{conclusion} ({counts[conclusion]})"
        assert (label in labels) == (conclusion in seen)
    points = [
        line for line in axes.lines if str(line.get_label()).split(" (")[0] in set(Conclusion)
    ]
    drawn = sum(len(np.asarray(line.get_xdata())) for line in points)
    assert drawn == sum(bool(each.replications) for each in assessments)
    subject = axes.get_title(loc="left").replace("\n", " ")
    assert subject == f"The {drawn} of them that are times we could measure"
    assert len({(line.get_color(), line.get_marker()) for line in points}) == len(seen)
    plt.close(plot)


def test_a_mistake_need_not_be_one_of_measuring() -> None:
    network = next(v for v in VALUES.values() if "trains another network" in v.mistakes)
    assessment = assess(network, [])
    plot = published.chart([assessment])
    assert assessment.conclusion is Conclusion.MISTAKE
    assert "measur" not in f"{assessment.conclusion} {plot.get_label()}"
    plt.close(plot)


def test_a_mistake_is_drawn_where_its_number_lies() -> None:
    mistaken = assess(NOT_WAITING, [recording(result(NOT_WAITING, 34.0, dispatch_s=17e-3))])
    plot = published.chart([mistaken])
    (hollow,) = [x for x in plot.axes[0].lines if "with the mistake (1)" in str(x.get_label())]
    np.testing.assert_allclose(hollow.get_xydata(), [[NOT_WAITING.time_s, 17e-3]])  # type: ignore[arg-type]
    plt.close(plot)


def test_tables_show_devices_that_have_something_in_them_and_escape_their_names() -> None:
    hostile = Device(platform="cpu", name="<script>alert(1)</script>")
    live = recording(result(SIMPLE, 9e-6, device=hostile))
    assessments = [assess(value, [live]) for value in VALUES.values()]
    tables = list(published.tables(assessments))
    assert len(tables) == 5
    with_device = [table for table in tables if any("<script>" in text for text in table.headers)]
    assert len(with_device) == 1
    html = with_device[0]._repr_html_()
    assert "<script>" not in html
    assert "&lt;script&gt;" in html
    assert len(with_device[0].headers) == 6
    reason = assess(SIMPLE, [live]).reason
    row = next(row for row in with_device[0].rows if row[-1] == f"device or library. {reason}")
    what, author, then, now, ratio, _ = row
    assert (what, author) == ("dot of NumPy arrays, size 5", "JAX, CPU")
    assert then == "310.4 µs (15.522388 s for 50,000 calls)"
    assert now.startswith("9.000 µs")
    assert ratio == "34.49"


def test_a_table_with_times_of_two_machines_names_them_beside_the_times() -> None:
    assert SIMPLE.time_s is not None
    other = Device(platform="cpu", name="Another CPU")
    live = [recording(result(SIMPLE, 9e-6)), recording(result(SIMPLE, 8e-6, device=other))]
    assessments = [assess(SIMPLE, [each]) for each in live]
    (table,) = published.tables(assessments)
    assert table.headers[3] == "now"
    assert [row[3].split(", ")[-1] for row in table.rows] == [str(CPU), str(other)]


def test_values_that_are_no_times_are_shown_beside_ours() -> None:
    live = recording(result(SIMPLE, 9e-6))
    rows = [
        row
        for table in published.tables([assess(value, [live]) for value in VALUES.values()])
        for row in table.rows
    ]
    (computed,) = {row[2:4] for row in rows if row[:2] == ("value of wave at 3", "JAX and PyTorch")}
    assert computed == ("1.7012904", "1.7012904"), "32 bits hold no more digits"
    networks = [row[2:4] for row in rows if row[-1].startswith("mistake: trains another network")]
    assert networks
    assert {now for _, now in networks} == {""}, "a count of parameters is no accuracy"
    once = {row[2] for row in rows if row[0].startswith("matrix inverse") and "PyTorch" in row[1]}
    assert "1.669771 s" in once
