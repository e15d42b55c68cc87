"""Training, whatever the framework: epochs, tests, metrics, checkpoints.

A trainer knows its framework; what is here is the same for all of them, and so are the order of the
images and the way in which right answers are counted.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple, Protocol, SupportsFloat

import numpy as np
import numpy.typing as npt
import scipy.special

from jaxcap.mnist.checkpoints import Arrays, Checkpoints
from jaxcap.mnist.config import Settings
from jaxcap.mnist.data import Mnist, Split
from jaxcap.mnist.idx import Bytes
from jaxcap.results.files import write_atomically
from jaxcap.results.tables import Table

Order = npt.NDArray[np.int32]
Logits = npt.NDArray[np.float32]
Done = Callable[[int], None]
Weights = Mapping[str, Mapping[str, npt.NDArray[np.float32]]]  # kernel and bias by layer

DRY_RUN_STEPS = 5


class CheckpointError(ValueError):
    """A checkpoint is that of another training; the message names the difference."""


def nobody(_: object) -> None:
    """Hear of what was done, and do nothing."""


class Trainer(Protocol):
    """A network, its optimiser and the images that it is trained on."""

    settings: Settings

    def train_epoch(self, order: Order, epoch: int, done: Done = ...) -> SupportsFloat:
        """Make a step for each row of ``order``, and return their mean loss when it is converted.

        Parameters
        ----------
        order
            Places of images, of shape (steps, images in a step).
        epoch
            Counted from 1; with the settings' seed it determines dropout.
        done
            Told how many steps have been made since it was last told.
        """

    def logits(self, images: Bytes) -> Logits:
        """Judge images of shape (n, 28, 28); the result has the shape (n, 10)."""

    def state(self) -> Arrays:
        """All that training changes."""

    def restore(self, state: Arrays) -> None:
        """Take over what `state` returned."""


class Epoch(NamedTuple):
    """What an epoch did.

    Attributes
    ----------
    epoch
        Counted from 1.
    train_loss
        Mean over its steps, dropout included.
    test_loss
        Mean over all test images: the cross entropy, in nats.
    test_correct, test_images
        How many test images were recognised, of how many.
    train_s
        Seconds of training since the beginning, tests not included.
    """

    epoch: int
    train_loss: float
    test_loss: float
    test_correct: int
    test_images: int
    train_s: float

    @property
    def accuracy(self) -> float:
        """Share of the test images that were recognised."""
        return self.test_correct / self.test_images

    def __str__(self) -> str:
        return (
            f"epoch {self.epoch}: training loss {self.train_loss:.4f}, test loss "
            f"{self.test_loss:.4f}, test accuracy {self.test_correct:,} of {self.test_images:,} "
            f"({self.accuracy:.2%}), {self.train_s:.1f} s of training so far"
        )


class Judgement(NamedTuple):
    """How a network judges images that it wasn't trained on.

    Attributes
    ----------
    loss
        Mean cross entropy, in nats.
    correct
        How many images were recognised.
    judged
        What each image was taken for.
    """

    loss: float
    correct: int
    judged: npt.NDArray[np.intp]


def fit(
    trainer: Trainer,
    mnist: Mnist,
    *,
    log: Path | None = None,
    checkpoints: Path | None = None,
    tell: Callable[[Epoch], None] = nobody,
    quiet: bool = False,
) -> list[Epoch]:
    """Train for as many epochs as the trainer's settings say, with a test after each.

    Parameters
    ----------
    trainer
        Made for the training images of ``mnist``.
    mnist
        All test images are counted.
    log
        A file for the epochs' rows as JSON lines, replaced after each epoch.
    checkpoints
        A folder. The newest checkpoint in it is resumed, and a new one is made after each epoch.
    tell
        Called after each epoch, and at the beginning for those that a checkpoint brings.
    quiet
        Whether to show no progress on a terminal.

    Raises
    ------
    CheckpointError
        If the checkpoint is that of another training.
    ValueError
        If there are fewer images than a step takes.
    """
    settings = trainer.settings
    saved = Checkpoints(checkpoints) if checkpoints else None
    epochs = _resume(saved, trainer) if saved else []
    if log and epochs:
        _write_lines(log, epochs)  # the last of them may have been lost
    for epoch in epochs:
        tell(epoch)
    for number in range(len(epochs) + 1, settings.num_epochs + 1):
        order = shuffled(len(mnist.train.labels), number, settings)
        of = f"epoch {number} of {settings.num_epochs}"
        with _progress(of, len(order), hidden=quiet) as done:
            start = time.perf_counter()
            loss = float(trainer.train_epoch(order, number, done))
            train_s = time.perf_counter() - start
            test = judge(trainer, mnist.test)
        before_s = epochs[-1].train_s if epochs else 0.0
        epochs.append(
            Epoch(number, loss, test.loss, test.correct, len(test.judged), before_s + train_s)
        )
        if saved:
            about = {"training": _identity(trainer), "epochs": [list(epoch) for epoch in epochs]}
            saved.save(number, trainer.state(), about)
        if log:
            _write_lines(log, epochs)
        tell(epochs[-1])
    return epochs


def shuffled(images: int, epoch: int, settings: Settings) -> Order:
    """Places of images in a new order, of shape (steps, images in a step).

    The same for all frameworks and machines. What doesn't fill a step is left out: other images in
    each epoch.

    Raises
    ------
    ValueError
        If there are fewer images than a step takes.
    """
    batch = settings.batch_size_training
    steps = images // batch
    if not steps:
        raise ValueError(f"batch_size_training is {batch} and there are {images} images: lower it")
    if settings.dry_run:
        steps = min(steps, DRY_RUN_STEPS)
    places = np.random.default_rng((settings.seed, epoch)).permutation(images)
    return places[: steps * batch].reshape(steps, batch).astype(np.int32)


def judge(trainer: Trainer, split: Split) -> Judgement:
    """Test a trainer's network on all images of a split."""
    logits = trainer.logits(split.images).astype(np.float64)
    judged = logits.argmax(axis=1)
    of_label = logits[np.arange(len(logits)), split.labels]
    losses = scipy.special.logsumexp(logits, axis=1) - of_label
    return Judgement(float(losses.mean()), int((judged == split.labels).sum()), judged)


def table(epochs: Sequence[Epoch], caption: str = "Training") -> Table:
    """Show what epochs did."""
    headers = ("epoch", "training loss", "test loss", "test accuracy", "training time")
    rows = [
        (
            str(one.epoch),
            f"{one.train_loss:.4f}",
            f"{one.test_loss:.4f}",
            f"{one.test_correct:,} of {one.test_images:,} ({one.accuracy:.2%})",
            f"{one.train_s:.1f} s",
        )
        for one in epochs
    ]
    return Table(caption, headers, rows)


def _resume(saved: Checkpoints, trainer: Trainer) -> list[Epoch]:
    """Bring a trainer to where the newest checkpoint was made; return the epochs before it."""
    newest = saved.newest()
    if newest is None:
        return []
    arrays, about = newest
    for name, mine in _identity(trainer).items():
        if (other := about["training"][name]) != mine:
            raise CheckpointError(
                f"the checkpoint in {saved.folder} was made with {name} {other}, and this training "
                f"has {mine}: choose another folder, or train as before"
            )
    trainer.restore(arrays)
    return [Epoch(*row) for row in about["epochs"]]


def _identity(trainer: Trainer) -> dict[str, Any]:
    """Name what must be the same for a checkpoint to be resumed.

    That is all but when to stop, unless the learning rate depends on it, and how to test.
    """
    free = {"batch_size_validation", *(() if trainer.settings.decay else ("num_epochs",))}
    settings = trainer.settings.model_dump(exclude=free)
    return {"trainer": type(trainer).__name__, **settings}


@contextmanager
def _progress(description: str, steps: int, *, hidden: bool) -> Iterator[Callable[[int], None]]:
    """Show a bar on a terminal, and give what moves it by some steps."""
    from rich.console import Console
    from rich.progress import Progress

    console = Console(stderr=True)
    off = hidden or not console.is_terminal
    with Progress(console=console, transient=True, disable=off) as progress:
        task = progress.add_task(description, total=steps)
        yield partial(progress.advance, task)


def _write_lines(path: Path, epochs: Iterable[Epoch]) -> None:
    lines = [json.dumps(epoch._asdict()) + "\n" for epoch in epochs]
    write_atomically(path, "".join(lines))
