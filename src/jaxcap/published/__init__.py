"""Values that others published, each with our own measurement of the same work.

Five documents on JAX published values, most of them times. For each value we record what was done,
on which device, and which mistakes the document itself shows. These are facts about the document.
Whether the value holds up is not such a fact: that verdict follows from our measurements, by rules
whose thresholds are given here.
"""

from jaxcap.published.evidence import CEILINGS, Evidence
from jaxcap.published.overview import chart, tables
from jaxcap.published.recomputed import Computed
from jaxcap.published.values import DOCUMENTS, MISTAKES, PublishedValue, load
from jaxcap.published.verdicts import (
    EXPLAINED_SHARE,
    FACTOR,
    MEANINGS,
    Assessment,
    Verdict,
    assess,
)

__all__ = [
    "CEILINGS",
    "DOCUMENTS",
    "EXPLAINED_SHARE",
    "FACTOR",
    "MEANINGS",
    "MISTAKES",
    "Assessment",
    "Computed",
    "Evidence",
    "PublishedValue",
    "Verdict",
    "assess",
    "chart",
    "load",
    "tables",
]
