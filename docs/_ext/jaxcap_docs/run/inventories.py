"""Inventories of other documentation, without which no page links there."""

from __future__ import annotations

import os
import sys

from sphinx.application import Sphinx
from sphinx.ext.intersphinx import InventoryAdapter
from sphinx.util import logging

# Set where a site is built to be published, which must not lose its links silently.
REQUIRED = "JAXCAP_REQUIRE_INVENTORIES"

logger = logging.getLogger(__name__)


def setup(app: Sphinx) -> None:
    """Act once the inventories were asked for, and before the first script runs."""
    app.setup_extension("sphinx.ext.intersphinx")  # whose listener thus comes first
    app.connect("builder-inited", on_builder_inited)


def on_builder_inited(app: Sphinx) -> None:
    """Say which inventories are missing, and end a build that requires them all."""
    loaded = InventoryAdapter(app.env).named_inventory
    # An empty inventory took the place of a missing one.
    missing = sorted(name for name in app.config.intersphinx_mapping if not loaded.get(name))
    if not missing:
        return
    lost = (
        f"pages have no links to the documentation of {', '.join(missing)}, which can't be reached"
    )
    if os.environ.get(REQUIRED):
        sys.exit(f"{lost}: try again later, or unset {REQUIRED} to build without these links")
    logger.info("%s", lost, color="yellow")
