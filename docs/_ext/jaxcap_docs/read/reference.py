"""How the reference documents objects, where autodoc would show what nobody needs."""

from __future__ import annotations

from typing import Any

from sphinx.application import Sphinx
from sphinx.pycode import ModuleAnalyzer

from jaxcap.measure.doctor import Facts
from jaxcap.results.base import FrozenModel


def setup(app: Sphinx) -> None:
    """Adjust autodoc."""
    app.setup_extension("sphinx.ext.autodoc")
    app.connect("autodoc-process-signature", _hide_constructors_of_records)
    # Typed transformations are documented by their one signature: overloads are for type checkers.
    analyzer = ModuleAnalyzer.for_module("jaxcap.transforms")  # the object that autodoc will get
    analyzer.analyze()
    analyzer.overloads.clear()


def _hide_constructors_of_records(
    _: Sphinx, what: str, __: str, documented: Any, *___: object
) -> tuple[str, str] | None:
    """Leave out constructors of records: their attributes are listed, and nobody calls them."""
    is_record = what == "class" and issubclass(documented, FrozenModel | Facts)
    return ("", "") if is_record else None
