"""
How much do devices have to send?
=================================

Devices can share a training step by its batch, or by the hidden units of its network. Either way,
they have to send each other numbers, and wait for them. Which way sends more? Make a guess. We work
out the answer on paper, read it off the compiled program, and do the same for weights that are
split, too. Then we time the messages and the steps. Does the step that sends less take less time?
"""

# %%
# What has to be sent, on paper
# -----------------------------
# :doc:`The page before </tutorials/applications/sharding>` split this step. The network has as many
# outputs as inputs, which is its width, and four times as many hidden units:
from jaxcap.kernels import sharded_step
from jaxcap.report.source import Source

Source(sharded_step.loss, sharded_step.step)

# %%
# If the batch is split, each device computes the gradient for its own examples. These gradients,
# which have as many numbers as the two matrices, have to be added up. If the units are split, each
# device computes what its units contribute to every prediction. These contributions, which have as
# many numbers as the targets, have to be added up. After that, each device can compute the gradient
# of its own weights without the others.
#
# To sum an array over all devices, and give each of them the sum, is called an *all-reduce*. Unless
# the network itself can add, and if the ``n`` devices share the work equally, each of them `has to
# send <https://github.com/NVIDIA/nccl-tests/blob/master/doc/PERFORMANCE.md>`__ at least
# ``2 (n - 1) / n`` times the size of the array. So we can predict which way sends more. Did your
# guess depend on the size of the batch?
WIDTH, DEVICES, FLOAT = 64, 8, 4
batches = (128, 512, 2048)


def sent_to_add(numbers):
    return 2 * (DEVICES - 1) / DEVICES * FLOAT * numbers


predicted = {
    sharded_step.BATCH: [sent_to_add(8 * WIDTH**2) for _ in batches],
    sharded_step.UNITS: [sent_to_add(size * WIDTH) for size in batches],
}

# %%
# The program says what it will send
# ----------------------------------
# A compiled program contains its messages, with the shapes of what they carry. To read them,
# compile a function for split arrays, and look into the text of the program. Here is a sum over a
# split axis, in a process in which one CPU acts as eight devices:
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
# After the name of the result come its type, the kind of the message, and what it adds up. (The
# braces give `the order <https://openxla.org/xla/shapes>`__ in which an array lies in memory.) We
# do the same with our step, for each size of the batch, and compare the new weights with those that
# one device computes. Here are the messages for the smallest batch. Are these the arrays that we
# expected?
from jaxcap.report import figures, messages

steps = messages.compiled_steps(batches, WIDTH, devices=DEVICES)
largest_error = max(step.off for step in steps)
print(f"largest difference from one device: {largest_error:.0e}")


def print_messages(batch, ways):
    for step in steps:
        if step.batch == batch and step.way in ways:
            print(f"{step.way}:")
            for message in step.messages:
                print("   ", message.code)


print_messages(batches[0], list(predicted))

# %%
# A split batch adds up two arrays in the shapes of the weights, and split units one in
# the shape of the targets. In the figure, the lines are our prediction, and the marks are what the
# programs send by these shapes:
import matplotlib.pyplot as plt

figure, axes = plt.subplots()
for (way, sizes), marker in zip(predicted.items(), figures.MARKERS):
    read = [step.sent_bytes / 1e3 for step in steps if step.way == way]
    (line,) = axes.loglog(batches, [size / 1e3 for size in sizes], label=way)
    axes.plot(batches, read, marker, color=line.get_color(), markersize=9)
axes.set_xlabel("examples in the batch")
axes.set_ylabel("kB that each device sends\n(lower is better)")
axes.set_xticks(batches, map(str, batches))
axes.set_yticks((100, 300, 1000), ("100", "300", "1000"))
axes.minorticks_off()
finding = f"Below {8 * WIDTH} examples, split units send less"
figures.headline(figure, finding, f"A step of a network {WIDTH} wide")
figures.label_ends(axes)

# sphinx_gallery_thumbnail_number = 1

# %%
# The gradients of the weights have the same size for any batch, and the predictions grow with the
# batch. The two matrices together have ``8 * width**2`` numbers, and the predictions ``batch *
# width``, so the lines meet where the batch is eight times the width. The number of devices doesn't
# matter, because both amounts have the same factor.
#
# A deeper network repeats this for each pair of layers. With split units, it also needs an
# all-reduce in the backward pass, because the gradient with respect to a pair's inputs `has to be
# added up as well <https://arxiv.org/abs/1909.08053>`__.
#
# An all-reduce is two messages in one
# ------------------------------------
# There are other messages. To see what each does, you don't need devices: under ``vmap`` with an
# ``axis_name``, the rows of an array can stand in for them.
from jaxcap.kernels import collectives

four = (
    collectives.add_up,
    collectives.add_up_parts,
    collectives.add_up_in_two,
    collectives.pass_on,
)
Source(*four, collectives.collect_parts)

# %%
import jax
import jax.numpy as jnp

rows_as_devices = jnp.arange(9.0).reshape(3, 3)
print(rows_as_devices)
for collective in four:
    mapped = jax.vmap(collective, axis_name=sharded_step.AXIS)
    print(f"{collective.__name__}:\n{mapped(rows_as_devices)}")

# %%
# In JAX, the all-reduce is called ``psum``. A *reduce-scatter* (``psum_scatter``) adds up arrays,
# too, but gives each device only its part of the sum. An *all-gather* (``all_gather``) collects the
# parts of all devices. One after the other, they give the same result as the all-reduce, and each
# of the two sends half as much. `One efficient algorithm for the all-reduce
# <https://docs.jax.dev/en/latest/_autosummary/jax.lax.psum_scatter.html>`__ works like that.
# ``ppermute`` passes an array on, here to the next device.
#
# What do split weights send?
# ---------------------------
# If the weights are split as well, each device has to collect those of all others before it can
# compute, by an all-gather. Afterwards it needs the sum of all gradients, but only for its own
# weights, so a reduce-scatter will do. Together, that is as much as an all-reduce. So split weights
# should send as much as a split batch. Do they?
#
# The page before had two programs for that. ``loss_of_split_weights`` says by its types that it
# needs copies of the weights. ``loss_on_one``, in a ``shard_map``, collects them by ``all_gather``.
# These are the messages of the two steps. The result of a reduce-scatter has the shape of a
# device's part:
print_messages(512, (sharded_step.WEIGHTS, sharded_step.BY_HAND))

# %%
# The table compares these two programs with the two that don't split the weights:
by_way = {step.way: step for step in steps if step.batch == 512}
messages.table(by_way.values(), "Each device in a step with 512 examples")

# %%
# The first two rows send the same, because with 512 examples we are where the lines of the figure
# meet. The last two compute the same gradient and hold the same arrays. But with types, the program
# has :measured:`with_types`, and a device sends :measured:`types_sent`. With ``shard_map``, it has
# :measured:`by_hand`, and a device sends :measured:`hand_sent`.
#
# ``loss_on_one`` has no reduce-scatter, so where does one come from? From the all-gather. Each
# device's copy of a weight contributes to the gradient, and `the contributions have to be added up
# <https://docs.jax.dev/en/latest/301/sharding-ad.html>`__. So the gradient of an all-gather is a
# reduce-scatter.
#
# Where there is an all-reduce of gradients, it comes from our types. The function asks for copies
# of the weights, so the gradient with respect to them `has to be a copy as well
# <https://docs.jax.dev/en/latest/301/sharding-ad.html>`__: every device receives the sum for all
# weights, and keeps only the part for its own. You can ask for partial sums instead, but the
# messages are still up to XLA. For GPUs, XLA has `a pass
# <https://github.com/openxla/xla/pull/31030>`__ that can turn such an all-reduce into a
# reduce-scatter. We haven't run this page on several GPUs yet.
with_types = by_way[sharded_step.WEIGHTS].words
by_hand = by_way[sharded_step.BY_HAND].words
types_sent = f"{by_way[sharded_step.WEIGHTS].sent_bytes / 1e3:.0f} kB"
hand_sent = f"{by_way[sharded_step.BY_HAND].sent_bytes / 1e3:.0f} kB"

# %%
# What does a message cost here?
# ------------------------------
# On a machine without several accelerators, eight devices share one CPU, and no message goes
# through a cable. The devices are `threads
# <https://github.com/openxla/xla/blob/main/xla/backends/cpu/collectives/in_process_communicator.cc>`__
# that copy or add up what lies in memory, and wait for one another. So we compare messages with a
# copy of all vectors on one device. What do you expect to see, for short and for long vectors: the
# waiting or the copying?
from jaxcap.experiments import collectives as experiments
from jaxcap.experiments.collectives import COPY, IN_TWO, PERMUTE, PSUM

message_times = experiments.COLLECTIVES.run(budget_s=0.03)
kinds = {COPY, PERMUTE, PSUM, IN_TWO}
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
from jaxcap.report.claims import LARGEST, claim, speedup_of

messages_cost = claim(
    "passing the largest vectors on to the next device takes longer than "
    "copying them all on one device",
    message_times,
    speedup_of(PERMUTE, over=COPY, kilobytes=LARGEST),
    below=1,
)
messages_cost

# %%
one_is_faster = claim(
    "adding up the largest vectors is faster in one message than in two",
    message_times,
    speedup_of(PSUM, over=IN_TWO, kilobytes=LARGEST),
)
one_is_faster

# %%
all_reduces = [r for r in message_times if r.variant == PSUM]
shortest, *_, longest = all_reduces
sizes = [float(r.parameters["kilobytes"]) for r in (shortest, longest)]
by_size = f"{sizes[1] / sizes[0]:,.3g}"
grown = longest.time.value / shortest.time.value
by_time = f"{grown:.2g}"
waiting_or_copying = "So even for short vectors, it is mostly the copying"
if grown < sizes[1] / sizes[0] / 2:
    waiting_or_copying = (
        "So short vectors mostly wait, which takes about as long for any "
        "length, and as vectors grow, the copying takes over"
    )

# %%
# Waiting or copying? From the shortest vectors to the longest, the bytes grow by a factor of
# :measured:`by_size`, and the time of an all-reduce grows by a factor of :measured:`by_time`. If
# copying were all that takes time, the two factors would be the same.
# :measured:`waiting_or_copying`. With two messages, the devices wait twice. Our prediction above
# counts bytes, and leaves the waiting out.
#
# Does the step that sends less take less time?
# ---------------------------------------------
# Here are two batches, one on either side of the point where the lines of the figure meet. By bytes
# alone, split units should take less time for the smaller batch, and a split batch for the larger:
step_times = experiments.SHARED_STEPS.run(budget_s=0.05)
step_times

# %%
less_is_faster = claim(
    "with the largest batch, a step is faster if the devices split the batch "
    "than if they split the units, which sends more",
    step_times,
    speedup_of(sharded_step.BATCH, over=sharded_step.UNITS, batch=LARGEST),
)
less_is_faster

# %%
from functools import partial

by_batch = less_is_faster.estimate
to_batch = partial(step_times.speedup, over=sharded_step.BATCH)
measured = {result.parameters["batch"] for result in step_times}
by_units = to_batch(sharded_step.UNITS, batch=min(measured))
alone_small = to_batch(experiments.ONE, batch=min(measured))
alone_large = to_batch(experiments.ONE, batch=max(measured))

# %%
# With the largest batch, the split batch was :measured:`by_batch than split units`, and with the
# smallest, split units were :measured:`by_units than a split batch`. Bytes aren't all that differs:
# with a split batch, every device also repeats the update of all weights. A single device by itself
# was :measured:`alone_small than a split batch` for the smallest batch, and
# :measured:`alone_large than a split batch` for the largest.
#
# If the devices are parts of one CPU, don't carry these times over to a cluster. The parts share
# its cores and its memory, so what you see is mostly the price of sharing. The sizes in our
# prediction do carry over, because they follow from what is split. For the messages that XLA
# chooses, compile on the devices that you will use. On a cluster, too, it matters when a message
# can be sent. The gradients of a split batch can be sent layer by layer, `while the backward pass
# still computes <https://docs.pytorch.org/docs/stable/notes/ddp.html>`__ those of earlier layers.
# With split units, the next layer has to wait for the sum. That is why units are usually split
# among devices with fast links, such as the `GPUs of one node
# <https://arxiv.org/abs/2104.04473>`__.
#
# Takeaway
# --------
# If devices split the batch, they exchange the gradients of all weights. If they split the hidden
# units, they exchange results for the whole batch. Count the numbers in both, and choose the split
# that sends fewer. Then read the messages in the compiled program. For one and the same split of
# the weights, each device had to send :measured:`types_sent` when we left the messages to JAX and
# XLA, and :measured:`hand_sent` when we wrote them.
#
# Then time the step, because devices also have to compute and to wait. With the largest batch, a
# split batch sends less, and its step was :measured:`by_batch than with split units`. With the
# smallest, split units send less, and their step was :measured:`by_units than with a split batch`.
#
# This was the last tutorial. Try it yourself in :doc:`exercise 14 </exercises/14_sharding>`.
# :doc:`How we measure </measuring>` has the rules behind all of the numbers.
