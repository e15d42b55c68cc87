"""The published values and ours, in a chart for an overview and in tables with all details."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence

from matplotlib.figure import Figure

from jaxcap.published.assessments import FACTOR, Assessment, Conclusion, format_time
from jaxcap.published.recomputations import DIGITS
from jaxcap.published.values import DOCUMENTS, PublishedValue
from jaxcap.report import figures
from jaxcap.report.figures import style
from jaxcap.results.tables import Table

# Blue is faster and orange slower, as on the pages of releases.
COLOURS = {
    Conclusion.REPRODUCED: style.GREEN,
    Conclusion.FASTER_LIBRARY: style.BLUE,
    Conclusion.SLOWER_LIBRARY: style.ORANGE,
    Conclusion.OTHER_DEVICE: style.GREY,
    Conclusion.MISTAKE: style.PINK,
}


def chart(assessments: Sequence[Assessment]) -> Figure:
    """Draw our times against the published ones, coloured and marked by conclusion.

    A hollow marker shows what we measured with the document's mistake, where that is the conclusion.
    The legend counts the markers: there are none for values that we have no time for.
    """
    counts = Counter(assessment.conclusion for assessment in assessments)
    finding = (
        f"Of {len(assessments)} published values, {counts[Conclusion.REPRODUCED]} are reproduced, "
        f"and {counts[Conclusion.MISTAKE]} contain a mistake"
    )
    drawn = sum(bool(a.published.time_s and a.replications) for a in assessments)
    return figures.scatter(
        [_group(conclusion, assessments) for conclusion in Conclusion],
        factor=FACTOR,
        xlabel="published time of a call",
        ylabel="our time of a call",
        finding=finding,
        subject=f"The {drawn} of them that are times we could measure",
    )


def _group(conclusion: Conclusion, assessments: Iterable[Assessment]) -> figures.Group:
    measured = [
        (assessment.published.time_s, assessment.replications[0])
        for assessment in assessments
        if assessment.conclusion is conclusion
        and assessment.published.time_s
        and assessment.replications
    ]
    label, series = f"{conclusion} ({len(measured)})", series_id(conclusion)
    xs = [published_s for published_s, _ in measured]
    ys = [replication.correct_time.value for _, replication in measured]
    if conclusion is not Conclusion.MISTAKE:
        return figures.Group(label, xs, ys, color=COLOURS.get(conclusion, ""), series=series)
    mistaken = [replication.mistaken_time.value for _, replication in measured]
    other_label = f"with the mistake ({len(mistaken)})"
    color = COLOURS[conclusion]
    return figures.Group(label, xs, ys, mistaken, other_label, color, series)


def series_id(conclusion: Conclusion) -> str:
    """Return the id of a conclusion's points in the vector graphic of `chart`."""
    return f"series-{conclusion.name.lower()}"


def tables(assessments: Sequence[Assessment]) -> Iterator[Table]:
    """Tabulate assessments, one table for each document.

    A value is shown beside the one time of ours that decides about it, because a column for each of
    our machines would make the table too wide to read. A value that isn't a time, such as an error,
    doesn't depend on the machine: we compute it again.
    """
    for document, title in DOCUMENTS.items():
        chosen = [a for a in assessments if a.published.document == document]
        if chosen:
            yield _table(title, chosen)


def _table(title: str, assessments: Sequence[Assessment]) -> Table:
    devices = {a.replications[0].device for a in assessments if a.replications}
    now = f"now: {devices.pop()}" if len(devices) == 1 else "now"
    headers = ["what", "by", "then", now, "then / now", "conclusion"]
    # What can't be compared stands below what can.
    ordered = sorted(assessments, key=lambda a: a.conclusion is Conclusion.NOT_COMPARABLE)
    rows = [_row(assessment, names_device=bool(devices)) for assessment in ordered]
    counts = Counter(str(a.conclusion) for a in assessments).most_common()
    values = f"{len(rows)} value{'s' * (len(rows) > 1)}"
    note = f"{values}: {', '.join(f'{count} {name}' for name, count in counts)}."
    return Table(title, headers, rows, [note], text_columns=(1, 5), number_columns=(2, 3, 4))


def _row(assessment: Assessment, *, names_device: bool) -> tuple[str, ...]:
    published = assessment.published
    author = ", ".join(filter(None, (published.implementation, published.device)))
    now, ratio = _now(assessment, names_device=names_device)
    conclusion = f"{assessment.label}. {assessment.reason}"
    return (published.task, author, _then(published), now, ratio, conclusion)


def _then(published: PublishedValue) -> str:
    """Return the value as it was printed, after the time of one call if it is of several.

    A number without a unit is rounded as ours is, to what 32 bits can hold.
    """
    if not published.unit:
        return f"{published.value:{DIGITS}}"
    if published.time_s is None or published.calls == 1:
        return published.printed
    return f"{format_time(published.time_s)} ({published.printed})"


def _now(assessment: Assessment, *, names_device: bool) -> tuple[str, str]:
    """Our value or our time, and the ratio of the published time to it."""
    if assessment.recomputation:
        return assessment.recomputation.text, ""
    published_s = assessment.published.time_s
    if published_s is None or not assessment.replications:
        return "", ""
    replication = assessment.replications[0]
    time = replication.correct_time
    device = f", {replication.device}" if names_device else ""
    return f"{time.short_with_range}{device}", time.ratio_of(published_s).short
