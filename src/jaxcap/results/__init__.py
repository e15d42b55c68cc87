"""What was measured, as data, tables and files. Nothing here needs JAX.

Data:

- ``models``: a result, and the samples of its processes.
- ``sets``: results of one machine.
- ``environment``: the machine, its software and the moment.
- ``ceilings``: what a device can reach at most.
- ``audit``: how often tools were wrong, which is data of another kind.
- ``statistics``: medians, intervals and modes.
- ``base``: what all models share.

Tables:

- ``tables``: a table, as text and as HTML.
- ``tabulation``: results as tables.

Files:

- ``files``: the form of a file, and its versions.
- ``recordings``: files of all experiments, in a folder for each machine.
- ``atomic``: writing that leaves no half of a file.

What most programs need of the data is here. It is imported when it is first used, because commands
that show a table or write a file needn't wait for Pydantic.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from jaxcap.results.environment import Device, Environment
    from jaxcap.results.models import (
        Allocator,
        Cost,
        Parameter,
        ProcessSamples,
        Result,
        ResultsError,
    )
    from jaxcap.results.sets import ResultSet, ResultTable, json_schema

__all__ = [
    "Allocator",
    "Cost",
    "Device",
    "Environment",
    "Parameter",
    "ProcessSamples",
    "Result",
    "ResultSet",
    "ResultTable",
    "ResultsError",
    "json_schema",
]

_MODULES = {
    "Device": "environment",
    "Environment": "environment",
    "ResultSet": "sets",
    "ResultTable": "sets",
    "json_schema": "sets",
}


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_MODULES.get(name, 'models')}"), name)
