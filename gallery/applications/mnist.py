"""
The same network in JAX and in PyTorch
======================================

You will train one convolutional network twice, in Flax and in PyTorch, from the same weights on the
same digits, and see that both learn the same. Then you will make the training loop fast, step by
step, and know which step helps where. Last, you will see what makes such a comparison unfair.
"""

# %%
# The data
# --------
# MNIST: handwritten digits, 28 by 28 bytes each, in four files. :func:`jaxcap.mnist.data.load` looks
# for them in the folder that ``JAXCAP_MNIST_DIR`` names, in a cache, and in the network, checks their
# hashes, and falls back on a subset that comes with this site's package. A CPU would train on all of
# them for long, so there this page takes the subset:
import jax

from jaxcap.mnist import data

on_cpu = jax.default_backend() == "cpu"
mnist = data.load("subset" if on_cpu else "any")
mnist

# %%
# The first images of the training part:
import matplotlib.pyplot as plt


def show(images, titles, columns=10):
    """Draw images in rows, dark ink on white paper."""
    rows = -(-len(images) // columns)
    _, axes = plt.subplots(rows, columns, figsize=(7, 0.95 * rows))
    for place, image, title in zip(axes.flat, images, titles):
        place.imshow(image, cmap="gray_r", vmin=0, vmax=255)
        place.set_title(title, fontsize=9, loc="center")
    for place in axes.flat:
        place.axis("off")


show(mnist.train.images[:30], mnist.train.labels[:30])

# %%
# A network wants numbers around zero, of a size around one. So subtract the mean of all pixels and
# divide by their standard deviation, taken from the training images alone. The program that this
# page follows had these two numbers pasted in, and a command to compute them that was given images
# already normalised. What that printed was no news:
mean, std = data.mean_and_std(mnist.train.images)
print(f"of the pixels:           {mean:.4f} and {std:.4f}")

normalised = (mnist.train.images / 255 - mean) / std
print(
    f"of normalised pixels:    {abs(normalised.mean()):.4f} and {normalised.std():.4f}"
)

# %%
# One network
# -----------
# Two convolutions, a pool, two dense layers, and dropout between. In Flax it is written with NNX, the
# interface that Flax recommends today; in PyTorch as usual. Both are in the package:
# :mod:`jaxcap.mnist.model` and :mod:`jaxcap.mnist.model_torch`. Count their parameters:
import jax.numpy as jnp
import torch
from flax import nnx

from jaxcap.mnist import model, model_torch
from jaxcap.mnist.train_flax import initial_weights
from jaxcap.results.tables import Table

in_flax = initial_weights(seed=0)
in_torch = model_torch.CNN()
rows = []
for layer, arrays in in_flax.items():
    kernel = arrays["kernel"]
    theirs = getattr(in_torch, layer).weight
    count = kernel.size + arrays["bias"].size
    rows.append(
        (layer, str(kernel.shape), str(tuple(theirs.shape)), f"{count:,}")
    )

total = sum(array.size for array in jax.tree.leaves(in_flax))
counted_by_torch = sum(p.numel() for p in in_torch.parameters())
note = f"In all {total:,}; PyTorch counts {counted_by_torch:,}."
headers = ("layer", "kernel in Flax", "kernel in PyTorch", "parameters")
Table("The network", headers, rows, [note])

# %%
# The same numbers lie in another order: Flax keeps the channels of an image last, PyTorch first, and
# so the vector that enters ``dense1`` is shuffled as well. Whoever carries weights over has to undo
# that, as :func:`~jaxcap.mnist.model_torch.from_flax` does. If it is right, then both compute the
# same:
some = (mnist.test.images[:100] / 255 - mean) / std
some = some.astype("float32")
by_flax = model.CNN(nnx.Rngs(0))(some[..., None])

in_torch.load_state_dict(model_torch.from_flax(in_flax))
with torch.no_grad():
    by_torch = in_torch.eval()(torch.from_numpy(some[:, None]))

print(f"largest logit:      {abs(by_flax).max():.3f}")
print(f"largest difference: {abs(by_flax - by_torch.numpy()).max():.1e}")

# %%
# One training
# ------------
# What can be set, with its limits:
from jaxcap.mnist import config

config.table()

# %%
# Both frameworks shuffle by the same NumPy generator, so they see the same images in the same order.
# What they can't share is dropout, since each has random numbers of its own. Turn it off, and the
# two trainings should be one. A *dry run* takes but a few steps:
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
rows = [
    (
        f"after {a.epoch * 5} steps",
        f"{a.train_loss:.5f}",
        f"{b.train_loss:.5f}",
    )
    for a, b in zip(fit(flax, brief), fit(pytorch, brief))
]
Table("Mean loss of the last steps", ("", "Flax", "PyTorch"), rows)

# %%
# Where they differ, they do so by rounding, which training amplifies slowly. From here on dropout is on, and what is
# compared is only speed, and accuracy over several seeds.
#
# The loop one writes first
# -------------------------
# A loop in Python takes a batch, makes a step, and looks at the loss. In Flax the step is this
# function, compiled by :func:`flax.nnx.jit`, which changes the model as PyTorch would:
from jaxcap.mnist import train_flax
from jaxcap.report.source import Source

Source(train_flax.naive_step)

# %%
# The loop around it sends each batch from the host and waits for each loss. Nothing is wrong with it,
# but Python and the device wait for each other. In PyTorch the like is a ``DataLoader`` that
# normalises one image after the other, again in each epoch.
#
# Faster, one thing at a time
# ---------------------------
# *Data on the device.* All images go there once, as bytes, and a step picks its own. Nobody waits for a
# loss before the epoch ends. The step is a pure function, from parameters to parameters:
Source(train_flax.step)

# %%
# *Scan.* :func:`jax.lax.scan` makes one program of many steps, so that Python starts one thing instead
# of hundreds. With ``donate_argnames`` the new parameters take the place of the old in memory.
Source(train_flax.steps)

# %%
# *Patches.* On a GPU, XLA calls NVIDIA's convolutions. On a CPU it has its own, which are better at the
# way forward than at gradients, and may suffer inside a scan. But a convolution is also a product, of
# the matrix of all patches with the kernel. For products there is good code everywhere, and their
# gradients are products too:
from jaxcap.kernels import convolution

Source(convolution.by_patches)

# %%
# The matrix of patches is large, though. Patches of a single row are a third of that for a kernel of
# three, and a few images at a time they stay in the cache. :func:`jax.custom_vjp` then says how to
# find the gradient, part by part as well, instead of keeping all patches until it is asked for:
Source(convolution.by_columns)

# %%
# How much is in that? The gradient of the second convolution with respect to its kernel, on a few
# images, once for all of them and once in a loop that runs twice. These are single runs in this
# process, which show an order of magnitude and no more:
import time
from functools import partial

parts = jnp.ones((2, 4, 26, 26, 32))
kernel = jnp.ones((3, 3, 32, 64))
Source(convolution.kernel_gradient, convolution.kernel_gradients)

# %%
for convolve in (convolution.by_xla, convolution.by_patches):
    for gradient, images in (
        (convolution.kernel_gradient, parts.reshape(-1, *parts.shape[2:])),
        (convolution.kernel_gradients, parts),
    ):
        compiled = jax.jit(partial(gradient, convolve))
        compiled(images, kernel).block_until_ready()
        start = time.perf_counter()
        compiled(images, kernel).block_until_ready()
        milliseconds = 1000 * (time.perf_counter() - start)
        place = "at once" if images.ndim == 4 else "in a loop"
        print(f"{convolve.__name__:10} {place:9} {milliseconds:5.0f} ms")

# %%
# Now all ways to train in turn, a few steps of each, in fresh processes. They are only four, because each
# has to compile all of these programs first:
from jaxcap.report import figures
from jaxcap.experiments.mnist import (
    NAIVE,
    PATCHES,
    STEPS,
    THROUGHPUT,
    throughput,
)

point = THROUGHPUT.points[0]
speeds = THROUGHPUT.run(points=[point], processes=4, budget_s=0.05)
_ = figures.bars(
    speeds,
    value=throughput,
    label="images a second",
    title="Speed of training",
)

# sphinx_gallery_thumbnail_number = 3

# %%
speeds.speedups(over=NAIVE)

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
    "Flax trains faster with convolutions by patches than by XLA",
    speeds,
    speedup_of(PATCHES, over=STEPS),
)
patches_pay

# %%
# Compare neighbours. On a CPU a step is so long that nobody notices how it was started, so moving the
# data should help little, and the scan little more; patches should help much, and the more the larger
# a batch is. (On a CPU this page takes small ones, to be built sooner.) On a GPU expect the opposite: a
# step is short, so the scan and the data on the device are what counts, and patches are no use.
#
# How much of the machine is that?
# --------------------------------
# Count the operations that a step can't do without, mostly those of the second convolution, and compare
# with what this device can do in the same time, in float32, which was measured for
# :doc:`linear algebra </tutorials/performance/linear_algebra>`:
from jaxcap.results import Cost
from jaxcap.experiments.ceilings import CEILINGS
from jaxcap.report.roofline import roofline_fraction
from jaxcap.results.ceilings import Ceilings

limits = CEILINGS.run(budget_s=0.05)
ceilings = Ceilings.from_results(limits, speeds[0].device)
of_step = model.work_of_step(point["batch"])
work = Cost(
    of_step.flops * point["steps"], of_step.bytes_moved * point["steps"]
)
print(f"{of_step.flops / 1e9:.2f} GFLOP a step")
Table(
    f"Share of what {ceilings.device} can do",
    ("way to train", "share"),
    [
        (one.variant, roofline_fraction(one, ceilings, cost=work).short)
        for one in speeds
    ],
)

# %%
# What is missing goes to memory: patches, activations, random numbers for dropout. On a GPU, a share
# above 1 would mean that products were not made in float32: by default they may use TF32.
#
# How long does it take to know the digits?
# -----------------------------------------
# Speed is worth something only if the network learns. Several seeds, in both frameworks, all from
# the same weights and in the same order for a seed. On a CPU, a part of the subset has to do:
SEEDS = 3
learned = mnist
if on_cpu:
    some = data.balanced(mnist.train, 100)
    learned = replace(mnist, train=some, test=data.balanced(mnist.test, 100))

runs = {"Flax": [], "PyTorch": []}
for seed in range(SEEDS):
    settings = config.THREE_EPOCHS.model_copy(update={"seed": seed})
    flax = FlaxTrainer(settings, learned.train)
    runs["Flax"].append(fit(flax, learned))
    pytorch = TorchTrainer(settings, learned.train, initial_weights(seed))
    runs["PyTorch"].append(fit(pytorch, learned))

# %%
figure, axes = plt.subplots()
colours = figures.palette(runs)
for name, trainings in runs.items():
    for seed, epochs in enumerate(trainings):
        axes.plot(
            [epoch.train_s for epoch in epochs],
            [100 * epoch.accuracy for epoch in epochs],
            "o-",
            color=colours[name],
            label=name if seed == 0 else None,
        )
axes.set_xlabel("seconds of training, compilation included")
axes.set_ylabel("test accuracy, %")
axes.set_title(f"{SEEDS} seeds, a point for each epoch")
_ = axes.legend()

# %%
# The same in numbers. *All* test images are counted; where a goal was not reached in these epochs, the
# table says so.
import numpy as np


def seconds_to(goal, epochs):
    """Training time of the first epoch that reaches an accuracy."""
    reached = [epoch.train_s for epoch in epochs if epoch.accuracy >= goal]
    return f"{reached[0]:.1f} s" if reached else "not reached"


rows = []
for name, trainings in runs.items():
    for seed, epochs in enumerate(trainings):
        last = epochs[-1]
        counted = f"{last.test_correct:,} of {last.test_images:,}"
        goals = (seconds_to(goal, epochs) for goal in (0.98, 0.99))
        rows.append(
            (f"{name}, seed {seed}", counted, f"{last.accuracy:.2%}", *goals)
        )

headers = ("training", "recognised", "accuracy", "to 98 %", "to 99 %")
images = f"{len(learned.train.labels):,} images"
Table(f"After {settings.num_epochs} epochs of {images}", headers, rows)

# %%
# Is one of the two better? The spread over seeds is the scale to judge by:
final = {
    name: 100 * np.array([epochs[-1].accuracy for epochs in trainings])
    for name, trainings in runs.items()
}
for name, accuracy in final.items():
    print(
        f"{name}: {accuracy.mean():.2f} %, from {accuracy.min():.2f} to {accuracy.max():.2f}"
    )

# %%
# What it gets wrong
# ------------------
# The last network of Flax: a row for each digit, a column for what it was taken for.
predictions = evaluate(flax, mnist.test).predictions
labels = mnist.test.labels
confusion = np.zeros((10, 10), int)
np.add.at(confusion, (labels, predictions), 1)
mistakes = confusion - np.diag(np.diag(confusion))

_, axes = plt.subplots(figsize=(5, 5))
axes.imshow(mistakes, cmap="Oranges", vmax=2 * mistakes.max())
for row, column in np.argwhere(confusion):
    number = confusion[row, column]
    axes.text(column, row, number, ha="center", va="center", color="black")
axes.set_xticks(range(10))
axes.set_yticks(range(10))
axes.set(xlabel="taken for", ylabel="true digit", title="Test images")
axes.grid(visible=False)

# %%
# And the images about which it was most sure, and wrong: the true digit, and what the network saw.
logits = flax.logits(mnist.test.images)
margin = logits.max(axis=1) - logits[np.arange(len(labels)), labels]
worst = np.argsort(margin)[::-1][:20]
worst = worst[predictions[worst] != labels[worst]]
show(
    mnist.test.images[worst],
    [f"{labels[i]} as {predictions[i]}" for i in worst],
)


# %%
# Which of them would you have read otherwise?
#
# What made the old comparison unfair
# -----------------------------------
# The program that this page follows compared Flax with PyTorch too. It trained *two networks*. Flax
# pads a convolution by default so that images keep their size, PyTorch does not. Here are both, without
# dropout. XLA counts the operations of a batch's loss and gradient before it compiles anything:
def network(padding, inputs):
    """Build the network in Flax, with a padding."""
    rngs = nnx.Rngs(0)
    return nnx.Sequential(
        nnx.Conv(1, 32, (3, 3), padding=padding, rngs=rngs),
        nnx.relu,
        nnx.Conv(32, 64, (3, 3), padding=padding, rngs=rngs),
        nnx.relu,
        model.xla_max_pool,
        lambda x: x.reshape(len(x), -1),
        nnx.Linear(inputs, 256, rngs=rngs),
        nnx.relu,
        nnx.Linear(256, 10, rngs=rngs),
    )


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
# Padded, it is another network, with more parameters, and its gradient takes more operations, by a
# factor of :measured:`more_work`. Neither its speed nor its accuracy says anything about frameworks.
#
# In validation it *computed gradients* and threw them away: the last column instead of the one before.
#
# It *counted* wrongly. In validation the last image was left out, and accuracies of batches were
# averaged as if they were equally large, which the last one was not. How far is that off, here?
right = predictions == labels
short = right[:-1]
parts = [short[i : i + 128].mean() for i in range(0, len(short), 128)]
print(f"all images:            {right.mean():.4%}")
print(f"without the last:      {short.mean():.4%}")
print(f"and averaging batches: {np.mean(parts):.4%}")

# %%
# Little, and as much as separates two good networks.
#
# One thing looked like a mistake and was none. Its network ended with the logarithm of a softmax, and
# its loss took that again. But a softmax of log-probabilities is the probabilities, so twice is once:
once = jax.nn.log_softmax(logits)
print(f"difference: {abs(jax.nn.log_softmax(once) - once).max():.1e}")

# %%
# Takeaway
# --------
# Before two frameworks are compared, they have to do the same work: same network, same weights, same
# images, everything counted. Then, on this page's device, :measured:`fastest_of_flax` came out
# :measured:`to_naive` compared with the naive loop in Flax, and :measured:`to_torch` compared with
# :measured:`fastest_of_torch`. What made it fast was never a flag: it was to
# know what the device is good at, and to let it work without asking.


def fastest(framework):
    """Fastest way to train in a framework."""
    ways = [r for r in speeds if r.variant.startswith(framework)]
    return min(ways, key=lambda way: way.time.value).variant


fastest_of_flax, fastest_of_torch = fastest("Flax"), fastest("PyTorch")
to_naive = speeds.speedup(fastest_of_flax, over=NAIVE)
to_torch = speeds.speedup(fastest_of_flax, over=fastest_of_torch)
