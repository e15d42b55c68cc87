"""What the tutorials compare, defined once, so that fresh processes and recordings can repeat it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from importlib import import_module
from pkgutil import iter_modules
from types import ModuleType

from jaxcap.experiment import Experiment


def catalogue() -> Mapping[str, Experiment]:
    """All experiments whose libraries are installed, by name."""
    values = (value for module in _modules() for value in vars(module).values())
    return {value.name: value for value in values if isinstance(value, Experiment)}


def _modules() -> Iterator[ModuleType]:
    for found in iter_modules(__path__):
        try:
            yield import_module(f"{__name__}.{found.name}")
        except ModuleNotFoundError as error:
            if error.name and error.name.startswith("jaxcap"):
                raise
