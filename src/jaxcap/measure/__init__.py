"""How long a call takes, as fresh processes or this one measure it.

What most programs need is here: `compare`, `measure` and `sweep` of `jaxcap.measure.timing`, and
`Experiment` and `grid` of `jaxcap.measure.experiment`. They are imported when they are first used,
because modules that need no JAX lie beside them.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from jaxcap.measure.experiment import Experiment, grid
    from jaxcap.measure.sampling import Variants
    from jaxcap.measure.timing import compare, measure, sweep

__all__ = ["Experiment", "Variants", "compare", "grid", "measure", "sweep"]

_MODULES = {"Experiment": "experiment", "grid": "experiment", "Variants": "sampling"}


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_MODULES.get(name, 'timing')}"), name)
