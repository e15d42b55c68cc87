"""Before, while and just after sphinx-gallery runs the scripts.

`start` takes the measuring lock and chooses which pages must be made again. `playback` shows what
scripts left earlier as long as nothing has changed, `scripts` keeps the record of each script and
saves its figures, and `limits` stops a script that takes too long or prints too much. `gallery`
completes what sphinx-gallery wrote, and `session_time` says which part of it all was measuring.
`outputs` runs exercises and commands when their pages are read, unless it has kept their
outputs, and `ahead` lets exercises run a little earlier, beside the reading of other pages.
`inventories` says to which other documentation no page can link.
"""

from __future__ import annotations

from sphinx.application import Sphinx

from jaxcap_docs.run import (
    ahead,
    gallery,
    inventories,
    limits,
    outputs,
    playback,
    session_time,
    start,
)


def setup(app: Sphinx) -> None:
    """Act before the first script and after the last; `scripts` is called by sphinx-gallery.

    `finish` connects what `start` and `session_time` do at the end of the build.
    """
    limits.limit_output()
    session_time.listen()
    playback.install()
    inventories.setup(app)
    app.connect("config-inited", start.on_config_inited)
    app.connect("builder-inited", outputs.on_builder_inited)
    app.connect("env-before-read-docs", ahead.on_env_before_read_docs)
    app.connect("builder-inited", on_builder_inited, priority=900)  # after sphinx-gallery


def on_builder_inited(app: Sphinx) -> None:
    """Complete what sphinx-gallery wrote, and remember what it was made from."""
    gallery.complete(app)
    start.remember_outputs()
