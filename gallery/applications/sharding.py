"""
Who decides how an array is split?
==================================

You have told JAX how the arguments of a function are split among devices. Who decides how its
result is split? :doc:`On the previous page </tutorials/applications/scaling_out>`, in ``Auto`` mode,
it was XLA, out of sight. In ``Explicit`` mode, JAX decides, records its decision in the type of each
array, and raises an error where you have to choose. In ``Manual`` mode, you decide, because you write
the program of each device. A single device is enough to try all three, and a CPU will do.
"""

# %%
# A type can say where an array is split
# --------------------------------------
# If an axis of the mesh is ``Explicit``, JAX decides while it traces how results are split, and
# `writes it into the type <https://docs.jax.dev/en/latest/201/sharding.html>`__ of each array. An
# ``AbstractMesh`` stands in for the devices:
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
# Here are a batch whose examples are split among eight devices, and a matrix of which each device
# has a copy. How will their product be split?
batch = described((512, 64), "devices")
matrix = described((64, 256))
print(jax.typeof(batch), "times", jax.typeof(matrix), "is")
print(jax.typeof(jax.eval_shape(jnp.matmul, batch, matrix)))

# %%
# The product is split by its examples, too. Each device multiplies its own, so nothing has to be
# sent. With real devices, of which one will do, :func:`jax.make_mesh` makes the mesh, and the same
# product runs:
real_mesh = jax.make_mesh((1,), ("devices",))
by_example = jax.NamedSharding(real_mesh, jax.P("devices"))
real_batch = jax.device_put(jnp.ones((512, 64)), by_example)
with jax.set_mesh(real_mesh):
    product = jax.jit(jnp.matmul)(real_batch, jnp.ones((64, 256)))
print(real_mesh.axis_types, jax.typeof(product))

# %%
# We didn't ask for ``Explicit``, which has been the default of ``make_mesh`` `since JAX 0.9
# <https://github.com/jax-ml/jax/commit/89401bd3143e448eec169732295470ccb9ff97af>`__. Before, it
# was ``Auto``.
#
# Where splits clash, JAX asks
# ----------------------------
# Some operations have no obvious answer. Add two arrays that are split along different axes, or
# multiply two matrices that are split along the axis over which their product sums. ``show_type``
# prints the type of the result, or the error if there is none:
from textwrap import fill


def show_type(function, *args):
    try:
        print(jax.typeof(jax.eval_shape(function, *args)))
    except Exception as error:  # noqa: BLE001 (its type isn't public)
        first_line, *_ = str(error).splitlines()
        print(fill(f"{type(error).__name__}: {first_line}", 70))


# %%
by_column = described((512, 64), None, "devices")
hidden = described((512, 256), None, "devices")
by_row = described((256, 64), "devices")
show_type(jnp.add, batch, by_column)
show_type(jnp.matmul, hidden, by_row)

# %%
# In ``Auto`` mode, both would compile, and XLA would choose the messages. In ``Explicit`` mode, the
# choice is yours. The sum of the two arrays would be split along both axes, which the same eight
# devices can't do, so you have to split one of the arrays anew, with :func:`jax.reshard`. For the
# product, each device can compute a part of every sum, and ``out_sharding`` says which devices get
# the whole sums. The last call below sums over a split axis. Will that raise an error, too?
everybody = jax.NamedSharding(mesh, jax.P())
show_type(
    lambda x, y: jax.reshard(x, by_column.sharding) + y, batch, by_column
)
show_type(
    lambda x, y: jnp.matmul(x, y, out_sharding=everybody), hidden, by_row
)
show_type(lambda x: x.sum(axis=0), batch)

# %%
# It doesn't, because for a sum over a split axis, `JAX has a rule
# <https://docs.jax.dev/en/latest/201/sharding.html#result-shardings-follow-simple-rules-or-error-and-require-annotation>`__:
# every device gets the result, though that takes a message as well. So the types show where arrays
# are split, but not how much is sent. (You can also put the sum off: a type can say that each
# device holds a `partial sum <https://docs.jax.dev/en/latest/301/sharding-ad.html>`__, to be added
# up later.) Choose ``Explicit`` over ``Auto`` if you would rather be asked than search the compiled
# program for messages that you didn't expect.
#
# One step, split in three ways
# -----------------------------
# How does that look in a program? Here is a training step of two layers. The network has as many
# outputs as inputs, and four times as many hidden units. Only one expression in it knows of
# devices: ``out_sharding`` asks for predictions that are split as their targets are.
from jaxcap.kernels import sharded_step
from jaxcap.report.source import Source

Source(sharded_step.loss, sharded_step.step)

# %%
# We split this step by its batch, which is known as *data parallelism*, or by its hidden units,
# which is *tensor parallelism*. Then each device has some of the units, with their columns of the
# first matrix and their rows of the second. In the third way, which comes below, each device has a
# part of everything. This picture shows what one of the eight devices has:
ways = (sharded_step.BATCH, sharded_step.UNITS, sharded_step.WEIGHTS)

# %%
import matplotlib.pyplot as plt

from jaxcap.report import figures


def draw(on, left, top, shape, split):
    """Draw an array, and shade what the first device has of it."""
    part = jax.NamedSharding(mesh, split).shard_shape(shape)
    for (height, width), alpha in (shape, 0.25), (part, 1):
        shade = {"align": "edge", "color": "C1", "alpha": alpha}
        on.bar(left, height, width, top, **shade)


# %%
figure, axes = plt.subplots(figsize=(6, 5))
shapes = (96, 256), (256, 96), (256, 96)
for top, way in zip((0, 330, 660), ways):
    axes.text(-30, top + 128, way.replace(" ", "\n"), ha="right", va="center")
    splits = sharded_step.SPLITS[way]
    for left, shape, split in zip((0, 300, 440), shapes, splits):
        draw(axes, left, top, shape, split)
for left, name in (128, "first matrix"), (348, "second"), (488, "batch"):
    axes.text(left, -30, name, ha="center")
axes.set(xlim=(-130, 540), ylim=(930, -110))
axes.axis("off")
finding = "With split weights, a device has a part of everything"
words = "It has all of an array, or an eighth of its rows or columns"
figures.headline(figure, finding, "What one of eight devices has", words)

# sphinx_gallery_thumbnail_number = 1

# %%
# The targets are split as the batch is. How are the new weights split after a step?
from functools import partial


def arguments(way):
    into, out, batch = sharded_step.SPLITS[way]
    weights = described((64, 256), *into), described((256, 64), *out)
    examples = described((512, 64), *batch)
    return weights, examples, examples


def show_new_weights(way, loss):
    step = partial(sharded_step.step, loss)
    first, second = jax.eval_shape(step, *arguments(way))
    print(f"{way}: {jax.typeof(first)} and {jax.typeof(second)}")


for way in (sharded_step.BATCH, sharded_step.UNITS):
    show_new_weights(way, sharded_step.loss)

# %%
# The new weights are split as the old ones were, so the next step can begin. The reason is a rule:
# a gradient `has the type of what you differentiate with respect to
# <https://docs.jax.dev/en/latest/301/sharding-ad.html>`__. If the batch is split and the weights
# are copies, the gradient has to be a copy as well. So all devices have to add up their parts of
# the gradient, though no line of the program says so.
#
# Split the weights, too
# ----------------------
# If the batch is split, every device keeps a copy of all weights, and a large model may not fit. So
# let each device keep a part of the weights, and collect the rest when they are needed. (This goes
# by the names *FSDP* and `ZeRO <https://arxiv.org/abs/1910.02054>`__.) The call of
# :func:`jax.reshard` in the last line says so:
Source(sharded_step.loss_of_split_weights)

# %%
show_new_weights(sharded_step.WEIGHTS, sharded_step.loss_of_split_weights)

# %%
# The new weights are split again. How much does each way ask a device to hold? That follows from
# the types alone:
from math import prod


def held_kilobytes(way):
    """Add up what a device holds of the weights, the batch and the targets."""
    arrays = jax.tree.leaves(arguments(way))
    parts = [array.sharding.shard_shape(array.shape) for array in arrays]
    return 4 * sum(map(prod, parts)) / 1000


held = {way: f"{held_kilobytes(way):.0f} kB" for way in ways}
for way in ways:
    print(f"{way}: {held[way]}")


# %%
# These are the arguments only. While the step runs, each device needs the weights that it has
# collected as well. A device may have no room for all weights of a large model at once. Then it
# collects them layer by layer, and drops them after use.
#
# In a ``shard_map``, you decide
# ------------------------------
# You can also write the program of a single device, for :func:`jax.shard_map`. Inside that program,
# each array is only this device's part of the whole. ``in_specs`` says how the arguments are split,
# and ``out_specs`` how the results are. Here, each device adds up its own examples, and ``jax.P()``
# promises that the result is the same on every device. Is it?
def own_sum(part):
    print("each device has", jax.typeof(part))
    return part.sum(axis=0)


def whole_sum(part):
    return jax.lax.psum(own_sum(part), "devices")


for summed in (own_sum, whole_sum):
    specs = {"in_specs": jax.P("devices"), "out_specs": jax.P()}
    show_type(jax.shard_map(summed, mesh=mesh, **specs), batch)

# %%
# A type has another sign here: ``V:devices`` means that the array may *vary* from device to device.
# The sum of a device's own examples varies, too, so it isn't what ``out_specs`` promises, and JAX
# refuses. In ``whole_sum``, :func:`jax.lax.psum` adds up these sums for every device, so its type
# says that it doesn't vary. JAX goes by types alone, and it refuses a promise that it can't infer
# from them, even one that you keep. It inserts messages of its own only for gradients.
#
# And this is the step with split weights, written in that way. ``all_gather`` collects the parts of
# a matrix, and :func:`jax.lax.pmean` takes the mean of the losses:
Source(sharded_step.loss_on_one, sharded_step.loss_on_mesh)

# %%
by_hand = sharded_step.loss_on_mesh(sharded_step.BY_HAND, mesh)
show_new_weights(sharded_step.BY_HAND, by_hand)

# %%
# The new weights have the same types as before. But ``loss_on_one`` spells out the messages of the
# loss, while ``loss_of_split_weights`` only asks for copies, and leaves the messages to JAX and
# XLA. For the gradient, JAX transposes the messages that you wrote: where the forward pass collects
# parts of the weights, the backward pass adds up gradients and hands out their parts. Whether both
# programs send the same, the types don't say, but the compiled programs on the next page do.
#
# Takeaway
# --------
held_by_batch = held[sharded_step.BATCH]
held_by_weights = held[sharded_step.WEIGHTS]

# %%
# XLA, JAX or you can decide how an array is split. In ``Auto`` mode, XLA decides when it compiles.
# In ``Explicit`` mode, JAX decides while it traces: it follows rules, writes the result into types,
# and asks you where it has no rule. In a ``shard_map``, you decide, because you write the program
# of one device. If you promise that all devices get the same result, JAX has to be able to infer it
# from the types.
#
# How much a device holds follows from the types: of our step's arguments, :measured:`held_by_batch`
# if the batch is split, and :measured:`held_by_weights` if the weights are split as well.
#
# Next: :doc:`how much devices have to send </tutorials/applications/messages>` for each of these
# ways, and what that costs.
