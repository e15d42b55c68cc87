"""
What makes a training step faster?
==================================

You have a training loop that works, and it is slow. What should you try first? This page takes the
network of :doc:`the previous page </tutorials/applications/mnist>`, which learns the same in JAX and
in PyTorch. We change its training one idea at a time, and see which ideas pay on this device. Then
we ask how the best way compares with PyTorch, and how much of the machine it uses.
"""

# %%
# The loop you would write first
# ------------------------------
# Take a batch, make a step, look at the loss, repeat. With Flax, the step is a function compiled by
# :func:`flax.nnx.jit`. It writes new parameters into the model, so the loop reads like one in
# PyTorch:
from jaxcap.mnist import train_flax
from jaxcap.report.source import Source

Source(train_flax.naive_step)

# %%
# Around this step, a loop in Python sends each batch from the host and asks for each loss. There is
# nothing wrong with that, except that Python and the device keep waiting for each other. Our first
# loop in PyTorch has a ``DataLoader``, which normalises one image after the other, and does so
# again in each epoch. It reads no loss before the end of the epoch.
#
# A dozen changes
# ---------------
# What could be saved? The first five rows concern what goes into a step and what comes out of it:
# images, losses and weights. The next six save time *within* a step. The last, a scan, makes many
# steps in one call:
around = {
    "losses read at the end": "waiting for each loss",
    "images on the device": "sending each batch",
    "images as bytes": "reading four bytes for each pixel",
    "a pure function": "unpacking Flax's objects in Python",
    "donation": "new memory for the weights",
}

# %%
within = {
    "our own pool": "XLA's general operation for windows",
    "patches": "XLA's own convolutions",
    "Winograd's algorithm": "multiplications in the second layer",
    "sums in the first layer": "products of thin matrices",
    "a few images at a time": "fetching what has left the cache",
    "fewer random numbers": "three of four draws for dropout",
}
savings = around | within | {"scan": "starting each step from Python"}

# %%
from jaxcap.results.tables import Table

Table(
    "What each change should save",
    ("change", "it should save"),
    list(savings.items()),
)

# %%
# After the first five, the step is a pure function that takes a state and returns the next state.
# The images are on the device. What Python sends for each step is the batch's indices, the step's
# number, the learning rate, and three constants that the network keeps as Python numbers. (A pure
# function gets its randomness as an argument, so this change also moves the making of keys into the
# program.)
Source(train_flax.step)

# %%
# Why should Python start each step? :func:`jax.lax.scan` compiles one step as the body of a loop, and
# a single call from Python runs it many times. ``steps`` donates its state, even for a single step,
# so that the new parameters may use the memory of the old ones.
Source(train_flax.steps)

# %%
# The other six change how the network is computed. Apart from rounding, and from which activations
# dropout drops, the result is the same. Most of a step is convolution, which can be written
# :doc:`as a product of matrices </tutorials/applications/convolutions>` (*patches*), or computed
# by Shmuel Winograd's algorithm :doc:`with fewer multiplications
# </tutorials/applications/winograd>` and more additions. Later pages explain both.
#
# Which change pays on this device?
# ---------------------------------
# We time whole training steps of :measured:`batch_size` images each, :measured:`scan_steps` steps
# at a time, so that a scan has something to save. All ways to train take turns, in fresh processes.
# On a CPU, we don't scan XLA's own convolutions, because their gradients can take far longer in a
# loop, as the next page shows. So the only scan there uses Winograd's algorithm. Which of the
# changes do you think will matter?
from jaxcap.experiments.mnist import DEVICE, MAIN, THROUGHPUT, throughput
from jaxcap.experiments.mnist_changes import CHANGES, NAIVE, SCAN, STEPS

# %%
point = THROUGHPUT.points[0]
speeds = THROUGHPUT.run(points=[point], processes=4, budget_s=0.05)
batch_size, scan_steps = point["batch"], point["steps"]

# %%
# The figure goes from the naive loop to the best way in float32, one change at a time. (Changes
# that the best way doesn't use have no bar.) Each bar runs from the time before a change to the
# time after it, in blue if the change clearly saved time, in orange if it clearly cost time, and in
# grey otherwise.
from jaxcap.report import figures

_ = figures.waterfall(
    speeds,
    changes={way: change.before for way, change in CHANGES.items()},
    names={way: change.name for way, change in CHANGES.items()},
    title="Training, one change at a time",
    label=f"time of {point['steps']} steps (lower is better)",
)

# %%
outcomes = {
    change.name: speeds.speedup(way, over=change.before)
    for way, change in CHANGES.items()
    if way in speeds.variants
}
rows = [
    (name, ratio.verdict_in_words, ratio.range)
    for name, ratio in sorted(outcomes.items(), key=lambda row: -row[1].value)
]

# %%
headers = ("change", "outcome", "times as fast, from and to")
Table("What each change did", headers, rows)

# %%
# Return to your guesses. The best way in Flax was :measured:`to_naive than the naive loop`. Of the
# single changes, a clear saving came from :measured:`paid`. In a dozen comparisons, one may look
# decided by chance, so don't rely on an interval that begins just above 1. This page measures
# little, so that it builds soon. For a longer run, with larger batches, use
# ``nox -s bench -- mnist``.
#
# Each row compares the loop before a change with the loop after it, so its outcome depends on the
# changes already made. If a change didn't pay, what it saves took little time at that point, or
# the change costs as much itself. (:doc:`A profile </tutorials/performance/profiling>` would show
# which.) The same change may pay in another program.
#
# Five of these rows are claims, which other machines check, too:
from jaxcap.experiments.mnist_changes import ON_DEVICE, POOL
from jaxcap.report.claims import claim, speedup_of

pool_pays = claim(
    "Flax trains faster with our own pool than with XLA's",
    speeds,
    speedup_of(POOL, over=CHANGES[POOL].before),
)
pool_pays

# %%
from jaxcap.experiments.mnist_changes import PATCHES

patches_pay = claim(
    "Flax trains faster with patches than with XLA's convolutions",
    speeds,
    speedup_of(PATCHES, over=CHANGES[PATCHES].before),
)
patches_pay

# %%
from jaxcap.experiments.mnist_changes import WINOGRAD_ALONE

winograd_pays = claim(
    "Flax trains faster with Winograd's algorithm than with patches in the "
    "second layer",
    speeds,
    speedup_of(WINOGRAD_ALONE, over=CHANGES[WINOGRAD_ALONE].before),
)
winograd_pays

# %%
from jaxcap.experiments.mnist_changes import PARTS

parts_pay = claim(
    "Flax trains faster if the second layer takes a few images at a time",
    speeds,
    speedup_of(PARTS, over=CHANGES[PARTS].before),
)
parts_pay

# %%
data_pay = claim(
    "Flax trains faster with the images on the device than if each batch is "
    "sent",
    speeds,
    speedup_of(ON_DEVICE, over=CHANGES[ON_DEVICE].before),
)
data_pay

# %%
# And beside PyTorch?
# -------------------
# PyTorch takes part with its own loop over a ``DataLoader``, and with all data on the device. Here
# are both ways, beside the main ways in Flax:
main = speeds.subset(
    result
    for result in speeds
    if result.variant in MAIN or result.variant.startswith("PyTorch")
)


def fastest(framework):
    """Return the fastest way to train in a framework."""
    ways = [r for r in speeds if r.variant.startswith(framework)]
    return min(ways, key=lambda way: way.time.value).variant


fastest_of_flax, fastest_of_torch = fastest("Flax"), fastest("PyTorch")

# %%
_ = figures.bars(
    main,
    value=throughput,
    over=fastest_of_torch,
    about=fastest_of_flax,
    label="images a second (higher is better)",
    title="Speed of training",
)

# %%
main.speedups(over=NAIVE)

# %%
# By its median time, the best way to train in Flax is the one named :measured:`best_of_flax`, with
# :measured:`whose_layers`. With both libraries' own layers, and the data on the device, Flax was
# :measured:`own_layers than PyTorch`. So tell apart what a framework gives you and what you could
# write in either. PyTorch is here :measured:`torch_ways`, whose first call takes long. (We have run
# this page on CPUs only so far.)
#
# How much of the machine is that?
# --------------------------------
# A way that beats the naive loop can still be slow. So count the operations that the layers of a
# step call for, and compare them with the most that the device could have done in that time. That
# limit is for float32, and is measured as on :doc:`the page about linear algebra
# </tutorials/performance/linear_algebra>`:
from jaxcap.experiments.ceilings import CEILINGS
from jaxcap.mnist import model
from jaxcap.report.roofline import roofline_fraction
from jaxcap.results import Cost
from jaxcap.results.ceilings import Ceilings

limits = CEILINGS.run(budget_s=0.05)
ceilings = Ceilings.from_results(limits, speeds[0].device)
of_step = model.work_of_step(batch_size)
work = Cost(of_step.flops * scan_steps, of_step.bytes_moved * scan_steps)
print(f"{of_step.flops / 1e9:.2f} GFLOP a step")

# %%
rows = []
for way in main:
    share = roofline_fraction(way, ceilings, cost=work)
    rows.append((way.variant, share.short))
title = f"Share of what {ceilings.device} can do"
Table(title, ("way to train", "share"), rows)

# %%
# Two things lower the shares. Products and convolutions of these shapes may not run as fast as the
# large square product that set the limit. And a step does more than multiply: it fetches patches
# and activations from memory, draws random numbers for dropout, and starts kernels.
#
# Two things raise them. Winograd's algorithm makes fewer multiplications than we counted. So its
# share says how fast a direct convolution would have to run to finish in the same time, and the
# multiplications that the algorithm really makes run at a lower rate. And on a GPU, TF32 and
# bfloat16 raise the shares, because the limit is measured in float32.
#
# Takeaway
# --------
to_naive = speeds.speedup(fastest_of_flax, over=NAIVE)
to_torch = speeds.speedup(fastest_of_flax, over=fastest_of_torch)
saved = [name for name, r in outcomes.items() if r.verdict == "faster"]
paid = ", ".join(saved) or "none"
best_of_flax = f"“{fastest_of_flax}”"
is_ours = fastest_of_flax not in (NAIVE, ON_DEVICE, STEPS, SCAN)
whose_layers = f"layers of {'our own' if is_ours else 'its library'}"
own_layers = speeds.speedup(STEPS, over=DEVICE)
with_compiler = any("compiled" in result.variant for result in speeds)
torch_ways = f"{'with' if with_compiler else 'without'} torch.compile"

# %%
# On this page's device, the best way to train with Flax was
# :measured:`to_naive than the naive loop`, and :measured:`to_torch than PyTorch's best`
# (:measured:`torch_ways`). With the libraries' own layers on both sides, Flax was
# :measured:`own_layers than PyTorch`. The winner of a comparison usually owes a little to luck, so
# expect a slightly smaller lead when you measure again. Of the single changes on the way, a clear
# saving came from :measured:`paid`.
#
# Each change aims at a different cost: sending images, starting steps, slow convolutions,
# multiplications. Which of these costs most depends on the device, so measure before you optimise.
#
# Next: where the time goes within the step, and :doc:`what makes a convolution slow
# </tutorials/applications/convolutions>`.
