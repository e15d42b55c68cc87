"""
What makes a training step faster?
==================================

You have a training loop that works, and it is slow. What should you try first? This page takes the
network of :doc:`the previous page </tutorials/applications/mnist>`, which learns the same in JAX
and in PyTorch. We change its training one idea at a time, and see which ideas pay on this device.
Then we compare the best way with PyTorch, and with what the machine could do.
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
# Around this step, a loop in Python sends each batch from the host and asks for each loss. It is
# correct, but Python and the device keep waiting for each other.
#
# A dozen changes
# ---------------
# What could be saved? Five changes concern what goes into a step and what comes out of it. (Their
# names are those in the results below.)
#
# - *losses read at the end*: Python needn't wait for each loss.
# - *images on the device*: no batch has to be sent.
# - *images as bytes*: a step reads a byte for each pixel instead of four.
# - *a pure function*: Python needn't unpack Flax's objects.
# - *donation*: the new weights need no memory of their own.
#
# They turn ``naive_step`` into the pure ``step`` of the page before, which takes a state and
# returns the next one. For each step, Python sends only a few numbers: the batch's indices, the
# step's number, the learning rate, the momentum, and the mean and standard deviation of the pixels.
#
# Another change, a *scan*, saves starting each step from Python. :func:`jax.lax.scan` compiles one
# step as the body of a loop, and a single call runs it many times:
Source(train_flax.steps)

# %%
# The other six change how the network is computed. Apart from rounding, and from which activations
# dropout drops, the result is the same:
#
# - *our own pool* does without XLA's general operation for windows.
# - *patches* replace XLA's convolutions by :doc:`products of matrices
#   </tutorials/applications/convolutions>`.
# - *Winograd's algorithm* saves :doc:`half the multiplications of the second layer
#   </tutorials/applications/winograd>`, at the price of more additions.
# - *sums in the first layer* replace the product of its forward pass, whose matrices are thin.
# - *a few images at a time* can stay in the cache, and then needn't be fetched again.
# - *fewer random numbers*: dropout draws 32 bits for four activations, not for one.
#
# The next pages explain the convolutions. The pool and the few images at a time need only a few
# lines each. (In the training, the pool also has a gradient of its own.)
import jax
import jax.numpy as jnp


def pool(images):
    corners = [images[:, i::2, j::2] for i in range(2) for j in range(2)]
    return jnp.stack(corners).max(axis=0)


def in_parts(layers, images, size=8):
    parts = images.reshape(-1, size, *images.shape[1:])
    results = jax.lax.map(layers, parts)
    return results.reshape(-1, *results.shape[2:])


# %%
from jaxcap.mnist import model

images = jax.random.normal(jax.random.key(0), (32, 24, 24, 64))
print("as XLA's:", jnp.array_equal(pool(images), model.xla_max_pool(images)))
print("in parts:", jnp.array_equal(in_parts(pool, images), pool(images)))

# %%
# Which change pays on this device?
# ---------------------------------
# We time whole training steps of :measured:`batch_size` images each, :measured:`scan_steps` steps
# at a time, so that a scan has something to save. All ways to train take turns, in fresh processes.
# On a CPU, only the training with Winograd's algorithm is scanned, because the gradients of XLA's
# own convolutions can take far longer in a loop, as the next page shows. Which of the changes do
# you think will matter?
from jaxcap.experiments.mnist import DEVICE, MAIN, THROUGHPUT, throughput
from jaxcap.experiments.mnist_changes import CHANGES, NAIVE, STEPS

# %%
point = THROUGHPUT.points[0]
speeds = THROUGHPUT.run(points=[point], processes=4, budget_s=0.05)
batch_size, scan_steps = point["batch"], point["steps"]

# %%
# The figure goes from the naive loop to the best way in float32, one change at a time. (Changes
# that the best way doesn't use have no bar.) Each bar runs from the time before a change to the
# time after it: blue where the change saved time, orange where it cost time, and grey where the
# measurement leaves that open.
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
from jaxcap.results.tables import Table

headers = ("change", "outcome", "times as fast, from and to")
Table("What each change did", headers, rows)

# %%
# Return to your guesses, and see which rows surprise you. To build quickly, this page takes few
# samples, and among a dozen comparisons one may look decided by chance. So let's call a change
# clear only if its whole interval is more than two per cent away from 1. Then clear savings came
# from :measured:`paid`, and clear costs from :measured:`unpaid`. A change that cost time may still
# be part of the best way, because each row keeps all the changes on the way to it.
#
# If a change didn't pay, there may have been little to save at that point, the change may cost as
# much as it saves, or the samples may be too few to tell. (:doc:`A profile
# </tutorials/performance/profiling>` helps to tell the first two apart.) In another program, the
# same change may well pay. For a longer run, with larger batches, use ``nox -s bench -- mnist``.
#
# Two of these rows are claims, which other machines check, too:
from jaxcap.experiments.mnist_changes import ON_DEVICE, POOL
from jaxcap.report.claims import claim, speedup_of

pool_pays = claim(
    "Flax trains faster with our own pool than with XLA's",
    speeds,
    speedup_of(POOL, over=CHANGES[POOL].before),
)
pool_pays

# %%
data_pay = claim(
    "Flax trains faster with the images on the device than if each batch is "
    "sent",
    speeds,
    speedup_of(ON_DEVICE, over=CHANGES[ON_DEVICE].before),
)
data_pay

# %%
# What else we tried
# ------------------
# Each row of the next table takes the best way on a CPU, a scan with Winograd's algorithm, and goes
# back on something or tries something else. Below 1, the change made the training slower. Compiling
# so many programs takes minutes, so these numbers were recorded earlier:
from jaxcap.experiments.mnist_search import BEST
from jaxcap.releases.recorded import recorded_results

search = recorded_results("mnist search")
ratios = {
    tried.variant: ratio for tried, ratio in search.paired_speedups(BEST)
}
instead_of = {
    "patches": "Winograd's algorithm",
    "patches, channels first": "Winograd's algorithm",
    "all images at once": "8 images at a time",
    "bfloat16": "float32",
}

# %%
rows = [
    (tried, usual, ratios[tried].short, ratios[tried].range)
    for tried, usual in instead_of.items()
]
title = f"Recorded on {search.environment.device.name}"
headers = ("change", "instead of", "times as fast", "95% interval")
Table(title, headers, rows)

# %%
# :doc:`The experiment's own page </results/experiments/mnist-search>` has all that we tried, with
# other pools, other ways to draw for dropout, threads, and options of XLA.
#
# And beside PyTorch?
# -------------------
# PyTorch takes part in two ways. The first has the loop that most examples have, over a
# ``DataLoader``, which normalises one image after the other, and does so again in each epoch. The
# second keeps all data on the device. Here are both, beside the main ways in Flax:
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
# The best median in Flax is that of :measured:`best_of_flax`, with :measured:`whose_layers`. But
# the contest is uneven. It takes the best of :measured:`of_flax` ways in Flax, for most of which we
# wrote or tuned something, and the best of :measured:`of_torch` in PyTorch
# (:measured:`torch_ways`), whose layers we left as they are.
#
# If both use their library's own layers, with the data on the device, the comparison is more even.
# Then Flax was :measured:`own_layers than PyTorch`. So tell apart what a framework gives you and
# what you could write yourself in either of them.
#
# How much of the machine is that?
# --------------------------------
# Even the best of these ways may reach only a small share of the machine's peak. To find out, count
# the operations that the layers of a step call for, and compare the time that each way took with
# the shortest time in which the device could do them. This limit is measured in float32, as on
# :doc:`the page about linear algebra </tutorials/performance/linear_algebra>`:
from jaxcap.experiments.ceilings import CEILINGS
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
# Read these shares with care:
#
# - Products and convolutions of these shapes may not run as fast as the large square product that
#   set the limit.
# - A step does more than multiply: it fetches patches and activations from memory, draws random
#   numbers for dropout, and starts kernels.
# - Winograd's algorithm makes fewer multiplications than we counted, which raises its share.
# - On a GPU, TF32 and bfloat16 raise the shares, because the limit is one of float32.
#
# Takeaway
# --------
def listed(names):
    """Return names in quotation marks, as a sentence lists them."""
    *first, last = [f"“{name}”" for name in names] or ["none of them"]
    return f"{', '.join(first)} and {last}" if first else last


# %%
to_naive = speeds.speedup(fastest_of_flax, over=NAIVE)
to_torch = speeds.speedup(fastest_of_flax, over=fastest_of_torch)
decided = {n: r for n, r in outcomes.items() if r.verdict != "undecided"}
paid = listed(name for name, r in decided.items() if r.low > 1.02)
unpaid = listed(name for name, r in decided.items() if r.high < 0.98)

# %%
best_of_flax = f"“{fastest_of_flax}”"
is_ours = any(
    part in fastest_of_flax for part in ("own pool", "patches", "Winograd")
)
whose_layers = f"layers of {'our own' if is_ours else 'its library'}"
own_layers = speeds.speedup(STEPS, over=DEVICE)
with_compiler = any("compiled" in result.variant for result in speeds)
torch_ways = f"{'with' if with_compiler else 'without'} torch.compile"
of_flax, of_torch = (
    sum(way.startswith(framework) for way in speeds.variants)
    for framework in ("Flax", "PyTorch")
)

# %%
# On this page's device, the best way to train with Flax was
# :measured:`to_naive than the naive loop`. Of the single changes, clear savings came from
# :measured:`paid`.
#
# This best of many ways, with :measured:`whose_layers`, was
# :measured:`to_torch than PyTorch's best`, which has layers of its library. With the libraries' own
# layers on both sides, Flax was :measured:`own_layers than PyTorch`. (The best of many usually owes
# a little to luck, so expect a slightly smaller difference when you measure again.)
#
# Each change aims at a different cost: sending images, starting steps, slow convolutions,
# multiplications. Which of these costs most depends on the device, so measure before you optimise.
#
# Next: where the time goes within the step, and :doc:`what makes a convolution slow
# </tutorials/applications/convolutions>`.
