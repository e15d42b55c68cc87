"""
What makes a training step faster?
==================================

You have a training loop that works, and it is slow. Should you look for waste around the step,
where data is sent and Python waits, or within it, in the layers of the network? This page starts
with a plain loop in Flax, changes it in both places, one idea at a time, and measures what each
idea saves on this device. Then it compares the best way with PyTorch.
"""

# %%
# The loop you would write first
# ------------------------------
# Take a batch, make a step, look at the loss, repeat. We train the network of :doc:`the previous
# page </tutorials/applications/mnist>`. In Flax, a step is a function under :func:`flax.nnx.jit`,
# which writes the new weights into the model, much as a step in PyTorch does:
from jaxcap.mnist import train_flax
from jaxcap.report.source import Source

Source(train_flax.naive_step)

# %%
# A loop in Python calls this step with one batch after another, and waits for each loss. The results
# below call this loop *naive*.
#
# What could be saved
# -------------------
# Three ideas concern what happens around the step:
#
# - *data on the device*: all images stay there, as bytes, and no loss is read before the end.
# - *a pure function*: the step takes the weights and returns new ones, so Flax needn't :doc:`take
#   the model apart </tutorials/transformations/modules>` in each call. The old weights are
#   :doc:`donated </tutorials/transformations/updates>`, and leave their memory to the new ones.
# - *scan*: Python starts a :doc:`compiled loop </tutorials/transformations/loops>` of several steps
#   once, instead of each step by itself.
#
# The other five change how the layers are computed. Apart from rounding, and from which activations
# dropout happens to drop, the results stay the same:
#
# - *our own pool* takes the largest of four pixels by comparing four small images.
# - *patches* turn :doc:`convolutions into products of matrices
#   </tutorials/applications/convolutions>`.
# - *Winograd's algorithm* saves :doc:`half the multiplications of the second layer
#   </tutorials/applications/winograd>`, and the first layer becomes a sum of shifted images.
# - *a few images at a time* go through the second convolution and the pool, so that what the one
#   writes can still be in the cache when the other reads it.
# - *fewer random numbers*: dropout draws one byte for each activation instead of four.
#
# The forward pass of the pool, for instance, takes three lines. Its results are exactly those of
# XLA's operation:
import jax
import jax.numpy as jnp

from jaxcap.mnist import model


def pool(images):
    corners = [images[:, i::2, j::2] for i in range(2) for j in range(2)]
    return jnp.stack(corners).max(axis=0)


images = jax.random.normal(jax.random.key(0), (32, 24, 24, 64))
jnp.array_equal(pool(images), model.xla_max_pool(images))

# %%
# Around the step, or within it?
# ------------------------------
# Which of these would you try first? We time :measured:`scan_steps` steps with batches of
# :measured:`batch_size` images. All ways to train take turns, in several fresh processes:
from jaxcap.experiments import mnist_changes as ways
from jaxcap.experiments.mnist import DEVICE, THROUGHPUT, throughput

point = THROUGHPUT.points[0]
speeds = THROUGHPUT.run(points=[point], processes=4, budget_s=0.05)

# %%
batch_size, scan_steps = point["batch"], point["steps"]
changes = {
    ways.BYTES: (ways.NAIVE, "data on the device"),
    ways.STEPS: (ways.BYTES, "a pure function"),
    ways.SCAN: (ways.STEPS, "scan"),
    ways.POOL: (ways.STEPS, "our own pool"),
    ways.PATCHES: (ways.POOL, "patches"),
    ways.SUMS: (ways.PATCHES, "Winograd's algorithm"),
    ways.PARTS: (ways.SUMS, "a few images at a time"),
    ways.WINOGRAD: (ways.PARTS, "fewer random numbers"),
    ways.SCAN_WINOGRAD: (ways.WINOGRAD, "scan"),
}

# %%
from jaxcap.report import figures

_ = figures.waterfall(
    speeds,
    changes={way: before for way, (before, _) in changes.items()},
    names={way: name for way, (_, name) in changes.items()},
    title="Training, one change at a time",
    label=f"time of {scan_steps} steps (lower is better)",
)

# %%
around = speeds.speedup(ways.STEPS, over=ways.NAIVE)
within = speeds.speedup(ways.WINOGRAD, over=ways.STEPS)

# %%
# The figure leads from the naive loop to the fastest way, and each bar is what one change did to the
# time: blue if it saved time, orange if it cost time, and grey if the measurement can't tell. A
# change that the fastest way does without has no bar. Is the one that you would have tried first
# blue?
#
# Now take each kind together. With the data on the device and a pure function, training was
# :measured:`around than with the naive loop`. With all five changes to the layers as well, it was
# :measured:`within than without those five`.
#
# One change of each kind is also a claim, which other machines check:
from jaxcap.report.claims import claim, speedup_of

data_pay = claim(
    "Flax trains faster with the data on the device than if it sends each "
    "batch and waits for each loss",
    speeds,
    speedup_of(ways.BYTES, over=ways.NAIVE),
)
data_pay

# %%
pool_pays = claim(
    "Flax trains faster with our own pool than with XLA's",
    speeds,
    speedup_of(ways.POOL, over=ways.STEPS),
)
pool_pays

# %%
# The experiment that the head of this page leads to has each change by itself, and :doc:`another one
# </results/experiments/mnist-search>` has more ideas that we tried, such as other number types and
# options of XLA.
#
# A change saves at most what it aims at
# --------------------------------------
# Which kind pays depends on what the device spends its time on. Compare what the naive loop sends
# for each step with what the step computes:
sent = batch_size * (28 * 28 * 4 + 4)  # float32 pixels, and an int32 label
computed = model.work_of_step(batch_size).flops

print(f"{sent / 1e3:.0f} kB to send")
print(f"{computed / 1e9:.2f} billion operations to compute")
print(f"{computed / sent:,.0f} operations for each byte")

# %%
# A device that computes slowly is busy with these operations for so long that little else matters.
# Keeping the data on the device can then save next to nothing, and better layers can save a lot. The
# faster a device computes, the more the rest weighs: sending the data, and the time that Python
# takes to start a step. So advice from a GPU may do nothing for a CPU, and the other way round. A
# :doc:`profile </tutorials/performance/profiling>` shows where the time goes on your device.
#
# And beside PyTorch?
# -------------------
# PyTorch takes part with two kinds of loop. One is like that of `its own example
# <https://github.com/pytorch/examples/blob/main/mnist/main.py>`__, in which a data loader normalises
# one image after another in each epoch, and the other keeps all data on the device. Flax takes part
# with its library's own layers, and with the fastest of its ways:
in_float32 = [way for way in speeds.variants if "bfloat16" not in way]


def fastest(framework):
    """Return the fastest way to train in a framework."""
    names = [way for way in in_float32 if way.startswith(framework)]
    return min(names, key=lambda way: speeds.only(way).time.value)


of_torch = [way for way in in_float32 if way.startswith("PyTorch")]
fastest_of_flax, fastest_of_torch = fastest("Flax"), fastest("PyTorch")
shown = {ways.STEPS, fastest_of_flax, *of_torch}
compared = speeds.subset(r for r in speeds if r.variant in shown)

# %%
_ = figures.bars(
    compared,
    value=throughput,
    over=fastest_of_torch,
    about=fastest_of_flax,
    label="images a second (higher is better)",
    title="Speed of training",
)

# %%
to_naive = speeds.speedup(fastest_of_flax, over=ways.NAIVE)
to_torch = speeds.speedup(fastest_of_flax, over=fastest_of_torch)
own_layers = speeds.speedup(ways.STEPS, over=DEVICE)
tries_in_flax = str(len(in_float32) - len(of_torch))
tries_in_torch = str(len(of_torch))

# %%
# The best way in Flax was :measured:`to_torch than the best in PyTorch`. But that contest is
# uneven. It takes the best of :measured:`tries_in_flax` ways in Flax, for which we rewrote layers,
# and the best of :measured:`tries_in_torch` in PyTorch, whose layers we left alone.
#
# So compare what each library gives you without such efforts. With its own layers, and with the
# data on the device, Flax was :measured:`own_layers than PyTorch`, which ran without
# ``torch.compile``. What rewritten layers would bring in PyTorch, we haven't tried.
#
# Takeaway
# --------
# On this page's device, the best way to train with Flax was
# :measured:`to_naive than the loop that you would write first`. With the data on the device and a
# pure function, training was :measured:`around than with that loop`. With five changes to the layers
# as well, it was :measured:`within than without them`. Without such changes, Flax was
# :measured:`own_layers than PyTorch`.
#
# A change can save no more than the cost it aims at, and which cost is largest depends on the
# device. So find that out before you optimise.
#
# Next: where the time goes within the step, and :doc:`what makes a convolution slow
# </tutorials/applications/convolutions>`.
