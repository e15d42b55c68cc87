"""Train on several devices, of one process or of many.

Each device holds the network and gets its part of each batch; XLA adds up the gradients. The batches,
and with them the loss, are the same as on one device. On the command line,
``jaxcap mnist flax --all-devices`` trains like that. To train in several processes, start it once
for each of them: by ``srun``, which passes them all that they need, or with the same coordinator::

    jaxcap mnist flax --coordinator 10.0.0.1:1234 --processes 2 --process 0
"""

from __future__ import annotations

import jax


class JobError(RuntimeError):
    """The processes of a job didn't find one another; the message says what to do."""


def join(
    coordinator: str | None = None, processes: int | None = None, process: int | None = None
) -> None:
    """Make `jax.devices` list the devices of all processes of a job.

    Call it before anything else asks JAX for devices. On SLURM, and on other clusters that JAX
    detects, it needs no arguments.

    Parameters
    ----------
    coordinator
        Address and port at which all can reach process 0.
    processes
        Number of processes.
    process
        Number of this process, from 0.

    Raises
    ------
    JobError
        If JAX can't detect what wasn't given, or the coordinator can't be reached.
    """
    try:
        jax.distributed.initialize(coordinator, processes, process)
    except (ValueError, RuntimeError) as error:
        reason = str(error).strip().partition("\n")[0]
        raise JobError(
            f"this process can't join its job ({reason}): give the address of the coordinator, the "
            "number of processes and that of this one, or start it by srun"
        ) from error
