"""Commands that train on MNIST."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from functools import partial
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

_STARTED_BY_SRUN = "SLURM_STEP_NODELIST"


def _flag(setting: str) -> str:
    return f"--{setting.replace('_', '-')}"


def _setting_option(name: str, default: float, meaning: str) -> Callable[..., Any]:
    """Make the option for one of `jaxcap.mnist.config.Settings`."""
    flag = _flag(name)
    if isinstance(default, bool):
        flag = f"{flag}/--no-{flag.removeprefix('--')}"
        return click.option(flag, default=default, show_default=True, help=meaning)
    # The values are texts, because `Settings` converts them, and reports all that is wrong at once.
    metavar = type(default).__name__.upper()
    return click.option(
        flag, default=str(default), show_default=True, metavar=metavar, help=meaning
    )


# Written out, because importing `Settings` takes pydantic, for which help and completion don't wait.
SETTING_OPTIONS = (
    _setting_option("num_epochs", 10, "Number of times that all images are seen."),
    _setting_option("batch_size_training", 128, "Images in a training step."),
    _setting_option("batch_size_validation", 128, "Images that are evaluated at a time."),
    _setting_option("learning_rate", 0.01, "Size of a step against the gradient."),
    _setting_option("momentum", 0.9, "Fraction of the last step that is added to the next."),
    _setting_option(
        "decay", False, "Lower the learning rate linearly, from step to step, to zero."
    ),
    _setting_option("seed", 0, "Determines the weights, the order of the images and dropout."),
    _setting_option("dropout", True, "Drop activations at random while training."),
    _setting_option(
        "dry_run", False, "Stop each epoch after a few batches, to see whether everything works."
    ),
)

data_option = click.option(
    "--data",
    type=click.Choice(("any", "complete", "subset")),
    default="any",
    show_default=True,
    help="The complete data, the subset in the package, or the subset only if it has to be.",
)


def training(command: Callable[..., None]) -> click.Command:
    """Add the options of all trainings to a command."""
    for option in (
        quiet_option,
        json_option,
        device_option,
        click.option(
            "--checkpoints",
            metavar="FOLDER",
            type=click.Path(file_okay=False, path_type=Path),
            help="Save the training after each epoch, and resume it if it was saved there before.",
        ),
        click.option(
            "--log",
            metavar="FILE",
            type=click.Path(dir_okay=False, path_type=Path),
            help="Write a line of JSON for each epoch.",
        ),
        data_option,
        *reversed(SETTING_OPTIONS),
    ):
        command = option(command)
    return click.command()(command)


@click.group()
def mnist() -> None:
    """Train a network to read digits."""


@training
@click.option(
    "--all-devices",
    is_flag=True,
    help="Share each batch among all devices, including those of all processes that srun started.",
)
@click.option(
    "--coordinator",
    metavar="HOST:PORT",
    help="Train in several processes without srun: the address at which all reach process 0.",
)
@click.option("--processes", type=int, help="Number of processes, if there is a coordinator.")
@click.option("--process", type=int, help="Number of this process, from 0.")
def flax(
    all_devices: bool,
    coordinator: str | None,
    processes: int | None,
    process: int | None,
    **options: Any,
) -> None:
    """Train by Flax: steps compiled together, on data that stay on the device."""
    job = coordinator, processes, process
    in_job = any(value is not None for value in job)
    all_devices = all_devices or in_job
    if all_devices and options["json"]:
        raise InputError("--json saves the times of one device: leave it out, or train on one")
    if in_job or (all_devices and _STARTED_BY_SRUN in os.environ):
        options["join"] = partial(_join, *job)

    def prepare(settings: Settings, images: Mnist, _: str) -> Trainer:
        from jaxcap.mnist.train_flax import FlaxTrainer, data_mesh

        return FlaxTrainer(settings, images.train, mesh=data_mesh() if all_devices else None)

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
    """Read MNIST, downloading it if need be, and show what its pixels are normalised by."""
    from jaxcap.mnist.data import mean_and_std
    from jaxcap.results.tables import Table

    images = _load(data)
    rows = [
        (name, f"{len(split.images):,}", *(f"{x:.6f}" for x in mean_and_std(split.images)))
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
    join: Callable[[], bool] | None = None,
    **given: Any,
) -> None:
    """Train with the options of a command."""
    settings = _checked(given)
    for name in "flax", library:
        require_library(name)
    for path, option in (log, "--log"), (checkpoints, "--checkpoints"):
        if path:
            require_writable(path / "new" if path.is_dir() else path, option)
    if join:
        if not join():
            quiet, log = True, None  # process 0 reports for all
        data = "complete" if data == "any" else data  # all processes need the same images
    run = CommandRun(device, json=json, quiet=quiet)
    run.start()
    platform = run.platforms(library)[0]
    from jaxcap.mnist.training import fit

    images = _load(data)
    run.show(f"{LIBRARIES[library].name}, {images!r}")
    earlier: list[Epoch] = []

    def on_start(epochs: Sequence[Epoch]) -> None:
        if json and settings.num_epochs - len(epochs) < 2:
            raise InputError(
                "--json: the first epoch that a process trains includes compilation, so a time takes "
                f"a second one, and --num-epochs {settings.num_epochs} leaves "
                f"{max(settings.num_epochs - len(epochs), 0)} to train: raise it, or leave --json out"
            )
        earlier.extend(epochs)
        for epoch in epochs:
            run.show(str(epoch))

    try:
        epochs = fit(
            prepare(settings, images, platform),
            images,
            log=log,
            checkpoints=checkpoints,
            on_start=on_start,
            on_epoch=lambda epoch: run.show(str(epoch)),
            quiet=quiet,
        )
    except ValueError as error:  # a batch that is too large, an unusable checkpoint
        raise InputError(str(error)) from error
    except OSError as error:
        raise InputError(f"{error.filename} can't be written: {error.strerror}") from error
    if json:
        ends_s = [0.0, *(epoch.train_s for epoch in epochs)]
        durations_s = [end - start for start, end in pairwise(ends_s)]
        run.save(_results(library, platform, settings, images, durations_s[len(earlier) :]))


def _checked(given: dict[str, Any]) -> Settings:
    from pydantic import ValidationError

    from jaxcap.mnist.config import Settings, explain

    try:
        return Settings.model_validate(given)
    except ValidationError as error:
        raise InputError(explain(error, label=_flag)) from error


def _join(coordinator: str | None, processes: int | None, process: int | None) -> bool:
    """Join the other processes of a job, and return whether this is the first."""
    import jax

    try:
        jax.distributed.initialize(coordinator, processes, process)
    except (ValueError, RuntimeError) as error:
        reason = str(error).strip().partition("\n")[0]
        raise InputError(
            f"this process can't join its job ({reason}): give the address of the coordinator, the "
            "number of processes and that of this one, or start it by srun"
        ) from error
    return jax.process_index() == 0


def _load(want: Any) -> Mnist:
    from jaxcap.mnist import data

    try:
        return data.load(want)
    except data.DataError as error:
        raise InputError(str(error)) from error


def _results(
    library: str, platform: str, settings: Settings, images: Mnist, epochs_s: Sequence[float]
) -> ResultSet:
    """Save the epochs that this process trained as calls, of which the first compiles."""
    from uuid import uuid4

    from jaxcap.measure import machine
    from jaxcap.results import ProcessSamples, Result, ResultSet

    first, *later = epochs_s
    environment = machine.capture()
    name = LIBRARIES[library].name
    result = Result(
        experiment="mnist epoch",
        variant=name,
        parameters=settings.model_dump(),
        device=machine.cpu() if platform == "cpu" else environment.device,
        comparison=uuid4().hex[:12],
        allocator="default",
        working_set_bytes=sum(array.nbytes for array in images.train),
        runs=(
            ProcessSamples(
                first_call_s=first,
                calls_per_sample=1,
                samples_s=tuple(later),
                dispatch_s=tuple(later),
                minor_faults=(),
            ),
        ),
    )
    return ResultSet(environment=environment, results=(result,))
