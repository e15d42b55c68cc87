"""Claims: what decides them, and that their words follow their evidence."""

from __future__ import annotations

import re
from dataclasses import replace
from html import unescape
from typing import Any

import pytest
from fakes import CPU, GPU, make_pair, make_result, make_run, make_set

from jaxcap.report.claims import BEST, LARGEST, Claim, Evidence, Statement, claim, speedup_of
from jaxcap.results import Device, ResultsError, ResultSet
from jaxcap.results.statistics import Speedup

TEXT = "compiling makes it faster"
ASSERTED = "Compiling makes it faster."
HIDDEN = r'<span aria-hidden="true">.*?</span>'
FASTER = make_pair([1e-3] * 6, [2e-3] * 6)
SLOWER = make_pair([2e-3] * 6, [1e-3] * 6)
ALIKE = make_pair([1e-3] * 6, [0.9e-3] * 3 + [1.2e-3] * 3)


EVIDENCE = speedup_of("jit", over="op by op")
NARROW = "If there is a difference, it is smaller than a quarter."  # if they say "about as fast"


def estimated(low: float, high: float, confidence: float = 0.95, **bounds: float) -> Claim:
    """Make a claim about a number that is known this well."""
    speedup = Speedup((low + high) / 2, low, high, confidence, "", "one process")
    return replace(claim(TEXT, FASTER, EVIDENCE, **bounds), estimate=speedup)


class TestOutcome:
    @pytest.mark.parametrize(
        ("low", "high", "outcome"),
        [
            (1.01, 2.0, "holds"),
            (0.5, 0.99, "fails"),
            (0.9, 1.1, "undecided"),
            (1.0, 1.1, "undecided"),
            (0.9, 1.0, "undecided"),
        ],
    )
    def test_is_that_of_a_speedup_by_default(self, low: float, high: float, outcome: str) -> None:
        assert estimated(low, high).outcome == outcome

    @pytest.mark.parametrize(
        ("low", "high", "outcome"),
        [
            (0.1, 1.09, "holds"),
            (1.11, 2.0, "fails"),
            (1.05, 1.15, "undecided"),
            (1.0, 1.1, "undecided"),
            (1.1, 1.2, "undecided"),
        ],
    )
    def test_below_a_bound(self, low: float, high: float, outcome: str) -> None:
        assert estimated(low, high, below=1.1).outcome == outcome

    @pytest.mark.parametrize(
        ("low", "high", "outcome"),
        [
            (0.95, 1.05, "holds"),
            (0.5, 0.8, "fails"),
            (1.2, 1.3, "fails"),
            (0.8, 1.0, "undecided"),
            (0.8, 1.2, "undecided"),
        ],
    )
    def test_in_a_range(self, low: float, high: float, outcome: str) -> None:
        assert estimated(low, high, above=0.9, below=1.1).outcome == outcome

    @pytest.mark.parametrize(("low", "high"), [(1.5, 2.0), (0.5, 0.7)])
    def test_is_undecided_from_too_few_samples(self, low: float, high: float) -> None:
        assert estimated(low, high, 0.5).outcome == "undecided"

    def test_comes_from_the_results(self) -> None:
        outcomes = [claim(TEXT, results, EVIDENCE).outcome for results in (FASTER, SLOWER, ALIKE)]
        assert outcomes == ["holds", "fails", "undecided"]


class TestWording:
    @pytest.mark.parametrize(
        ("results", "heading", "sentence"),
        [
            (FASTER, "Holds here", ASSERTED),
            (SLOWER, "Does not hold here", f"These measurements contradict the claim that {TEXT}."),
            (
                ALIKE,
                "About as fast here",
                f"These measurements can't tell whether {TEXT}. {NARROW}",
            ),
        ],
    )
    def test_follows_the_outcome_in_a_terminal_and_on_a_page(
        self, results: ResultSet, heading: str, sentence: str
    ) -> None:
        made = claim(TEXT, results, EVIDENCE)
        measured = f"Measured on Test CPU (CPU): {made.estimate.factor_in_full}. The claim needs it to be faster."
        assert repr(made) == f"{heading}: {sentence}\n{measured}"
        assert words(made) == [heading, sentence, measured]

    @pytest.mark.parametrize("results", [SLOWER, ALIKE])
    def test_asserts_nothing_that_does_not_hold(self, results: ResultSet) -> None:
        made = claim(TEXT, results, EVIDENCE)
        for text in (repr(made), made._repr_html_()):
            assert ASSERTED not in text
            assert "Holds" not in text

    def test_has_a_sign_that_is_not_read_aloud_and_a_class_for_each_outcome(self) -> None:
        pages = [claim(TEXT, some, EVIDENCE)._repr_html_() for some in (FASTER, SLOWER, ALIKE)]
        assert [re.findall(HIDDEN, html) for html in pages] == [
            ['<span aria-hidden="true">✓</span>'],
            ['<span aria-hidden="true">✗</span>'],
            ['<span aria-hidden="true">≈</span>'],
        ]
        for html, outcome in zip(pages, ("holds", "fails", "undecided"), strict=True):
            assert html.startswith(f'<div class="jaxcap-claim jaxcap-{outcome}" role="note">')

    @pytest.mark.parametrize(
        ("above", "below", "needs"),
        [
            (None, None, "faster"),
            (1.5, None, "more than 1.5 times faster"),
            (0.5, None, "less than 2 times slower"),
            (None, 1, "slower"),
            (None, 1.1, "less than 1.1 times faster"),
            (None, 0.25, "more than 4 times slower"),
            (0.9, 1.1, "less than 1.11 times slower and less than 1.1 times faster"),
        ],
    )
    def test_names_the_bounds_of_a_speedup_in_its_direction(
        self, above: float | None, below: float | None, needs: str
    ) -> None:
        made = claim(TEXT, FASTER, EVIDENCE, above=above, below=below)
        assert made.statement.needs == needs
        assert repr(made).endswith(f"The claim needs it to be {needs}.")

    def test_evidence_is_in_its_direction_too(self) -> None:
        assert "Measured on Test CPU (CPU): 2.000 times slower (" in repr(
            claim(TEXT, SLOWER, EVIDENCE)
        )

    def test_quotes_no_number_that_is_known_to_no_factor_of_three(self) -> None:
        wide = Speedup(427.0, 49.0, 4515.0, 0.95, "", "6 processes", "prediction")
        text = repr(replace(claim(TEXT, FASTER, EVIDENCE), estimate=wide))
        assert "427" not in text
        assert "somewhere from 50 to 4,520 times faster" in text

    def test_keeps_capitals_within(self) -> None:
        assert claim("JAX is faster than NumPy", FASTER, EVIDENCE).sentence == (
            "JAX is faster than NumPy."
        )

    @pytest.mark.parametrize("results", [FASTER, SLOWER, ALIKE])
    def test_takes_nothing_for_markup(self, results: ResultSet) -> None:
        device = Device(platform="cpu", name="<img src=x onerror=alert(1)>")
        hostile = make_set(
            *(result.model_copy(update={"device": device}) for result in results.results)
        )
        made = claim("<script>a & b</script>", hostile, EVIDENCE)
        html = made._repr_html_()
        assert set(re.findall(r"<(\w+)", html)) == {"div", "p", "span"}
        assert re.search("&lt;script&gt;a &amp; b&lt;/script&gt;[.,]", html)
        assert str(device) in unescape(html)


class TestEvidence:
    small = make_pair([1e-3] * 6, [2e-3] * 6, parameters={"size": 10})
    large = make_pair([1e-3] * 6, [4e-3] * 6, parameters={"size": 100})
    other = make_pair([1e-3] * 6, [8e-3] * 6, parameters={"of": "another kind"})
    everything = small + large + other

    def test_is_the_speed_up_that_meets_the_criteria(self) -> None:
        assert speedup_of("jit", over="op by op", size=10).estimate(self.everything).value == 2
        assert speedup_of("op by op", over="jit", size=10).estimate(self.everything).value == 0.5

    def test_may_be_that_of_the_largest_value_measured(self) -> None:
        evidence = speedup_of("jit", over="op by op", size=LARGEST)
        assert evidence.estimate(self.everything).value == 4
        assert evidence.estimate(self.small).value == 2

    def test_largest_is_that_among_what_meets_the_other_criteria(self) -> None:
        on_gpu = make_pair([1e-3] * 6, [3e-3] * 6, parameters={"size": 1000}, device=GPU)
        evidence = speedup_of("jit", over="op by op", size=LARGEST, device="cpu")
        assert evidence.estimate(self.everything + on_gpu).value == 4

    def test_may_be_that_of_the_best_device(self) -> None:
        both = FASTER + make_pair([1e-3] * 6, [5e-3] * 6, device=GPU, comparison="on the GPU")
        evidence = speedup_of("jit", over="op by op", device=BEST)
        assert evidence.estimate(both).devices == (CPU,)
        assert evidence.estimate(with_best(both, GPU)).devices == (GPU,)
        assert evidence.estimate(with_best(both, GPU)).value == 5

    def test_may_be_that_of_the_only_other_variant(self) -> None:
        evidence = speedup_of(over="op by op", size=LARGEST)
        assert evidence.estimate(self.everything).value == 4
        third = make_result("third", parameters={"size": 100})
        with pytest.raises(ResultsError, match="2 results match: choose one by its variant"):
            evidence.estimate(self.everything + make_set(third))

    @pytest.mark.parametrize(
        ("evidence", "reason"),
        [
            (speedup_of("jit", over="op by op", size=7), "no result has variant jit, size 7"),
            (speedup_of("jit", over="op by op"), "3 results match"),
            (speedup_of("jit", over="no such", size=10), "no result has variant no such"),
            (speedup_of(over="no such"), "no other variant was measured in turns with 'no such'"),
            (speedup_of("jit", over="op by op", length=LARGEST), "no result has a number as its"),
            (speedup_of("jit", over="op by op", of=LARGEST), "no result has a number as its"),
        ],
    )
    def test_that_is_missing_or_ambiguous_is_an_error(
        self, evidence: Evidence, reason: str
    ) -> None:
        with pytest.raises(ResultsError, match=reason):
            claim(TEXT, self.everything, evidence)

    @pytest.mark.parametrize("value", [len, None, {"chosen": "smallest"}])
    def test_criterion_that_is_no_data_is_refused(self, value: Any) -> None:
        with pytest.raises(ValueError, match="criteria"):
            speedup_of("jit", over="op by op", size=value)


class TestData:
    @pytest.mark.parametrize(
        ("evidence", "written"),
        [
            (EVIDENCE, '{"variant":"jit","over":"op by op","criteria":{}}'),
            (
                speedup_of(over="jit", size=10, share=1.0, of="best", on=True),
                (
                    '{"variant":null,"over":"jit",'
                    '"criteria":{"size":10,"share":1.0,"of":"best","on":true}}'
                ),
            ),
            (
                speedup_of("jit", over="op by op", size=LARGEST, device=BEST),
                (
                    '{"variant":"jit","over":"op by op",'
                    '"criteria":{"size":{"chosen":"largest"},"device":{"chosen":"best"}}}'
                ),
            ),
        ],
    )
    def test_is_read_from_json_as_it_was_written(self, evidence: Evidence, written: str) -> None:
        statement = Statement(
            text=TEXT, experiment="test", evidence=evidence, above=None, below=1.5
        )
        text = statement.model_dump_json()
        assert text == (
            f'{{"text":"{TEXT}","experiment":"test","evidence":{written},"above":null,"below":1.5}}'
        )
        read = Statement.model_validate_json(text)
        assert read == statement
        types = {name: type(value) for name, value in evidence.criteria.items()}
        assert {name: type(value) for name, value in read.evidence.criteria.items()} == types

    def test_is_checked_on_another_machine_and_worded_by_what_is_found_there(self) -> None:
        here = claim(TEXT, FASTER, EVIDENCE, above=1.5)
        there = here.statement.check(SLOWER)
        assert (here.outcome, there.outcome) == ("holds", "fails")
        assert there.estimate == SLOWER.speedup("jit", over="op by op")
        assert here.statement.experiment == "test"

    def test_what_was_not_measured_there_is_an_error(self) -> None:
        statement = claim(TEXT, FASTER, EVIDENCE).statement
        with pytest.raises(ResultsError, match="op by op"):
            statement.check(make_set(make_result("jit")))


class TestDevices:
    def test_are_those_of_the_evidence_and_not_the_best_of_the_machine(self) -> None:
        mixed = FASTER + make_pair([1e-3] * 6, [2e-3] * 6, device=GPU, comparison="on the GPU")
        for device in CPU, GPU:
            evidence = speedup_of("jit", over="op by op", device=device.platform)
            assert f"Measured on {device}: " in repr(claim(TEXT, with_best(mixed, GPU), evidence))

    def test_are_both_where_two_are_compared(self) -> None:
        results = make_set(
            make_result("jit", make_run([1e-3] * 6), device=GPU),
            make_result("op by op", make_run([2e-3] * 6)),
        )
        made = claim(TEXT, results, EVIDENCE)
        assert "Measured on Test GPU (GPU) and Test CPU (CPU): " in repr(made)


class TestTruth:
    @pytest.mark.parametrize(
        ("results", "holds"), [(FASTER, True), (SLOWER, False), (ALIKE, False)]
    )
    def test_is_asked_for_by_name(self, results: ResultSet, holds: bool) -> None:
        assert claim(TEXT, results, EVIDENCE).holds is holds

    def test_cannot_be_taken_from_the_claim_itself(self) -> None:
        with pytest.raises(TypeError, match=r"use \.holds or \.outcome"):
            assert claim(TEXT, SLOWER, EVIDENCE)


class TestInput:
    @pytest.mark.parametrize("text", ["", "It is faster.", " it is faster", "it is faster ..."])
    def test_text_that_cannot_follow_that_is_refused(self, text: str) -> None:
        with pytest.raises(ValueError, match="write it as a clause, without a full stop"):
            claim(text, FASTER, EVIDENCE)

    def test_results_of_several_experiments_are_refused(self) -> None:
        both = make_set(make_result(experiment="first"), make_result(experiment="second"))
        with pytest.raises(ValueError, match="'first', 'second': select the one"):
            claim(TEXT, both, EVIDENCE)

    def test_missing_evidence_is_an_error(self) -> None:
        with pytest.raises(ResultsError):
            claim(TEXT, make_set(), EVIDENCE)


def with_best(results: ResultSet, device: Device) -> ResultSet:
    """Pretend that this is the best device of the machine."""
    environment = results.environment.model_copy(update={"device": device})
    return results.model_copy(update={"environment": environment})


def words(made: Claim) -> list[str]:
    """What a screen reader says of a claim, by paragraph."""
    return re.findall(r"<p[^>]*>\s*(.*?)</p>", unescape(re.sub(HIDDEN, "", made._repr_html_())))


@pytest.mark.parametrize(
    ("above", "claimed"),
    [
        (1.0, "it is faster"),
        (2.0, "it is faster (more than 2 times faster)"),
    ],
)
def test_a_bound_is_told_where_it_is_not_just_faster(above: float, claimed: str) -> None:
    pair = make_pair([1e-3] * 6, [2e-3] * 6)
    made = claim("it is faster", pair, speedup_of("jit", over="op by op"), above=above)
    assert made.statement.claimed == claimed
