"""How long a call takes, in this process and in fresh ones."""

from jaxcap.measure.experiment import Experiment, grid
from jaxcap.measure.timing import compare, measure

__all__ = ["Experiment", "compare", "grid", "measure"]
