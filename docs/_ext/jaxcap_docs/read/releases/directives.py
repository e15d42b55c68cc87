"""Directives that show what was recorded of the releases, or a note where nothing was."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping

from docutils import nodes
from sphinx.util.docutils import SphinxDirective

from jaxcap.releases.changes.comparison import Releases
from jaxcap.releases.recording.files import EXPERIMENT
from jaxcap_docs import page_records
from jaxcap_docs.read.dependencies import note_files
from jaxcap_docs.read.elements import note
from jaxcap_docs.read.releases import changes, parts, topics
from jaxcap_docs.release_records import CODE, recorded

MISSING = "No machine has recorded the releases of JAX yet."

PARTS: Mapping[str, Callable[[SphinxDirective, Releases], list[nodes.Node]]] = {
    "answer": parts.answer,
    "machine": parts.machine,
    "map": parts.overview,
    "changes": changes.steps,
    "slower": changes.regressions,
    "then and now": changes.then_and_now,
    "noise": parts.noise,
    "claims": parts.checked_claims,
    "published": parts.published,
    "failures": parts.failures,
    "files": parts.files,
}


class ReleasesDirective(SphinxDirective, ABC):
    """Shows what the first machine recorded, or says that none has."""

    required_arguments = 1
    final_argument_whitespace = True

    def run(self) -> list[nodes.Node]:
        """Return what the page shows, or a note if no machine has recorded the releases."""
        note_files(self.env, page_records.RECORDED, f"*/{EXPERIMENT}/**/*")
        for kind in ("py", "csv"):
            note_files(self.env, CODE, f"**/*.{kind}")
        machines = recorded()
        if not machines:
            is_said = self.env.temp_data.get(MISSING)  # of this page alone
            self.env.temp_data[MISSING] = True
            return [] if is_said else [note(MISSING)]
        return self.show(machines[0])

    @abstractmethod
    def show(self, releases: Releases) -> list[nodes.Node]:
        """Return what the page shows of a machine."""


class ReleasesPart(ReleasesDirective):
    """Show a part of a page about the releases, by its name."""

    def show(self, releases: Releases) -> list[nodes.Node]:
        """Return the part."""
        name = self.arguments[0]
        if name not in PARTS:
            raise self.error(f"there is no part {name!r}: choose one of {', '.join(PARTS)}")
        return PARTS[name](self, releases)


class ReleasesTopic(ReleasesDirective):
    """Show all benchmarks of a topic: a plot of each, and a table."""

    def show(self, releases: Releases) -> list[nodes.Node]:
        """Return the plots, and the table below them."""
        return topics.show(self, releases, self.arguments[0])
