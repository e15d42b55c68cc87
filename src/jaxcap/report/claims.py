"""Checked claims: a sentence, the evidence for it, and whether it holds on this machine.

A page that says "this is faster" may be built on a machine where it isn't. Such a sentence is
therefore an object whose wording follows from the results, and which can be checked again on the
results of another machine.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from html import escape
from math import inf, isinf
from typing import Literal

from jaxcap.results import Device, ResultSet
from jaxcap.results.statistics import CONFIDENCE, Estimate, Speedup

Outcome = Literal["holds", "fails", "undecided"]

# A sign and words for each outcome, which are told apart without colours.
SIGNS: dict[Outcome, str] = {"holds": "✓", "fails": "✗", "undecided": "?"}
WORDS: dict[Outcome, str] = {
    "holds": "holds",
    "fails": "does not hold",
    "undecided": "undecided",
}


@dataclass(frozen=True, repr=False)
class Claim:
    """A sentence, with the evidence for or against it on one machine; made by `claim`.

    Attributes
    ----------
    text
        The sentence, as it would follow "it is claimed that".
    results
        The measurements, made on one machine.
    estimate_evidence
        Derives the evidence from results.
    evidence
        What ``estimate_evidence`` derived from ``results``.
    above
        Lower bound of the evidence, exclusive, in its unit.
    below
        Upper bound of the evidence, exclusive, in its unit.
    """

    text: str
    results: ResultSet
    estimate_evidence: Callable[[ResultSet], Estimate]
    evidence: Estimate
    above: float
    below: float

    @property
    def experiment(self) -> str:
        """Name of the experiment behind the evidence."""
        return self.results[0].experiment

    @property
    def devices(self) -> tuple[Device, ...]:
        """The device on which the evidence was measured, or both of those that it compares."""
        devices = self.evidence.devices or (result.device for result in self.results)
        return tuple(dict.fromkeys(devices))

    @property
    def holds(self) -> bool:
        """Whether the outcome is ``"holds"``; false where it is undecided."""
        return self.outcome == "holds"

    def __bool__(self) -> bool:
        raise TypeError("a claim may hold, fail or be undecided: use .holds or .outcome")

    @property
    def outcome(self) -> Outcome:
        """``"holds"`` if the interval lies within the bounds, ``"fails"`` if it lies beyond one.

        An interval of less confidence than 0.95, from too few samples, decides nothing.
        """
        low, high = self.evidence.low, self.evidence.high
        if self.evidence.confidence < CONFIDENCE:
            return "undecided"
        if self.above < low and high < self.below:
            return "holds"
        return "fails" if high < self.above or low > self.below else "undecided"

    @property
    def needs(self) -> str:
        """What the evidence has to be, in the words in which it is given."""
        of_speed = isinstance(self.evidence, Speedup)
        bounds = []
        if not isinf(self.above):
            bounds.append(_above(self.above) if of_speed else f"more than {self.above:g}")
        if not isinf(self.below):
            bounds.append(_below(self.below) if of_speed else f"less than {self.below:g}")
        return " and ".join(bounds)

    @property
    def sentence(self) -> str:
        """What the measurements say, which is the claim itself only where it holds."""
        if self.holds:
            return f"{self.text[0].upper()}{self.text[1:]}."
        if self.outcome == "fails":
            return f"The measurements contradict the claim that {self.text}."
        return f"The measurements leave open whether {self.text}."

    def recheck(self, results: ResultSet) -> Claim:
        """Check the same claim on results from another machine.

        Raises
        ------
        ResultsError
            If that machine did not measure what the claim is about.
        """
        return replace(self, results=results, evidence=self.estimate_evidence(results))

    def __repr__(self) -> str:
        return f"{self._heading}: {self.sentence}\n{self._measured}"

    def _repr_html_(self) -> str:
        return (
            f'<div class="jaxcap-claim jaxcap-{self.outcome}" role="note">'
            f'<p class="jaxcap-outcome"><span aria-hidden="true">{SIGNS[self.outcome]}</span> '
            f"{self._heading}</p><p>{escape(self.sentence)}</p>"
            f'<p class="jaxcap-note">{escape(self._measured)}</p></div>'
        )

    @property
    def _heading(self) -> str:
        return f"{WORDS[self.outcome].capitalize()} here"

    @property
    def _measured(self) -> str:
        devices = " and ".join(map(str, self.devices))
        return f"Measured on {devices}: {self.evidence}. The claim needs it to be {self.needs}."


def _above(ratio: float) -> str:
    """Say of a speed-up that it is above a ratio."""
    if ratio < 1:
        return f"less than {1 / ratio:.3g} times slower"
    return "faster" if ratio == 1 else f"more than {ratio:.3g} times faster"


def _below(ratio: float) -> str:
    """Say of a speed-up that it is below a ratio."""
    if ratio > 1:
        return f"less than {ratio:.3g} times faster"
    return "slower" if ratio == 1 else f"more than {1 / ratio:.3g} times slower"


def claim(
    text: str,
    results: ResultSet,
    evidence: Callable[[ResultSet], Estimate],
    *,
    above: float | None = None,
    below: float | None = None,
) -> Claim:
    """Check a sentence on what was measured.

    Parameters
    ----------
    text
        The sentence, as it follows "it is claimed that": without a full stop, and with a capital
        only where one stands within a sentence too.
    results
        Results of one experiment.
    evidence
        Derives a number with an interval from results, as
        ``lambda results: results.speedup("jit", over="op by op")`` does. It may be applied to
        results of the same experiment from another machine, which may have run it at other points.
    above, below
        Bounds for the evidence, in its unit; both together make a range. If neither is given, it
        must be above 1, as the speed-up of what is faster is.

    Returns
    -------
    Claim
        Shown as a callout on a page, and as text in a terminal.

    Raises
    ------
    ResultsError
        If the results lack what ``evidence`` needs.
    ValueError
        If the text can't follow "that", or the results are of several experiments.

    Examples
    --------
    >>> from time import sleep
    >>> from jaxcap.measure.timing import compare
    >>> naps = {"short": lambda: sleep(0.001), "long": lambda: sleep(0.003)}
    >>> results = compare(naps, budget_s=0.1)
    >>> speedup = lambda results: results.speedup("short", over="long")
    >>> claim("a short nap ends sooner than a long one", results, speedup).sentence
    'A short nap ends sooner than a long one.'
    """
    if not text or text != text.strip(". "):
        raise ValueError(
            f"text {text!r} can't follow 'it is claimed that': give a sentence without a full stop"
        )
    if len(experiments := results.by_experiment()) > 1:
        raise ValueError(
            f"the results come from the experiments {', '.join(map(repr, experiments))}: select "
            "the one that the claim is about"
        )
    if above is None and below is None:
        above = 1.0
    return Claim(
        text=text,
        results=results,
        estimate_evidence=evidence,
        evidence=evidence(results),
        above=-inf if above is None else above,
        below=inf if below is None else below,
    )
