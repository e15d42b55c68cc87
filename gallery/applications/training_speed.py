"""
What makes a training step faster?
==================================

You have a training loop that works, and it is slow. What should you try first? This page takes the
network of :doc:`the previous page </tutorials/applications/mnist>`, which learns the same in JAX and
in PyTorch. We try four ideas to make its training faster, and see which of them pays on this
device, how the best compares with PyTorch, and how much of the machine it uses.
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
# Four ideas to save time
# -----------------------
# *Data on the device.* All images go to the device once, as bytes, and each step picks its batch
# there by index. Python reads no loss before the epoch is over, so it can run ahead. The step
# becomes a pure function, which takes the state and returns the next one:
Source(train_flax.step)

# %%
# *Scan.* Why should Python start each step? :func:`jax.lax.scan` compiles many steps into one
# program, and Python starts it once. ``steps`` also donates its state, even for a single step, so
# the new parameters may use the memory of the old ones.
Source(train_flax.steps)

# %%
# *Patches.* What is left is the work within a step, and most of that is convolution, which can be
# written as a product of matrices.
#
# *Winograd.* Shmuel Winograd found how a convolution can do with fewer multiplications, and with
# more additions instead.
#
# :doc:`The next page </tutorials/applications/convolutions>` has the code of patches, and explains
# Winograd's algorithm. Here, we only want to know whether they pay. No idea comes alone, though, so
# what we measure below also contains this:
from jaxcap.results.tables import Table

changes = {
    "data on the device": "normalising, reading losses, donation",
    "scan": "no more than the scan itself",
    "patches": "our own pool",
    "Winograd": "fewer images at a time; first layer; dropout",
}
Table(
    "What changes with each idea",
    ("idea", "it changes"),
    list(changes.items()),
)

# %%
# Which idea pays on this device?
# -------------------------------
# We time whole training steps, of :measured:`batch_size` images each. All ways to train take turns,
# in fresh processes. On a CPU, we don't scan XLA's own convolutions, because their gradients can
# take far longer in a loop, as the next page shows. The only scan there uses Winograd's algorithm.
# PyTorch takes part with its own loop over a ``DataLoader``, and with all data on the device. Which
# of the four ideas do you think will matter?
from jaxcap.experiments.mnist import (
    NAIVE,
    PATCHES,
    SCAN,
    SCAN_WINOGRAD,
    STEPS,
    THROUGHPUT,
    WINOGRAD,
    throughput,
)

# %%
from jaxcap.report import figures

point = THROUGHPUT.points[0]
speeds = THROUGHPUT.run(points=[point], processes=4, budget_s=0.05)


def fastest(framework):
    """Return the fastest way to train in a framework."""
    ways = [r for r in speeds if r.variant.startswith(framework)]
    return min(ways, key=lambda way: way.time.value).variant


fastest_of_flax, fastest_of_torch = fastest("Flax"), fastest("PyTorch")
batch_size, scan_steps = point["batch"], point["steps"]

# %%
_ = figures.bars(
    speeds,
    value=throughput,
    over=fastest_of_torch,
    about=fastest_of_flax,
    label="images a second (higher is better)",
    title="Speed of training",
)

# %%
speeds.speedups(over=NAIVE)

# %%
# Which idea did what? The figure goes from the naive loop to the best way in float32, one idea at a
# time. (Ideas that the best way doesn't use have no bar.) Each bar runs from the time before a
# change to the time after it. A bar to the right means that the change cost time. Grey means that
# the measurements can't tell.
_ = figures.waterfall(
    speeds,
    changes={
        STEPS: NAIVE,
        PATCHES: STEPS,
        SCAN: STEPS,
        WINOGRAD: PATCHES,
        SCAN_WINOGRAD: WINOGRAD,
    },
    title="Training, one idea at a time",
    label=f"time of {point['steps']} steps (lower is better)",
)

# %%
from jaxcap.report.claims import claim, speedup_of

data_pay = claim(
    "Flax trains faster with the images on the device",
    speeds,
    speedup_of(STEPS, over=NAIVE),
)
data_pay

# %%
patches_pay = claim(
    "Flax trains faster with patches and our own pool than with XLA's "
    "convolutions and pool",
    speeds,
    speedup_of(PATCHES, over=STEPS),
)
patches_pay

# %%
winograd_pays = claim(
    "Flax trains faster with Winograd's algorithm than with all patches",
    speeds,
    speedup_of(WINOGRAD, over=PATCHES),
)
winograd_pays

# %%
# By its median time, the best way to train in Flax was :measured:`fastest_of_flax`. A narrow lead
# may be chance, so compare it with its neighbours in the table. Why does one idea pay, and another
# doesn't? Data on the device and scan are meant to save time *between* steps, so look for them to
# matter where a step is short. The other two change the time *within* a step. They can save some of
# it where XLA's convolutions or its pool are slow, as they may be on a CPU. So before you choose a
# remedy, find out where your time goes, for instance with :func:`jax.profiler.trace`.
#
# We have run this page on CPUs only so far, and there it measures something small, so that it
# builds sooner: :measured:`batch_size` images in a batch, :measured:`scan_steps` steps in a scan,
# and PyTorch without ``torch.compile``, whose first call takes long. A longer run, with the command
# ``nox -s bench -- mnist``, has larger batches and the compiled PyTorch as well.
#
# How much of the machine is that?
# --------------------------------
# Faster than the naive loop can still be slow. So count the operations of a step, by the definition
# of its layers. (Most of them are in the second convolution.) Then compare with what the device can
# do in that time, in float32, by the limits measured for
# :doc:`linear algebra </tutorials/performance/linear_algebra>`:
from jaxcap.experiments.ceilings import CEILINGS
from jaxcap.mnist import model
from jaxcap.report.roofline import roofline_fraction
from jaxcap.results import Cost
from jaxcap.results.ceilings import Ceilings

limits = CEILINGS.run(budget_s=0.05)
ceilings = Ceilings.from_results(limits, speeds[0].device)
step, steps = model.work_of_step(point["batch"]), point["steps"]
work = Cost(step.flops * steps, step.bytes_moved * steps)
print(f"{step.flops / 1e9:.2f} GFLOP a step")

# %%
rows = []
for way in speeds:
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
# share says how fast a direct convolution would have to run to keep up, and not how fast its own
# arithmetic runs. And on a GPU, products and convolutions may use TF32 by default, or bfloat16
# where a way is named after it, which are faster than the float32 of the limit.
#
# Takeaway
# --------
to_naive = speeds.speedup(fastest_of_flax, over=NAIVE)
to_torch = speeds.speedup(fastest_of_flax, over=fastest_of_torch)
with_compiler = any("compiled" in result.variant for result in speeds)
torch_ways = f"{'with' if with_compiler else 'without'} torch.compile"

# %%
# On this page's device, the best way to train with Flax was
# :measured:`to_naive than the naive loop`, and :measured:`to_torch than PyTorch's best`
# (:measured:`torch_ways`). The winner of a comparison usually owes a little to luck, so expect a
# slightly smaller lead when you measure again.
#
# Each idea aims at a different cost: sending images, starting steps, slow convolutions,
# multiplications. Which of these costs most depends on the device, so measure before you optimise.
#
# Next: what happens within the step, and :doc:`how fast a convolution can be
# </tutorials/applications/convolutions>`.
