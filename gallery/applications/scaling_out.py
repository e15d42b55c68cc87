"""
One training on many devices
============================

You will train the network of the :doc:`page before <mnist>` on eight devices instead of one, and then
in two processes that talk over a network: the same code, and the same curve of the loss. You will
know what JAX adds to your program for that, what it costs, and how to start it on a cluster.
"""

# %%
# Eight devices out of one
# ------------------------
# To train on many devices one needs many. But JAX can make one CPU pretend to be several. That makes
# nothing faster, and everything works as it would on as many GPUs, so one can try it at home. JAX
# has to know before it is first asked for devices. So this page starts other processes, and tells
# them by a variable of their environment:
import os
import subprocess
import sys

EIGHT_DEVICES = os.environ | {
    "JAX_PLATFORMS": "cpu",
    "JAX_NUM_CPU_DEVICES": "8",
}


def run(*command, environment=EIGHT_DEVICES):
    """Run a Python program in a process of its own, and return what it prints."""
    done = subprocess.run(
        [sys.executable, *command],
        env=environment,
        capture_output=True,
        text=True,
        check=True,
    )
    return done.stdout


print(run("-c", "import jax; print(jax.device_count(), 'devices')"))

# %%
# Three decisions
# ---------------
# To share the *data* of a training, give each device a copy of the weights and a part of each batch.
# Let it compute the gradient of its part, and take the mean of all gradients before the step, so that
# the copies stay equal. In JAX you decide three things. The devices form a *mesh*, whose axes have
# names; here there is one, ``"data"``. An array is either split along an axis of the mesh, or copied.
# And that is all: the program stays as it was for one device, and XLA finds out where devices have to
# talk. A small one:
PROGRAM = """
import re
import jax
import jax.numpy as jnp
from jax.sharding import AxisType, NamedSharding, PartitionSpec

mesh = jax.make_mesh((8,), ("data",), (AxisType.Auto,))
copied = NamedSharding(mesh, PartitionSpec())
split = NamedSharding(mesh, PartitionSpec("data"))

weights = jax.device_put(jnp.ones(3), copied)
batch = jax.device_put(jnp.ones((16, 3)), split)


def loss(weights, batch):
    return ((batch @ weights) ** 2).mean()


gradient = jax.jit(jax.grad(loss))
print("each device has", batch.sharding.shard_shape(batch.shape))
print("of a batch of", batch.shape)

program = gradient.lower(weights, batch).compile().as_text()
print("devices talk:", re.findall(r"all-[a-z]+(?=[(])", program))
"""
print(run("-c", PROGRAM))

# %%
# Nobody wrote that *all-reduce*, the sum over all devices of which everybody gets a copy. It follows
# from the mean in the loss and from the batch's being split. The training of the page before needs as
# little. These functions are all that it has for many devices:
from jaxcap.mnist import train_flax
from jaxcap.report.source import Source

Source(train_flax.data_mesh, train_flax.sharding, train_flax.put)

# %%
# Does it learn the same?
# -----------------------
# The gradient of a mean over a batch does not depend on who computes which part, and JAX's random
# numbers for dropout do not either. So with the same batches the loss has to be the same but for
# rounding, whatever the devices. Three trainings: on one device, on eight, and in two processes with
# four devices each. They run ``jaxcap mnist flax``, which needs a few lines for that, and make some
# steps in each of several short epochs:
import json
import socket
import tempfile
from pathlib import Path

logs = Path(tempfile.mkdtemp())
TRAINING = ("-m", "jaxcap", "mnist", "flax", "--all-devices")
SETTINGS = (
    *("--data", "subset"),
    *("--num-epochs", "2"),
    "--dry-run",
    *("--batch-size-training", "32"),
    *("--batch-size-validation", "200"),
)
one_device = EIGHT_DEVICES | {"JAX_NUM_CPU_DEVICES": "1"}
four_devices = EIGHT_DEVICES | {"JAX_NUM_CPU_DEVICES": "4"}

log = ("--log", str(logs / "1 device"))
print(run(*TRAINING, *log, *SETTINGS, environment=one_device))

log = ("--log", str(logs / "8 devices"))
_ = run(*TRAINING, *log, *SETTINGS)

# %%
# For two processes, start the program twice, with the address of the first one, how many there are,
# and a number for each:
with socket.socket() as free:
    free.bind(("127.0.0.1", 0))
    port = free.getsockname()[1]

job = ("--coordinator", f"127.0.0.1:{port}", "--processes", "2")
log = ("--log", str(logs / "2 processes"))
second = subprocess.Popen(
    [sys.executable, *TRAINING, *job, "--process", "1", *SETTINGS],
    env=four_devices,
    stdout=subprocess.DEVNULL,
    stderr=subprocess.DEVNULL,
)
_ = run(
    *TRAINING,
    *job,
    "--process",
    "0",
    *log,
    *SETTINGS,
    environment=four_devices,
)
_ = second.wait()

# %%
import matplotlib.pyplot as plt

curves = {
    log.name: [json.loads(line) for line in log.read_text().splitlines()]
    for log in sorted(logs.iterdir())
}
_, axes = plt.subplots()
for (name, rows), size in zip(curves.items(), (13, 8, 4)):
    epochs = [row["epoch"] for row in rows]
    axes.plot(
        epochs, [row["train_loss"] for row in rows], "o-", ms=size, label=name
    )
axes.set(xlabel="short epoch", ylabel="mean loss", title="Three trainings")
axes.set_xticks(epochs)
_ = axes.legend()

# %%
# If you see one line, that is the point. How far apart are they? Sums in another order are rounded
# in another way, and every step amplifies that a little:
alone, *others = (
    [row["train_loss"] for row in curves[name]]
    for name in ("1 device", "8 devices", "2 processes")
)
apart = max(abs(a - b) / a for other in others for a, b in zip(alone, other))
print(f"largest relative difference: {apart:.1e}")

# %%
# What it costs, and what it gains
# --------------------------------
# The same number of images in each step, by one device and shared by all. Where these are real, each
# has less to do, and the time should fall unless a device's part is too small to keep it busy. Where
# one CPU pretends, they share the same cores, so you see the cost alone: smaller products, more
# programs to start, and the sum over all devices.
from jaxcap.report import figures
from jaxcap.experiments.mnist import throughput
from jaxcap.experiments.scaling import SCALING

point = SCALING.points[0]
scaling = SCALING.run(points=[point], processes=4, budget_s=0.05)
_ = figures.bars(
    scaling,
    value=throughput,
    label="images a second",
    title="Speed by devices",
)

# sphinx_gallery_thumbnail_number = 2

# %%
scaling.speedups(over="1 device")

# %%
from jaxcap.report.claims import LARGEST, claim, speedup_of

sharing_pays = claim(
    "several devices train faster than one on the same batches, for the "
    "largest ones measured",
    scaling,
    speedup_of(over="1 device", batch=LARGEST),
)
sharing_pays

# %%
# On a cluster
# ------------
# SLURM tells each process of a job all that the flags above say, and JAX reads it. So with ``srun``
# no address is needed. Two nodes with four GPUs each, a process for each GPU::
#
#     #!/bin/bash
#     #SBATCH --nodes=2 --ntasks-per-node=4 --gpus-per-node=4
#     srun jaxcap mnist flax --all-devices --checkpoints shared/mnist --num-epochs 3
#
# In your own program one line makes the devices of all processes visible to each, before anything
# else is asked of JAX. From then on :func:`jax.devices` lists all of them, and a mesh can have them
# all::
#
#     jax.distributed.initialize()
#
# Without SLURM it takes the same three arguments as here: see :func:`jax.distributed.initialize`.
# Checkpoints go to a folder that all processes see. If the job is stopped, start it again with the
# same words, on as many devices as you like, and it goes on after the last complete epoch. Two
# processes on one machine that share a GPU are no use; on a CPU, as above, they are good for tests.
#
# Takeaway
# --------
# In JAX, more devices are not another program. Say how arrays lie on a mesh, and the same functions
# train on all of them, with the same loss: here the curves agreed as far as the difference above
# says. Whether it is faster is another question. Compared with one device, :measured:`several` came
# out :measured:`at_most` here, so ask what your devices are before you ask for more.
several = scaling[-1].variant
at_most = scaling.speedup(several, over="1 device")
