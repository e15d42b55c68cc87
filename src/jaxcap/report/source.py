"""The source of functions, shown where they are taught."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any


class Source:
    """Shows the source of functions: plain in a terminal, with colours on a page.

    Parameters
    ----------
    *functions
        Functions written in Python in a file, compiled by `jax.jit` or not.
    """

    def __init__(self, *functions: Callable[..., Any]) -> None:
        self._text = "\n\n".join(inspect.getsource(inspect.unwrap(fn)) for fn in functions)

    def __repr__(self) -> str:
        return self._text.rstrip()

    def _repr_html_(self) -> str:
        from pygments import highlight
        from pygments.formatters import HtmlFormatter
        from pygments.lexers import PythonLexer

        # Sphinx wraps the code of a page in the same way.
        html = highlight(self._text, PythonLexer(), HtmlFormatter())
        return f'<div class="highlight-python notranslate">{html}</div>'
