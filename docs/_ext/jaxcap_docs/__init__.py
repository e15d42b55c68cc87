"""Sphinx extension of this site: tutorials run and leave records, from which pages quote.

Its parts, in the order in which they act:

`run`
    before and while sphinx-gallery runs the tutorials: the measuring lock, the choice of what must
    run again, and what is kept of each script.
`page_records`
    where pages get their numbers: what each script measured, and what other machines recorded.
`read`
    while pages are read: measured numbers in prose, stamps, the pages of results and of exercises.
`write`
    while pages are written: formulas, sizes of images, the sidebar, and each page in Markdown.
`finish`
    at the end of the build: results, notebooks and archives to download, and lists of all pages.

All parts use `lessons`, the table of all tutorials, exercises and guides with their order and
topics, and `sources`, which tells whether what a part is made from has changed. Figures are saved by
`image_files`, and `downloads` has the names of files to download. After a build, `statements` writes
the claims that the package brings along.

Handlers of Sphinx's events are named after them, such as ``on_config_inited``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from jaxcap_docs import finish, read, run, write

if TYPE_CHECKING:
    from sphinx.application import Sphinx


def setup(app: Sphinx) -> dict[str, Any]:
    """Set up each part."""
    for part in (run, read, write, finish):
        part.setup(app)
    # JAX has started threads before Sphinx could fork workers, which may then deadlock.
    return {"version": "1", "parallel_read_safe": False, "parallel_write_safe": False}
