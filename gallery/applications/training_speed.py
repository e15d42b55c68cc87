"""
What makes a training step faster?
==================================

You have a training loop that works, and it is slow. Should you look for waste around the step,
where data is sent and Python waits, or within it, in the layers of the network? This page draws up a
budget of a step, measures eight changes, and checks whether the budget predicted what they save.
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
from jaxcap.experiments.mnist_layers import LAYERS

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
# by itself. The second convolution has :measured:`of_conv2` of the parts' time. Even if that layer took no
# time at all, :measured:`rest` would be left. This bound is known as Amdahl's law: a change can save no
# more than the part it aims at.
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
# - *our own pool* remembers which of four pixels was the largest, in a byte. The backward pass needs only
#   these bytes to send the gradient there.
# - *patches* turn :doc:`convolutions into products of matrices
#   </tutorials/applications/convolutions>`.
# - *Winograd and sums*: Winograd's algorithm saves :doc:`half the multiplications of the second
#   layer </tutorials/applications/winograd>`, and the first layer becomes a sum of shifted images.
# - *a few images at a time* go through the second convolution and the pool, so that what the one
#   writes can still be in the cache when the other reads it.
# - *fewer random numbers*: dropout draws one byte for each activation instead of four.
#
# Which of these pay?
# -------------------
# Look at the table again, and guess. In the figure, the first bar is the naive loop. Each other bar is
# what one item of the list did to the time: blue if it saved time, orange if it cost time, and grey if
# it did neither for certain. A change has a bar only if the best way to train uses it.
changes = {
    ways.BYTES: (ways.NAIVE, "data on the device, losses late"),
    ways.STEPS: (ways.BYTES, "a pure function, donation"),
    ways.SCAN: (ways.STEPS, "scan"),
    ways.POOL: (ways.STEPS, "our own pool"),
    ways.PATCHES: (ways.POOL, "patches"),
    ways.SUMS: (ways.PATCHES, "Winograd and sums"),
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
in_scan = speeds.speedup(ways.SCAN_WINOGRAD, over=ways.WINOGRAD)
spared = f"{steps - 1} of {steps}"

# %%
# With the data on the device and a pure function, training was :measured:`around than with the naive loop`.
# With all five changes to the layers as well, it was :measured:`within than without those five`. A
# *scan* of these steps was :measured:`in_scan than the same steps one by one`.
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
# Does the budget predict the savings?
# ------------------------------------
# Our changes to the layers were timed part by part as well. Add up the parts as they are after a
# change, divide by the sum from before, and you have a prediction for the whole step. How close does it
# come, for the pool alone, with patches as well, and with all five changes?
def sum_s(way, **of):
    chosen = layer_times.select(variant=way, **of)
    return sum(part.time.value for part in chosen)


before, pool = sum_s(ways.STEPS), {"layer": "pool, dropout"}
own_pool = before - sum_s(ways.STEPS, **pool) + sum_s(ways.PATCHES, **pool)
after = {
    "our own pool": (ways.POOL, own_pool),
    "and patches": (ways.PATCHES, sum_s(ways.PATCHES)),
    "all five changes": (ways.WINOGRAD, sum_s(ways.WINOGRAD)),
}

# %%
for name, (way, parts) in after.items():
    predicted = parts / before
    measured = 1 / speeds.speedup(way, over=ways.STEPS).value
    print(f"{name:16} predicted {predicted:4.0%}, measured {measured:4.0%}")

# %%
pool_pays = claim(
    "Flax trains faster with our own pool than with XLA's",
    speeds,
    speedup_of(ways.POOL, over=ways.STEPS),
)
pool_pays

# %%
predicted_all, measured_all = f"{predicted:.0%}", f"{measured:.0%}"
in_float32 = [way for way in speeds.variants if "bfloat16" not in way]


def fastest(framework):
    """Return the fastest way to train in a framework."""
    names = [way for way in in_float32 if way.startswith(framework)]
    return min(names, key=lambda way: speeds.only(way).time.value)


to_naive = speeds.speedup(fastest("Flax"), over=ways.NAIVE)
own_layers = speeds.speedup(ways.STEPS, over=DEVICE)

# %%
# In a budget of your own, give each layer its backward pass: a pool is easy to compute, and its gradient
# may not be. And measure the whole step in the end, because the parts can't show what one layer leaves in
# the cache for the next.
#
# The experiment has PyTorch, too. Each with its own layers and the data on the device, Flax was
# :measured:`own_layers than PyTorch`, which ran without ``torch.compile``.
#
# Takeaway
# --------
# Before you change a training, find out where the time of a step goes, because a change can save
# no more than the part it aims at. Here, the second convolution took :measured:`of_conv2` of the time of
# all parts. After five changes to the layers, the parts predicted :measured:`predicted_all` of the step's
# time, and we measured :measured:`measured_all`.
#
# With the data on the device and a pure function, training was
# :measured:`around than with the naive loop`. The best way to train with Flax was :measured:`to_naive than the loop that you would write first`.
#
# Next: :doc:`what makes a convolution slow? </tutorials/applications/convolutions>`
