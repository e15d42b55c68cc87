"""
What makes a training step faster?
==================================

You have a training loop that works, and it is slow. Should you look for waste around the step,
where data is sent and Python waits, or within it, in the layers of the network? This page finds out
where the time of a step goes, has you guess which changes will pay, and then measures the changes.
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
# Where the time of a step goes
# -----------------------------
# To see what a step is made of, we time each layer as a program of its own, forward and backward,
# and the update of the weights. Beside the parts, we time whole steps, in all the ways to train that
# this page compares. Batches have :measured:`batch_size` images throughout.
from jaxcap.experiments import mnist_changes as ways
from jaxcap.experiments.mnist import DEVICE, THROUGHPUT
from jaxcap.experiments.mnist_layers import BACKWARD, FORWARD, LAYERS

point = THROUGHPUT.points[0]
speeds = THROUGHPUT.run(points=[point], processes=4, budget_s=0.05)
layer_times = LAYERS.run(processes=4, budget_s=0.03)

# %%
steps = point["steps"]
naive_ms = 1000 * speeds.only(ways.NAIVE).time.value / steps
parts_ms = {}
for part in layer_times.select(variant=ways.STEPS):
    name = part.parameters["layer"], part.parameters["task"]
    parts_ms[name] = 1000 * part.time.value
    print(f"{name[0]:14}{name[1]:9}{parts_ms[name]:6.2f} ms")
together_ms = sum(parts_ms.values())
print(f"{'together':23}{together_ms:6.2f} ms")
print(f"{'a naive step':23}{naive_ms:6.2f} ms")

# %%
batch_size = point["batch"]
conv2_share = (
    sum(ms for (layer, _), ms in parts_ms.items() if layer == "conv2")
    / together_ms
)
of_conv2, rest = f"{conv2_share:.0%}", f"{1 - conv2_share:.0%}"
of_step = f"{together_ms / naive_ms:.0%}"

# %%
# The parts together take :measured:`of_step` of the time of a naive step. They needn't match it
# exactly, because XLA can fuse neighbouring layers within a step, and because each part was started
# by itself. Still, the table says what to expect. The second convolution has :measured:`of_conv2`
# of the parts' time. Even if that layer took no time at all, :measured:`rest` would be left. This
# bound is known as Amdahl's law, and it holds for each row of the table, and for everything around
# the step as well: a change can save no more than the part it aims at.
#
# In a program of your own, :doc:`a profile </tutorials/performance/profiling>` shows where the time
# goes.
#
# What could be saved
# -------------------
# Three changes concern what happens around the step:
#
# - *data on the device, losses late*: all images stay on the device, as bytes, and no loss is read
#   before the end.
# - *a pure function, donation*: the step takes the weights and returns new ones, so Flax needn't
#   :doc:`take the model apart </tutorials/transformations/modules>` in each call. The old weights are
#   :doc:`donated </tutorials/transformations/updates>`, and leave their memory to the new ones.
# - *scan*: Python starts a :doc:`compiled loop </tutorials/transformations/loops>` of several steps
#   once, instead of each step by itself.
#
# The other five change how the layers are computed. Apart from rounding, and from which activations
# dropout happens to drop, the results stay the same:
#
# - *our own pool* remembers which pixels were the largest, for its gradient.
# - *patches* turn :doc:`convolutions into products of matrices
#   </tutorials/applications/convolutions>`.
# - *Winograd, and sums*: Winograd's algorithm saves :doc:`half the multiplications of the second
#   layer </tutorials/applications/winograd>`, and the first layer becomes a sum of shifted images.
# - *a few images at a time* go through the second convolution and the pool, so that what the one
#   writes can still be in the cache when the other reads it.
# - *fewer random numbers*: dropout draws one byte for each activation instead of four.
#
# Which of these pay?
# -------------------
# Look at the table again, and guess. In the figure, each bar is what one item of the list did to the
# time: blue if it saved time, orange if it cost time, and grey if the measurement can't tell. Ideas
# that the fastest way doesn't use have no bar.
changes = {
    ways.BYTES: (ways.NAIVE, "data on the device, losses late"),
    ways.STEPS: (ways.BYTES, "a pure function, donation"),
    ways.SCAN: (ways.STEPS, "scan"),
    ways.POOL: (ways.STEPS, "our own pool"),
    ways.PATCHES: (ways.POOL, "patches"),
    ways.SUMS: (ways.PATCHES, "Winograd, and sums"),
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
    title="Training, from the naive loop to the fastest way",
    label=f"time of {steps} steps (lower is better)",
)

# %%
around = speeds.speedup(ways.STEPS, over=ways.NAIVE)
within = speeds.speedup(ways.WINOGRAD, over=ways.STEPS)
spared = f"{steps - 1} of {steps}"

# %%
# Is the one that you guessed blue? Now take each kind together. With the data on the device and a
# pure function, training was :measured:`around than with the naive loop`. With all five changes to
# the layers as well, it was :measured:`within than without those five`.
from jaxcap.report.claims import claim, speedup_of

data_pay = claim(
    "Flax trains faster with the data on the device than if it sends each "
    "batch and waits for each loss",
    speeds,
    speedup_of(ways.BYTES, over=ways.NAIVE),
)
data_pay

# %%
# The figure's times are those of :measured:`steps` steps, in which *scan* spares Python
# :measured:`spared` starts, and late losses :measured:`spared` waits. In a longer training, both
# spare a larger share.
#
# Three items of the list make more than one change at once. The experiment behind the figure, which
# is linked at the head of this page, has each of those by itself. :doc:`Another one
# </results/experiments/mnist-search>` has more ideas that we tried, such as other number types and
# options of XLA.
#
# A pool has a backward pass, too
# -------------------------------
# A pool takes the largest of four pixels, so its backward pass has to send the gradient to the pixel
# that was the largest. While our own pool goes forward, it notes a number from 0 to 3 for each block
# of four pixels, in a byte. The backward pass reads these notes. In the code, ``_quarters`` are four
# small images, which hold the first pixels of all blocks, the second ones, and so on:
from jaxcap.kernels import convolution

Source(convolution._pool_forward, convolution._pool_backward)

# %%
pool_pays = claim(
    "Flax trains faster with our own pool than with XLA's",
    speeds,
    speedup_of(ways.POOL, over=ways.STEPS),
)
pool_pays

# %%
pool = layer_times.select(layer="pool, dropout")
forward, backward = (
    pool.select(task=task).speedup(ways.PATCHES, over=ways.STEPS)
    for task in (FORWARD, BACKWARD)
)

# %%
our_pool_ms = sum(
    1000 * part.time.value for part in pool.select(variant=ways.PATCHES)
)
xla_pool_ms = (
    parts_ms["pool, dropout", FORWARD] + parts_ms["pool, dropout", BACKWARD]
)
expected = f"{1 - (xla_pool_ms - our_pool_ms) / together_ms:.0%}"
took = f"{1 / speeds.speedup(ways.POOL, over=ways.STEPS).value:.0%}"

# %%
# Timed by themselves, together with the dropout that follows, our pool's forward pass was
# :measured:`forward than with XLA's`, and its backward pass :measured:`backward than with XLA's`.
# From these two times and the table, the parts should take :measured:`expected` of their time once
# our pool is in place. The whole step took :measured:`took` of its own. So when you look for a slow
# layer, time its gradient, too.

# %%
in_float32 = [way for way in speeds.variants if "bfloat16" not in way]


def fastest(framework):
    """Return the fastest way to train in a framework."""
    names = [way for way in in_float32 if way.startswith(framework)]
    return min(names, key=lambda way: speeds.only(way).time.value)


to_naive = speeds.speedup(fastest("Flax"), over=ways.NAIVE)
to_torch = speeds.speedup(fastest("Flax"), over=fastest("PyTorch"))
own_layers = speeds.speedup(ways.STEPS, over=DEVICE)

# %%
# And PyTorch?
# ------------
# With its library's own layers, and the data on the device, Flax was
# :measured:`own_layers than PyTorch`, which ran without ``torch.compile``. The best way in Flax,
# whose layers we rewrote, was :measured:`to_torch than the best in PyTorch`, whose layers we left
# alone.
#
# Takeaway
# --------
# Before you change a training, find out where the time of a step goes, because a change can save
# no more than the part it aims at. Here, each layer and the update, started by itself, took
# :measured:`of_step` of the time of a naive step in all, and :measured:`of_conv2` of that was the
# second convolution.
#
# With changes around the step, training was :measured:`around than with the naive loop`. With five
# changes to the layers as well, it was :measured:`within than without them`. The best way to train
# with Flax was :measured:`to_naive than the loop that you would write first`.
#
# Next: :doc:`what makes a convolution slow? </tutorials/applications/convolutions>`
