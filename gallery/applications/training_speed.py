"""
What makes a training step faster?
==================================

You have a training loop that works, and it is slow. What should you try first? This page takes the
network of :doc:`the page before </tutorials/applications/mnist>`, which learns the same in JAX and
in PyTorch. We try four ideas to make its training faster, see which of them pays on this device,
and how the best compares with PyTorch. Then we look for what is left: where the time of a step
goes, how much of the machine it uses, and what our longer list of ideas was worth.
"""

# %%
# The loop you would write first
# ------------------------------
# Take a batch, make a step, look at the loss, repeat. With Flax, the step is a function compiled by
# :func:`flax.nnx.jit`. It updates the model in place, as a PyTorch program would:
from jaxcap.mnist import train_flax
from jaxcap.report.source import Source

Source(train_flax.naive_step)

# %%
# Around this step, a loop in Python sends each batch from the host and asks for each loss. There is
# nothing wrong with that, except that Python and the device keep waiting for each other. Our first
# loop in PyTorch has a ``DataLoader``, which normalises one image after the other, and does so
# again in each epoch. It reads no loss before the end of the epoch.
#
# Four ideas for the loop
# -----------------------
# *Data on the device.* All images go to the device once, as bytes, and each step picks its batch
# there by index. Python reads no loss before the epoch is over, so it can run ahead. The step
# becomes a pure function, which takes the state and returns the next one:
Source(train_flax.step)

# %%
# *Scan.* Why should Python start each step? :func:`jax.lax.scan` compiles many steps into one
# program, and Python starts it once. ``steps`` also donates its state, so the new parameters may
# use the memory of the old ones, and does so for a single step as well.
Source(train_flax.steps)

# %%
# *Patches.* What is left is the work within a step, and most of that is convolution. For NVIDIA's
# GPUs, XLA has NVIDIA's library. On a CPU it uses other code, whose gradients can be slow. But a
# convolution can be written as a product: cut out the patch around each pixel, make it a row of a
# matrix, and multiply that by the kernel. Products have fast code on every device, and their
# gradients are products again.
from jaxcap.kernels import convolution

Source(convolution.by_patches)

# %%
# (This way to train also pools by ``convolution.max_pool``, which remembers where the largest pixel
# was. So the times of *patches* below are those of both changes together.)
#
# *Winograd.* Does a convolution need all these multiplications? By its definition, four
# neighbouring outputs of a kernel with three weights take twelve. Shmuel Winograd found a way with
# six: multiply the pixels by one small matrix, the weights by another and the six products by a
# third. The numbers in these matrices are small constants, so the extra cost is mostly additions.
import numpy as np

pixels, weights = np.array([3, 1, 4, 1, 5, 9]), np.array([2, 7, 1])
products = (convolution.OF_IMAGE @ pixels) * (convolution.OF_KERNEL @ weights)
print("from 12 products:", np.correlate(pixels, weights))
print(
    f"from {len(products)} products: ",
    (convolution.OF_PRODUCT @ products).round(9),
)

# %%
# In the second convolution, a row of pixels with all their channels takes the place of each pixel,
# and a matrix that of each weight. So the six products are products of matrices, and the additions
# are few beside the multiplications that they save. Both gradients use the small matrices again,
# some of them transposed, by :func:`jax.custom_vjp`.
#
# The saving has limits. With more outputs at a time, the constants grow, and rounding errors with
# them. And the additions have to read and write memory. So the second convolution and the pool take
# a few images at a time, which can then stay in the cache.
#
# This way to train makes two more changes. In the forward pass, the first convolution needs no
# matrix product, because XLA can turn a sum of nine terms into one loop. And for dropout, each
# random number is cut into four bytes, which decide on four activations:
from jaxcap.mnist import model

Source(convolution.in_parts, convolution.by_shifts, model.Dropout)

# %%
# Are patches worth the trouble? Here is a test that you may skip if you don't write kernels. It
# takes the gradient of the second convolution with respect to its kernel, for eight images: all at
# once, and in a compiled loop of two halves, as a scan would.
Source(convolution.kernel_gradient, convolution.kernel_gradients)

# %%
import time
from functools import partial

import jax
import jax.numpy as jnp


def milliseconds(function, *args):
    """Time one call, after one that compiles."""
    function(*args).block_until_ready()
    start = time.perf_counter()
    function(*args).block_until_ready()
    return 1000 * (time.perf_counter() - start)


# %%
images = jnp.ones((8, 26, 26, 32))
halves = images.reshape(2, 4, 26, 26, 32)
kernel = jnp.ones((3, 3, 32, 64))
for convolve in (convolution.by_xla, convolution.by_patches):
    gradient = jax.jit(partial(convolution.kernel_gradient, convolve))
    looped = jax.jit(partial(convolution.kernel_gradients, convolve))
    print(convolve.__name__)
    print(f"  at once   {milliseconds(gradient, images, kernel):4.0f} ms")
    print(f"  in a loop {milliseconds(looped, halves, kernel):4.0f} ms")

# %%
# These are single runs, so look at orders of magnitude only. Both times of a pair are for the same
# work. If they are far apart, XLA compiles the gradient in another way because it belongs to a
# loop. So keep that convolution out of a scan.
#
# Which idea pays on this device?
# -------------------------------
# Now for whole steps. All ways to train take turns, in fresh processes. (There are four processes
# instead of six, because each has to compile all programs first.) PyTorch takes part with its own
# loop over a ``DataLoader``, and with all data on the device. Which of the four ideas do you think
# will matter?
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
# Which idea did what? Go from the naive loop to Flax's best way, one idea at a time. A bar begins
# at the time before a change and ends at the time after it, so a bar that runs to the right is a
# change that cost time:
_ = figures.waterfall(
    speeds,
    changes={
        STEPS: NAIVE,
        PATCHES: STEPS,
        SCAN: STEPS,
        WINOGRAD: PATCHES,
        SCAN_WINOGRAD: WINOGRAD,
    },
    title="Training, one change at a time",
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
# The shortest time with Flax was that of :measured:`fastest_of_flax`. Would you have bet on it? The
# four ideas attack different costs. Data on the device and scan save time *between* steps, so they
# matter most where a step is short, as on a GPU. The other two change the time *within* a step.
# They can save some of it where XLA's convolutions or its pool are slow, as they may be on a CPU.
# So before you choose a remedy, find out where your time goes. (So far, we have run this page on
# CPUs only.)
#
# Two warnings. The first idea changes several things at once: where the images are and where they
# are normalised, when losses are read, how the step is written, and that it donates its state.
# These measurements can't tell which of them did it. (The last two ideas change several things,
# too. The next section takes them apart as far as they lie in different layers.)
#
# And on a CPU, the page measures something small, so that it builds sooner: few images in a batch,
# a scan of only a few steps, and PyTorch without ``torch.compile``, whose first call takes long. A
# longer run, with the command ``nox -s bench -- mnist``, has larger batches and the compiled
# PyTorch as well.
#
# Where does a step's time go?
# ----------------------------
# The waterfall shows what each change saved, but not where. So cut the step into its layers. Each
# layer becomes two programs, one forward and one backward, and the update of the weights another.
# The ways to train take turns at each of them:
from jaxcap.experiments.mnist import DEVICE
from jaxcap.experiments.mnist_layers import LAYERS

layer_times = LAYERS.run(processes=4, budget_s=0.03)

# %%
columns = {
    "XLA": STEPS,
    "patches": PATCHES,
    "Winograd": WINOGRAD,
    "PyTorch": DEVICE,
}


def spent(way, **part):
    """Return the milliseconds that a way to train spends in parts of a step."""
    chosen = layer_times.select(variant=columns[way], **part)
    return 1000 * sum(result.time.value for result in chosen)


# %%
from jaxcap.results.tables import Table

rows = []
for part in LAYERS.points:
    times = [f"{spent(way, **part):.2f}" for way in columns]
    rows.append((f"{part['layer']}, {part['task']}", *times))
rows.append(("sum", *(f"{spent(way):.1f}" for way in columns)))
whole = [
    1000 * speeds.only(way).time.value / point["steps"]
    for way in columns.values()
]
rows.append(("a whole step", *(f"{time_ms:.1f}" for time_ms in whole)))

# %%
batch = LAYERS.points[0]["batch"]
title = f"Milliseconds for a batch of {batch} images"
Table(title, ("part of a step", *columns), rows)

# %%
longest = max(LAYERS.points, key=lambda part: spent("Winograd", **part))
longest_part = f"{longest['layer']}, {longest['task']}"
its_share = f"{spent('Winograd', **longest) / spent('Winograd'):.0%}"


def change(*layers):
    """Return what patches, with their pool, changed in some layers."""
    difference = sum(
        spent("patches", layer=x) - spent("XLA", layer=x) for x in layers
    )
    return f"{difference:+.1f} ms"


by_pool = change("pool, dropout")
by_convolutions = change("conv1", "conv2")

# %%
# Much can be saved only where much is spent. With Winograd's algorithm, the longest part here was
# :measured:`longest_part`, with :measured:`its_share` of the sum. The table also takes apart what
# came with *patches*: from XLA to patches, the time of the two convolutions changed by
# :measured:`by_convolutions`, and that of the pool with dropout by :measured:`by_pool`.
#
# These are medians of a few processes, so compare only numbers that are far apart. And don't expect
# the sum to be the time of a whole step, which was measured in other processes. Inside one program,
# XLA can fuse what belongs to two layers. A whole step also fetches its images and computes the
# loss.
#
# How much of the machine is that?
# --------------------------------
# Faster than the naive loop can still be slow. So count the operations of a step, by the definition
# of its layers. (Most of them are in the second convolution.) Then compare with what the device can
# do in that time, in float32, by the limits measured for
# :doc:`linear algebra </tutorials/performance/linear_algebra>`:
from jaxcap.experiments.ceilings import CEILINGS
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
# Two things keep the shares below 1. Products and convolutions of these shapes don't run as fast as
# the large square product that set the limit. And a step does more than multiply: it fetches
# patches and activations from memory, draws random numbers for dropout, and starts kernels.
#
# Two things raise them. With Winograd's algorithm, a step makes fewer multiplications than we
# counted, so its share says how fast a direct computation would have to be to keep up. And on a
# GPU, products and convolutions may use TF32 by default, or bfloat16 where a way is named after it,
# which are faster than the float32 of the limit.
#
# What else did we try?
# ---------------------
# A list of what makes a program faster leaves out most of the work, which is to try what doesn't.
# So here is our search on a CPU. Each row is *scan with Winograd* with one change. To compile so
# many programs takes minutes, so these numbers weren't measured in this build. They were recorded
# on the machine and on the day that the table names:
from jaxcap.experiments.mnist_search import BEST
from jaxcap.releases.recorded import recorded_results

search = recorded_results("mnist search")

# %%
of_no_effect = "XNNPACK", "another scheduler"
rows = [
    (change.variant, change.parameters["kind"], ratio.short, ratio.range)
    for change, ratio in search.paired_speedups(BEST)
    if change.variant not in of_no_effect
]
machine = search.environment
title = f"Recorded on {machine.device.name}, {machine.measured_at.date()}"
headers = "change", "of", "times as fast", "95 % interval"
Table(title, headers, rows)

# %%
# (We left out two options that were recorded as well, of XNNPACK and of the scheduler. They turned
# out to set what this XLA does by default.) Where the interval includes 1, we found no difference.
# Each kind of change could help for one reason, and fail for another:
#
# - *Options of XLA* change how loops are compiled and how exact their arithmetic is, how many
#   threads share a product, or which library computes it. The one for oneDNN, Intel's library,
#   needs an XLA that was `built with it
#   <https://github.com/openxla/xla/blob/main/xla/service/cpu/onednn_contraction_rewriter.cc>`__.
# - *Types and layout.* Numbers of 16 bits help where products take them as they are. Otherwise,
#   they are converted first.
# - *The convolutions.* Few images at a time make small products, and many make arrays that leave
#   the cache. What is computed again is multiplied again.
# - *Pool and dropout.* The alternatives keep other numbers for the gradient, or draw random numbers
#   in another way, in a part of the step whose share the table of layers shows.
# - *Threads* that are bound to cores stay there. That helps only if the system would move them.
#
# Most of them leave the products as they are. In the second convolution, Winograd's algorithm
# multiplies by small matrices. In its forward pass, each sum has 96 terms, and there is a column
# for each of the 64 features. How fast are such products, beside those of large squares?


def product_speed(rows, terms, columns, times=10):
    """Return the speed of products, one after another, in GFLOP/s."""
    left = jnp.ones((times, rows, terms))
    right = jnp.ones((terms, columns))
    nothing = jnp.zeros((rows, columns))
    loop = partial(jax.lax.fori_loop, 0, times)
    multiply = jax.jit(lambda a, b: loop(lambda i, _: a[i] @ b, nothing))
    shortest = min(milliseconds(multiply, left, right) for _ in range(5))
    return 2e-6 * times * rows * terms * columns / shortest


# %%
of_convolution = product_speed(8 * 6 * 24, 3 * 32, 64)
of_squares = product_speed(1000, 1000, 1000)
print(f"the second convolution, forward: {of_convolution:4.0f} GFLOP/s")
print(f"large squares:                   {of_squares:4.0f} GFLOP/s")

# %%
# These are the best of a few runs. Where the first number is far below the second, the products
# keep a step below the limit, though Winograd's algorithm needs only half as many of them as we
# counted. To do better, a library can `make code for each shape
# <https://oneapi-src.github.io/oneDNN/dev_guide_inspecting_jit.html>`__, as oneDNN does.
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
# (:measured:`torch_ways`). Whichever way came out best was probably lucky as well, so expect a
# little less of it next time.
#
# None of the four ideas need pay everywhere, since each saves a different cost. With the data on
# the device, Python sends no images, and needn't wait for a loss. With a scan, Python needn't start
# each step. Patches put products in place of convolutions, and our pool in place of XLA's;
# Winograd's algorithm puts additions in place of many multiplications. Which of these costs most
# depends on the device, so measure before you optimise.
#
# Next: the same training :doc:`on many devices </tutorials/applications/scaling_out>`.
