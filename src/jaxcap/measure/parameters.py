"""Checks of the names and parameters that results record, before anything is measured."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
from pydantic import ConfigDict, TypeAdapter, ValidationError

from jaxcap.results import Parameter
from jaxcap.results.base import PrintableText

_STRICT = ConfigDict(strict=True, allow_inf_nan=False)
_NAME = TypeAdapter(PrintableText, config=_STRICT)
# `ResultSet.select` and `ResultSet.speedup` have arguments of these names.
_RESERVED = {"variant", "experiment", "allocator", "over"}
_PARAMETER = TypeAdapter(tuple[PrintableText, Parameter], config=_STRICT)


def validate_labels(
    parameters: Mapping[str, Any], *, experiment: str, variants: Iterable[str] = ()
) -> dict[str, Parameter]:
    """Check the labels of results, and return the parameters as plain Python values.

    Parameters
    ----------
    parameters
        Values by name. Scalars of NumPy are converted. No name may be that of a criterion, by
        which results are selected, except for ``device``.
    experiment, variants
        Names. That of the experiment must have no slash, because files are named after it.

    Raises
    ------
    ValueError
        If a result could not record one of them, or it could not be selected.
    """
    if not _is_valid(_NAME, experiment) or {"/", "\\"} & set(experiment):
        raise ValueError(
            f"experiment cannot be named {experiment!r}: choose printable text without slashes"
        )
    for variant in variants:
        if not _is_valid(_NAME, variant):
            raise ValueError(f"variants cannot be named {variant!r}: choose printable text")
    if reserved := _RESERVED & parameters.keys():
        raise ValueError(
            f"no parameter can be named {min(reserved)!r}, because results are selected by what that "
            "means for all of them: choose another name"
        )
    plain = {}
    for name, value in parameters.items():
        plain[name] = value.item() if isinstance(value, np.generic) else value
        if not _is_valid(_PARAMETER, (name, plain[name])):
            raise ValueError(
                f"parameter {name!r} cannot be {plain[name]!r}: give it a name of printable text, and a "
                "finite number, a boolean or printable text as its value"
            )
    return plain


def _is_valid(kind: TypeAdapter[Any], value: object) -> bool:
    try:
        kind.validate_python(value)
    except ValidationError:
        return False
    return True
