"""
The same network in JAX and in PyTorch
======================================

Is JAX faster than PyTorch? The internet is full of answers, and many of them compare two programs
that do different work. This page makes the programs equal first: one convolutional network, in Flax
and in PyTorch, with the same weights, and the same images in the same order. Do both learn the same
thing from the same data? If they don't, it means nothing that :doc:`one of them is faster
</tutorials/applications/training_speed>`. On the way, we meet three mistakes that made an older
comparison unfair.
"""

# %%
# Handwritten digits, as small images
# -----------------------------------
# MNIST has handwritten digits, 28 by 28 bytes each. :func:`jaxcap.mnist.data.load` takes them from
# the folder that ``JAXCAP_MNIST_DIR`` names. If you don't set it, they come from a cache or else
# from the internet. Either way, it checks their hashes. Training on all of them would keep a CPU
# busy for a long time. On a CPU, this page therefore uses a subset, which comes with the package:
import jax
from flax import nnx

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
# Networks usually learn faster if their inputs have a mean of 0 and a standard deviation of 1. So we
# bring the bytes into the range from 0 to 1, subtract the mean of all pixels and divide by their
# standard deviation. Both come from the training images alone, since the test images have to stay
# unseen:
mean, std = data.mean_and_std(mnist.train.images)
normalised = (mnist.train.images / 255 - mean) / std
print(f"mean and standard deviation: {mean:.4f} and {std:.4f}")


# %%
# One network, written twice
# --------------------------
# Our network has two convolutions, a pool and two dense layers. JAX itself has no layers. Flax is a
# library of them, and NNX the interface that it recommends today. (``VALID`` means that a
# convolution adds no padding around an image.)
class Network(nnx.Module):
    """Two convolutions, a pool and two dense layers."""

    def __init__(self, rngs, padding="VALID", inputs=64 * 12**2):
        self.conv1 = nnx.Conv(1, 32, (3, 3), padding=padding, rngs=rngs)
        self.conv2 = nnx.Conv(32, 64, (3, 3), padding=padding, rngs=rngs)
        self.dense1 = nnx.Linear(inputs, 256, rngs=rngs)
        self.dense2 = nnx.Linear(256, 10, rngs=rngs)

    def __call__(self, images):
        """Return a score for each of the ten digits."""
        x = nnx.relu(self.conv2(nnx.relu(self.conv1(images))))
        x = nnx.max_pool(x, (2, 2), strides=(2, 2)).reshape(len(x), -1)
        return self.dense2(nnx.relu(self.dense1(x)))


# %%
# And this should be the same network in PyTorch. It also has *dropout*, which sets activations to
# zero at random while the network learns:
import torch

from jaxcap.mnist import model_torch
from jaxcap.report.source import Source

Source(model_torch.CNN)

# %%
# Below we train :class:`jaxcap.mnist.model.CNN`, which is ``Network`` with dropout, and with options
# that let the next pages swap its parts.
#
# Apart from dropout, the two classes have the same layers. That proves nothing yet. Do they have
# the same parameters?
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
# Both have equally many parameters, but store them in different orders. That matters in two ways
# when you carry weights over. Flax stores a kernel with its outputs last, and PyTorch with its
# outputs first, which you will notice, because the shapes don't fit. And Flax keeps the channels of
# an image last, where PyTorch keeps them first. So the long vector that enters ``dense1`` has its
# elements in another order, which you may not notice, because its length is the same. Undo both:
Source(model_torch.from_flax)

# %%
# The proof is in the output. With the same weights and the same images, and without dropout, both
# have to give each image the same scores for the ten digits, apart from rounding. (These scores are
# called *logits*. ``Network(nnx.Rngs(0))`` has the weights of ``initial_weights(seed=0)``, because
# both draw them from the same seed, in the same order.)
some = (mnist.test.images[:100] / 255 - mean) / std
some = some.astype("float32")
by_flax = Network(nnx.Rngs(0))(some[..., None])

in_torch.load_state_dict(model_torch.from_flax(in_flax))
with torch.no_grad():
    by_torch = in_torch.eval()(torch.from_numpy(some[:, None]))

print(f"largest logit:      {abs(by_flax).max():.3f}")
print(f"largest difference: {abs(by_flax - by_torch.numpy()).max():.1e}")

# %%
# What made an older comparison unfair
# ------------------------------------
# An older program, on which this page is modelled, compared Flax with PyTorch, too. Three of its
# mistakes are easy to make.
#
# **It trained two different networks.** Flax pads a convolution by default, so that images keep
# their size, and PyTorch doesn't. What does that change? XLA can count the operations of a program
# before it compiles anything:
import jax.numpy as jnp

from jaxcap.mnist import train_flax

batch = jnp.asarray(normalised[:64, ..., None], jnp.float32)
batch_labels = jnp.asarray(mnist.train.labels[:64], jnp.int32)


def operations(network):
    """Count the floating-point operations of a loss, and of its gradient."""
    graph, params = nnx.split(network)

    def loss(params):
        logits = nnx.merge(graph, params)(batch)
        return train_flax.mean_loss(logits, batch_labels)

    programs = [jax.jit(f).lower(params) for f in (loss, jax.grad(loss))]
    return [program.cost_analysis()["flops"] for program in programs]


# %%
rows, gradient_operations = [], {}
for padding, inputs in ("VALID", 64 * 12**2), ("SAME", 64 * 14**2):
    network = Network(nnx.Rngs(0), padding, inputs)
    of_loss, of_gradient = operations(network)
    gradient_operations[padding] = of_gradient
    leaves = jax.tree.leaves(nnx.state(network))
    parameters = f"{sum(leaf.size for leaf in leaves):,}"
    counts = f"{of_loss / 1e9:.2f}", f"{of_gradient / 1e9:.2f}"
    rows.append((padding, parameters, *counts))

headers = ("padding", "parameters", "GFLOP for the loss", "for its gradient")
Table("Two networks, and a batch of 64 images", headers, rows)

# %%
more_work = gradient_operations["SAME"] / gradient_operations["VALID"]
wasted = f"{of_gradient / of_loss:.1f} times"

# %%
# With padding, it is another network. It has more parameters, and its gradient takes more
# operations, by a factor of :measured:`more_work`. So a difference in speed or in accuracy may have
# come from the networks rather than from the frameworks.
#
# **It computed gradients that nobody used.** In validation, it called the function that also
# returns the gradient, and threw the gradient away. So each batch of the validation took
# :measured:`wasted` the operations that its loss needs.
#
# **It counted wrongly.** It left out the last image of the validation, and it averaged the
# accuracies of the batches with equal weights, although the last batch was smaller. Below, you will
# see how much that changes.
#
# Do both learn the same thing?
# -----------------------------
# Both programs take their settings from one class, ``Settings``, so neither has a default of its
# own. (:doc:`The page on types </tutorials/transformations/typed_transformations>` shows which
# mistakes that prevents.) Both shuffle with the same NumPy generator, so they see the same images
# in the same order. They can't share dropout, because each draws its own random numbers. With
# dropout off, the two runs should give the same losses, apart from rounding. (A *dry run*
# makes only a few steps in each epoch. On a CPU, ``FlaxTrainer`` convolves and pools by other
# algorithms than XLA's, which :doc:`later pages </tutorials/applications/convolutions>` explain.
# They are a part of the test.)
from dataclasses import replace

from jaxcap.mnist.config import THREE_EPOCHS
from jaxcap.mnist.train_flax import FlaxTrainer
from jaxcap.mnist.train_torch import TorchTrainer
from jaxcap.mnist.training import evaluate, fit

brief = {"num_epochs": 2, "dry_run": True, "dropout": False}
settings = THREE_EPOCHS.model_copy(update=brief)
flax = FlaxTrainer(settings, mnist.train)
pytorch = TorchTrainer(settings, mnist.train, initial_weights(settings.seed))

# %%
few = replace(mnist, test=data.balanced(mnist.test, 10))
rows, gaps = [], []
for one, other in zip(fit(flax, few), fit(pytorch, few)):
    losses = f"{one.train_loss:.5f}", f"{other.train_loss:.5f}"
    rows.append((f"epoch {one.epoch}", *losses))
    gaps.append(abs(one.train_loss / other.train_loss - 1))
loss_gap = f"{max(gaps):.0e}"
Table("Mean loss of a few steps", ("", "Flax", "PyTorch"), rows)

# %%
# The losses differ by about :measured:`loss_gap` of their value. Rounding differs between the two,
# and each step builds on the rounding of the last. A mistake in the weights, the order, the
# learning rate or the loss would show in the leading digits. So we may compare accuracies next,
# with dropout on. This test says nothing about dropout itself: both frameworks drop equally often,
# but each chooses its own activations.
#
# How well does it learn?
# -----------------------
# The programs now do the same work. But does the network learn? We train it in both frameworks, from
# several seeds. A seed fixes the first weights and the order of the images, the same for both
# frameworks. On a CPU, they get only a part of the subset, so don't expect the accuracy that MNIST
# is known for. With all images, both frameworks reach far more. (How long it all takes is the next
# page's question. Here, each framework trains in whatever way we found fast.)
SEEDS = 3
learned = mnist
if on_cpu:
    some = data.balanced(mnist.train, 100)
    learned = replace(mnist, train=some, test=data.balanced(mnist.test, 100))

# %%
runs = {"Flax": [], "PyTorch": []}
for seed in range(SEEDS):
    settings = THREE_EPOCHS.model_copy(update={"seed": seed})
    flax = FlaxTrainer(settings, learned.train)
    runs["Flax"].append(fit(flax, learned))
    pytorch = TorchTrainer(settings, learned.train, initial_weights(seed))
    runs["PyTorch"].append(fit(pytorch, learned))

# %%
ends = []
for name, of_framework in runs.items():
    last = [epochs[-1].accuracy for epochs in of_framework]
    ends.append(f"{name} {min(last):.1%} to {max(last):.1%}")

# %%
from jaxcap.report import figures

figure, axes = plt.subplots()
for name, colour in figures.palette(runs).items():
    for seed, epochs in enumerate(runs[name]):
        numbers = [epoch.epoch for epoch in epochs]
        accuracies = [100 * epoch.accuracy for epoch in epochs]
        label = name if seed == 0 else None
        axes.plot(numbers, accuracies, "o-", color=colour, label=label)
axes.set_xticks(numbers)
axes.set(
    xlabel="epochs of training", ylabel="test accuracy, % (higher is better)"
)
finding = f"In the end: {', '.join(ends)}"
figures.headline(figure, finding, f"{SEEDS} seeds, a line for each")
figures.label_ends(axes)

# sphinx_gallery_thumbnail_number = 2

# %%
# Here are the end points in numbers:
rows = []
for name, of_framework in runs.items():
    for seed, epochs in enumerate(of_framework):
        last = epochs[-1]
        counted = f"{last.test_correct:,} of {last.test_images:,}"
        reached = f"{last.accuracy:.2%}", f"{last.test_loss:.4f}"
        rows.append((f"{name}, seed {seed}", counted, *reached))

# %%
headers = "training", "recognised", "accuracy", "test loss"
batches = len(learned.train.labels) // settings.batch_size_training
steps = f"{settings.num_epochs * batches} steps"
size = f"{settings.batch_size_training} images"
note = "Images that don't fill a batch are left out, others in each epoch."
Table(f"After {steps} of {size}", headers, rows, [note])

# %%
# Does one framework learn better? Before you compare one seed of each, see how far apart the seeds
# of *one* framework lie:
import numpy as np

final = {
    name: 100 * np.array([epochs[-1].accuracy for epochs in trainings])
    for name, trainings in runs.items()
}
for name, accuracy in final.items():
    low, high = accuracy.min(), accuracy.max()
    print(f"{name}: mean {accuracy.mean():.2f}%, {low:.2f} to {high:.2f}")

# %%
ahead = final["Flax"] > final["PyTorch"]
flax_ahead = f"{ahead.sum()} of {SEEDS}"
share = np.mean(final["Flax"]) / 100
error = np.sqrt(share * (1 - share) / len(learned.test.labels))
standard_error = f"{100 * error:.1f}"

# %%
# Now compare the frameworks seed by seed, since a seed gives both the same start. Flax was ahead for
# :measured:`flax_ahead` seeds. So few seeds can't name a winner, whether the lead changes between
# them or not: of two equal programs, the same one wins three times in a row in a quarter of all
# cases. And with so few test images, each accuracy has a standard error of
# :measured:`standard_error` percentage points.
#
# Which digits it gets wrong
# --------------------------
# Take the last network that Flax trained, and all test images that we have. On a CPU, these are
# more images than in the table above, so the share of mistakes may differ. Each row is a digit, and
# each column what it was taken for:
predictions = evaluate(flax, mnist.test).predictions
labels = mnist.test.labels
confusion = np.zeros((10, 10), int)
np.add.at(confusion, (labels, predictions), 1)

# %%
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
# And here are the mistakes in which the true digit was furthest behind the network's choice. Cover
# the titles. Which of these digits would you have read correctly?
logits = flax.logits(mnist.test.images)
margin = logits.max(axis=1) - logits[np.arange(len(labels)), labels]
worst = np.argsort(margin)[::-1][:20]
worst = worst[predictions[worst] != labels[worst]]
show(
    mnist.test.images[worst],
    [f"{labels[i]}→{predictions[i]}" for i in worst],
)

# %%
# How much does it matter how you count? Here is the network's accuracy on all of these images,
# followed by what the older program would have computed:
right = predictions == labels
short = right[:-1]
parts = [short[i : i + 128].mean() for i in range(0, len(short), 128)]
print(f"all images:            {right.mean():.4%}")
print(f"without the last:      {short.mean():.4%}")
print(f"and averaging batches: {np.mean(parts):.4%}")

# %%
# Mistakes of this size are easy to overlook, and good networks may differ by no more.
#
# Takeaway
# --------
apart = f"{abs(final['Flax'].mean() - final['PyTorch'].mean()):.1f}"
within = f"{max(np.ptp(accuracy) for accuracy in final.values()):.1f}"

# %%
# Before you compare two frameworks, make them do the same work: the same network, the same weights,
# the same images, and every image counted. Then prove that they do it, by outputs and losses that
# differ only by rounding. And compare over several seeds. Here, the mean accuracies of the two
# frameworks differed by :measured:`apart` percentage points, and single seeds of one framework by
# up to :measured:`within`.
#
# Next: :doc:`which ideas make this training faster </tutorials/applications/training_speed>`, in
# JAX and beside PyTorch.
