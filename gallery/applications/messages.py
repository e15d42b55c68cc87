"""
How much do devices have to send?
=================================

Devices that share a training step have to send each other numbers, and wait for them. How much they
send depends on what you split, and you can know it before the program runs. This page works it out
on paper for two ways, reads it off the compiled programs, and finds that the split alone doesn't
settle what a program sends. Then it times the steps: does the one that sends less take less time?
"""

# %%
# On paper, it depends on the batch
# ---------------------------------
# :doc:`The page before </tutorials/applications/sharding>` split a training step with this loss by
# its batch, or by its hidden units. The network has as many outputs as inputs, which is its width,
# and four times as many hidden units:
from jaxcap.kernels import sharded_step
from jaxcap.report.source import Source

Source(sharded_step.loss)

# %%
# If the batch is split, each device computes the gradient for its own examples, and these gradients
# have to be added up. They have as many numbers as the two matrices. If the units are split, each
# device computes what its units contribute to the predictions, and these contributions have to be
# added up. They have as many numbers as the targets. A device can compute everything else by itself.
#
# To add up an array over all devices, and give each of them the sum, is called an *all-reduce*. If
# ``n`` devices share the adding equally, each `has to send
# <https://github.com/NVIDIA/nccl-tests/blob/master/doc/PERFORMANCE.md>`__ at least ``2 (n - 1) / n``
# times the array. So we can predict what eight devices send:
WIDTH, DEVICES, FLOAT = 64, 8, 4
batches = (128, 512, 2048)


def sent_to_add(numbers):
    return 2 * (DEVICES - 1) / DEVICES * FLOAT * numbers


predicted = {
    sharded_step.BATCH: [sent_to_add(8 * WIDTH**2) for _ in batches],
    sharded_step.UNITS: [sent_to_add(size * WIDTH) for size in batches],
}

# %%
# The compiled program names its messages
# ---------------------------------------
# A compiled program contains its messages, with the shapes of what they carry. Here is a sum over a
# split axis, compiled in a process in which one CPU acts as eight devices:
from jaxcap.report.virtual_devices import run_python

program = """
import jax
import jax.numpy as jnp

mesh = jax.make_mesh((8,), ("devices",))
by_row = jax.NamedSharding(mesh, jax.P("devices"))
batch = jax.device_put(jnp.ones((128, 64)), by_row)
summed = jax.jit(lambda x: x.sum(axis=0))
print(summed.lower(batch).compile().as_text())
"""

# %%
for line in run_python("-c", program, devices=DEVICES).splitlines():
    if "all-reduce(" in line:
        print(line.strip().partition(", ")[0])

# %%
# The line has a name, the type of the result, the kind of the message, and what it adds up. (Braces
# give the order of the axes `in memory <https://openxla.org/xla/shapes>`__.) We compile our step in
# the same way, and compare its new weights with those of one device. Are its messages those that we
# expect?
from jaxcap.report import figures, messages

steps = messages.compiled_steps(batches, WIDTH, devices=DEVICES)
print(f"off by {max(step.off for step in steps):.0e} from one device")


def print_messages(batch, ways):
    for step in steps:
        if step.batch == batch and step.way in ways:
            print(
                f"{step.way}: a device sends {step.sent_bytes / 1e3:.0f} kB"
            )
            for message in step.messages:
                print("   ", message.code)


print_messages(batches[0], predicted)

# %%
# A split batch adds up two arrays in the shapes of the weights, and split units one in the shape of
# the targets. In the figure, lines are the prediction, and marks are what the compiled programs
# send, for each size of the batch:
import matplotlib.pyplot as plt

colours = figures.palette(predicted)

# %%
figure, axes = plt.subplots()
for (way, sizes), marker in zip(predicted.items(), figures.MARKERS):
    read = [step.sent_bytes / 1e3 for step in steps if step.way == way]
    look = {"color": colours[way], "markersize": 9}
    axes.loglog(batches, [size / 1e3 for size in sizes], label=way, **look)
    axes.plot(batches, read, marker, **look)
axes.set_xlabel("examples in the batch")
axes.set_ylabel("kB that each device sends\n(lower is better)")
axes.set_xticks(batches, [f"{batch:,}" for batch in batches])
axes.set_yticks((100, 300, 1000), ("100", "300", "1,000"))
axes.minorticks_off()
finding = f"Below {8 * WIDTH} examples, split units send less"
figures.headline(figure, finding, f"A step of a network {WIDTH} wide")
figures.label_ends(axes)

# sphinx_gallery_thumbnail_number = 1

# %%
# The two matrices have ``8 * width**2`` numbers whatever the batch, and the predictions have ``batch
# * width``. So the lines meet where the batch is eight times the width, for any number of devices.
#
# Two messages can replace an all-reduce
# --------------------------------------
# Devices that keep only a part of the weights need two other messages. Under ``vmap`` with an
# ``axis_name``, the rows of an array can stand in for devices, so that you see what each message does:
from jaxcap.kernels import collectives

three = (
    collectives.add_up,
    collectives.add_up_parts,
    collectives.add_up_in_two,
)
Source(*three, collectives.collect_parts)

# %%
import jax
import jax.numpy as jnp

rows_as_devices = jnp.arange(9.0).reshape(3, 3)
print(rows_as_devices)
for collective in three:
    mapped = jax.vmap(collective, axis_name=sharded_step.AXIS)
    print(f"{collective.__name__}:\n{mapped(rows_as_devices)}")

# %%
# ``psum`` is the all-reduce. ``psum_scatter`` is a *reduce-scatter*, which gives each device only
# its part of the sum, and ``all_gather`` is an *all-gather*, which collects the parts of all devices.
# One after the other, they do what an all-reduce does, and each of them has to send half as much:
# the formula above without its factor of 2.
#
# Two programs for the same split
# -------------------------------
# With split weights, each device collects the weights before it computes, by an all-gather, and
# needs only its part of the gradient afterwards, for which a reduce-scatter is enough. Together,
# they should send as much as the all-reduce of a split batch.
#
# There are two programs for that. On the page before, ``loss_of_split_weights`` asked for copies of
# the weights, and left the messages to JAX and XLA. Here is the same loss for a ``shard_map``:
Source(sharded_step.loss_on_one)

# %%
# Both programs start with the same arrays, and their new weights agree with those of one device. Do
# they also send the same?
both = (sharded_step.WEIGHTS, sharded_step.BY_HAND)
print_messages(512, (sharded_step.BATCH, *both))

# %%
by_way = {step.way: step for step in steps if step.batch == 512}
with_types, by_hand = (by_way[way].words for way in both)
types_sent, hand_sent = (
    f"{by_way[way].sent_bytes / 1e3:.0f} kB" for way in both
)

# %%
# ``loss_of_split_weights`` has :measured:`with_types`, and a device sends :measured:`types_sent`.
# ``loss_on_one`` has :measured:`by_hand`, and a device sends :measured:`hand_sent`. We wrote its
# all-gathers, and JAX derived their gradients. Every device has used a copy of each weight, so
# `what they contribute has to be added up <https://docs.jax.dev/en/latest/301/sharding-ad.html>`__,
# and only the device that keeps the weight needs the sum. That is what a reduce-scatter computes.
#
# In ``loss_of_split_weights``, we asked for copies of the weights, so by the rule of the page before,
# the gradient with respect to them is a copy as well. An all-reduce gives all of it to each device,
# which then keeps its own part. It is up to the compiler to replace that by a reduce-scatter. These
# programs were compiled for a CPU, and XLA may choose other messages for your devices, so read the
# program for those.
#
# Does the step that sends less take less time?
# ---------------------------------------------
# We timed two sizes of the batch, one on either side of the point where the lines meet. By bytes
# alone, split units should be faster for the smaller batch, and a split batch for the larger. On a
# machine without several accelerators, the devices are parts of one CPU, and their times don't carry
# over to a cluster. The bytes that we counted on paper do.
from jaxcap.experiments import collectives as experiments

step_times = experiments.SHARED_STEPS.run(budget_s=0.05)

# %%
compared = [r for r in step_times if r.variant in predicted]
_ = figures.scaling(
    step_times.subset(compared),
    x="batch",
    over=sharded_step.UNITS,
    title="The same step, split in two ways",
    xlabel="examples in the batch",
)

# %%
from jaxcap.report.claims import LARGEST, claim, speedup_of

less_is_faster = claim(
    "with the largest batch, a step is faster if the devices split the batch "
    "than if they split the units, which sends more",
    step_times,
    speedup_of(sharded_step.BATCH, over=sharded_step.UNITS, batch=LARGEST),
)
less_is_faster

# %%
by_batch = less_is_faster.estimate
width = step_times[0].parameters["width"]
smallest = min(result.parameters["batch"] for result in step_times)
bytes_ratio = f"{8 * width / smallest:.2g}"
by_units = step_times.speedup(
    sharded_step.UNITS, over=sharded_step.BATCH, batch=smallest
)

# %%
# With the smallest batch, what the two ways send differs by a factor of :measured:`bytes_ratio`, and
# split units were :measured:`by_units than a split batch`. The two factors needn't agree, because a
# step also has to compute. Does at least a message by itself take as long as its bytes suggest?
#
# What a message costs besides its bytes
# --------------------------------------
# We timed an all-reduce, a reduce-scatter and an all-gather of vectors of several sizes, and for
# comparison a copy of all vectors on one device, which waits for no other. If only bytes took time,
# vectors ten times as long would take ten times as long to send. Do they?
from jaxcap.experiments.collectives import COPY, GATHER, PSUM, SCATTER

message_times = experiments.COLLECTIVES.run(budget_s=0.03)
kinds = {COPY, PSUM, SCATTER, GATHER}
shown = [r for r in message_times if r.variant in kinds]

# %%
_ = figures.scaling(
    message_times.subset(shown),
    x="kilobytes",
    over=COPY,
    about=PSUM,
    title="Messages and a copy",
    xlabel="kB on each device",
)

# %%
shortest, *_, longest = [r for r in message_times if r.variant == PSUM]
sizes = [float(r.parameters["kilobytes"]) for r in (shortest, longest)]
by_size = f"{sizes[1] / sizes[0]:,.3g}"
by_time = f"{longest.time.value / shortest.time.value:.2g}"

# %%
# From the shortest vectors to the longest, the bytes of an all-reduce grow by a factor of
# :measured:`by_size`, and its time by a factor of :measured:`by_time`. The smaller the second
# factor, the more of a short message's time goes into what any message needs, such as waiting: no
# device can have the sum before the last one has joined in. Our prediction counts bytes, so it says
# most about large messages.
#
# Takeaway
# --------
# If devices split the batch, they exchange the gradients of all weights. If they split the hidden
# units, they exchange results for the whole batch. Count the numbers in both, and you know which
# split sends fewer. Then read the messages in the compiled program. For one and the same split of
# the weights, each device had to send :measured:`types_sent` when we left the messages to JAX and
# XLA's compiler for CPUs, and :measured:`hand_sent` in a ``shard_map``.
#
# Time the step before you choose, because devices also have to compute and to wait. With the
# largest batch, a split batch sends less, and its step was
# :measured:`by_batch than with split units`. With the smallest, split units send less, and their step
# was :measured:`by_units than with a split batch`.
#
# This was the last tutorial. Try it yourself in :doc:`exercise 14 </exercises/14_sharding>`.
# :doc:`How we measure </measuring>` has the rules behind all of the numbers.
