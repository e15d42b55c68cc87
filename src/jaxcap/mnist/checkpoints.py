"""Checkpoints of a training: a crash at any moment leaves the last complete one."""

from __future__ import annotations

import logging
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

Arrays = Sequence[npt.NDArray[Any]]


class CheckpointError(ValueError):
    """A checkpoint can't be used or saved; the message names its folder and says why."""


class Checkpoints:
    """A folder that holds the newest checkpoint of a training, written by Orbax.

    Parameters
    ----------
    folder
        Created if it doesn't exist.

    Raises
    ------
    CheckpointError
        If the folder can't be used. The methods raise it too, if they can't read or write a file.
    """

    def __init__(self, folder: Path) -> None:
        from orbax.checkpoint import CheckpointManager, CheckpointManagerOptions

        logging.getLogger("absl").setLevel(logging.CRITICAL)  # Orbax also logs what it raises
        self.folder = folder
        options = CheckpointManagerOptions(max_to_keep=1, enable_async_checkpointing=False)
        with self._explaining("opened"):
            self._manager = CheckpointManager(folder.resolve(), options=options)

    def save(self, step: int, arrays: Arrays, metadata: Mapping[str, Any]) -> None:
        """Save arrays, and metadata that JSON can hold, in place of the previous checkpoint."""
        from orbax.checkpoint import args

        state = args.StandardSave({str(index): array for index, array in enumerate(arrays)})
        with self._explaining("written"):
            # Existing checkpoints have the name "about" too.
            self._manager.save(
                step, args=args.Composite(state=state, about=args.JsonSave(metadata))
            )

    def newest(self) -> tuple[Arrays, Any] | None:
        """Return the arrays and the metadata of the newest checkpoint, if there is one."""
        from orbax.checkpoint import args

        step = self._manager.latest_step()
        if step is None:
            return None
        items = args.Composite(state=args.StandardRestore(), about=args.JsonRestore())
        with self._explaining("read"):
            restored = self._manager.restore(step, args=items)
            arrays = [np.asarray(restored.state[str(i)]) for i in range(len(restored.state))]
            return arrays, restored.about

    @contextmanager
    def _explaining(self, verb: str) -> Iterator[None]:
        """Name the folder in errors: Orbax raises many kinds of them, and few say what is wrong."""
        try:
            yield
        except Exception as error:
            reason = f"{type(error).__name__}: {error}".partition("\n")[0]
            raise CheckpointError(
                f"the checkpoint in {self.folder} can't be {verb} ({reason}): choose another folder"
            ) from error
