"""How the reference documents objects where autodoc would show needless detail."""

from __future__ import annotations

from typing import Any

from sphinx.application import Sphinx
from sphinx.pycode import ModuleAnalyzer

from jaxcap.experiments.brief import Answers
from jaxcap.measure.machine.doctor import Facts
from jaxcap.measure.machine.limits import Limits
from jaxcap.releases.changes.comparison import Releases
from jaxcap.releases.changes.series import Series
from jaxcap.releases.recording.recorder import ReleaseRecorder
from jaxcap.results.base import FrozenModel

RECORDS = (Answers, Facts, FrozenModel, Limits, ReleaseRecorder, Releases, Series)


def setup(app: Sphinx) -> None:
    """Adjust autodoc."""
    app.setup_extension("sphinx.ext.autodoc")
    app.connect("autodoc-process-signature", on_autodoc_process_signature)
    # Overloads are for type checkers: readers see the one signature of a typed transformation.
    analyzer = ModuleAnalyzer.for_module(
        "jaxcap.tools.transforms"
    )  # the object that autodoc will get
    analyzer.analyze()
    analyzer.overloads.clear()


def on_autodoc_process_signature(
    _: Sphinx, what: str, __: str, documented: Any, *___: object
) -> tuple[str, str] | None:
    """Hide the constructors of records: readers don't call them, and the attributes are listed."""
    is_record = what == "class" and issubclass(documented, RECORDS)
    return ("", "") if is_record else None
