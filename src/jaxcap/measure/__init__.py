"""How long a call takes, as fresh processes or this one measure it.

The clock, in one process:

- ``sampling``: the clock, and variants that take turns.
- ``timing``: when it stops, and how certain a time is.
- ``arrays``: the arrays that a call returns, and how to wait for them.
- ``compilation``: compiled functions, their kernels and their cost.
- ``timeline``: when calls returned, and when their results were computed.
- ``parameters``: checks of what results record, before anything is measured.

Fresh processes:

- ``processes``: start them, and speak with them.
- ``turns``: have them take turns.
- ``worker``: what runs in each.
- ``peak``: processes of another kind, which measure how much memory a call adds.

What is measured, and what is kept:

- ``experiment``: comparisons that can be imported.
- ``record_experiments``: recordings of all experiments.
- ``store``: results that are kept and reused.
- ``digest``: the code that a result depends on.
- ``settings``: environment variables.
- ``progress``: progress bars.
- ``machine``: what the machine is, and how to keep other work from disturbing it.

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
