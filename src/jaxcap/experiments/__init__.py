"""The comparisons of the tutorials, defined once so that fresh processes can repeat them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from importlib import import_module
from pkgutil import iter_modules

from jaxcap.measure.experiment import Experiment
from jaxcap.results import ResultSet


def catalogue(
    on_missing: Callable[[str, str], object] = lambda *_: None,
) -> Mapping[str, Experiment]:
    """All experiments whose libraries are installed, by name.

    Parameters
    ----------
    on_missing
        Called with the name of each module that is left out, and the library that it lacks.

    Raises
    ------
    ValueError
        If two experiments have the same name.
    """
    experiments: dict[str, Experiment] = {}
    for info in iter_modules(__path__):
        try:
            module = import_module(f"{__name__}.{info.name}")
        except ModuleNotFoundError as error:
            if not error.name or error.name.startswith("jaxcap"):
                raise
            on_missing(info.name, error.name)
            continue
        for value in vars(module).values():
            if not isinstance(value, Experiment):
                continue
            if experiments.setdefault(value.name, value) is not value:
                raise ValueError(
                    f"two experiments are named {value.name!r}, one of them in {module.__name__}: "
                    "rename one of them"
                )
    return experiments


def unknown_parameters(results: ResultSet) -> str | None:
    """Describe a result whose parameters no point of its experiment has, if there is one.

    Parameters
    ----------
    results
        Results of one experiment. One that is not in the `catalogue` may have any parameters.
    """
    experiment = catalogue().get(results[0].experiment)
    if experiment is None:
        return None
    known = [set(point) for point in (*experiment.quick, *experiment.full)]
    for result in results:
        if set(result.parameters) not in known:
            names = ", ".join(result.parameters)
            parameters = f"the parameters {names}" if names else "no parameters"
            return f"{result.variant!r} has {parameters}"
    return None
