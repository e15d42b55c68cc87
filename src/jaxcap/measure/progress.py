"""Progress bars on terminals, for commands, for training and for downloads."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.progress import Progress


def progress_bar(*, hidden: bool = False, auto_refresh: bool = False) -> Progress:
    """Return a display of progress that vanishes when it ends.

    Parameters
    ----------
    hidden
        Show nothing on a terminal either.
    auto_refresh
        Redraw from a thread, which would disturb measurements. Without it, call ``refresh``.
    """
    # Imported here because processes that measure, and notebooks, never show a bar.
    from rich.console import Console
    from rich.progress import Progress

    console = Console(stderr=True)
    return Progress(
        console=console,
        transient=True,
        auto_refresh=auto_refresh,
        disable=hidden or not console.is_terminal,
    )
