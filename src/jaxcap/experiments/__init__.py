"""What the tutorials compare, defined once, so that fresh processes and recordings can repeat it."""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from pkgutil import iter_modules

from jaxcap.experiment import Experiment


def catalogue() -> Mapping[str, Experiment]:
    """All experiments, by name.

    Raises
    ------
    ImportError
        If an optional library is missing.
    """
    modules = (import_module(f"{__name__}.{found.name}") for found in iter_modules(__path__))
    values = (value for module in modules for value in vars(module).values())
    return {value.name: value for value in values if isinstance(value, Experiment)}
