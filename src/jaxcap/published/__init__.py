"""What others published, beside our own measurement of the same work.

Five documents on JAX gave figures, most of them times. Each figure says what was done, on what,
and which mistakes its own document shows: facts about the document. Whether it holds up is no such
fact. A verdict follows from what we measured, by rules with the thresholds that stand here.
"""

from jaxcap.published.evidence import CEILINGS, Evidence
from jaxcap.published.overview import chart, tables
from jaxcap.published.recomputed import Computed
from jaxcap.published.values import DOCUMENTS, MISTAKES, Published, load
from jaxcap.published.verdicts import EXPLAINED, FACTOR, MEANINGS, Judgement, Verdict, judge

__all__ = [
    "CEILINGS",
    "DOCUMENTS",
    "EXPLAINED",
    "FACTOR",
    "MEANINGS",
    "MISTAKES",
    "Computed",
    "Evidence",
    "Judgement",
    "Published",
    "Verdict",
    "chart",
    "judge",
    "load",
    "tables",
]
