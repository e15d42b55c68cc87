"""Commands that train on MNIST."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from jaxcap.cli.running import (
    LIBRARIES,
    CommandRun,
    InputError,
    device_option,
    json_option,
    quiet_option,
    require_library,
    require_writable,
)

if TYPE_CHECKING:
    from jaxcap.mnist.config import Settings
    from jaxcap.mnist.data import Mnist
    from jaxcap.mnist.training import Epoch, Trainer
    from jaxcap.results import ResultSet


class TrainingCommand(click.Command):
    """A command with an option for each of `jaxcap.mnist.config.Settings`.

    They are made when they are first asked for, since that takes importing pydantic.
    """

    _has_settings: bool

    @property
    def params(self) -> list[click.Parameter]:
        """Arguments and options of the command."""
        if not self._has_settings:
            self._params[:0] = _setting_options()
            self._has_settings = True
        return self._params

    @params.setter
    def params(self, others: list[click.Parameter]) -> None:
        self._params, self._has_settings = others, False


def _setting_options() -> list[click.Parameter]:
    from jaxcap.mnist.config import Settings

    def option(name: str, default: Any, meaning: str | None) -> click.Option:
        flag = _flag(name)
        if isinstance(default, bool):
            both = f"{flag}/--no-{flag.removeprefix('--')}"
            return click.Option([both], default=default, show_default=True, help=meaning)
        # Texts, because the settings check themselves, and report all that is wrong at once.
        kind = type(default).__name__.upper()
        return click.Option(
            [flag], default=str(default), show_default=True, metavar=kind, help=meaning
        )

    return [
        option(name, field.default, field.description)
        for name, field in Settings.model_fields.items()
    ]


data_option = click.option(
    "--data",
    type=click.Choice(("any", "complete", "subset")),
    default="any",
    show_default=True,
    help="The complete data, the subset in the package, or the former if they can be had.",
)


def training(command: Callable[..., None]) -> click.Command:
    """Give a command the options of a training."""
    for option in (
        quiet_option,
        json_option,
        device_option,
        click.option(
            "--checkpoints",
            metavar="FOLDER",
            type=click.Path(file_okay=False, path_type=Path),
            help="Save the training after each epoch, and go on from there if it is there already.",
        ),
        click.option(
            "--log",
            metavar="FILE",
            type=click.Path(dir_okay=False, path_type=Path),
            help="Write a line of JSON for each epoch.",
        ),
        data_option,
    ):
        command = option(command)
    return click.command(cls=TrainingCommand)(command)


@click.group()
def mnist() -> None:
    """Train a network to read digits."""


@training
def flax(**options: Any) -> None:
    """Train by Flax: steps compiled together, on data that stay on the device."""

    def prepare(settings: Settings, images: Mnist, _: str) -> Trainer:
        from jaxcap.mnist.train_flax import FlaxTrainer

        return FlaxTrainer(settings, images.train)

    _train("flax", prepare, **options)


@training
def pytorch(**options: Any) -> None:
    """Train by PyTorch: the same weights to begin with, and the same batches."""

    def prepare(settings: Settings, images: Mnist, platform: str) -> Trainer:
        from jaxcap.mnist.train_flax import initial_weights
        from jaxcap.mnist.train_torch import TorchTrainer

        weights = initial_weights(settings.seed)
        device = "cuda" if platform == "gpu" else platform
        return TorchTrainer(settings, images.train, weights, device=device)

    _train("pytorch", prepare, **options)


@click.command("preprocess-images")
@data_option
@quiet_option
def preprocess_images(data: str, quiet: bool) -> None:
    """Read MNIST, downloading it if need be, and tell what its pixels are normalised by."""
    from jaxcap.mnist.data import mean_and_deviation
    from jaxcap.results.tables import Table

    images = _load(data)
    rows = [
        (name, f"{len(split.images):,}", *(f"{x:.6f}" for x in mean_and_deviation(split.images)))
        for name, split in (("training", images.train), ("test", images.test))
    ]
    headers = ("images", "count", "mean", "standard deviation")
    CommandRun(quiet=quiet).show(Table(f"Pixels from 0 to 1, of {images.source}", headers, rows))


for command in flax, pytorch, preprocess_images:
    mnist.add_command(command)


def _train(
    library: str,
    prepare: Callable[[Settings, Mnist, str], Trainer],
    *,
    device: str,
    json: Path | None,
    quiet: bool,
    log: Path | None,
    checkpoints: Path | None,
    data: str,
    **given: Any,
) -> None:
    """Train as a command was told to."""
    settings = _checked(given)
    for name in "flax", library:
        require_library(name)
    for path, option in (log, "--log"), (checkpoints, "--checkpoints"):
        if path:
            require_writable(path / "new" if path.is_dir() else path, option)
    run = CommandRun(device, json=json, quiet=quiet)
    run.start()
    platform = run.platforms(library)[0]
    from jaxcap.mnist.training import fit

    images = _load(data)
    run.show(f"{LIBRARIES[library].name}, {images!r}")
    try:
        trainer = prepare(settings, images, platform)
        epochs = fit(
            trainer,
            images,
            log=log,
            checkpoints=checkpoints,
            tell=lambda epoch: run.show(str(epoch)),
            quiet=quiet,
        )
    except ValueError as error:  # a batch that is too large, another training's checkpoint
        raise InputError(str(error)) from error
    run.save(_results(library, platform, trainer.settings, images, epochs))


def _checked(given: dict[str, Any]) -> Settings:
    from pydantic import ValidationError

    from jaxcap.mnist.config import Settings, explain

    try:
        return Settings.model_validate(given)
    except ValidationError as error:
        raise InputError(explain(error, named=_flag)) from error


def _flag(setting: str) -> str:
    return f"--{setting.replace('_', '-')}"


def _load(which: Any) -> Mnist:
    from jaxcap.mnist import data

    try:
        return data.load(which)
    except data.DataError as error:
        raise InputError(str(error)) from error


def _results(
    library: str, platform: str, settings: Settings, images: Mnist, epochs: list[Epoch]
) -> ResultSet:
    """Take epochs of training for calls: the first compiles."""
    from uuid import uuid4

    from jaxcap.measure import machine
    from jaxcap.results import ProcessSamples, Result, ResultSet

    so_far = [0.0, *(epoch.train_s for epoch in epochs)]
    first, *later = [end - start for start, end in pairwise(so_far)]
    samples = tuple(later or [first])
    here = machine.capture()
    name = LIBRARIES[library].name
    result = Result(
        experiment="mnist epoch",
        variant=name,
        parameters=settings.model_dump(),
        device=machine.cpu() if platform == "cpu" else here.device,
        comparison=uuid4().hex[:12],
        allocator="default",
        working_set_bytes=sum(array.nbytes for array in images.train),
        runs=(
            ProcessSamples(
                first_call_s=first,
                calls_per_sample=1,
                samples_s=samples,
                dispatch_s=samples,
                minor_faults=(),
            ),
        ),
    )
    return ResultSet(environment=here, results=(result,))
