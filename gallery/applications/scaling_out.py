"""
One training on many devices
============================

What do you have to change in a program that trains on one device, so that it trains on eight? And
will the network learn the same? We have compared a network :doc:`with one in PyTorch
</tutorials/applications/mnist>`. This page trains that network on one device, on eight, and in two
processes, compares the losses and the speed, and says how to start the same program on a cluster.
You don't need a second GPU to follow, nor even a first.
"""

# %%
# Eight devices from one CPU
# --------------------------
# JAX can make one CPU pretend to be several devices. They share its cores, so don't expect it to
# save time. But a program has to treat them as it would treat eight GPUs, so you can write and test
# at home what is going to run on a cluster. JAX has to know their number before it first looks for
# devices, so set it in the environment of the program:
#
# .. code-block:: console
#
#    $ JAX_PLATFORMS=cpu JAX_NUM_CPU_DEVICES=8 python program.py
#
# The process that builds this page may have asked JAX for its devices already, so we start new
# processes. ``run_python`` sets the two variables, runs Python until it ends, and returns what it
# printed. ``start_python``, which we need later, doesn't wait.
from jaxcap.report.source import Source
from jaxcap.report.virtual_devices import (
    compare_ways,
    run_python,
    start_python,
)

count = "import jax; print(jax.device_count(), 'devices')"
print(run_python("-c", count, devices=8))

# %%
# Two decisions, and the same function
# ------------------------------------
# To share a training by its *data*, give each device a copy of the weights and an equal part of
# each batch. Each device computes the gradient of its part. Then all take the mean of these
# gradients and make the same step, so their copies stay equal. In this picture, each column is a
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
# In JAX, all of this takes just two decisions. First, arrange the devices in a *mesh*, and give its
# axes names; ours has one axis, ``"data"``. Second, say for each array how it lies on the mesh:
# either it is split along an axis, or each device has a copy. The loss stays as it was for one
# device:
from jaxcap.kernels import sharding

Source(sharding.loss, sharding.by_compiler)

# %%
# In ``by_compiler``, no line sends anything, so where must the devices talk? You see it if you use
# :func:`jax.shard_map`. You take the view of a single device, and write down what it does with its
# part and which message it sends. Here, :func:`jax.lax.pmean` takes the mean of their losses. The
# gradients have to be added up as well. JAX inserts that message by itself, because ``specs`` says
# that the weights are the same on all devices:
Source(sharding.by_shard_map)

# %%
# Do these two functions get the gradient that one device gets? ``compare_ways`` finds out, and tries
# a third, ``by_pmap``, which is in the style of older programs:
Source(compare_ways)

# %%
print(run_python("-m", "jaxcap.report.virtual_devices", devices=8))

# %%
# All three agree with one device, apart from rounding. The last line says how the devices talk: by
# an *all-reduce*, which adds up numbers from all of them and gives everybody the sum. In
# ``by_compiler``, XLA put the all-reduce in. The batch is split and the gradient is a mean over the
# batch, so adding up is the step in which a device needs the others.
#
# Start with ``by_compiler``, and ask for a mesh in ``Auto`` mode, as ``compare_ways`` does with
# ``AxisType.Auto``: in that mode, XLA chooses the messages. Write a ``shard_map`` when you know
# better than XLA which messages to send. Older programs use :func:`jax.pmap`, for which the batch
# has an extra axis for the devices. It is now a wrapper around ``shard_map``, and JAX's authors
# recommend ``shard_map`` for new code. (:doc:`The next page </tutorials/applications/sharding>`
# explains the modes.)
#
# Our training uses ``Auto``, too. This is most of the code that it needs for several devices:
from jaxcap.mnist import train_flax

Source(train_flax.data_mesh, train_flax.sharding, train_flax.put)

# %%
# ``put`` does what :func:`jax.device_put` does, but takes for granted that all processes have the
# same array, where ``device_put`` would compare. The network itself needs one change: where the
# forward pass processes images in small groups, each group draws equally from all devices. (``P``
# is ``jax.P``, and ``NamedSharding`` is ``jax.NamedSharding``.)
#
# Does the training come out the same?
# ------------------------------------
# It should. A batch has as many images as before, and their mean doesn't depend on which device
# computes which part. The random numbers for dropout don't depend on the devices either, because
# they follow from a key. To check, we train three times with the same batches, for a few steps in
# each of two short epochs. The first two runs, on one device and on eight, use this command, with
# further options for the batch sizes and a log:
#
# .. code-block:: console
#
#    $ jaxcap mnist flax --all-devices --data subset --num-epochs 2 --dry-run
import tempfile
from pathlib import Path

logs = Path(tempfile.mkdtemp())
TRAIN = (
    *("-m", "jaxcap", "mnist", "flax", "--all-devices"),
    *("--data", "subset", "--dry-run", "--num-epochs", "2"),
    *("--batch-size-training", "32", "--batch-size-validation", "200"),
)
print(run_python(*TRAIN, "--log", str(logs / "1 device"), devices=1))
_ = run_python(*TRAIN, "--log", str(logs / "8 devices"), devices=8)

# %%
# The third run takes two processes, with four devices each, so we start the program twice. Each
# process has to know the address of the first one, how many processes there are, and which of them
# it is:
import socket

with socket.socket() as free:
    free.bind(("127.0.0.1", 0))
    port = free.getsockname()[1]

JOB = ("--coordinator", f"127.0.0.1:{port}", "--processes", "2")
log = ("--log", str(logs / "2 processes"))
second = start_python(*TRAIN, *JOB, "--process", "1", devices=4)
_ = run_python(*TRAIN, *JOB, "--process", "0", *log, devices=4)
_ = second.communicate()

# %%
# Will the three curves coincide?
import json

curves = {}
for path in sorted(logs.iterdir()):
    rows = [json.loads(line) for line in path.read_text().splitlines()]
    curves[path.name] = [row["train_loss"] for row in rows]

apart = 0.0
for name in ("8 devices", "2 processes"):
    for one, other in zip(curves["1 device"], curves[name]):
        apart = max(apart, abs(one - other) / one)
difference = f"{apart:.1e}"

# %%
figure, axes = plt.subplots()
for (name, losses), size in zip(curves.items(), (13, 8, 4)):
    epochs = range(1, len(losses) + 1)
    axes.plot(epochs, losses, "o-", ms=size, label=name)
axes.set(xlabel="short epoch", ylabel="mean loss (lower is better)")
axes.set_xticks(epochs)
finding = f"The losses differ by at most {difference} of their value"
figures.headline(figure, finding, "The same batches, shared in three ways")
figures.label_ends(axes)

# %%
# The three differ by at most :measured:`difference` of their value. They needn't agree to the last
# bit: eight devices add up in another order than one does, so their sums round differently, and
# each step hands the difference on to the next.
#
# What does it cost, and what does it gain?
# -----------------------------------------
# Finally, we time a few training steps on the same images, on one device and shared by all. With
# eight real devices, each has less to do, so the time should fall, unless the parts get too small
# to keep a device busy or the messages take too long. Where one CPU pretends to be eight devices,
# all share its cores, so expect to see mostly what sharing costs: smaller products, more programs
# to start, the all-reduce, and an update of eight copies of the weights.
from jaxcap.experiments.mnist import throughput
from jaxcap.experiments.scaling import SCALING

point = SCALING.points[0]
scaling = SCALING.run(points=[point], budget_s=0.05)
print(f"{point['steps']} steps on batches of {point['batch']} images")
_ = figures.bars(
    scaling,
    value=throughput,
    over="1 device",
    label="images a second (higher is better)",
    title="Speed by devices",
)

# sphinx_gallery_thumbnail_number = 3

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
# Eight devices on one CPU can show that a program is right, but not how fast it would be on eight
# real ones.
#
# On a cluster, the scheduler makes the introductions
# ---------------------------------------------------
# In ``JOB`` above, we told each process where to find the others. Under SLURM, you needn't, because
# the scheduler tells each process its number and where the others are, and JAX reads that. This job
# uses two nodes with four GPUs each, and has a process for each GPU::
#
#     #!/bin/bash
#     #SBATCH --nodes=2 --ntasks-per-node=4 --gpus-per-node=4
#     srun jaxcap mnist flax --all-devices --checkpoints shared/mnist --num-epochs 3
#
# In a program of your own, one line does it. Call it before anything else asks JAX for devices::
#
#     jax.distributed.initialize()
#
# From then on, :func:`jax.devices` lists the devices of all processes, and a mesh can have them
# all. JAX also finds its way under Open MPI, under Kubernetes and on Cloud TPUs. Elsewhere, give
# :func:`jax.distributed.initialize` the address, the number of processes and the number of this
# one.
#
# Checkpoints go to a folder that all processes can see. If the job is stopped, start it again with
# the same command: it goes on after the last complete epoch. The number of devices may change, as
# long as they can share each batch equally. Give each process GPUs of its own, because NCCL,
# NVIDIA's library for messages between GPUs, normally refuses to serve two processes on one GPU. To
# test with two processes, use a CPU, as above.
#
# Takeaway
# --------
several = scaling[-1].variant
at_most = scaling.speedup(several, over="1 device")

# %%
# To use more devices, you don't write another program. You say how arrays lie on a mesh, and XLA
# adds the messages. As long as the whole batch stays the same, the training does too, apart from
# rounding: in two short epochs, the losses on this page differed by at most :measured:`difference`
# of their value. Speed is another matter. On this page's machine, :measured:`several` were
# :measured:`at_most than one`. Parts of one CPU say nothing about the speed of real devices, so
# before you pay for eight of those, time a step on one and on two.
#
# Next: :doc:`who decides how an array is split </tutorials/applications/sharding>`, if XLA doesn't.
