"""Commands that train on MNIST."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Sequence
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from jaxcap.cli.options import (
    LIBRARIES,
    Function,
    InputError,
    device_option,
    json_option,
    quiet_option,
    require_library,
    require_writable,
)
from jaxcap.cli.run import CommandRun
from jaxcap.mnist.config import Settings, explain
from jaxcap.results.tables import Table

if TYPE_CHECKING:
    from pydantic.fields import FieldInfo

    from jaxcap.mnist.data import Mnist
    from jaxcap.mnist.training import Epoch, Trainer
    from jaxcap.results import ResultSet

_STARTED_BY_SRUN = "SLURM_STEP_NODELIST"


def _flag(setting: str) -> str:
    return f"--{setting.replace('_', '-')}"


def _setting_option(name: str, setting: FieldInfo) -> Callable[..., Any]:
    """Make the option for one of `jaxcap.mnist.config.Settings`."""
    flag = _flag(name)
    if setting.annotation is bool:
        flag = f"{flag}/--no-{flag.removeprefix('--')}"
        return click.option(
            flag, default=setting.default, show_default=True, help=setting.description
        )
    # Values stay strings, because `Settings` converts them and reports all errors at once.
    return click.option(
        flag,
        default=str(setting.default),
        show_default=True,
        metavar=type(setting.default).__name__.upper(),
        help=setting.description,
    )


data_option = click.option(
    "--data",
    type=click.Choice(("any", "complete", "subset")),
    default="any",
    show_default=True,
    help="Images to use: the complete set, the subset that comes with jaxcap, or any, which takes "
    "the complete set if it can be loaded and the subset otherwise.",
)


@click.group()
def mnist() -> None:
    """Train a network to read handwritten digits."""


def training_command(function: Function) -> click.Command:
    """Make a command with the options that all trainings share."""
    settings = [_setting_option(*setting) for setting in Settings.model_fields.items()]
    for option in (
        quiet_option,
        json_option,
        device_option,
        click.option(
            "--checkpoints",
            metavar="FOLDER",
            type=click.Path(file_okay=False, path_type=Path),
            help="Save the training in FOLDER after each epoch, and resume the one saved there, if any.",
        ),
        click.option(
            "--log",
            metavar="FILE",
            type=click.Path(dir_okay=False, path_type=Path),
            help="Write a line of JSON to FILE for each epoch.",
        ),
        data_option,
        *reversed(settings),
    ):
        function = option(function)
    return mnist.command()(function)


def _require_host_and_port(
    _: click.Context, __: click.Parameter, address: str | None
) -> str | None:
    port = re.fullmatch(r".+:([0-9]+)", address) if address else None
    if address and not (port and int(port[1]) < 2**16):  # JAX crashes on some of these
        raise click.BadParameter(f"{address} is not of the form HOST:PORT, as in 10.0.0.1:1234.")
    return address


@training_command
@click.option(
    "--all-devices",
    is_flag=True,
    help="Split each batch among all devices, including those of all processes that srun started.",
)
@click.option(
    "--coordinator",
    metavar="HOST:PORT",
    callback=_require_host_and_port,
    help="To train in several processes without srun: the address where all of them reach process 0.",
)
@click.option("--processes", type=int, help="With --coordinator: the number of processes.")
@click.option("--process", type=int, help="With --coordinator: the number of this process, from 0.")
def flax(
    all_devices: bool,
    coordinator: str | None,
    processes: int | None,
    process: int | None,
    **options: Any,
) -> None:
    """Train with Flax, in compiled loops over data that stay on the device."""
    job = coordinator, processes, process
    in_job = any(value is not None for value in job)
    all_devices = all_devices or in_job
    if all_devices and options["json"]:
        raise InputError(
            "--json can only save the times of one device: leave it out, or train on one device"
        )
    if in_job or (all_devices and _STARTED_BY_SRUN in os.environ):
        options["join"] = partial(_join, *job)

    def prepare(settings: Settings, images: Mnist, _: str) -> Trainer:
        from jaxcap.mnist.train_flax import FlaxTrainer, data_mesh

        return FlaxTrainer(settings, images.train, mesh=data_mesh() if all_devices else None)

    _train("flax", prepare, **options)


@training_command
def pytorch(**options: Any) -> None:
    """Train with PyTorch, from the same initial weights and on the same batches as with Flax."""

    def prepare(settings: Settings, images: Mnist, platform: str) -> Trainer:
        from jaxcap.mnist.train_flax import initial_weights
        from jaxcap.mnist.train_torch import TorchTrainer

        weights = initial_weights(settings.seed)
        device = "cuda" if platform == "gpu" else platform
        return TorchTrainer(settings, images.train, weights, device=device)

    _train("pytorch", prepare, **options)


@mnist.command("preprocess-images")
@data_option
@quiet_option
def preprocess_images(data: Any, quiet: bool) -> None:
    """Load MNIST, and show the mean and the standard deviation of its pixels.

    Downloads the images if necessary.
    """
    from jaxcap.mnist.data import load, mean_and_std

    images = load(data)
    rows = [
        (name, f"{len(split.images):,}", *(f"{x:.6f}" for x in mean_and_std(split.images)))
        for name, split in (("training", images.train), ("test", images.test))
    ]
    headers = ("images", "count", "mean", "standard deviation")
    CommandRun(quiet=quiet).show(Table(f"Pixels from 0 to 1, of {images.source}", headers, rows))


def _train(
    library: str,
    prepare: Callable[[Settings, Mnist, str], Trainer],
    *,
    device: str,
    json: Path | None,
    quiet: bool,
    log: Path | None,
    checkpoints: Path | None,
    data: Any,
    join: Callable[[], bool] | None = None,
    **values: Any,
) -> None:
    settings = _checked_settings(values, library, log, checkpoints)
    from jaxcap.mnist.data import load
    from jaxcap.mnist.training import fit

    if join:
        if not join():
            quiet, log = True, None  # process 0 reports for all
        data = "complete" if data == "any" else data  # all processes need the same images
    run = CommandRun(device, json=json, quiet=quiet)
    run.start()
    platform = run.platforms(library)[0]
    images = load(data)
    run.show(f"{LIBRARIES[library]}. {images!r}")
    resumed: list[Epoch] = []

    def on_start(epochs: Sequence[Epoch]) -> None:
        if json:
            _require_two_epochs(settings.num_epochs, len(epochs))
        resumed.extend(epochs)
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
        run.save(_results(library, platform, settings, images, epochs, len(resumed)))


def _checked_settings(
    values: dict[str, Any], library: str, log: Path | None, checkpoints: Path | None
) -> Settings:
    """Check the options as far as possible before JAX starts, and return the settings."""
    from pydantic import ValidationError

    try:
        settings = Settings.model_validate(values)
    except ValidationError as error:
        raise InputError(explain(error, label=_flag)) from error
    for name in "flax", library:
        require_library(name)
    for path, option in (log, "--log"), (checkpoints, "--checkpoints"):
        if path:
            require_writable(path / "new" if path.is_dir() else path, option)
    return settings


def _join(coordinator: str | None, processes: int | None, process: int | None) -> bool:
    """Join the other processes of a job, and return whether this one is process 0."""
    import jax

    try:
        jax.distributed.initialize(coordinator, processes, process)
    except (ValueError, RuntimeError) as error:
        reason = str(error).strip().partition("\n")[0]
        raise InputError(
            f"this process can't join the others ({reason}): give --coordinator, --processes and "
            "--process, or start the processes with srun"
        ) from error
    return jax.process_index() == 0


def _require_two_epochs(num_epochs: int, trained: int) -> None:
    if num_epochs - trained < 2:
        raise InputError(
            "--json needs at least two more epochs, because the first one includes compilation, but "
            f"--num-epochs {num_epochs} leaves {max(num_epochs - trained, 0)} to train: raise it, or "
            "leave --json out"
        )


def _results(
    library: str,
    platform: str,
    settings: Settings,
    images: Mnist,
    epochs: Sequence[Epoch],
    resumed: int,
) -> ResultSet:
    """Return the epochs that this process trained as the calls of a result; the first one compiles."""
    from uuid import uuid4

    from jaxcap.measure.machine import description
    from jaxcap.results import ProcessSamples, Result, ResultSet

    ends_s = [0.0, *(epoch.train_s for epoch in epochs)]
    first, *later = [end - start for start, end in pairwise(ends_s)][resumed:]
    environment = description.capture()
    result = Result(
        experiment="mnist epoch",
        variant=LIBRARIES[library],
        parameters=settings.model_dump(),
        device=description.cpu() if platform == "cpu" else environment.device,
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
