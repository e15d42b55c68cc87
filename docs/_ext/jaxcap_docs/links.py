"""What a check of links found: dead ones fail it, and those that nobody could ask don't."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from typing import Any

from sphinx.application import Sphinx
from sphinx.util import logging

logger = logging.getLogger(__name__)

# What a server, or our own folder, says of what isn't there. All else may be there tomorrow.
DEAD = re.compile(r"(404|410) |Anchor .* not found|$")

Link = dict[str, Any]  # a line of Sphinx's output.json


def judge(app: Sphinx, exception: Exception | None) -> None:
    """List dead and unreachable links apart, and let only dead ones fail the check."""
    if exception is not None or app.builder.name != "linkcheck":
        return
    lines = (app.outdir / "output.json").read_text(encoding="utf-8").splitlines()
    links: list[Link] = [json.loads(line) for line in lines]
    dead = [one for one in links if one["status"] == "broken" and DEAD.match(one["info"])]
    # Sphinx ignores servers that say they are out of service; nothing here is ignored otherwise.
    failed = [one for one in links if one["status"] in {"broken", "timeout", "ignored"}]
    unreachable = [one for one in failed if one not in dead]
    asked = sum(one["status"] != "unchecked" for one in links)
    if unreachable:
        how_many = "all" if len(unreachable) == asked else len(unreachable)
        logger.warning("%s of %d links not reached:\n%s", how_many, asked, _listed(unreachable))
    if dead:
        logger.error("%d of %d links dead:\n%s", len(dead), asked, _listed(dead))
    app.statuscode = int(bool(dead))


def _listed(links: Iterable[Link]) -> str:
    """Say where each link is; Sphinx has said above what is wrong with it."""
    return "\n".join(f"  {one['filename']}:{one['lineno']}: {one['uri']}" for one in links)
