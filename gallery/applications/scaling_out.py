"""
One training on many devices
============================

What do you have to change in a program that trains on one device, so that it trains on eight, and
will the network still learn the same? We share the training of :doc:`our network for digits
</tutorials/applications/mnist>` among eight devices, compare its losses with those of one device,
and time both. You don't need a GPU to follow, because JAX can make eight devices of one CPU.
"""

# %%
# Eight devices from one CPU
# --------------------------
# A program treats the devices of a CPU as it would treat eight GPUs, so you can write and test at home
# what is going to run on a cluster. Set their number in the environment of the program, because JAX has
# to know it before it first looks for devices:
#
# .. code-block:: console
#
#    $ JAX_PLATFORMS=cpu JAX_NUM_CPU_DEVICES=8 python program.py
#
# The process that builds this page may have looked for its devices already, so we start new ones.
# ``run_python`` sets the two variables, runs Python to its end, and returns what it printed.
from jaxcap.report.source import Source
from jaxcap.report.virtual_devices import finish, run_python, start_python

count = "import jax; print(jax.device_count(), 'devices')"
print(run_python("-c", count, devices=8))

# %%
# You say where arrays lie, and XLA sends
# ---------------------------------------
# We share the training by its *data*. Each device has a copy of the weights and an equal part of
# each batch, and computes the gradient of its part. Then all take the mean of these gradients and
# make the same step, so their copies of the weights stay equal. In this picture, each column is a
# device:
import matplotlib.pyplot as plt
import numpy as np

from jaxcap.report import figures

names = "batch", "weights", "gradient", "mean", "step"
widths = 0.94, 0.6, 0.6, 0.32, 0.6
figure, axes = plt.subplots(figsize=(6, 4))
arrow = {"arrowstyle": "->", "color": figures.INK}
above = range(8)
for row, (name, width) in enumerate(zip(names, widths)):
    axes.text(-0.8, row, name, ha="right", va="center")
    places = np.linspace(2.45, 4.55, 8) if name == "mean" else range(8)
    axes.bar(places, 0.4, width, row - 0.2, color=f"C{row}")
    for start, end in zip(above, places if row else ()):
        ends = (end, row - 0.22), (start, row - 0.78)
        axes.annotate("", *ends, arrowprops=arrow)
    above = places
axes.set_ylim(4.4, -0.4)
axes.axis("off")
finding = "Only the mean of the gradients needs all devices"
words = "All have weights and a part of the batch, and take the same step"
figures.headline(figure, finding, "A step of training", words)

# %%
# In JAX, this takes two decisions. First, arrange the devices in a *mesh*, and name its axes; ours
# has one axis, ``"data"``. Second, say for each array how it lies on the mesh: ``jax.P("data")``
# splits its rows among the devices, and ``jax.P()`` gives each device a copy.
from jaxcap.kernels import sharding

Source(sharding.loss, sharding.by_compiler)

# %%
# The loss is the same as for one device, and no line of ``by_compiler`` sends anything, although
# the loss is a mean over examples on all devices. Does its gradient come out right? The next program
# compares it with the gradient from one device, and looks for a message in the compiled program. It
# also tries two programs that spell out the mean over devices, for :func:`jax.shard_map` and for the
# older :func:`jax.pmap`.
print(run_python("-m", "jaxcap.report.virtual_devices", devices=8))

# %%
# All three agree with one device, apart from rounding. In ``by_compiler``, each device has its rows of
# the batch, and XLA has added the message: an *all-reduce*, which adds up numbers from all devices
# and gives everybody the sum. If you would rather write messages yourself, :doc:`the next page
# </tutorials/applications/sharding>` shows how in a ``shard_map``, which JAX's authors `recommend
# over pmap <https://docs.jax.dev/en/latest/_autosummary/jax.pmap.html>`__.
#
# The training makes the same two decisions
# -----------------------------------------
# Our training makes a mesh of all devices, and then says for each of its arrays how it lies there:
from jaxcap.mnist import train_flax

Source(train_flax.data_mesh, train_flax.sharding)

# %%
# In training, arrays are laid out in two ways. With ``sharding(mesh)``, each device has a copy of the
# weights and of all training images. With ``sharding(mesh, None, "data")``, the devices split each
# batch: an array says which images are in it, with a row for each step and a column for each place in
# the batch, and its columns are shared out. No line sends anything between devices,
# because ``AxisType.Auto`` leaves that to XLA.
#
# Eight devices learn what one learns
# -----------------------------------
# Will the losses be the same? A batch has as many images as before, and dropout takes its random
# numbers from the same key. But eight devices add up in another order than one, so sums may be
# rounded differently.
#
# To check, we train three times with the same batches, for a few steps in each of two short epochs. The
# first two trainings have one device and eight:
import tempfile
from pathlib import Path

logs = Path(tempfile.mkdtemp())
TRAIN = (
    *("-m", "jaxcap", "mnist", "flax", "--all-devices"),
    *("--data", "subset", "--dry-run", "--num-epochs", "2"),
    *("--batch-size-training", "32", "--batch-size-validation", "200"),
)
one = start_python(*TRAIN, "--log", str(logs / "1 device"), devices=1)
eight = start_python(*TRAIN, "--log", str(logs / "8 devices"), devices=8)

# %%
# The third has four devices in each of two processes, as on a cluster. So we start the program
# twice, and tell each process the address of the first one, how many there are, and which of them
# it is:
import socket

with socket.socket() as free:
    free.bind(("127.0.0.1", 0))
    port = free.getsockname()[1]

JOB = ("--coordinator", f"127.0.0.1:{port}", "--processes", "2")
log = ("--log", str(logs / "2 processes"))
first = start_python(*TRAIN, *JOB, "--process", "0", *log, devices=4)
second = start_python(*TRAIN, *JOB, "--process", "1", devices=4)
for training in (one, eight, first, second):
    finish(training)

# %%
# Here are the mean training losses of both epochs:
import json

curves = {}
for path in sorted(logs.iterdir()):
    rows = [json.loads(line) for line in path.read_text().splitlines()]
    curves[path.name] = [row["train_loss"] for row in rows]
    print(f"{path.name:11}", *[f"{loss:.6f}" for loss in curves[path.name]])

# %%
apart = 0.0
for name in ("8 devices", "2 processes"):
    for one, other in zip(curves["1 device"], curves[name]):
        apart = max(apart, abs(one - other) / one)
difference = f"{apart:.1e}"

# %%
# The three trainings differ by at most :measured:`difference` of the loss. Rounding alone can explain
# that.
#
# What does sharing cost?
# -----------------------
# Each of several devices has less to compute, but all have to wait for the all-reduce, and each has to
# update its copy of the weights. The devices of one CPU also share its cores. Would you expect them to
# train faster than one device, or slower? Here are a few training steps on the same images:
from jaxcap.experiments.mnist import throughput
from jaxcap.experiments.scaling import SCALING

point = SCALING.points[0]
scaling = SCALING.run(points=[point], budget_s=0.05)
_ = figures.bars(
    scaling,
    value=throughput,
    over="1 device",
    label="images a second (higher is better)",
    title=f"{point['steps']} steps on batches of {point['batch']} images",
)

# sphinx_gallery_thumbnail_number = 2

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
# On a cluster, one line joins the processes
# ------------------------------------------
# In ``JOB`` above, we told each process where to find the others. Under SLURM, JAX `finds that out by
# itself <https://docs.jax.dev/en/latest/_autosummary/jax.distributed.initialize.html>`__. So one line
# joins the processes of your program, before it first asks JAX for devices::
#
#     jax.distributed.initialize()
#
# From then on, :func:`jax.devices` lists the devices of all processes, and a mesh can have them
# all. If each process has loaded only its own part of a batch,
# :func:`jax.make_array_from_process_local_data` makes one array of all parts.
#
# Our own command has that line already. This job trains on two nodes with four GPUs each, and has a
# process for each GPU::
#
#     #!/bin/bash
#     #SBATCH --nodes=2 --ntasks-per-node=4 --gpus-per-node=4
#     srun jaxcap mnist flax --all-devices --checkpoints shared/mnist --num-epochs 3
#
# If the job is stopped, start it again: it goes on after the last epoch in ``shared/mnist``.
#
# Takeaway
# --------
several = scaling[-1].variant
images = str(scaling[-1].parameters["batch"])
at_most = scaling.speedup(several, over="1 device")

# %%
# To use more devices, say how arrays lie on a mesh, and XLA adds the messages. The function that
# computes the loss stays as it was. With the same batches, the network learns the same apart from
# rounding: in two short epochs, the losses on this page differed by at most :measured:`difference` of
# their value. On this page's machine, with batches of :measured:`images` images, :measured:`several`
# were :measured:`at_most than one`. Parts of one CPU show that a program is right, but not how fast it
# would be on real devices, so before you pay for eight of those, time a step on one and on two.
#
# Next: :doc:`who decides how an array is split </tutorials/applications/sharding>`.
