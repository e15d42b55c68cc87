"""Pages of JAX's releases: what a machine recorded of them, and a page for each topic.

- ``directives``: show parts of these pages.
- ``changes``: tables that compare releases with each other.
- ``parts``: all other parts: the machine, the map, noise, claims and failures.
- ``topics``: all benchmarks of a topic.
- ``replays``: public issues, replayed.
- ``addresses``: links to all of these.
"""

from __future__ import annotations

from sphinx.application import Sphinx

from jaxcap_docs.read.releases import directives, replays, topics


def setup(app: Sphinx) -> None:
    """Write the pages of topics, and register the directives."""
    app.connect("builder-inited", topics.on_builder_inited)  # before pages are looked for
    app.add_directive("releases", directives.ReleasesPart)
    app.add_directive("releases-topic", directives.ReleasesTopic)
    app.add_directive("replays", replays.Replays)
