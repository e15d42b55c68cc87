"""Names of spans of releases."""

from __future__ import annotations

from collections.abc import Sequence


def name_span(span: Sequence[str], releases: Sequence[str]) -> str:
    """Say where some releases that follow each other begin and end, if not with all releases.

    Examples
    --------
    >>> name_span(["0.5.0", "0.6.0"], ["0.4.31", "0.5.0", "0.6.0"])
    'since 0.5.0'
    """
    begins, ends = span[0] == releases[0], span[-1] == releases[-1]
    if begins and ends:
        return "in all releases"
    if ends:
        return f"since {span[0]}"
    if len(span) == 1:
        return f"in {span[0]}"
    return f"up to {span[-1]}" if begins else f"from {span[0]} to {span[-1]}"
