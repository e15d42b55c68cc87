"""Roles and directives for any page: measured numbers, the machine of this build, and all topics."""

from __future__ import annotations

from html import escape

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.util import logging
from sphinx.util.docutils import SphinxDirective, SphinxRole

from jaxcap.measure.machine.description import capture
from jaxcap.measure.store import shown_machine
from jaxcap.report.findings import in_powers
from jaxcap_docs import page_records
from jaxcap_docs.lessons import PAGES, TOPICS, TUTORIALS_FOLDER
from jaxcap_docs.read.dependencies import note_record
from jaxcap_docs.read.elements import link_list, raw_html, stamp
from jaxcap_docs.run.outputs import Exercise

logger = logging.getLogger(__name__)

QUOTED = "jaxcap-measured"  # the class of what the role quotes
# By verdict on an interval around 1: the words for it in a sentence, and what leads to the other side.
_AROUND_ONE = {
    "about as fast": ("about as fast", "as"),
    "undecided": ("not measurably faster or slower", "than"),
}


def setup(app: Sphinx) -> None:
    """Register the roles and directives."""
    app.add_role("measured", MeasuredRole())
    app.add_role("settled", MeasuredRole(settled=True))
    app.add_directive("provenance", Provenance)
    app.add_directive("topics", Topics)


class MeasuredRole(SphinxRole):
    """Quote a variable of a tutorial: ``:measured:`speedup``` or ``:measured:`page#speedup```.

    The text of a speed-up gives its direction, such as "1.9 times slower" (`Speedup.words`). With what
    was compared, as in ``:measured:`speedup than NumPy```, it can follow "JAX was", whatever was
    measured: see `comparative`.

    With ``settled``, only a number that a headline may say is shown. The words in its place follow
    "JAX was" as well.
    """

    def __init__(self, *, settled: bool = False) -> None:
        super().__init__()
        self.settled = settled

    def run(self) -> tuple[list[nodes.Node], list[nodes.system_message]]:
        """Return the text of the variable."""
        quoted, _, other = self.text.partition(" than ")
        page, _, name = quoted.rpartition("#")
        page = page or self.env.docname.removeprefix(TUTORIALS_FOLDER)
        note_record(self.env, page)
        record = page_records.load(page)
        if record is None:
            return [nodes.emphasis(text="(not measured in this build)")], []
        number = record.numbers.get(name)
        if number is None:
            logger.warning("%s has no measured number %r", page, name, location=self.get_location())
            return [], []
        if self.settled and not number.is_settled:
            peer = other.removeprefix("with ")
            uncertain = f"not measured closely enough to compare with {peer} in this build"
            words = uncertain if other else "(not measured closely enough in this build)"
            return [nodes.emphasis(text=words)], []
        text, rest = comparative(number.text, other) if other else (number.text, "")
        text = in_powers(text)
        days = {environment.measured_at.date() for environment in record.measured.values()}
        when = " to ".join(str(day) for day in sorted({min(days), max(days)})) if days else "here"
        detail = f"{number.detail}, measured {when}"
        span = f'<span class="{QUOTED}" title="{escape(detail)}">{escape(text)}</span>'
        return [raw_html(span), nodes.Text(rest)], []


def comparative(speedup: str, other: str) -> tuple[str, str]:
    """Say by how much something was faster than something else, in words that follow "it was".

    Parameters
    ----------
    speedup
        As `Speedup.words` has it.
    other
        What it was compared with.

    Returns
    -------
    tuple
        What was measured, and the rest of the sentence.

    Examples
    --------
    >>> comparative("1.9 times slower", "NumPy")
    ('1.9 times slower', ' than NumPy')
    >>> comparative("about as fast (0.9 to 1.2)", "NumPy")
    ('about as fast', ' as NumPy (0.9 to 1.2 times as fast)')
    >>> comparative("undecided (0.5 to 3.1)", "NumPy")
    ('not measurably faster or slower', ' than NumPy (0.5 to 3.1 times as fast)')
    """
    verdict, parenthesis, interval = speedup.partition(" (")
    if verdict in _AROUND_ONE:
        words, than = _AROUND_ONE[verdict]
        return words, f" {than} {other} ({interval.removesuffix(')')} times as fast)"
    return verdict, f" than {other}{parenthesis}{interval}"


class Provenance(SphinxDirective):
    """Say on which machine the site was built, or the exercise ran."""

    def run(self) -> list[nodes.Node]:
        """Return the stamp."""
        if ran := Exercise.environments.get(self.env.docname):
            return [stamp("Run on", ran, {})]
        if other := shown_machine():
            return [stamp("Measured on", other, {})]
        return [stamp("Built on", capture(), {})]


class Topics(SphinxDirective):
    """List the pages under each topic, in reading order."""

    def run(self) -> list[nodes.Node]:
        """Return a section for each topic."""
        return [self._section(topic) for topic in TOPICS]

    def _section(self, topic: str) -> nodes.section:
        pages = [page for page, topics in PAGES.items() if topic in topics]
        anchor = nodes.make_id(topic)
        about = nodes.paragraph(text=TOPICS[topic])
        content = nodes.title(text=topic), about, link_list(pages, self.env)
        return nodes.section("", *content, ids=[anchor], names=[anchor])
