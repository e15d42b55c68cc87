"""Claims: what decides them, and that their words follow their evidence."""

from __future__ import annotations

import re
from functools import partial
from html import unescape

import pytest
from fakes import CPU, GPU, make_pair, make_result, make_run, make_set

from jaxcap.report.claims import Claim, claim
from jaxcap.results import Device, ResultsError, ResultSet
from jaxcap.results.statistics import Estimate, Speedup

TEXT = "compiling makes it faster"
ASSERTED = "Compiling makes it faster."
HIDDEN = r'<span aria-hidden="true">.*?</span>'
FASTER = make_pair([1e-3] * 6, [2e-3] * 6)
SLOWER = make_pair([2e-3] * 6, [1e-3] * 6)
ALIKE = make_pair([1e-3] * 6, [0.9e-3] * 3 + [1.2e-3] * 3)


def speedup(results: ResultSet) -> Estimate:
    return results.speedup("jit", over="op by op")


def between(low: float, high: float, confidence: float = 0.95) -> Estimate:
    return Estimate((low + high) / 2, low, high, confidence, "", "one process")


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
        assert claim(TEXT, FASTER, lambda _: between(low, high)).outcome == outcome

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
        assert claim(TEXT, FASTER, lambda _: between(low, high), below=1.1).outcome == outcome

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
        made = claim(TEXT, FASTER, lambda _: between(low, high), above=0.9, below=1.1)
        assert made.outcome == outcome

    @pytest.mark.parametrize(("low", "high"), [(1.5, 2.0), (0.5, 0.7)])
    def test_is_undecided_from_too_few_samples(self, low: float, high: float) -> None:
        assert claim(TEXT, FASTER, lambda _: between(low, high, 0.5)).outcome == "undecided"

    def test_comes_from_the_results(self) -> None:
        outcomes = [claim(TEXT, results, speedup).outcome for results in (FASTER, SLOWER, ALIKE)]
        assert outcomes == ["holds", "fails", "undecided"]


class TestWording:
    @pytest.mark.parametrize(
        ("results", "heading", "sentence"),
        [
            (FASTER, "Holds here", ASSERTED),
            (SLOWER, "Does not hold here", f"The measurements contradict the claim that {TEXT}."),
            (ALIKE, "Undecided here", f"The measurements leave open whether {TEXT}."),
        ],
    )
    def test_follows_the_outcome_in_a_terminal_and_on_a_page(
        self, results: ResultSet, heading: str, sentence: str
    ) -> None:
        made = claim(TEXT, results, speedup)
        measured = f"Measured on Test CPU (CPU): {made.evidence}. The claim needs it to be faster."
        assert repr(made) == f"{heading}: {sentence}\n{measured}"
        assert words(made) == [heading, sentence, measured]

    @pytest.mark.parametrize("results", [SLOWER, ALIKE])
    def test_asserts_nothing_that_does_not_hold(self, results: ResultSet) -> None:
        made = claim(TEXT, results, speedup)
        for text in (repr(made), made._repr_html_()):
            assert ASSERTED not in text
            assert "Holds" not in text

    def test_has_a_sign_that_is_not_read_aloud_and_a_class_for_each_outcome(self) -> None:
        pages = [claim(TEXT, some, speedup)._repr_html_() for some in (FASTER, SLOWER, ALIKE)]
        assert [re.findall(HIDDEN, html) for html in pages] == [
            ['<span aria-hidden="true">✓</span>'],
            ['<span aria-hidden="true">✗</span>'],
            ['<span aria-hidden="true">?</span>'],
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
        made = claim(TEXT, FASTER, speedup, above=above, below=below)
        assert made.needs == needs
        assert repr(made).endswith(f"The claim needs it to be {needs}.")

    @pytest.mark.parametrize(
        ("above", "below", "needs"),
        [
            (0.5, None, "more than 0.5"),
            (None, 1.1, "less than 1.1"),
            (0.9, 1.1, "more than 0.9 and less than 1.1"),
        ],
    )
    def test_names_the_bounds_of_another_number(
        self, above: float | None, below: float | None, needs: str
    ) -> None:
        made = claim(TEXT, FASTER, lambda _: between(1.0, 2.0), above=above, below=below)
        assert made.needs == needs

    def test_evidence_is_in_its_direction_too(self) -> None:
        assert "Measured on Test CPU (CPU): 2.000 times slower (" in repr(
            claim(TEXT, SLOWER, speedup)
        )

    def test_quotes_no_number_that_is_known_to_no_factor_of_three(self) -> None:
        wide = Speedup(427.0, 49.0, 4515.0, 0.95, "", "6 processes", "prediction")
        text = repr(claim(TEXT, FASTER, lambda _: wide))
        assert "427" not in text
        assert "somewhere from 50 to 4520 times faster" in text

    def test_keeps_capitals_within(self) -> None:
        assert claim("JAX is faster than NumPy", FASTER, speedup).sentence == (
            "JAX is faster than NumPy."
        )

    @pytest.mark.parametrize("results", [FASTER, SLOWER, ALIKE])
    def test_takes_nothing_for_markup(self, results: ResultSet) -> None:
        device = Device(platform="cpu", name="<img src=x onerror=alert(1)>")
        hostile = make_set(
            *(result.model_copy(update={"device": device}) for result in results.results)
        )
        made = claim("<script>a & b</script>", hostile, speedup)
        html = made._repr_html_()
        assert set(re.findall(r"<(\w+)", html)) == {"div", "p", "span"}
        assert "&lt;script&gt;a &amp; b&lt;/script&gt;." in html
        assert str(device) in unescape(html)


class TestElsewhere:
    def test_the_same_is_asked_and_worded_by_what_is_found_there(self) -> None:
        here = claim(TEXT, FASTER, speedup, above=1.5)
        there = here.recheck(SLOWER)
        assert (here.outcome, there.outcome) == ("holds", "fails")
        assert there.needs == here.needs
        assert there.evidence == speedup(SLOWER)

    def test_what_was_not_measured_there_is_an_error(self) -> None:
        with pytest.raises(ResultsError, match="op by op"):
            claim(TEXT, FASTER, speedup).recheck(make_set(make_result("jit")))


class TestDevices:
    mixed = FASTER + make_pair([1e-3] * 6, [2e-3] * 6, device=GPU, comparison="on the GPU")

    def test_are_those_of_the_evidence_and_not_the_best_of_the_machine(self) -> None:
        on_gpu = self.mixed.model_copy(
            update={"environment": self.mixed.environment.model_copy(update={"device": GPU})}
        )
        for device in CPU, GPU:
            made = claim(
                TEXT,
                on_gpu,
                partial(ResultSet.speedup, variant="jit", over="op by op", device=device),
            )
            assert made.devices == (device,)
            assert f"Measured on {device}: " in repr(made)

    def test_are_both_where_two_are_compared(self) -> None:
        results = make_set(
            make_result("jit", make_run([1e-3] * 6), device=GPU),
            make_result("op by op", make_run([2e-3] * 6)),
        )
        made = claim(TEXT, results, speedup)
        assert made.devices == (GPU, CPU)
        assert "Measured on Test GPU (GPU) and Test CPU (CPU): " in repr(made)

    def test_are_those_of_the_results_where_the_evidence_does_not_say(self) -> None:
        assert claim(TEXT, self.mixed, lambda _: between(2, 3)).devices == (CPU, GPU)

    def test_follow_the_results_of_another_machine(self) -> None:
        there = claim(TEXT, FASTER, speedup).recheck(make_pair([1e-3] * 6, [2e-3] * 6, device=GPU))
        assert there.devices == (GPU,)
        assert there.results[0].device == GPU


class TestTruth:
    @pytest.mark.parametrize(
        ("results", "holds"), [(FASTER, True), (SLOWER, False), (ALIKE, False)]
    )
    def test_is_asked_for_by_name(self, results: ResultSet, holds: bool) -> None:
        assert claim(TEXT, results, speedup).holds is holds

    def test_cannot_be_taken_from_the_claim_itself(self) -> None:
        with pytest.raises(TypeError, match=r"use \.holds or \.outcome"):
            assert claim(TEXT, SLOWER, speedup)


class TestInput:
    @pytest.mark.parametrize("text", ["", "It is faster.", " it is faster", "it is faster ..."])
    def test_text_that_cannot_follow_that_is_refused(self, text: str) -> None:
        with pytest.raises(ValueError, match="give a sentence without a full stop"):
            claim(text, FASTER, speedup)

    def test_results_of_several_experiments_are_refused(self) -> None:
        both = make_set(make_result(experiment="first"), make_result(experiment="second"))
        with pytest.raises(ValueError, match="'first', 'second': select the one"):
            claim(TEXT, both, speedup)

    def test_missing_evidence_is_an_error(self) -> None:
        with pytest.raises(ResultsError):
            claim(TEXT, make_set(), lambda results: results.speedup("jit", over="no such"))


def words(made: Claim) -> list[str]:
    """What a screen reader says of a claim, by paragraph."""
    return re.findall(r"<p[^>]*>\s*(.*?)</p>", re.sub(HIDDEN, "", made._repr_html_()))
