"""Load a reader's own functions in the process that measures them, under any release of JAX."""

from __future__ import annotations

import re
import sys
from functools import cache, partial
from importlib import import_module
from importlib.util import module_from_spec, spec_from_file_location
from operator import attrgetter
from pathlib import Path
from types import ModuleType
from typing import Any

from jaxcap.measure.sampling import Variants


def prepare(setup: str, **functions: str) -> Variants:
    """Find functions, and bind the arguments that ``setup`` returns, if it is given.

    All have names such as ``"script.py:function"`` or ``"package.module:function"``. Modules may also
    lie in the current folder.

    Returns
    -------
    dict
        A variant for each function, by the name of its argument.
    """
    arguments = _find(setup)() if setup else ()
    if not isinstance(arguments, tuple):
        raise TypeError(
            f"{setup} must return a tuple of arguments, but returned an object of type "
            f"{type(arguments).__name__}"
        )
    return {
        variant: partial(_find(reference), *arguments) for variant, reference in functions.items()
    }


def reason_of(failure: str) -> str:
    """Shorten the message of a `~jaxcap.measure.processes.ProcessError` to what a function raised.

    That is the last line that the process printed, without the module of the error. The error may
    also be one of ours about one of the function's.
    """
    printed = re.sub(r"^.*? \(exit code -?\d+\): ", "", failure)
    printed = re.sub(r"^\S+: variant '[^']+' raised ", "", printed)
    return re.sub(r"^[\w.]+\.(?=\w+: )", "", printed)


def _find(reference: str) -> Any:
    place, _, name = reference.rpartition(":")
    module = _script(Path(place)) if place.endswith(".py") else _module(place)
    try:
        function = attrgetter(name)(module)
    except AttributeError:
        raise AttributeError(f"{place} has no function {name!r}") from None
    if not callable(function):
        raise TypeError(f"{reference} is not a function")
    return function


@cache
def _script(path: Path) -> ModuleType:
    """Run a script as a module under a name that no other module has."""
    sys.path.insert(0, str(path.parent.resolve()))  # as Python does when it runs a script
    spec = spec_from_file_location(str(path), path)
    assert spec
    assert spec.loader
    module = sys.modules[str(path)] = module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def _module(name: str) -> ModuleType:
    if str(Path.cwd()) not in sys.path:
        sys.path.insert(0, str(Path.cwd()))
    return import_module(name)
