"""What was measured, as data, tables and files. Nothing here needs JAX."""

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
