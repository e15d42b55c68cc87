"""The landing page: two findings with their plots, and the path through the tutorials."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from typing import NamedTuple

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective

from jaxcap.experiments import dispatch, mistakes
from jaxcap.report.headlines import Mistake, Mistakes, Overtaking
from jaxcap.results import ResultsError, ResultSet
from jaxcap.results.files import slug
from jaxcap.results.statistics import Estimate
from jaxcap_docs import page_records
from jaxcap_docs.lessons import GALLERY, TUTORIALS, TUTORIALS_FOLDER, core, reading_minutes
from jaxcap_docs.read import cards
from jaxcap_docs.read.dependencies import note_all_records, note_files
from jaxcap_docs.read.elements import plot, reference


def setup(app: Sphinx) -> None:
    """Register the directives."""
    app.add_directive("findings", Findings)
    app.add_directive("path", TutorialPath)


class Subject(NamedTuple):
    """What a headline is about: the tutorial that has more, and a line below the finding."""

    tutorial: str
    experiment: str
    headline: Callable[[ResultSet], Overtaking | Mistakes]
    caption: str


def overtaking(growth: ResultSet) -> Overtaking:
    """Return from where compiled JAX computes a polynomial faster than NumPy."""
    results = growth.select(computation="polynomial")
    start = dispatch.crossover(results, dispatch.JIT, over=dispatch.NUMPY, x="size")
    names = ("JAX", "NumPy")
    return Overtaking(
        results, "size", dispatch.JIT, dispatch.NUMPY, names, start, work="A polynomial"
    )


def timed_wrong(results: ResultSet) -> Mistakes:
    """Return the mistakes by which calls are timed wrongly."""
    product = results.only(mistakes.JAX_32)
    wave = results.only(mistakes.COMPILED, question=mistakes.COMPILING)
    first_of_ten = [
        [(run.first_call_s + 9 * after_s) / 10]
        for run, after_s in zip(wave.runs, wave.time.medians, strict=True)
    ]
    average = Estimate.from_runs(first_of_ten, unit="s")

    def mistake(name: str, wrong: str, right: str) -> Mistake:
        times = results.only(wrong).time, results.only(right).time
        return Mistake(name, *times, results.speedup(right, over=wrong))

    rows = [
        Mistake("stopping the clock too early", product.dispatch, product.time),
        Mistake("averaging the compiler in", average, wave.time),
        mistake("sending the data each time", mistakes.SENT, mistakes.ON_DEVICE),
        mistake("wrapping anew each time", mistakes.NEW_WRAPPER, mistakes.WRAPPED_ONCE),
        mistake("a new lambda each time", mistakes.NEW_LAMBDA, mistakes.WRAPPED_ONCE),
    ]
    return Mistakes(rows)


SUBJECTS = (
    Subject(
        "performance/dispatch_overhead",
        dispatch.GROWTH.name,
        overtaking,
        "Of degree ten, computed by NumPy and by a function that JAX compiled",
    ),
    Subject(
        "performance/timing",
        mistakes.MISTAKES.name,
        timed_wrong,
        "Mistakes that are easy to make, and what a correct clock shows",
    ),
)


class Findings(SphinxDirective):
    """Show what experiments of this build found, each with its plot and the way to its tutorial."""

    def run(self) -> list[nodes.Node]:
        """Return the findings that this build can show, which may be none."""
        note_all_records(self.env)
        measured = page_records.results_of_build()
        shown = []
        for subject in SUBJECTS:
            # A recording from elsewhere may lack what is shown, or its clock have been too coarse.
            with suppress(KeyError, ResultsError, ZeroDivisionError):
                shown.append(self._finding(subject, measured[subject.experiment][1]))
        return [nodes.container("", *shown, classes=["jaxcap-findings"])] if shown else []

    def _finding(self, subject: Subject, results: ResultSet) -> nodes.container:
        headline = subject.headline(results)
        figure = headline.draw()
        words = str(figure.get_label())
        page = f"/{TUTORIALS_FOLDER}{subject.tutorial}"
        shown = nodes.container(
            "",
            nodes.paragraph("", "", reference("doc", page, self.env, headline.finding)),
            nodes.paragraph(text=subject.caption, classes=["jaxcap-note"]),
            *plot(self, f"landing-{slug(subject.experiment)}", figure),
        )
        for image in shown.findall(nodes.image):
            image["alt"] = words
            image["classes"].append("no-scaled-link")  # the finding above it is one
        return shown


class TutorialPath(SphinxDirective):
    """List the tutorials of a section in reading order, with the minutes that they take.

    Those that many others build on stand out.

    The content is a definition list: the name of a tutorial, and what it found in a line. That line
    is left out where the tutorial was not run.
    """

    required_arguments = 1
    has_content = True

    def run(self) -> list[nodes.Node]:
        """Return a list that is numbered through all sections."""
        section = self.arguments[0]
        note_files(self.env, GALLERY / section, "*.py")
        pages = [page for page in TUTORIALS if page.startswith(f"{section}/")]
        answers = self._answers()
        if unknown := {f"{section}/{name}" for name in answers}.difference(pages):
            raise self.error(f"no tutorials: {', '.join(sorted(unknown))}")
        items = [self._item(page, answers.get(page.rpartition("/")[2], [])) for page in pages]
        start = TUTORIALS.index(pages[0]) + 1
        rows = nodes.enumerated_list("", *items, enumtype="arabic", start=start)
        rows["classes"].append("jaxcap-path")
        return [rows]

    def _answers(self) -> dict[str, list[nodes.Node]]:
        content = nodes.Element()
        self.state.nested_parse(self.content, self.content_offset, content)
        return {
            term.astext(): list(answer.children)
            for term, answer in content.findall(nodes.definition_list_item)
        }

    def _item(self, page: str, answer: list[nodes.Node]) -> nodes.list_item:
        title = reference("doc", f"/{TUTORIALS_FOLDER}{page}", self.env)
        is_core = page in core()
        time = f"{reading_minutes(GALLERY / f'{page}.py')} min"
        text = f"core, {time}" if is_core else time
        minutes = nodes.inline(text=text, classes=["jaxcap-minutes"])
        shown = answer if page_records.load(page) else []
        if answer:
            cards.note_answer(self.env, page, answer[0])
        classes = ["jaxcap-core"] if is_core else []
        row = nodes.paragraph("", "", title, minutes)
        return nodes.list_item("", row, *shown, classes=classes)
