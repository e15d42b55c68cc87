"""
Who decides how an array is split?
==================================

You have told JAX how the arguments of a function are split among devices. Something has to decide how
its result is split, and what the devices send each other depends on that. :doc:`On the previous page
</tutorials/applications/scaling_out>`, XLA decided, out of sight. On this page, JAX decides and
writes its decision into the type of each array, so that one training step serves three ways to split
it. Then you decide, in a program for one of the devices. A single device is enough to follow.
"""

# %%
# JAX writes the split into the type
# ----------------------------------
# Each axis of a mesh has a mode. In ``Auto`` mode, XLA decides how results are split when it
# compiles. In ``Explicit`` mode, JAX decides while it traces the function, and writes the split `into
# the type <https://docs.jax.dev/en/latest/201/sharding.html>`__ of the result. Types need no data,
# so an ``AbstractMesh`` can stand in for eight devices:
import jax
import jax.numpy as jnp
from jax.sharding import AbstractMesh, AxisType

mesh = AbstractMesh((8,), ("devices",), (AxisType.Explicit,))


def described(shape, *split):
    """Describe an array, and along which of its axes it is split."""
    sharding = jax.NamedSharding(mesh, jax.P(*split))
    return jax.ShapeDtypeStruct(shape, "float32", sharding=sharding)


# %%
# In a type, ``512@devices`` is an axis of 512 that is split over the axis ``devices`` of the mesh.
# Here are a batch whose examples are split among the devices, and a matrix of which each device has
# a copy. How will their product be split?
batch = described((512, 64), "devices")
matrix = described((64, 256))
print(jax.typeof(batch), "times", jax.typeof(matrix), "is")
print(jax.typeof(jax.eval_shape(jnp.matmul, batch, matrix)))

# %%
# The product is split by its examples, too: each device multiplies its own, and nothing has to be
# sent. For real devices, :func:`jax.make_mesh` makes such a mesh. Its axes are ``Explicit`` unless
# you say otherwise, `since JAX 0.9
# <https://github.com/jax-ml/jax/commit/89401bd3143e448eec169732295470ccb9ff97af>`__.
#
# Where JAX has no rule, it asks
# ------------------------------
# Now split both matrices along the axis over which their product sums, and each device can compute only a
# part of every sum. ``show_type`` prints the type of the result, or the error if there is none:
from textwrap import fill


def show_type(function, *args):
    try:
        print(jax.typeof(jax.eval_shape(function, *args)))
    except Exception as error:  # noqa: BLE001 (its type isn't public)
        first_line, *_ = str(error).splitlines()
        print(fill(f"{type(error).__name__}: {first_line}", 70))


hidden = described((512, 256), None, "devices")
by_row = described((256, 64), "devices")
show_type(jnp.matmul, hidden, by_row)

# %%
# The parts have to be added up, and JAX can't know who needs the sums: all devices, or each device
# some rows of them. ``Auto`` mode would leave that to XLA. In ``Explicit`` mode, you say it with
# ``out_sharding``. A sum over a split axis, in the last line, has to add up parts as well. Will JAX
# ask again?
from functools import partial

for split in jax.P(), jax.P("devices"):
    wanted = jax.NamedSharding(mesh, split)
    show_type(partial(jnp.matmul, out_sharding=wanted), hidden, by_row)
show_type(partial(jnp.sum, axis=0), batch)

# %%
# It doesn't, because `JAX has a rule for sums
# <https://docs.jax.dev/en/latest/201/sharding.html#result-shardings-follow-simple-rules-or-error-and-require-annotation>`__:
# every device gets the result. So a program that raises no error may still send messages.
#
# One step, split in three ways
# -----------------------------
# How much of a program has to know about devices? In this training step of two layers, one product
# does: its ``out_sharding`` asks for predictions that are split as their targets are.
from jaxcap.kernels import sharded_step
from jaxcap.report.source import Source

Source(sharded_step.loss, sharded_step.step)


# %%
# The types of its arguments decide the rest. Split the batch, and you have *data parallelism*. Split the
# hidden units, and you have *tensor parallelism*: each device has the columns of the first matrix and the
# rows of the second that belong to its units. Or split the batch and the weights, and you have *FSDP*, also
# known as the third stage of `ZeRO <https://arxiv.org/abs/1910.02054>`__: no device keeps all of either.
# We describe a network with 64 inputs, whose targets are split as the batch is:
def arguments(way):
    into, out, batch = sharded_step.SPLITS[way]
    weights = described((64, 256), *into), described((256, 64), *out)
    examples = described((512, 64), *batch)
    return weights, examples, examples


# %%
# Which of the three ways takes the least room on a device, for weights, batch and targets together?
from math import prod


def held_kilobytes(way):
    """Add up what a device holds of the weights, the batch and the targets."""
    arrays = jax.tree.leaves(arguments(way))
    parts = [array.sharding.shard_shape(array.shape) for array in arrays]
    return 4 * sum(map(prod, parts)) / 1000


ways = (sharded_step.BATCH, sharded_step.UNITS, sharded_step.WEIGHTS)
held = {way: f"{held_kilobytes(way):.0f} kB" for way in ways}

# %%
import matplotlib.pyplot as plt

from jaxcap.report import figures


def draw(axes, left, top, shape, split):
    """Draw an array, and shade what the first device has of it."""
    part = jax.NamedSharding(mesh, split).shard_shape(shape)
    for (height, width), alpha in (shape, 0.25), (part, 1):
        shade = {"align": "edge", "color": "C1", "alpha": alpha}
        axes.bar(left, height, width, top, **shade)


# %%
figure, axes = plt.subplots(figsize=(6, 5))
shapes = (96, 256), (256, 96), (256, 96)
for top, way in zip((0, 330, 660), ways):
    axes.text(-30, top + 128, f"{way}:\n{held[way]}", ha="right", va="center")
    splits = sharded_step.SPLITS[way]
    for left, shape, split in zip((0, 300, 440), shapes, splits):
        draw(axes, left, top, shape, split)
for left, name in (128, "first matrix"), (348, "second"), (488, "batch"):
    axes.text(left, -30, name, ha="center")
axes.set(xlim=(-180, 540), ylim=(930, -110))
axes.axis("off")
finding = "With split weights, a device has a part of everything"
words = "It has all of an array, or an eighth of its rows or columns"
figures.headline(figure, finding, "What one of eight devices has", words)

# sphinx_gallery_thumbnail_number = 1

# %%
# Split units need the most here because each device has the whole batch. The same program serves all three
# ways. How will it split the new weights?
step = partial(sharded_step.step, sharded_step.loss)
for way in ways:
    first, second = jax.eval_shape(step, *arguments(way))
    print(f"{way}: {jax.typeof(first)} and {jax.typeof(second)}")


# %%
# In all three ways, the new weights are split as the old ones were, so the next step can begin. The
# reason is another of JAX's rules: the gradient with respect to an array like these `has the type
# <https://docs.jax.dev/en/latest/301/sharding-ad.html>`__ of that array. What the types don't show are the
# messages. With a split batch, the weights are copies, so every device has to get the whole gradient,
# and the devices add up their parts. With split weights, a device collects the weights of the others
# when it needs them, which takes room as well. :doc:`The next page </tutorials/applications/messages>`
# counts what is sent.
#
# In a ``shard_map``, you decide
# ------------------------------
# Finally, you can write the program of one device, for :func:`jax.shard_map`. Inside that program,
# the axis is in the third mode, ``Manual``, and an array is only this device's part of the whole.
# ``in_specs`` says how the arguments are split, and ``out_specs`` how the results are. Here each
# device adds up its own examples, and ``jax.P()`` promises that the result is the same on every
# device. Which of the two programs keeps that promise?
def own_sum(part):
    print("each device has", jax.typeof(part))
    return part.sum(axis=0)


def whole_sum(part):
    return jax.lax.psum(own_sum(part), "devices")


for summed in (own_sum, whole_sum):
    specs = {"in_specs": jax.P("devices"), "out_specs": jax.P()}
    show_type(jax.shard_map(summed, mesh=mesh, **specs), batch)

# %%
# In these types, ``V:devices`` means that an array may *vary* from device to device. A device's own
# sum varies as its examples do, so JAX refuses ``own_sum``. In ``whole_sum``, :func:`jax.lax.psum`
# adds up the sums of all devices and gives each of them the result, and JAX knows that this doesn't
# vary. So the decision is yours, but by default, JAX checks such a promise.
#
# Takeaway
# --------
held_by_batch = held[sharded_step.BATCH]
held_by_weights = held[sharded_step.WEIGHTS]

# %%
# XLA, JAX or you can decide how an array is split. In ``Auto`` mode, XLA decides when it compiles.
# In ``Explicit`` mode, JAX decides while it traces: it follows rules, writes the result into types,
# and asks you where it has no rule. In a ``shard_map``, you decide, because you write the program
# of one device.
#
# In ``Explicit`` mode, the same training step can be split in several ways, by the types of its arguments
# alone. Of these arguments, a device has to hold :measured:`held_by_batch` if the batch is split, and
# :measured:`held_by_weights` if the weights are split as well.
#
# Next: :doc:`how much devices have to send </tutorials/applications/messages>` for each of these
# ways, and what that costs.
