"""Names and parameters are checked, and converted where that loses nothing."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from jaxcap.measure.parameters import validate_labels


def test_scalars_of_numpy_become_pythons() -> None:
    given = {"n": np.int64(3), "x": np.float32(0.5), "flag": np.bool_(True), "dtype": np.str_("f")}
    plain = validate_labels(given, experiment="test")
    assert plain == {"n": 3, "x": 0.5, "flag": True, "dtype": "f"}
    assert list(map(type, plain.values())) == [int, float, bool, str]


@pytest.mark.parametrize(
    "value", [np.arange(2), [1], None, float("nan"), np.float64("inf"), 1j, "a\x1bb", b"bytes"]
)
def test_other_values_are_refused(value: Any) -> None:
    with pytest.raises(
        ValueError, match=r"^parameter 'size' cannot be .*, and a finite number, a boolean or"
    ):
        validate_labels({"size": value}, experiment="test")


@pytest.mark.parametrize("name", ["variant", "experiment", "allocator", "over"])
def test_a_parameter_that_could_not_be_selected_is_refused(name: str) -> None:
    with pytest.raises(ValueError, match=f"no parameter can be named '{name}'"):
        validate_labels({"size": 1, name: "a"}, experiment="test")


@pytest.mark.parametrize(
    ("names", "message"),
    [
        ({"experiment": "a/b"}, "experiment cannot be named 'a/b': .* text without slashes$"),
        ({"experiment": "a\\b"}, "experiment cannot be named 'a.*b': .* text without slashes$"),
        ({"variants": ["fine", "a\nb"]}, r"variants cannot be named 'a\\nb': .* printable text$"),
    ],
)
def test_names_that_do_not_print_or_name_files_are_refused(
    names: dict[str, Any], message: str
) -> None:
    with pytest.raises(ValueError, match=message):
        validate_labels({}, **({"experiment": "test"} | names))
