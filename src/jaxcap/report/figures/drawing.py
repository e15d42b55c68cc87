"""How a figure was drawn, as data: so that the same can be drawn from the results of any machine."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import suppress
from functools import wraps
from inspect import signature
from pkgutil import resolve_name
from typing import Annotated, Any, Concatenate, ParamSpec
from weakref import WeakKeyDictionary

import matplotlib.pyplot as plt
from matplotlib.figure import Figure
from pydantic import Field

from jaxcap.report.figures.style import STYLE
from jaxcap.results import ResultsError, ResultSet
from jaxcap.results.base import FrozenModel

P = ParamSpec("P")

# The functions that draw results, by name.
_functions: dict[str, Callable[..., Figure]] = {}
# For each figure the results that it shows, the name of the function that drew it, and its options.
_origins: WeakKeyDictionary[Figure, tuple[ResultSet, str, Mapping[str, Any]]] = WeakKeyDictionary()


class Reference(FrozenModel):
    """Where a function is found, as ``"module:name"``."""

    reference: str


#: What is written as a reference is one, and any other mapping is of names.
ReferenceOrNames = Annotated[Reference | dict[str, str], Field(union_mode="left_to_right")]


class Drawing(FrozenModel):
    """How a figure was drawn, as data: with it the same can be drawn from other results.

    Attributes
    ----------
    function
        The name of a function that draws results.
    options
        Its keyword arguments.
    """

    function: str
    options: dict[str, bool | int | float | str | ReferenceOrNames | None]

    def draw(self, results: ResultSet, *, among: ResultSet | None = None) -> Figure:
        """Draw results in the same way.

        Parameters
        ----------
        results
            What to draw.
        among
            Results of other machines, for which the axes have a place if the function can do that.

        Raises
        ------
        ResultsError
            If the results lack what is drawn, or a function can't be imported any more.
        """
        try:
            options = {
                name: resolve_name(value.reference) if isinstance(value, Reference) else value
                for name, value in self.options.items()
            }
            function = _functions[self.function]
        except (AttributeError, ImportError, KeyError) as error:
            raise ResultsError(f"{self.function} can't draw these results: {error!r}") from error
        if among is not None and "among" in signature(function).parameters:
            return function(results, **options, among=among)
        return function(results, **options)


def origin(figure: Figure) -> tuple[ResultSet, Drawing] | None:
    """Return the results that a figure shows, and how it was drawn.

    None for a figure that no such function drew, and where an option is no plain value and
    no function that could be imported, because it couldn't be drawn again.
    """
    if figure not in _origins:
        return None
    results, function, options = _origins[figure]
    try:
        plain = {
            name: _reference(value) if callable(value) else value for name, value in options.items()
        }
        return results, Drawing(function=function, options=plain)
    except ValueError:  # as Pydantic's are
        return None


def _reference(function: Any) -> Reference:
    reference = f"{function.__module__}:{getattr(function, '__qualname__', '')}"
    with suppress(AttributeError, ImportError):
        if resolve_name(reference) is function:
            return Reference(reference=reference)
    raise ValueError(f"{function!r} can't be imported")


def redrawable(
    draw: Callable[Concatenate[ResultSet, P], Figure],
) -> Callable[Concatenate[ResultSet, P], Figure]:
    """Draw in this site's style, and remember the results and the options for `origin`."""

    @wraps(draw)
    def draw_in_style(results: ResultSet, /, *args: P.args, **options: P.kwargs) -> Figure:
        with plt.rc_context(STYLE):
            figure = draw(results, *args, **options)
        figure.stale = False  # Matplotlib sets it when anything in the figure is changed
        _origins[figure] = results, draw.__name__, options
        return figure

    _functions[draw.__name__] = draw_in_style
    return draw_in_style
