"""What others published, beside our own measurement of the same work.

Five documents on JAX gave figures, most of them times. Each figure says what was done, on what,
and which mistakes its own document shows: facts about the document. Whether it holds up is no such
fact. A verdict follows from what we measured, by rules with the thresholds that stand here.
"""

from jaxcap.published.evidence import CEILINGS, Evidence
from jaxcap.published.figures import DOCUMENTS, MISTAKES, Published, load
from jaxcap.published.judging import EXPLAINED, FACTOR, MEANINGS, Judgement, Verdict, judge
from jaxcap.published.showing import chart, tables
from jaxcap.published.values import Computed

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
