"""What results will record of a measurement, checked before any time is spent on it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Annotated, Any

import numpy as np
from pydantic import Field, ValidationError

from jaxcap.results import Parameter
from jaxcap.results.environment import FrozenModel, PrintableText


class _Labels(FrozenModel):
    experiment: Annotated[PrintableText, Field(pattern=r"^[^/\\]*$")]  # files are named after it
    variants: tuple[PrintableText, ...]
    parameters: dict[PrintableText, Parameter]


def validate_labels(
    parameters: Mapping[str, Any], *, experiment: str, variants: Iterable[str] = ()
) -> dict[str, Parameter]:
    """Check the labels of results, and return the parameters as plain Python values.

    Parameters
    ----------
    parameters
        Values by name. Scalars of NumPy are converted.
    experiment, variants
        Names.

    Raises
    ------
    ValueError
        If a result could not record one of them.
    """
    plain = {
        name: value.item() if isinstance(value, np.generic) else value
        for name, value in parameters.items()
    }
    try:
        labels = {"experiment": experiment, "variants": tuple(variants), "parameters": plain}
        _Labels.model_validate(labels, strict=True)
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        kind, *key = first["loc"]
        if kind == "parameters":
            raise ValueError(
                f"parameter {key[0]!r} is {plain[str(key[0])]!r}: give a finite number, a boolean or a "
                "printable text, under a name that is a printable text"
            ) from None
        raise ValueError(
            f"{kind} cannot be named {first['input']!r}: choose a printable text"
            f"{' without slashes' if kind == 'experiment' else ''}"
        ) from None
    return plain
