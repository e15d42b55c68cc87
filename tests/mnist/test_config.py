"""The settings of a training."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from pydantic import ValidationError

from jaxcap.mnist import config
from jaxcap.mnist.config import Settings


def test_defaults_are_those_of_the_original_analysis() -> None:
    assert Settings() == Settings(
        num_epochs=10,
        batch_size_training=128,
        batch_size_validation=128,
        learning_rate=0.01,
        momentum=0.9,
        dry_run=False,
    )


@pytest.mark.parametrize(
    ("name", "least", "most", "below", "above"),
    [
        ("num_epochs", 1, 10_000, 0, 10_001),
        ("batch_size_training", 1, 1024, 0, 1025),
        ("batch_size_validation", 1, 1024, 0, 1025),
        ("learning_rate", 1e-6, 1, 9e-7, 1.001),
        ("momentum", 0, 1, -0.001, 1.001),
        ("seed", 0, 2**32 - 1, -1, 2**32),
    ],
)
def test_limits(name: str, least: float, most: float, below: float, above: float) -> None:
    for value in least, most:
        assert getattr(Settings(**{name: value}), name) == value  # type: ignore[arg-type]
    for value in below, above:
        with pytest.raises(ValidationError, match=name):
            Settings(**{name: value})  # type: ignore[arg-type]


def test_all_mistakes_are_reported_at_once() -> None:
    wrong: dict[str, Any] = {"num_epochs": 0, "momentum": 2, "nonsense": 1}
    with pytest.raises(ValidationError) as raised:
        Settings(**wrong)
    assert {error["loc"][0] for error in raised.value.errors()} == set(wrong)


def test_settings_are_frozen() -> None:
    with pytest.raises(ValidationError, match="frozen"):
        Settings().seed = 1


def test_each_setting_is_described_with_its_limits() -> None:
    described = Settings.model_json_schema()["properties"]
    assert described.keys() == Settings.model_fields.keys()
    assert described["num_epochs"]["minimum"] == 1
    assert described["num_epochs"]["maximum"] == 10_000
    assert all(field["description"] for field in described.values())


def test_the_rate_stays_or_falls_along_a_line() -> None:
    steady = Settings(num_epochs=4, learning_rate=0.1)
    falling = Settings(num_epochs=4, learning_rate=0.1, decay=True)
    assert steady.rate(4, 9, 10) == 0.1
    assert falling.rate(1, 0, 10) == 0.1
    assert falling.rate(3, 0, 10) == pytest.approx(0.05)
    several = falling.rate(4, np.array([0, 5]), 10)
    np.testing.assert_allclose(several, [0.025, 0.0125])


def test_mistakes_are_explained_in_one_sentence() -> None:
    wrong: dict[str, Any] = {"num_epochs": 0, "momentum": "much", "nonsense": 1}
    with pytest.raises(ValidationError) as raised:
        Settings(**wrong)
    assert config.explain(raised.value) == (
        "num_epochs should be greater than or equal to 1, got 0; "
        "momentum should be a valid number, unable to parse string as a number, got much; "
        f"there is no setting nonsense: choose from {', '.join(Settings.model_fields)}"
    )
