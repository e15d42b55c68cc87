"""Checked claims: a sentence, the evidence for it, and whether it holds on this machine.

A page that says "this is faster" may be built on a machine where it isn't. Such a sentence is
therefore an object whose wording follows from the results. What it states is data, which can be kept
as JSON and checked again on the results of any machine.
"""

from __future__ import annotations

from dataclasses import dataclass
from html import escape
from math import inf
from typing import Any, Literal

from jaxcap.results import Parameter, ResultsError, ResultSet
from jaxcap.results.base import FrozenModel, PrintableText
from jaxcap.results.statistics import CONFIDENCE, Speedup

Outcome = Literal["holds", "fails", "undecided"]

# What an undecided claim is called if any difference is smaller than a quarter.
_CLOSE = "about as fast"
# How the outcomes are called, with signs that tell them apart without colours.
SIGNS = {"holds": "✓", "does not hold": "✗", _CLOSE: "≈", "undecided": "?"}
WORDS: dict[Outcome, str] = {
    "holds": "holds",
    "fails": "does not hold",
    "undecided": "undecided",
}


class Chosen(FrozenModel):
    """The value of a criterion that each machine's own results determine: `BEST` or `LARGEST`."""

    chosen: Literal["best", "largest"]


#: As the ``device`` of a criterion, the platform of a machine's best device.
BEST = Chosen(chosen="best")
#: The largest number that was measured of a parameter.
LARGEST = Chosen(chosen="largest")


class Evidence(FrozenModel):
    """Which number decides a claim, for the results of any machine; made by `speedup_of`.

    Attributes
    ----------
    variant
        The variant whose speed-up it is. None stands for the only other one that took turns with
        ``over``, whatever it is called.
    over
        The variant that it is compared with.
    criteria
        What distinguishes the result from others of its variant: values as in
        `~jaxcap.results.ResultSet.select`, or `BEST` or `LARGEST`.
    """

    variant: PrintableText | None
    over: PrintableText
    criteria: dict[PrintableText, Parameter | Chosen]

    def estimate(self, results: ResultSet) -> Speedup:
        """Find the number in results of one experiment.

        Raises
        ------
        ResultsError
            If they lack it, or several results meet the criteria.
        """
        criteria: dict[str, Any] = {k: v for k, v in self.criteria.items() if v != LARGEST}
        criteria |= {
            k: results.environment.device.platform for k, v in criteria.items() if v == BEST
        }
        found = results.select(variant=self.variant, **criteria)
        if self.variant is None:
            found = _compared_with(self.over, found, results)
        for name, value in self.criteria.items():
            if value == LARGEST:
                found = found.select(**{name: _largest(name, found)})
        return results.speedup(found.only(), over=self.over)


def _compared_with(over: str, found: ResultSet, results: ResultSet) -> ResultSet:
    """Select the results that took turns with another variant."""
    compared = [r for r in found if r.variant != over and results.paired_result(r, over)]
    if not compared:
        raise ResultsError(f"no other variant was measured in turns with {over!r}")
    return found.subset(compared)


def _largest(name: str, results: ResultSet) -> float:
    values = (result.parameters.get(name) for result in results)
    numbers = [v for v in values if isinstance(v, int | float) and not isinstance(v, bool)]
    if not numbers:
        raise ResultsError(
            f"no result has a number as its parameter {name!r}, so there is no largest one"
        )
    return max(numbers)


def speedup_of(variant: str | None = None, /, *, over: str, **criteria: Any) -> Evidence:
    """Name the speed-up that decides a claim.

    Parameters
    ----------
    variant, over, **criteria
        See `Evidence`. By default, the variant is the only one that took turns with ``over``.

    Raises
    ------
    ValueError
        If a criterion is neither a plain value nor `BEST` nor `LARGEST`.
    """
    return Evidence(variant=variant, over=over, criteria=criteria)


class Statement(FrozenModel):
    """What a claim says, whatever was measured.

    Attributes
    ----------
    text
        The sentence, as it would follow "it is claimed that".
    experiment
        The name of the experiment that it is about.
    evidence
        Which number decides it.
    above
        Lower bound of that number, exclusive; None if there is none.
    below
        Upper bound, likewise.
    """

    text: str
    experiment: PrintableText
    evidence: Evidence
    above: float | None
    below: float | None

    @property
    def needs(self) -> str:
        """The bounds in words, such as ``"more than 2 times faster"``."""
        bounds = []
        if self.above is not None:
            bounds.append(_above(self.above))
        if self.below is not None:
            bounds.append(_below(self.below))
        return " and ".join(bounds)

    @property
    def claimed(self) -> str:
        """The text, with the bounds of its ratio, unless it only says that something is faster."""
        return self.text if self.needs == "faster" else f"{self.text} ({self.needs})"

    def check(self, results: ResultSet) -> Claim:
        """Check it on the results of a machine.

        Raises
        ------
        ResultsError
            If that machine did not measure what the claim is about.
        """
        return Claim(self, results, self.evidence.estimate(results))


@dataclass(frozen=True, repr=False)
class Claim:
    """A statement, with the evidence for or against it on one machine; made by `claim`.

    Attributes
    ----------
    statement
        What is claimed.
    results
        The measurements, made on one machine.
    estimate
        The number that decides it there.
    """

    statement: Statement
    results: ResultSet
    estimate: Speedup

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
        low, high = self.estimate.low, self.estimate.high
        above, below = self.statement.above, self.statement.below
        above, below = -inf if above is None else above, inf if below is None else below
        if self.estimate.confidence < CONFIDENCE:
            return "undecided"
        if above < low and high < below:
            return "holds"
        return "fails" if high < above or low > below else "undecided"

    @property
    def words(self) -> str:
        """The name of the outcome, ``"about as fast"`` for one that is undecided but close."""
        return _CLOSE if self._is_close else WORDS[self.outcome]

    @property
    def sentence(self) -> str:
        """What the measurements say, which is the claim itself only where it holds."""
        text = self.statement.text
        if self.holds:
            return f"{text[0].upper()}{text[1:]}."
        if self.outcome == "fails":
            return f"These measurements contradict the claim that {text}."
        but = " If there is a difference, it is smaller than a quarter." if self._is_close else ""
        return f"These measurements can't tell whether {text}.{but}"

    def __repr__(self) -> str:
        return f"{self._heading}: {self.sentence}\n{self._measured}"

    def _repr_html_(self) -> str:
        return (
            f'<div class="jaxcap-claim jaxcap-{self.outcome}" role="note">'
            f'<p class="jaxcap-outcome"><span aria-hidden="true">{SIGNS[self.words]}</span> '
            f"{self._heading}</p><p>{escape(self.sentence)}</p>"
            f'<p class="jaxcap-note">{escape(self._measured)}</p></div>'
        )

    @property
    def _is_close(self) -> bool:
        """Whether it is undecided although any difference is small."""
        return self.outcome == "undecided" and self.estimate.verdict_in_words == _CLOSE

    @property
    def _heading(self) -> str:
        return f"{self.words.capitalize()} here"

    @property
    def _measured(self) -> str:
        devices = " and ".join(map(str, self.estimate.devices))
        needs = self.statement.needs
        return f"Measured on {devices}: {self.estimate.factor_in_full}. The claim needs it to be {needs}."


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
    evidence: Evidence,
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
        Which speed-up decides it, from `speedup_of`. It may be looked for in results of the same
        experiment from another machine, which may have run it at other points.
    above, below
        Bounds for the speed-up; both together make a range. If neither is given, it must be above
        1, as the speed-up of what is faster is.

    Returns
    -------
    Claim
        Shown as a callout on a page, and as text in a terminal.

    Raises
    ------
    ResultsError
        If the results lack the evidence.
    ValueError
        If the text can't follow "that", or the results are of several experiments.

    Examples
    --------
    >>> from time import sleep
    >>> from jaxcap.measure.timing import compare
    >>> naps = {"short": lambda: sleep(0.001), "long": lambda: sleep(0.03)}
    >>> results = compare(naps, budget_s=0.1)
    >>> evidence = speedup_of("short", over="long")
    >>> claim("a short nap ends sooner than a long one", results, evidence).sentence
    'A short nap ends sooner than a long one.'
    """
    if not text or text != text.strip(". "):
        raise ValueError(
            f"the text {text!r} can't follow 'it is claimed that': write it as a clause, without a full "
            "stop"
        )
    if len(experiments := results.by_experiment()) > 1:
        raise ValueError(
            f"the results come from the experiments {', '.join(map(repr, experiments))}: select "
            "the one that the claim is about"
        )
    if above is None and below is None:
        above = 1.0
    statement = Statement(
        text=text,
        experiment=results[0].experiment,
        evidence=evidence,
        above=above,
        below=below,
    )
    return statement.check(results)
