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
"""

from jaxcap.results.environment import Device, Environment
from jaxcap.results.models import Allocator, Cost, Parameter, ProcessSamples, Result, ResultsError
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
