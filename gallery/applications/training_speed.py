"""
What makes a training step faster?
==================================

You have a training loop that works, and it is slow. Should you look for waste around the step,
where data is sent and Python waits, or within it, in the layers of the network? This page times the
parts of a step, then changes one thing after another, and checks whether the parts predicted what these
changes save.
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
# A loop in Python calls this step with one batch after another, and waits for each loss. We call this
# loop *naive*.
#
# Where the time of a step goes
# -----------------------------
# To see what a step is made of, we time each layer as a program of its own, forward and backward,
# and the update of the weights. Beside the parts, we time whole steps, the naive one and those to come.
# Batches have :measured:`batch_size` images throughout.
from jaxcap.experiments import mnist_changes as ways
from jaxcap.experiments.mnist import DEVICE, THROUGHPUT
from jaxcap.experiments.mnist_layers import LAYERS

point = THROUGHPUT.points[0]
speeds = THROUGHPUT.run(points=[point], budget_s=0.05)
layer_times = LAYERS.run(budget_s=0.03)

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
# The parts together take :measured:`of_step` of the time of a naive step. That shows only roughly how much
# waste there can be around the step, because XLA can fuse neighbouring layers within a step, and because
# each part was started by itself. The second convolution has :measured:`of_conv2` of the
# parts' time. Even if that layer took no time at all, :measured:`rest` would be left. This bound is known
# as Amdahl's law: a change can save no more than the part it aims at. In a budget of your own, give each
# layer its backward pass: a pool is easy to compute, and its gradient may not be. :doc:`A profile
# </tutorials/performance/profiling>` of the whole step shows where the time goes, too.
#
# What could be saved
# -------------------
# Around the step, two changes spare waits and work in Python. With the *data on the device*, no batch is
# sent any more, and no loss is read before the end. With *a pure function*, which takes the weights and
# returns new ones, Flax needn't :doc:`take the model apart </tutorials/transformations/modules>` in each
# call. (The old weights are also :doc:`donated </tutorials/transformations/updates>`, so that the new ones
# can have their memory.)
#
# Four more changes are within the step. Apart from rounding, and from which activations dropout happens
# to drop, the results stay the same:
#
# - *Our own pool* remembers which of four pixels was the largest, so that its backward pass knows where to
#   send the gradient.
# - *Patches* turn :doc:`convolutions into products of matrices
#   </tutorials/applications/convolutions>`.
# - *Winograd and sums*: Winograd's algorithm saves :doc:`half the multiplications of the second
#   layer </tutorials/applications/winograd>`, and the first layer becomes a sum of shifted images.
# - *A few images at a time* go through the second convolution and the pool, so that the pool can still
#   find its input in the cache. With this change, dropout also draws fewer random numbers.
#
# Which changes pay?
# ------------------
# Look at the table again, and guess. In the figure, the first bar is the time of the naive loop. Each
# other bar is what one change did to it: blue if it saved time, orange if it cost time, and grey if we
# can't tell. The percentages say how much is left. If a change has no bar, training was fastest
# without it.
changes = {
    ways.BYTES: (ways.NAIVE, "data on the device"),
    ways.STEPS: (ways.BYTES, "a pure function"),
    ways.POOL: (ways.STEPS, "our own pool"),
    ways.PATCHES: (ways.POOL, "patches"),
    ways.SUMS: (ways.PATCHES, "Winograd and sums"),
    ways.WINOGRAD: (ways.SUMS, "a few images at a time"),
}

# %%
from jaxcap.report import figures

_ = figures.waterfall(
    speeds,
    changes={way: before for way, (before, _) in changes.items()},
    names={way: name for way, (_, name) in changes.items()},
    title=f"The time of {steps} steps, change by change",
    label="share of the naive loop's time (lower is better)",
)

# %%
around = speeds.speedup(ways.STEPS, over=ways.NAIVE)
within = speeds.speedup(ways.WINOGRAD, over=ways.STEPS)
spared = f"{steps - 1} of {steps}"

# %%
# After both changes around the step, training was :measured:`around than with the naive loop`. With those
# within the step as well, it was :measured:`within than without those four`.
from jaxcap.report.claims import claim, speedup_of

data_pay = claim(
    "Flax trains faster with the data on the device than if it sends each "
    "batch and waits for each loss",
    speeds,
    speedup_of(ways.BYTES, over=ways.NAIVE),
)
data_pay


# %%
# In these :measured:`steps` steps, late losses spare Python :measured:`spared` waits. A longer training
# spares a larger share of them.
#
# Did the parts predict that?
# ---------------------------
# We timed the layers after the changes as well. If a change takes a tenth off the sum of the parts, it
# should take a tenth off the time that the changes around the step have left. How close does this
# prediction come to the figure, for the pool alone, with patches as well, and with all four changes?
def sum_s(way, **of):
    chosen = layer_times.select(variant=way, **of)
    return sum(part.time.value for part in chosen)


before, pool = sum_s(ways.STEPS), {"layer": "pool, dropout"}
own_pool = before - sum_s(ways.STEPS, **pool) + sum_s(ways.PATCHES, **pool)
after = {
    "our own pool": (ways.POOL, own_pool),
    "and patches": (ways.PATCHES, sum_s(ways.PATCHES)),
    "all changes": (ways.WINOGRAD, sum_s(ways.WINOGRAD)),
}


# %%
def share_left(way):
    return 1 / speeds.speedup(way, over=ways.NAIVE).value


for name, (way, parts) in after.items():
    predicted = share_left(ways.STEPS) * parts / before
    print(f"{name:12} predicted {predicted:.0%}, ", end="")
    print(f"measured {share_left(way):.0%} of the naive loop's time")

# %%
predicted_all, measured_all = f"{predicted:.0%}", f"{share_left(way):.0%}"
to_naive = max(
    (speeds.speedup(way, over=ways.NAIVE) for way in changes),
    key=lambda speedup: speedup.value,
)
own_layers = speeds.speedup(ways.STEPS, over=DEVICE)

# %%
# Measure the whole step in the end all the same, because the parts can't show what one layer leaves in
# the cache for the next.
#
# PyTorch took part in this experiment, too. With each library's own layers, and the data on the device,
# Flax was :measured:`own_layers than PyTorch`, which ran without ``torch.compile``.
#
# Takeaway
# --------
# Before you change a training, find out where the time of a step goes, because a change can save
# no more than the part it aims at. Here, the second convolution took :measured:`of_conv2` of the time of
# all parts. From the time left by the changes around the step, the parts predicted that the others would
# leave :measured:`predicted_all` of the naive loop's time, and we measured :measured:`measured_all`.
#
# After the changes around the step, training was :measured:`around than with the naive loop`. The fastest
# of the trainings in the figure was :measured:`to_naive than the loop that you would write first`.
#
# Next: :doc:`what makes a convolution slow? </tutorials/applications/convolutions>`
