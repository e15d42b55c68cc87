"""
How much do devices have to send?
=================================

Devices that share a training step have to send each other numbers, and wait for them. You can know how
many numbers before the program runs. This page counts them on paper and in compiled programs, and finds
two programs that split their arrays in the same way, and yet don't send the same. Then it times the
steps: does the one that sends less take less time?
"""

# %%
# Count what has to be added up
# -----------------------------
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
# added up. They have as many numbers as the targets. Nothing else has to be sent.
#
# A message that adds up an array over all devices, and gives each of them the sum, is called an
# *all-reduce*. If ``n`` devices share the adding equally, each `has to send
# <https://github.com/NVIDIA/nccl-tests/blob/master/doc/PERFORMANCE.md>`__ at least ``2 (n - 1) / n``
# times the array. So here is our prediction for eight devices:
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
# Will the compiler send what we expect? `Compile a function ahead of time
# <https://docs.jax.dev/en/latest/201/aot.html>`__, and the result has a method ``as_text``, which returns
# XLA's program, with a line for each message. ``compiled_steps`` compiles our step in a process in which one
# CPU acts as eight devices, and reads these lines. It also runs each step, and compares the new
# weights with those of one device:
from jaxcap.report import figures, messages

steps = messages.compiled_steps(batches, WIDTH, devices=DEVICES)
print(f"off by {max(step.off for step in steps):.0e} from one device")


def print_messages(batch, ways):
    for step in steps:
        if step.batch == batch and step.way in ways:
            sent = f"{step.sent_bytes / 1e3:.0f} kB"
            print(f"{step.way}: a device sends {sent}")
            for message in step.messages:
                print("   ", message.code)


print_messages(batches[0], predicted)

# %%
# Each message starts with the shapes of its result, with the order of their axes `in memory
# <https://openxla.org/xla/shapes>`__ in braces. A split batch adds up two arrays in the shapes of the
# weights, and split units one in the shape of the targets, as we expected. In the figure, lines are our
# prediction, and marks are what the compiled programs send, for each size of the batch:
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
# The same split doesn't settle what is sent
# ------------------------------------------
# The page before also split the weights along with the batch. For that, two other messages are enough.
# An *all-gather* gives each device all parts of an array, here of the weights. A *reduce-scatter* adds
# up arrays, here the gradients, and gives each device only its part of the sum. Each of the two sends
# `half of what an all-reduce does
# <https://github.com/NVIDIA/nccl-tests/blob/master/doc/PERFORMANCE.md>`__, so together they should
# send as much as the all-reduce of a split batch.
#
# There are two programs for it. ``loss_of_split_weights`` asks for copies of the weights, by
# :func:`jax.reshard`, and leaves the messages to JAX and XLA. ``loss_on_one`` is the program of one
# device, for a ``shard_map``, and collects the weights by itself:
Source(sharded_step.loss_of_split_weights, sharded_step.loss_on_one)

# %%
# Both programs start with the same arrays split in the same way, and arrive at the new weights of one
# device, as printed above. Do they also send the same?
both = (sharded_step.WEIGHTS, sharded_step.BY_HAND)
print_messages(512, (sharded_step.BATCH, *both))

# %%
by_way = {step.way: step for step in steps if step.batch == 512}
with_types, by_hand = (by_way[way].words for way in both)
types_sent, hand_sent = (
    f"{by_way[way].sent_bytes / 1e3:.0f} kB" for way in both
)

# %%
# With ``loss_on_one``, the program has :measured:`by_hand`, and a device sends
# :measured:`hand_sent`. We wrote the all-gathers, and JAX derived their gradients. Every device has used a copy of each weight, so
# `what they contribute has to be added up <https://docs.jax.dev/en/latest/301/sharding-ad.html>`__,
# and only the device that keeps the weight needs the sum. That is what a reduce-scatter computes.
#
# With ``loss_of_split_weights``, the program has :measured:`with_types`, and a device sends
# :measured:`types_sent`. We asked for copies of the weights, so by the rule of the page before, the
# gradient with respect to them is a copy as well. An all-reduce gives all of it to each device, which
# then keeps only its own part. It is up to the compiler to replace that by a reduce-scatter. XLA may do
# so for other devices than this CPU, so read the program that it compiles for yours.
#
# Does the step that sends less take less time?
# ---------------------------------------------
# We timed split batch and split units with two sizes of the batch, one on either side of the point
# where the lines meet. By bytes alone, split units should be faster for the smaller batch, and a split
# batch for the larger. On a machine without several accelerators, the devices are parts of one CPU.
# Bytes that are counted on paper carry over to a cluster, but such times don't.
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
# step also has to compute, and because a message takes time beyond that for its bytes. Here is the time
# of an all-reduce by itself, beside a line that grows in proportion to the bytes:
message_times = experiments.COLLECTIVES.run(budget_s=0.03)
added_up = [r for r in message_times if r.variant == experiments.PSUM]

# %%
kilobytes = [float(r.parameters["kilobytes"]) for r in added_up]
times = [r.time.value * 1e3 for r in added_up]
more_bytes = f"{kilobytes[-1] / kilobytes[0]:,.3g}"
more_time = f"{times[-1] / times[0]:.2g}"
by_bytes = [times[0] * size / kilobytes[0] for size in kilobytes]

# %%
figure, axes = plt.subplots()
axes.loglog(kilobytes, times, "o-", label="measured")
axes.loglog(kilobytes, by_bytes, "--", label="in proportion")
axes.set_xlabel("kB on each device")
axes.set_ylabel("time in ms (lower is better)")
axes.yaxis.set_major_formatter("{x:g}")
axes.set_xticks(kilobytes, [f"{size:,.0f}" for size in kilobytes])
axes.minorticks_off()
finding = f"{more_bytes} times the bytes took {more_time} times as long"
figures.headline(figure, finding, "An all-reduce by itself")
figures.label_ends(axes)

# %%
# The further the two lines are apart, the more of a short message's time is spent on what a message of
# any length needs, such as waiting: no device can have the sum before the last one has joined in. So
# bytes say most about large messages.
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
