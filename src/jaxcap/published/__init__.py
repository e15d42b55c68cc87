"""Values that others published, each with our own measurement of the same work.

Five documents on JAX published values, most of them times. For each value we record what was done,
on which device, and which mistakes the document itself shows. These are facts about the document.
Whether the value holds up is not such a fact: that conclusion follows from our measurements, by
rules whose thresholds are given here.

- ``values``: what the documents print.
- ``replications``: our measurements of the same work.
- ``recomputations``: values that aren't times, computed again.
- ``assessments``: conclusions, and their rules.
- ``overview``: a chart and tables.
"""

from jaxcap.published.assessments import (
    EXPLAINED_SHARE,
    FACTOR,
    MEANINGS,
    Assessment,
    Conclusion,
    assess,
    assess_all,
)
from jaxcap.published.overview import chart, series_id, tables
from jaxcap.published.recomputations import Recomputation
from jaxcap.published.replications import CEILINGS, Replication
from jaxcap.published.values import (
    DOCUMENTS,
    MISTAKES,
    NEAREST_BENCHMARKS,
    PublishedValue,
    load,
    load_wave,
)

__all__ = [
    "CEILINGS",
    "DOCUMENTS",
    "EXPLAINED_SHARE",
    "FACTOR",
    "MEANINGS",
    "MISTAKES",
    "NEAREST_BENCHMARKS",
    "Assessment",
    "Conclusion",
    "PublishedValue",
    "Recomputation",
    "Replication",
    "assess",
    "assess_all",
    "chart",
    "load",
    "load_wave",
    "series_id",
    "tables",
]
