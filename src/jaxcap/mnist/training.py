"""Training in any framework: epochs, tests, metrics, checkpoints.

Only subclasses of `Trainer` depend on a framework. All see the images in the same order, and are
tested in the same way.
"""

from __future__ import annotations

import json
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple, SupportsFloat

import numpy as np
import numpy.typing as npt
import scipy.special

from jaxcap.measure.progress import progress_bar
from jaxcap.measure.settings import quick_is_on
from jaxcap.mnist.checkpoints import Arrays, CheckpointError, Checkpoints
from jaxcap.mnist.config import Settings
from jaxcap.mnist.data import Bytes, Mnist, Split, mean_and_std
from jaxcap.results.atomic import write_atomically

Order = npt.NDArray[np.int32]
Logits = npt.NDArray[np.float32]
OnStep = Callable[[int], None]
Weights = Mapping[str, Mapping[str, npt.NDArray[np.float32]]]  # kernel and bias by layer

DRY_RUN_STEPS = 5


def ignore(_: object) -> None:
    """Do nothing: the default of callbacks."""


class Trainer(ABC):
    """A network, its optimiser and the images that it is trained on.

    Parameters
    ----------
    settings
        How to train.
    train
        Images to train on; their mean and standard deviation normalise all images.
    """

    def __init__(self, settings: Settings, train: Split) -> None:
        self.settings = settings
        self._mean, self._std = mean_and_std(train.images)

    @abstractmethod
    def train_epoch(self, order: Order, epoch: int, on_step: OnStep = ignore) -> SupportsFloat:
        """Make a step for each row of ``order``, and return their mean loss.

        Parameters
        ----------
        order
            Indices of images, of shape (steps, images in a step).
        epoch
            Counted from 1; it determines dropout, together with the settings' seed.
        on_step
            Called with the number of steps made since the last call.

        Returns
        -------
        SupportsFloat
            Its computation may not have finished: converting it to a float waits for it.
        """

    def logits(self, images: Bytes) -> Logits:
        """Return logits of shape (n, 10) for images of shape (n, 28, 28)."""
        size = self.settings.batch_size_validation
        starts = range(0, len(images), size)
        return np.concatenate(
            [self._batch_logits(images[start : start + size]) for start in starts]
        )

    @abstractmethod
    def _batch_logits(self, images: Bytes) -> Logits:
        """Return the logits of at most ``batch_size_validation`` images."""

    @abstractmethod
    def state(self) -> Arrays:
        """Return everything that training changes: weights and momentum."""

    @abstractmethod
    def restore(self, state: Arrays) -> None:
        """Continue from what `state` returned."""


class Epoch(NamedTuple):
    """The outcome of an epoch.

    Attributes
    ----------
    epoch
        Counted from 1.
    train_loss
        Mean cross entropy over the epoch's steps, in nats, dropout included.
    test_loss
        Mean cross entropy over all test images, in nats.
    test_correct, test_images
        Number of test images that were recognised, and of all test images.
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
        """Fraction of the test images that were recognised."""
        return self.test_correct / self.test_images

    def __str__(self) -> str:
        return (
            f"epoch {self.epoch}: training loss {self.train_loss:.4f}, test loss "
            f"{self.test_loss:.4f}, test accuracy {self.test_correct:,} of {self.test_images:,} "
            f"({self.accuracy:.2%}), {self.train_s:.1f} s of training so far"
        )


class Evaluation(NamedTuple):
    """How well a network recognises images that it wasn't trained on.

    Attributes
    ----------
    loss
        Mean cross entropy, in nats.
    correct
        Number of images that were recognised.
    predictions
        The predicted digit of each image, of shape (n,).
    """

    loss: float
    correct: int
    predictions: npt.NDArray[np.intp]


def fit(
    trainer: Trainer,
    mnist: Mnist,
    *,
    log: Path | None = None,
    checkpoints: Path | None = None,
    on_start: Callable[[Sequence[Epoch]], None] = ignore,
    on_epoch: Callable[[Epoch], None] = ignore,
    quiet: bool = False,
) -> list[Epoch]:
    """Train for as many epochs as the trainer's settings say, with a test after each.

    Parameters
    ----------
    trainer
        Made for the training images of ``mnist``.
    mnist
        The data. Each test counts all test images.
    log
        A file for the epochs as lines of JSON, replaced after each epoch.
    checkpoints
        A folder. Training resumes from the newest checkpoint in it, and saves one after each epoch.
    on_start
        Called before training, with the epochs before the checkpoint.
    on_epoch
        Called with each epoch that is trained now.
    quiet
        Show no progress bar on a terminal.

    Returns
    -------
    list of Epoch
        All epochs, including those before the checkpoint.

    Raises
    ------
    CheckpointError
        If a checkpoint can't be read or written, or is that of another training.
    OSError
        If the log can't be written; the earlier one is then left as it was.
    ValueError
        If there are fewer images than a step takes.
    """
    saved = Checkpoints(checkpoints) if checkpoints else None
    epochs = _resume(saved, trainer) if saved else []
    on_start(tuple(epochs))
    if log and epochs:
        _write_log(log, epochs)  # its last line may have been lost
    for number in range(len(epochs) + 1, trainer.settings.num_epochs + 1):
        trained_s = epochs[-1].train_s if epochs else 0.0
        epochs.append(_run_epoch(trainer, mnist, number, trained_s, quiet=quiet))
        on_epoch(epochs[-1])
        if saved:
            metadata = {"training": _identity(trainer), "epochs": [list(epoch) for epoch in epochs]}
            saved.save(number, trainer.state(), metadata)
        if log:
            _write_log(log, epochs)
    return epochs


def _run_epoch(
    trainer: Trainer, mnist: Mnist, number: int, trained_s: float, *, quiet: bool
) -> Epoch:
    """Train for an epoch, after ``trained_s`` seconds of training in earlier ones, and test."""
    order = shuffled(len(mnist.train.labels), number, trainer.settings)
    description = f"epoch {number} of {trainer.settings.num_epochs}"
    with progress_bar(hidden=quiet, auto_refresh=True) as bar:
        on_step = partial(bar.advance, bar.add_task(description, total=len(order)))
        start = time.perf_counter()
        loss = float(trainer.train_epoch(order, number, on_step))
        trained_s += time.perf_counter() - start
        test = evaluate(trainer, mnist.test)
    return Epoch(number, loss, test.loss, test.correct, len(test.predictions), trained_s)


def shuffled(images: int, epoch: int, settings: Settings) -> Order:
    """Return the indices of images in a new order, of shape (steps, images in a step).

    The order is the same for all frameworks and machines. Images that don't fill a step are left
    out, different ones in each epoch.

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
    if quick_is_on():
        steps = 1
    indices = np.random.default_rng((settings.seed, epoch)).permutation(images)
    return indices[: steps * batch].reshape(steps, batch).astype(np.int32)


def evaluate(trainer: Trainer, split: Split) -> Evaluation:
    """Test a trainer's network on all images of a split."""
    logits = trainer.logits(split.images).astype(np.float64)
    predictions = logits.argmax(axis=1)
    of_label = logits[np.arange(len(logits)), split.labels]
    losses = scipy.special.logsumexp(logits, axis=1) - of_label
    correct = int((predictions == split.labels).sum())
    return Evaluation(float(losses.mean()), correct, predictions)


def _resume(saved: Checkpoints, trainer: Trainer) -> list[Epoch]:
    """Restore a trainer from the newest checkpoint, and return the epochs before it."""
    newest = saved.newest()
    if newest is None:
        return []
    arrays, metadata = newest
    for name, expected in _identity(trainer).items():
        if (other := metadata["training"].get(name)) != expected:
            raise CheckpointError(
                f"the checkpoint in {saved.folder} was made with {name} {other}, and this training "
                f"has {expected}: choose another folder, or train as before"
            )
    trainer.restore(arrays)
    return [Epoch(*row) for row in metadata["epochs"]]


def _identity(trainer: Trainer) -> dict[str, Any]:
    """Return what must be unchanged when a training resumes from a checkpoint.

    The size of test batches may differ, and the number of epochs unless the learning rate depends
    on it.
    """
    free = {"batch_size_validation", *(() if trainer.settings.decay else ("num_epochs",))}
    settings = trainer.settings.model_dump(exclude=free)
    return {"trainer": type(trainer).__name__, **settings}


def _write_log(path: Path, epochs: Iterable[Epoch]) -> None:
    lines = [json.dumps(epoch._asdict()) + "\n" for epoch in epochs]
    try:
        write_atomically(path, "".join(lines))
    except OSError as error:
        raise OSError(error.errno, error.strerror, str(path)) from error
