"""The settings of a training and their limits: for the command line, the pages and the code."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from pydantic import BaseModel, ConfigDict, Field, ValidationError


class Settings(BaseModel):
    """How to train: frozen, and checked against the limits.

    Raises
    ------
    pydantic.ValidationError
        If a setting is unknown or out of range. It lists all that is wrong.
    """

    # The docstrings below are descriptions, which the command line and the pages show.
    model_config = ConfigDict(frozen=True, extra="forbid", use_attribute_docstrings=True)

    num_epochs: int = Field(default=10, ge=1, le=10_000)
    """Number of times that all images are seen."""
    batch_size_training: int = Field(default=128, ge=1, le=1024)
    """Images in a training step."""
    batch_size_validation: int = Field(default=128, ge=1, le=1024)
    """Images that are evaluated at a time."""
    learning_rate: float = Field(default=0.01, ge=1e-6, le=1)
    """Size of a step against the gradient."""
    momentum: float = Field(default=0.9, ge=0, le=1)
    """Fraction of the last step that is added to the next."""
    decay: bool = False
    """Lower the learning rate linearly, from step to step, to zero."""
    seed: int = Field(default=0, ge=0, le=2**32 - 1)
    """Determines the weights, the order of the images and dropout."""
    dropout: bool = True
    """Drop activations at random while training."""
    dry_run: bool = False
    """Stop each epoch after a few batches, to check that everything works."""

    def rate(self, epoch: int, step: Any, steps: int) -> Any:
        """Return the learning rate of one or several steps.

        Parameters
        ----------
        epoch
            Counted from 1.
        step
            Counted from 0 in its epoch: a number, or an array of NumPy or JAX.
        steps
            Number of steps in an epoch.
        """
        progress = (epoch - 1 + step / steps) / self.num_epochs
        return self.learning_rate * (1 - progress * self.decay)


#: Settings with which both frameworks reach an accuracy of 98.9 % in the test. The default learning
#: rate needs more epochs for that.
THREE_EPOCHS = Settings(num_epochs=3, learning_rate=0.05, decay=True)


def explain(error: ValidationError, label: Callable[[str], str] = str) -> str:
    """Describe in one sentence what is wrong with settings, and what was expected of each.

    Parameters
    ----------
    error
        Raised by `Settings`.
    label
        Turns the name of a setting into the name that the user knows.
    """
    mistakes = []
    for detail in error.errors():
        name = str(detail["loc"][0])
        if detail["type"] == "extra_forbidden":
            choices = ", ".join(Settings.model_fields)
            mistakes.append(f"there is no setting {name}: choose from {choices}")
        else:
            expected = detail["msg"].removeprefix("Input ")
            mistakes.append(f"{label(name)} {expected}, got {detail['input']}")
    return "; ".join(mistakes)
