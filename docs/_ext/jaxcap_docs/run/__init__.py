"""Before, while and just after sphinx-gallery runs the scripts.

`start` takes the measuring lock and chooses what must run again, `scripts` keeps the record of each
script and saves its figures, `limits` stops a script that takes too long or prints too much, and
`gallery` completes what sphinx-gallery wrote.
"""

from __future__ import annotations

from sphinx.application import Sphinx

from jaxcap_docs.run import gallery, start


def setup(app: Sphinx) -> None:
    """Act before the first script and after the last; sphinx-gallery itself calls `scripts`."""
    app.connect("config-inited", start.begin)
    app.connect("builder-inited", gallery.complete, priority=900)  # after sphinx-gallery
