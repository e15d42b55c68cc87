"""
One training on many devices
============================

What do you have to change in a program to train on eight devices instead of one? And will the
network learn the same? This page trains the network of
:doc:`the page before </tutorials/applications/mnist>` on one device, on eight, and in two
processes. It compares the losses and the speed, and says how to start the same program on a
cluster. To follow, you don't need a second GPU, nor even a first.
"""

# %%
# Eight devices from one CPU
# --------------------------
# JAX can make one CPU pretend to be several devices. That won't save any time, since they share the
# CPU's cores. But a program has to treat them as it would treat eight GPUs, so you can write and
# test at home what is going to run on a cluster. JAX has to know their number before it first looks
# for devices, and in this process it may have looked already. So this page starts new processes, in
# whose environment ``JAX_PLATFORMS`` is ``cpu``, and ``JAX_NUM_CPU_DEVICES`` is the number:
from jaxcap.report.virtual_devices import run_python, start_python

count = "import jax; print(jax.device_count(), 'devices')"
print(run_python("-c", count, devices=8))

# %%
# Two decisions, and the same function
# ------------------------------------
# To share a training by its *data*, give each device a copy of the weights and an equal part of
# each batch. Each device computes the gradient of its part. Then they take the mean of all
# gradients, and all make the same step, so that their copies stay equal.
#
# That sounds like a lot of code. In JAX, it takes two decisions. First, arrange the devices in a
# *mesh*, and give its axes names; ours has one axis, ``"data"``. Second, say for each array how it
# lies on the mesh: either it is split along an axis, or each device has a copy. The function itself
# stays as it was for one device. Here are a loss and its gradient over such a mesh. Where do you
# think the devices will have to talk to each other?
from jaxcap.kernels import sharding
from jaxcap.report.source import Source

Source(sharding.loss, sharding.by_compiler)

# %%
# In ``by_compiler``, no line sends anything. There is another way to write the same, in which you
# see where the devices talk. With :func:`jax.shard_map`, you take the view of a single device, and
# write down what it does with its part, and which message it sends. :func:`jax.lax.pmean` takes the
# mean over the devices:
Source(sharding.by_shard_map)

# %%
# Older programs use :func:`jax.pmap`. It takes no mesh. Instead, you give the batch an extra axis
# for the devices. You get one result for each device, all equal, and keep the first:
Source(sharding.by_pmap)

# %%
# Do all three get the gradient that one device gets?
print(run_python("-m", "jaxcap.report.virtual_devices", devices=8))

# %%
# They do, but for rounding. The last line says how the devices talk: by an *all-reduce*, which adds
# up numbers from all of them and gives everybody the sum. In ``by_compiler``, XLA put the
# all-reduce in, because the batch is split and the gradient is a mean over the batch. Adding up
# over the batch is the only step in which a device needs the others.
#
# Which of the three should you write? That depends on who should decide about the messages, you or
# XLA.
#
# - Where the axis of the mesh has the mode ``Auto``, as ours has, XLA decides. Start here.
# - With ``Explicit``, the default of :func:`jax.make_mesh`, the way an array is split is part of
#   its type, and JAX asks you wherever it can't tell how a result should be split.
# - Inside a ``shard_map``, the mode is ``Manual``. It is for when you know better than XLA which
#   message to send.
# - ``pmap`` still works, by now as a wrapper around ``shard_map``, which JAX's authors recommend
#   for new code.
#
# JAX's `guide to sharding <https://docs.jax.dev/en/latest/201/sharding.html>`__ compares the modes.
# Our training uses ``Auto``, too. All that it contains for the sake of several devices is this:
from jaxcap.mnist import train_flax

Source(train_flax.data_mesh, train_flax.sharding, train_flax.put)

# %%
# (``P`` is ``jax.P``, and ``NamedSharding`` is ``jax.NamedSharding``. ``put`` does what
# :func:`jax.device_put` does, even when the devices belong to several processes.)
#
# Does the training come out the same?
# ------------------------------------
# It should. A batch has as many images as before, only each device has fewer of them, and their
# mean doesn't depend on who computes which part. The random numbers for dropout are made from a
# key, so they don't depend on that either. To see whether theory is right, we make three trainings
# with the same batches, of a few steps in each of two short epochs. The first two run this command,
# with smaller batches, on one device and on eight:
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
# The third training runs in two processes, with four devices each. So the program is started twice.
# Each process has to know the address of the first one, how many processes there are, and which of
# them it is:
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
# How many lines do you expect in this plot?
import json

import matplotlib.pyplot as plt

from jaxcap.report import figures

curves = {}
for path in sorted(logs.iterdir()):
    rows = [json.loads(line) for line in path.read_text().splitlines()]
    curves[path.name] = [row["train_loss"] for row in rows]

_, axes = plt.subplots()
for (name, losses), size in zip(curves.items(), (13, 8, 4)):
    epochs = range(1, len(losses) + 1)
    axes.plot(epochs, losses, "o-", ms=size, label=name)
axes.set(xlabel="short epoch", ylabel="mean loss (lower is better)")
axes.set_xticks(epochs)
axes.set_title("On one device, on eight, and in two processes")
figures.label_ends(axes)

# %%
# If you see only one line, the three lie on top of each other, as they should. They needn't agree
# to the last bit. Eight devices add up in another order than one does, which rounds differently,
# and each step carries the difference on. How large is it?
alone = curves["1 device"]
apart = 0.0
for name in ("8 devices", "2 processes"):
    for one, other in zip(alone, curves[name]):
        apart = max(apart, abs(one - other) / one)
print(f"largest relative difference: {apart:.1e}")

# %%
# What does it cost, and what does it gain?
# -----------------------------------------
# Now we time a training on the same images, on one device and shared by all. Of eight real devices,
# each has less to do, so the time should fall, unless the parts get too small to keep a device busy
# or the messages take too long. If one CPU pretends to be eight, all share its cores. Then expect
# to see mostly what sharing costs: smaller products, more programs to start, and the all-reduce.
from jaxcap.experiments.mnist import throughput
from jaxcap.experiments.scaling import SCALING

point = SCALING.points[0]
scaling = SCALING.run(points=[point], processes=4, budget_s=0.05)
_ = figures.bars(
    scaling,
    value=throughput,
    over="1 device",
    label="images a second (higher is better)",
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
# Before you draw a conclusion, look at the device named at the top of this page. If it is a CPU,
# its eight devices are parts of it. They can show that a program is right, but not how fast it
# would be on eight real devices.
#
# On a cluster, the scheduler makes the introductions
# ---------------------------------------------------
# In ``JOB`` above, we told each process where to find the others. Under SLURM, you needn't: the
# scheduler tells each process of a job its number and where the others are, and JAX reads that.
# This job uses two nodes with four GPUs each, and has a process for each GPU::
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
# the same command, on as many devices as you like, and it goes on after the last complete epoch.
# Give each process GPUs of its own, because NCCL, NVIDIA's library for messages between GPUs,
# normally refuses to serve two processes on one GPU. To test with two processes, use a CPU, as
# above.
#
# Takeaway
# --------
several = scaling[-1].variant
at_most = scaling.speedup(several, over="1 device")
difference = f"{apart:.1e}"

# %%
# To use more devices, you don't write another program. You say how arrays lie on a mesh, and XLA
# adds what devices have to tell each other. As long as the whole batch stays the same, the training
# comes out the same but for rounding: after two short epochs, the losses on this page differed by
# :measured:`difference` of their value at most. Speed is another matter. On this page's machine,
# :measured:`several` were :measured:`at_most than one`. If that machine is a CPU, its devices are
# parts of it, and say nothing about the speed of real ones. Before you pay for eight devices, time
# a step on one and on two.
#
# What else can be split, and what does it cost in messages? Next: :doc:`how much devices have to
# send </tutorials/applications/sharding>`.
