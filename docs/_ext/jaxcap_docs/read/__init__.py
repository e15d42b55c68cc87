"""What pages get while they are read: numbers, tables, plots and links.

Roles and directives for any page, and what completes some pages:

- ``quotes``: measured numbers, the machine, and all topics.
- ``cards``: what the cards of tutorials say.
- ``commands``: the page of the command line.
- ``exercises``: the pages of exercises.
- ``landing``: the landing page.
- ``reference``: the pages of the package's objects.
- ``summaries``: what lists of pages say of each.

Pages by section:

- ``tutorials``: what stands around a tutorial's own text.
- ``results``: what all machines measured, and what was claimed and checked.
- ``releases``: what was recorded of JAX's releases.

What all of them use:

- ``elements``: notes, links, tables, plots and stamps.
- ``links``: links between tutorials, experiments and claims.
- ``rows``: what a browser must know of tables to add a reader's own results.
- ``dependencies``: the files that a page is made from.

Content from files is put on pages as text, or as HTML that `Table` has escaped.
"""

from __future__ import annotations

from sphinx.application import Sphinx

from jaxcap_docs.read import (
    cards,
    commands,
    dependencies,
    elements,
    exercises,
    landing,
    quotes,
    reference,
    releases,
    results,
    summaries,
    tutorials,
)


def setup(app: Sphinx) -> None:
    """Register roles and directives, and complete pages when they have been read."""
    shared = (elements, dependencies, quotes, reference)
    for part in (
        *shared,
        cards,
        commands,
        exercises,
        landing,
        summaries,
        tutorials,
        results,
        releases,
    ):
        part.setup(app)
