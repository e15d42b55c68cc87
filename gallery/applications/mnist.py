"""
The same network in JAX and in PyTorch
======================================

Is JAX faster than PyTorch? The internet is full of answers, and many of them compare two programs
that do different work. This page makes the programs equal first: one convolutional network, in Flax
and in PyTorch, with the same weights, and the same images in the same order. Once both learn the
same thing from the same data, we try four ideas to make the training loop faster, and see which of
them pays on this device. At the end is a list of what made an older comparison unfair.
"""

# %%
# Handwritten digits, as small images
# -----------------------------------
# MNIST has handwritten digits, 28 by 28 bytes each. :func:`jaxcap.mnist.data.load` looks for them
# in the folder that ``JAXCAP_MNIST_DIR`` names, then in a cache, then on the internet, and checks
# their hashes. Training on all of them would keep a CPU busy for a long time. On a CPU, this page
# therefore uses a subset that comes with the package:
import jax

from jaxcap.mnist import data

on_cpu = jax.default_backend() == "cpu"
mnist = data.load("subset" if on_cpu else "any")
mnist

# %%
import matplotlib.pyplot as plt
from matplotlib.colors import LinearSegmentedColormap

ink = LinearSegmentedColormap.from_list("ink", ["#76767600", "#767676"])


def show(images, titles, columns=10):
    """Draw images in rows, in a grey that can be seen on light and on dark paper."""
    rows = -(-len(images) // columns)
    _, axes = plt.subplots(rows, columns, figsize=(6, 0.95 * rows))
    for place, image, title in zip(axes.flat, images, titles):
        place.imshow(image, cmap=ink, vmin=0, vmax=255)
        place.set_title(title, fontsize=10.5, loc="center")
    for place in axes.flat:
        place.axis("off")


show(mnist.train.images[:30], mnist.train.labels[:30])

# %%
# Networks tend to learn faster from numbers centred on zero, with a spread of about one. So we
# subtract the mean of all pixels and divide by their standard deviation. Both come from the
# training images alone, since the test images have to stay unseen:
mean, std = data.mean_and_std(mnist.train.images)
normalised = (mnist.train.images / 255 - mean) / std
mean_now, std_now = abs(normalised.mean()), normalised.std()
print(f"of the pixels:        {mean:.4f} and {std:.4f}")
print(f"of normalised pixels: {mean_now:.4f} and {std_now:.4f}")

# %%
# Why print the second line, when its numbers are certain? Because the older program that this page
# follows had a command for the first line, and gave it images that were already normalised. All
# that it could ever print was 0 and 1.
#
# One network, written twice
# --------------------------
# Our network has two convolutions, a pool and two dense layers, with dropout in between. In Flax it
# is a module of NNX, the interface that Flax recommends today. (The parameters after ``rngs`` let
# us exchange parts of it later on. You can ignore them until then.)
import jax.numpy as jnp
import torch
from flax import nnx

from jaxcap.mnist import model, model_torch
from jaxcap.report.source import Source

Source(model.CNN)

# %%
# And this should be the same network in PyTorch:
Source(model_torch.CNN)

# %%
# The two classes look alike, which proves nothing. Do they have the same parameters?
from jaxcap.mnist.train_flax import initial_weights

in_flax = initial_weights(seed=0)
in_torch = model_torch.CNN()
rows = []
for layer, arrays in in_flax.items():
    kernel = arrays["kernel"]
    theirs = tuple(getattr(in_torch, layer).weight.shape)
    count = kernel.size + arrays["bias"].size
    rows.append((layer, str(kernel.shape), str(theirs), f"{count:,}"))

# %%
from jaxcap.results.tables import Table

total = sum(array.size for array in jax.tree.leaves(in_flax))
counted_by_torch = sum(p.numel() for p in in_torch.parameters())
note = f"In all {total:,}; PyTorch counts {counted_by_torch:,}."
headers = ("layer", "kernel in Flax", "kernel in PyTorch", "parameters")
Table("The network", headers, rows, [note])

# %%
# Both have the same number of parameters, but in another order, because Flax keeps the channels of
# an image last, and PyTorch keeps them first. That matters in two ways when you carry weights over.
# The kernels are transposed, which you will notice, because their shapes don't fit. And the long
# vector that enters ``dense1`` has its elements in another order, which you may not notice, because
# its length is the same. Undo both:
Source(model_torch.from_flax)

# %%
# The proof is in the output. With the same weights and the same images, and without dropout, both
# have to give each image the same scores for the ten digits, but for rounding. (These scores are
# called *logits*.)
some = (mnist.test.images[:100] / 255 - mean) / std
some = some.astype("float32")
by_flax = model.CNN(nnx.Rngs(0))(some[..., None])

in_torch.load_state_dict(model_torch.from_flax(in_flax))
with torch.no_grad():
    by_torch = in_torch.eval()(torch.from_numpy(some[:, None]))

print(f"largest logit:      {abs(by_flax).max():.3f}")
print(f"largest difference: {abs(by_flax - by_torch.numpy()).max():.1e}")

# %%
# Both read the same settings
# ---------------------------
# Two trainings differ as soon as one of them has a default of its own. So both take their settings
# from one class, made with `pydantic <https://docs.pydantic.dev>`_, in which each setting has a
# type, a default and perhaps limits.
# :doc:`The page on types </tutorials/transformations/typed_transformations>` shows which mistakes
# that prevents. The options of ``jaxcap mnist`` are made from the class, and so is this table:
from jaxcap.mnist import config

config.table()

# %%
# Do both learn the same thing?
# -----------------------------
# Both frameworks shuffle with the same NumPy generator, so they see the same images in the same
# order. What they can't share is dropout, for which each draws random numbers of its own. Turn
# dropout off, and the two trainings should be one. (A *dry run* makes only a few steps in each
# epoch.)
from jaxcap.mnist.config import Settings
from jaxcap.mnist.train_flax import FlaxTrainer
from jaxcap.mnist.train_torch import TorchTrainer
from jaxcap.mnist.training import evaluate, fit

settings = Settings(num_epochs=2, dry_run=True, dropout=False)
flax = FlaxTrainer(settings, mnist.train)
pytorch = TorchTrainer(settings, mnist.train, initial_weights(settings.seed))

# %%
from dataclasses import replace

brief = replace(mnist, test=data.balanced(mnist.test, 10))
rows = []
for one, other in zip(fit(flax, brief), fit(pytorch, brief)):
    losses = f"{one.train_loss:.5f}", f"{other.train_loss:.5f}"
    rows.append((f"epoch {one.epoch}", *losses))
Table("Mean loss of a few steps", ("", "Flax", "PyTorch"), rows)

# %%
# If only the last digits differ, that is rounding, which training amplifies from step to step. A
# mistake in the weights, the order or the loss would show in the first ones. So from here on, with
# dropout on, we may compare speed, and accuracy over several seeds, and know that we compare
# frameworks.
#
# The loop you would write first
# ------------------------------
# Take a batch, make a step, look at the loss, repeat. With Flax, the step is a function compiled by
# :func:`flax.nnx.jit`. It updates the model in place, as a PyTorch program would:
from jaxcap.mnist import train_flax

Source(train_flax.naive_step)

# %%
# Around this step, a loop in Python sends each batch from the host and asks for each loss. There is
# nothing wrong with that, except that Python and the device keep waiting for each other. The same
# loop in PyTorch has a ``DataLoader``, which normalises one image after the other, and does so
# again in each epoch.
#
# Four ideas for the loop
# -----------------------
# *Data on the device.* All images go to the device once, as bytes, and each step picks its batch
# there by index. Python reads no loss before the epoch is over, so it can run ahead. The step
# becomes a pure function, which takes the state and returns the next one:
Source(train_flax.step)

# %%
# *Scan.* Why should Python start each step? :func:`jax.lax.scan` compiles many steps into one
# program, and Python starts it once. With ``donate_argnames``, the new parameters may use the
# memory of the old ones.
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
# some of them transposed, by :func:`jax.custom_vjp`. The saving has limits. With more outputs at a
# time, the constants grow, and rounding errors with them. And the additions have to read and write
# memory. So the second convolution and the pool take a few images at a time, which can then stay in
# the cache. This way to train makes two more changes. In the forward pass, the first convolution
# needs no matrix product, because XLA can turn a sum of nine terms into one loop. And for dropout,
# each random number is cut into four bytes, which decide on four activations:
Source(convolution.in_parts, convolution.by_shifts, model.Dropout)

# %%
# Are patches worth the trouble? Here is a test that you may skip if you don't write kernels. It
# takes the gradient of the second convolution with respect to its kernel, for eight images: all at
# once, and in a compiled loop of two halves, as a scan would.
Source(convolution.kernel_gradient, convolution.kernel_gradients)

# %%
import time
from functools import partial


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
# work. If they are far apart, the loop is to blame, so keep that convolution out of a scan.
#
# Which idea pays on this device?
# -------------------------------
# Now for whole steps. All ways to train take turns, in fresh processes. (There are four processes
# instead of six, because each has to compile all programs first.) Which of the four ideas do you
# think will matter?
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

# sphinx_gallery_thumbnail_number = 3

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
# Two warnings. The first idea changes three things at once: where the images are, when losses are
# read, and how the step is written. These measurements can't tell which of the three did it. And
# what patches save may depend on the batch, which is small on a CPU, so that the page builds
# sooner. (The last two ideas change several things, too. The next section takes them apart as far
# as they lie in different layers.)
#
# Where does a step's time go?
# ----------------------------
# The waterfall shows what each change saved, but not where. So cut the step into its layers. Each
# layer becomes two programs, one forward and one backward, and the update of the weights another.
# The ways to train take turns at each of them:
from jaxcap.experiments.mnist import DEVICE
from jaxcap.experiments.mnist_layers import LAYERS

layer_times = LAYERS.run(budget_s=0.03)

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
# the sum to be the time of a whole step. Inside one program, XLA can fuse what belongs to two layers.
# A whole step also fetches its images and computes the loss.
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
# GPU, products and convolutions may use TF32 by default, which is faster than the float32 of the
# limit.
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
rows = [
    (change.variant, change.parameters["kind"], ratio.short, ratio.range)
    for change, ratio in search.paired_speedups(BEST)
]
machine = search.environment
title = f"Recorded on {machine.device.name}, {machine.measured_at.date()}"
headers = "change", "of", "times as fast", "95 % interval"
Table(title, headers, rows)

# %%
# Where the interval includes 1, we found no difference. Each kind of change could help for one
# reason, and fail for another:
#
# - *Options of XLA* change how loops are compiled, but much of a step is spent in products, whose
#   code comes with XLA. The one for oneDNN, Intel's library, needs an XLA that was `built with it
#   <https://github.com/openxla/xla/blob/main/xla/service/cpu/onednn_contraction_rewriter.cc>`__.
# - *Types and layout.* Numbers of 16 bits help where products take them as they are. Otherwise,
#   they are converted first.
# - *The convolutions.* Few images at a time make small products, and many make arrays that leave
#   the cache. What is computed again is multiplied again.
# - *Pool and dropout.* The alternatives keep other numbers for the gradient, or draw them in
#   another way, in a part of the step whose share the table of layers shows.
# - *Threads* that are bound to cores stay there. That helps only if the system would move them.
#
# None of them widens the products. In the second convolution, Winograd's algorithm multiplies tall
# matrices by narrow ones, with a column for each feature. How fast are such products, beside those of
# large squares?


def product_speed(rows, terms, columns, times=20):
    """Return the speed of products, one after another, in GFLOP/s."""
    left = jnp.ones((times, rows, terms))
    right = jnp.ones((terms, columns))
    multiply = jax.jit(lambda a, b: jax.lax.map(lambda x: x @ b, a))
    shortest = min(milliseconds(multiply, left, right) for _ in range(5))
    return 2e-6 * times * rows * terms * columns / shortest


# %%
of_squares = product_speed(1000, 1000, 1000, times=4)
of_convolution = product_speed(8 * 6 * 24, 3 * 32, 64)
print(f"large squares:          {of_squares:4.0f} GFLOP/s")
print(f"the second convolution: {of_convolution:4.0f} GFLOP/s")

# %%
# Where the second number is far below the first, the products keep a step below the limit, whatever
# is done between them. To do better, a library can `make code for each shape
# <https://oneapi-src.github.io/oneDNN/dev_guide_inspecting_jit.html>`__, as oneDNN does.
#
# How long until it knows the digits?
# -----------------------------------
# Speed is worth nothing unless the network learns. So we train it in both frameworks, from several
# seeds. A seed fixes the first weights and the order of the images, the same for both frameworks.
# (On a CPU, they get only part of the subset.)
SEEDS = 3
learned = mnist
if on_cpu:
    some = data.balanced(mnist.train, 100)
    learned = replace(mnist, train=some, test=data.balanced(mnist.test, 100))

# %%
runs = {"Flax": [], "PyTorch": []}
for seed in range(SEEDS):
    settings = config.THREE_EPOCHS.model_copy(update={"seed": seed})
    flax = FlaxTrainer(settings, learned.train)
    runs["Flax"].append(fit(flax, learned))
    pytorch = TorchTrainer(settings, learned.train, initial_weights(seed))
    runs["PyTorch"].append(fit(pytorch, learned))

# %%
figure, axes = plt.subplots()
for name, colour in figures.palette(runs).items():
    for seed, epochs in enumerate(runs[name]):
        seconds = [epoch.train_s for epoch in epochs]
        accuracies = [100 * epoch.accuracy for epoch in epochs]
        label = name if seed == 0 else None
        axes.plot(seconds, accuracies, "o-", color=colour, label=label)
axes.set_xlabel("seconds of training, compilation included")
axes.set_ylabel("test accuracy, %\n(higher is better)")
ends = []
for name, of_framework in runs.items():
    last = [epochs[-1].accuracy for epochs in of_framework]
    ends.append(f"{name} {min(last):.1%} to {max(last):.1%}")
subject = f"{SEEDS} seeds, a point for each epoch"
figures.headline(figure, f"In the end: {', '.join(ends)}", subject)
figures.label_ends(axes)


# %%
# Here are the end points in numbers. The last column is the time that each training took to reach
# an accuracy that all of them reached:
def seconds_to(goal, epochs):
    """Return the training time of the first epoch that reaches an accuracy."""
    return next(epoch.train_s for epoch in epochs if epoch.accuracy >= goal)


# %%
trainings = [*runs["Flax"], *runs["PyTorch"]]
goal = min(max(epoch.accuracy for epoch in epochs) for epochs in trainings)
rows = []
for name, of_framework in runs.items():
    for seed, epochs in enumerate(of_framework):
        last = epochs[-1]
        counted = f"{last.test_correct:,} of {last.test_images:,}"
        reached = f"{last.accuracy:.2%}", f"{last.test_loss:.4f}"
        needed = f"{seconds_to(goal, epochs):.1f} s"
        rows.append((f"{name}, seed {seed}", counted, *reached, needed))

# %%
headers = "training", "recognised", "accuracy", "test loss", f"to {goal:.1%}"
images = f"{len(learned.train.labels):,} images"
Table(f"After {settings.num_epochs} epochs of {images}", headers, rows)

# %%
# Does one framework learn better? Before you answer from two numbers, see how far the seeds of
# *one* framework lie apart:
final = {
    name: 100 * np.array([epochs[-1].accuracy for epochs in trainings])
    for name, trainings in runs.items()
}
for name, accuracy in final.items():
    low, high = accuracy.min(), accuracy.max()
    print(f"{name}: mean {accuracy.mean():.2f} %, {low:.2f} to {high:.2f}")

# %%
# Now compare the frameworks seed by seed, since a seed gives both the same start. If the sign of
# the difference changes from one seed to the next, so few seeds can't name a winner. Even if it
# doesn't, they may have agreed by chance.
#
# Which digits it gets wrong
# --------------------------
# Take the last network that Flax trained. Each row is a digit, and each column what it was taken
# for:
predictions = evaluate(flax, mnist.test).predictions
labels = mnist.test.labels
confusion = np.zeros((10, 10), int)
np.add.at(confusion, (labels, predictions), 1)
mistakes = confusion - np.diag(np.diag(confusion))

orange = figures.COLOURS[1]
from_nothing = LinearSegmentedColormap.from_list("", [f"{orange}00", orange])

# %%
figure, axes = plt.subplots(figsize=(5, 5))
axes.imshow(mistakes, cmap=from_nothing, vmax=2 * mistakes.max())
for row, column in np.argwhere(confusion):
    number = confusion[row, column]
    axes.text(column, row, number, ha="center", va="center")
axes.set_xticks(range(10))
axes.set_yticks(range(10))
axes.set(xlabel="taken for", ylabel="true digit")
axes.grid(visible=False)
digit, other = np.unravel_index(mistakes.argmax(), mistakes.shape)
finding = f"Most often, {digit} is taken for {other}: {mistakes.max()} times"
figures.headline(figure, finding, "Test images")

# %%
# And here are the mistakes of which the network was most certain. Cover the titles. Which of these
# digits would you have read correctly?
logits = flax.logits(mnist.test.images)
margin = logits.max(axis=1) - logits[np.arange(len(labels)), labels]
worst = np.argsort(margin)[::-1][:20]
worst = worst[predictions[worst] != labels[worst]]
show(
    mnist.test.images[worst],
    [f"{labels[i]} as {predictions[i]}" for i in worst],
)


# %%
# What made an older comparison unfair
# ------------------------------------
# The program that this page follows compared Flax with PyTorch, too. Its mistakes are easy to make,
# so here they are, each with what it does.
#
# **It trained two different networks.** Flax pads a convolution by default, so that images keep
# their size, and PyTorch doesn't. What does that change? XLA can count the operations of a program
# before it compiles anything:
def convolutions(padding, rngs):
    """Build the first half of the network in Flax, with a padding."""
    return nnx.Sequential(
        nnx.Conv(1, 32, (3, 3), padding=padding, rngs=rngs),
        nnx.relu,
        nnx.Conv(32, 64, (3, 3), padding=padding, rngs=rngs),
        nnx.relu,
        model.xla_max_pool,
        lambda x: x.reshape(len(x), -1),
    )


# %%
def network(padding, inputs):
    """Build the network in Flax, without dropout."""
    rngs = nnx.Rngs(0)
    return nnx.Sequential(
        convolutions(padding, rngs),
        nnx.Linear(inputs, 256, rngs=rngs),
        nnx.relu,
        nnx.Linear(256, 10, rngs=rngs),
    )


# %%
batch = jnp.asarray(normalised[:64, ..., None], jnp.float32)
batch_labels = jnp.asarray(mnist.train.labels[:64], jnp.int32)


def loss(graph, params):
    logits = nnx.merge(graph, params)(batch)
    return train_flax.mean_loss(logits, batch_labels)


def operations(function, params):
    """Count the floating-point operations of a call."""
    return jax.jit(function).lower(params).cost_analysis()["flops"]


# %%
rows, gradient_operations = [], {}
for padding, inputs in ("VALID", 64 * 12**2), ("SAME", 64 * 14**2):
    graph, params = nnx.split(network(padding, inputs))
    of_loss = operations(partial(loss, graph), params)
    of_gradient = operations(jax.grad(partial(loss, graph)), params)
    gradient_operations[padding] = of_gradient
    parameters = sum(leaf.size for leaf in jax.tree.leaves(params))
    counts = f"{of_loss / 1e9:.2f}", f"{of_gradient / 1e9:.2f}"
    rows.append((padding, f"{parameters:,}", *counts))

headers = ("padding", "parameters", "GFLOP for the loss", "for its gradient")
Table("Two networks, and a batch of 64 images", headers, rows)

# %%
more_work = gradient_operations["SAME"] / gradient_operations["VALID"]

# %%
# With padding, it is another network. It has more parameters, and its gradient takes more
# operations, by a factor of :measured:`more_work`. So a difference in speed or in accuracy may have
# come from the networks rather than from the frameworks.
#
# **It computed gradients that nobody used.** In validation, it called the function that also
# returns the gradient, and threw the gradient away. That is the work in the last column of the
# table, when the column before would have been enough.
#
# **It counted wrongly.** It left out the last image of the validation, and it took the mean of the
# batches' accuracies as if all batches were of one size, which the last wasn't. How much does that
# change here?
right = predictions == labels
short = right[:-1]
parts = [short[i : i + 128].mean() for i in range(0, len(short), 128)]
print(f"all images:            {right.mean():.4%}")
print(f"without the last:      {short.mean():.4%}")
print(f"and averaging batches: {np.mean(parts):.4%}")

# %%
# Mistakes of this size are easy to overlook, and good networks may differ by no more.
#
# **One thing only looked like a mistake.** The network ended with the logarithm of a softmax, and
# the loss took that again. But the softmax of log-probabilities gives the probabilities back, so to
# take it twice is the same as to take it once:
once = jax.nn.log_softmax(logits)
print(f"difference: {abs(jax.nn.log_softmax(once) - once).max():.1e}")

# %%
# Takeaway
# --------
to_naive = speeds.speedup(fastest_of_flax, over=NAIVE)
to_torch = speeds.speedup(fastest_of_flax, over=fastest_of_torch)

# %%
# Before you compare two frameworks, make them do the same work: the same network, the same weights,
# the same images, and every image counted. Only then ask which is ahead. On this page's device, the
# best way to train with Flax was :measured:`to_naive than the naive loop`, and
# :measured:`to_torch than PyTorch's best`. (Whichever way came out best was probably lucky as well,
# so expect a little less of it next time.)
#
# None of the four ideas pays everywhere, because each saves a different cost. With the data on the
# device, Python sends no images, and needn't wait for a loss. With a scan, Python needn't start
# each step. Patches put products in place of convolutions, and our pool in place of XLA's;
# Winograd's algorithm puts additions in place of many multiplications. Which of these costs most
# depends on the device, so measure before you optimise.
#
# Next: the same training :doc:`on many devices </tutorials/applications/scaling_out>`.
