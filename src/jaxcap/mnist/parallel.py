"""Train on several devices, of one process or of many.

Each device holds the network and gets its part of each batch; XLA adds up the gradients. So the
batch, and with it the curve of the loss, is that of one device.

Run as a program, this module is one process of a job: start it once for each process, with the same
coordinator, or by ``srun``, which tells it all that it has to know::

    python -m jaxcap.mnist.parallel --coordinator 10.0.0.1:1234 --processes 2 --process 0
"""

from __future__ import annotations

import argparse
import os
from collections.abc import Sequence
from pathlib import Path

import jax
from pydantic import ValidationError

from jaxcap.mnist import data
from jaxcap.mnist.config import Settings, explain
from jaxcap.mnist.train_flax import FlaxTrainer, data_mesh
from jaxcap.mnist.training import fit, table

_STARTED_BY_SRUN = "SLURM_STEP_NODELIST"


class JobError(RuntimeError):
    """The processes of a job didn't find one another; the message says what to do."""


def join(
    coordinator: str | None = None, processes: int | None = None, process: int | None = None
) -> None:
    """Make the devices of all processes of a job those of `jax.devices`.

    To be called before anything else is asked of JAX. On SLURM, and wherever else JAX knows its way
    about, no argument is needed.

    Parameters
    ----------
    coordinator
        Address and port at which process 0 can be reached by all.
    processes
        How many there are.
    process
        Number of this one, from 0.

    Raises
    ------
    JobError
        If JAX can't find out what wasn't said, or the coordinator can't be reached.
    """
    try:
        jax.distributed.initialize(coordinator, processes, process)
    except (ValueError, RuntimeError) as error:
        said = str(error).strip().partition("\n")[0]
        raise JobError(
            f"this process can't join its job ({said}): give the address of the coordinator, the "
            "number of processes and that of this one, or start it by srun"
        ) from error


def main(arguments: Sequence[str] | None = None) -> None:
    """Train as one process of a job; the first one tells what each epoch did."""
    parser = argparse.ArgumentParser("python -m jaxcap.mnist.parallel", description=main.__doc__)
    parser.add_argument("--coordinator", metavar="HOST:PORT", help="where process 0 is reached")
    parser.add_argument("--processes", type=int, help="how many processes there are")
    parser.add_argument("--process", type=int, help="number of this one, from 0")
    parser.add_argument("--subset", action="store_true", help="train on the packaged subset")
    parser.add_argument("--log", type=Path, help="file for a line of JSON for each epoch")
    parser.add_argument("--checkpoints", type=Path, help="folder that all processes share")
    parser.add_argument("settings", nargs="*", metavar="name=value", help="such as num_epochs=3")
    given = parser.parse_args(arguments)
    try:
        settings = Settings.model_validate(dict(_name_and_value(pair) for pair in given.settings))
        if given.coordinator or _STARTED_BY_SRUN in os.environ:
            join(given.coordinator, given.processes, given.process)
        mnist = data.load("subset" if given.subset else "complete")
        trainer = FlaxTrainer(settings, mnist.train, mesh=data_mesh())
        speaks = jax.process_index() == 0
        log = given.log if speaks else None
        epochs = fit(trainer, mnist, log=log, checkpoints=given.checkpoints)
    except ValidationError as error:
        parser.error(explain(error))
    except (JobError, ValueError) as error:
        parser.error(str(error))
    if speaks:
        print(table(epochs))


def _name_and_value(pair: str) -> tuple[str, str]:
    name, equals, value = pair.partition("=")
    if not equals:
        raise ValueError(f"a setting is given as name=value, got {pair!r}")
    return name, value


if __name__ == "__main__":
    main()
