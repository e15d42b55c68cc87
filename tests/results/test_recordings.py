"""The recordings that this repository holds, whoever sent them."""

from __future__ import annotations

from pathlib import Path

import pytest

from jaxcap.experiments import unknown_parameters
from jaxcap.results.environment import Environment
from jaxcap.results.recordings import ENVIRONMENT, recorded, slug

RECORDED = Path(__file__).parents[2] / "docs" / "recorded"


def test_every_file_can_be_used() -> None:
    recorded(RECORDED, on_invalid=pytest.fail, check=unknown_parameters)


def test_every_folder_says_which_machine_it_is_of() -> None:
    for folder in RECORDED.glob("*/"):
        text = (folder / ENVIRONMENT).read_text(encoding="utf-8")
        assert slug(Environment.model_validate_json(text).device.name) == folder.name
