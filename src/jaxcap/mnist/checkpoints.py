"""Checkpoints of a training: what is there is complete, whenever the machine went down."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

Arrays = Sequence[npt.NDArray[Any]]


class Checkpoints:
    """A folder that holds the newest checkpoint of a training, written by orbax.

    Parameters
    ----------
    folder
        Made if it isn't there.
    """

    def __init__(self, folder: Path) -> None:
        from orbax.checkpoint import CheckpointManager, CheckpointManagerOptions

        self.folder = folder
        options = CheckpointManagerOptions(max_to_keep=1, enable_async_checkpointing=False)
        self._manager = CheckpointManager(folder.resolve(), options=options)

    def save(self, number: int, arrays: Arrays, about: Mapping[str, Any]) -> None:
        """Save arrays, and what JSON can say about them, in place of the checkpoint before."""
        from orbax.checkpoint import args

        state = args.StandardSave({str(place): array for place, array in enumerate(arrays)})
        self._manager.save(number, args=args.Composite(state=state, about=args.JsonSave(about)))

    def newest(self) -> tuple[Arrays, Any] | None:
        """Return the newest checkpoint: its arrays and what was said about them."""
        from orbax.checkpoint import args

        number = self._manager.latest_step()
        if number is None:
            return None
        parts = args.Composite(state=args.StandardRestore(), about=args.JsonRestore())
        found = self._manager.restore(number, args=parts)
        arrays = [np.asarray(found.state[str(place)]) for place in range(len(found.state))]
        return arrays, found.about
