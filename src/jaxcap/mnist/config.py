"""What can be set about a training, with limits: for the command line, the pages and the code."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeVar

from pydantic import BaseModel, ConfigDict, Field, ValidationError

if TYPE_CHECKING:
    from jaxcap.results.tables import Table


Steps = TypeVar("Steps", bound=Any)


class Settings(BaseModel):
    """How to train: frozen, and validated with its limits.

    Raises
    ------
    pydantic.ValidationError
        If something is unknown or out of range, with all that is wrong at once.
    """

    # The docstrings below are descriptions, which the command line and the pages show.
    model_config = ConfigDict(frozen=True, extra="forbid", use_attribute_docstrings=True)

    num_epochs: int = Field(default=10, ge=1, le=10_000)
    """Times that all images are seen."""
    batch_size_training: int = Field(default=128, ge=1, le=1024)
    """Images in a step."""
    batch_size_validation: int = Field(default=128, ge=1, le=1024)
    """Images that are judged at a time."""
    learning_rate: float = Field(default=0.01, ge=1e-6, le=1)
    """Size of a step against the gradient."""
    momentum: float = Field(default=0.9, ge=0, le=1)
    """Share of the last step that is added to the next."""
    decay: bool = False
    """Lower the learning rate from step to step, along a line that ends at zero."""
    seed: int = Field(default=0, ge=0, le=2**32 - 1)
    """Determines the weights, the order of the images and dropout."""
    dropout: bool = True
    """Leave out activations at random while training."""
    dry_run: bool = False
    """Stop each epoch after a few batches, to see whether all works."""

    def rate(self, epoch: int, step: Steps, steps: int) -> Steps:
        """Return the learning rate of a step, or of several.

        Parameters
        ----------
        epoch
            Counted from 1.
        step
            Counted from 0 in its epoch: a number, or an array of NumPy or JAX.
        steps
            How many an epoch has.
        """
        done = (epoch - 1 + step / steps) / self.num_epochs
        rate: Steps = self.learning_rate * (1 - done * self.decay)
        return rate


#: Settings with which both frameworks pass 98.9 % of the test images. The seeds' rate needs more
#: epochs.
THREE_EPOCHS = Settings(num_epochs=3, learning_rate=0.05, decay=True)


def explain(error: ValidationError, named: Callable[[str], str] = str) -> str:
    """Say in one sentence what is wrong with settings: all of it, each with what was expected.

    Parameters
    ----------
    error
        From making `Settings`.
    named
        What its user calls a setting.
    """
    return "; ".join(
        f"there is no setting {one['loc'][0]}: choose from {', '.join(Settings.model_fields)}"
        if one["type"] == "extra_forbidden"
        else f"{named(str(one['loc'][0]))} {one['msg'].removeprefix('Input ')}, got {one['input']}"
        for one in error.errors()
    )


def table() -> Table:
    """Describe the settings: default, limits and meaning of each."""
    from jaxcap.results.tables import Table

    known = Settings.model_json_schema()["properties"]
    rows = [
        (name, str(one["default"]), _limits(one), one["description"]) for name, one in known.items()
    ]
    return Table("Settings of a training", ("setting", "default", "limits", "meaning"), rows)


def _limits(schema: dict[str, float]) -> str:
    return f"{schema['minimum']:.12g} to {schema['maximum']:.12g}" if "minimum" in schema else ""
