"""What happens before, while and just after sphinx-gallery runs the scripts.

`start` takes the measuring lock and chooses what must run again, `scripts` keeps the record of each
script and saves its figures, `limits` stops a script that takes too long or prints too much, and
`notebooks` completes the downloads that sphinx-gallery wrote.
"""

from __future__ import annotations

from pathlib import Path

from sphinx.application import Sphinx

from jaxcap_docs import plots
from jaxcap_docs.run import notebooks, start


def setup(app: Sphinx) -> None:
    """Act before the first script and after the last; sphinx-gallery itself calls `scripts`."""
    app.connect("config-inited", start.begin)
    app.connect("builder-inited", notebooks.rewrite, priority=900)  # after sphinx-gallery
    app.connect("builder-inited", shrink_thumbnails, priority=900)


def shrink_thumbnails(app: Sphinx) -> None:
    """Make thumbnails light, of which the landing page has many."""
    plots.shrink(Path(app.srcdir, "tutorials").rglob("thumb/*.png"))
