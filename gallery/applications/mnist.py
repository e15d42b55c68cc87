"""
The same network in JAX and in PyTorch
======================================

Is JAX faster than PyTorch? The internet is full of answers, and many of them compare two programs
that do different work. This page makes the programs equal first: one convolutional network, in Flax
and in PyTorch, with the same weights, and the same images in the same order. Do both learn the same
thing from the same data? If they don't, a :doc:`difference in speed
</tutorials/applications/training_speed>` means nothing. On the way, you'll meet three mistakes that
made an older comparison unfair.
"""

# %%
# Handwritten digits, as small images
# -----------------------------------
# MNIST is a collection of 70,000 handwritten digits, of 28 by 28 bytes each. Training on all of
# them would keep a CPU busy for a long time, so on a CPU this page takes a subset that comes with
# the package. Elsewhere, it asks for all of them:
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
_, axes = plt.subplots(3, 10, figsize=(6, 2.85))
digits = zip(axes.flat, mnist.train.images, mnist.train.labels)
for place, image, label in digits:
    place.imshow(image, cmap=ink, vmin=0, vmax=255)
    place.set_title(label, fontsize=10.5, loc="center")
    place.axis("off")

# %%
# Networks usually learn faster if their inputs have a mean of 0 and a standard deviation of 1. So
# we scale the bytes to the range from 0 to 1, subtract the mean of all pixels and divide by their
# standard deviation. Both are computed from the training images alone, because the network mustn't
# learn anything about the test images:
mean, std = data.mean_and_std(mnist.train.images)
normalised = (mnist.train.images / 255 - mean) / std
print(f"mean and standard deviation: {mean:.4f} and {std:.4f}")


# %%
# One network, written twice
# --------------------------
# Our network has two convolutions, a pool and two dense layers. JAX leaves layers to other
# libraries, such as Flax, and NNX is the interface that Flax recommends today. (``VALID`` means
# that a convolution adds no padding around an image.)
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
# Here is its counterpart in PyTorch, with *dropout* added, which sets activations to zero at random
# while the network learns:
import torch

from jaxcap.mnist import model_torch
from jaxcap.report.source import Source

Source(model_torch.CNN)

# %%
# (In Flax, we'll train :class:`jaxcap.mnist.model.CNN`, which is ``Network`` with dropout, and with
# options that let the next pages swap its parts.)
#
# The two classes look alike, but do they have the same parameters?
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
# Both have equally many parameters, but they store them in different orders, which matters when you
# carry weights from one to the other. Flax stores a kernel with its outputs last, and PyTorch puts
# them first. Forget that, and you get an error, because the shapes don't fit.
#
# The second difference is easier to miss. Flax keeps the channels of an image last, and PyTorch
# keeps them first, so the long vector that enters ``dense1`` has its elements in another order.
# Forget *this*, and you get no error, only wrong scores, because the vector is as long as before.
# This function undoes both:
Source(model_torch.from_flax)

# %%
# The proof is in the output. Given the same weights and the same images, and without dropout, both
# networks have to give each image the same scores for the ten digits, apart from rounding. (These
# scores are called *logits*. ``Network(nnx.Rngs(0))`` has the weights of
# ``initial_weights(seed=0)``, because both draw them from the same seed, in the same order.)
some = (mnist.test.images[:100] / 255 - mean) / std
some = some.astype("float32")
by_flax = Network(nnx.Rngs(0))(some[..., None])

in_torch.load_state_dict(model_torch.from_flax(in_flax))
with torch.no_grad():
    by_torch = in_torch.eval()(torch.from_numpy(some[:, None]))

print(f"largest logit:      {abs(by_flax).max():.3f}")
print(f"largest difference: {abs(by_flax - by_torch.numpy()).max():.1e}")

# %%
# What would the mistake in ``dense1`` have done? Let's transpose its kernel, but leave the elements
# of the vector in Flax's order. PyTorch loads these weights without complaint:
mistaken = model_torch.from_flax(in_flax)
only_transposed = in_flax["dense1"]["kernel"].T.copy()
mistaken["dense1.weight"] = torch.from_numpy(only_transposed)
in_torch.load_state_dict(mistaken)
with torch.no_grad():
    by_mistake = in_torch(torch.from_numpy(some[:, None]))
print(f"largest difference: {abs(by_flax - by_mistake.numpy()).max():.3f}")

# %%
# What made an older comparison unfair
# ------------------------------------
# This page is modelled on an older program that compared Flax with PyTorch, too. It made three
# mistakes, all of them easy to make.
#
# **It trained two different networks.** By default, Flax pads a convolution, so that images keep
# their size, and PyTorch doesn't. How much work does the padding add? XLA can count the operations
# of a program before it compiles anything:
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
more_work = f"{more_work:.2f} times"
wasted = f"{of_gradient / of_loss:.1f} times"

# %%
# The padded network has more parameters, and its gradient takes :measured:`more_work` as many
# operations. So a difference in speed or in accuracy may have come from the networks
# rather than from the frameworks.
#
# **It computed gradients that nobody used.** In validation, it called the function that also
# returns the gradient, and threw the gradient away. Each batch of the validation therefore took
# :measured:`wasted` the operations that its loss needs.
#
# **It counted wrongly.** It left out the last image of the validation, and it averaged the
# accuracies of the batches with equal weights, although the last batch was smaller. You'll see
# below how much that changes.
#
# Do both learn the same thing?
# -----------------------------
# Now let both networks learn. A step looks much the same in either framework: compute the loss of a
# batch and its gradient, and let the optimiser change the weights. Here are a step in Flax, and an
# epoch in PyTorch, whose step is the body of the loop:
from jaxcap.mnist.train_torch import TorchTrainer

Source(train_flax.step, TorchTrainer.train_epoch)

# %%
# Both trainers read one object with all settings, so they can't differ in, say, the learning rate.
# (:doc:`The
# page on types </tutorials/transformations/typed_transformations>` shows which mistakes that
# prevents.) Both shuffle with the same NumPy generator, so they see the same images in the same
# order. They don't share dropout, because each draws its own random numbers. With dropout off, the
# two runs should give the same losses, apart from rounding.
#
# To keep the test short, we make a *dry run*, which has only a few steps in each epoch. On a CPU,
# ``FlaxTrainer`` convolves and pools by other algorithms than XLA's, which :doc:`later pages
# </tutorials/applications/convolutions>` explain, so the dry run tests those algorithms, too:
from dataclasses import replace

from jaxcap.mnist.config import THREE_EPOCHS
from jaxcap.mnist.train_flax import FlaxTrainer
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
# The losses differ by about :measured:`loss_gap` of their value. Some difference is expected, since
# the two round differently, and each step builds on the rounding of the last. A mistake in the
# weights, the order, the learning rate or the loss would show in the leading digits. This test says
# nothing about dropout, though: both frameworks drop equally often, but each chooses its own
# activations.
#
# How well does it learn?
# -----------------------
# With dropout on, each framework drops different activations, so their losses differ visibly. But
# both networks should learn equally well. We train them from several seeds. A seed fixes the first
# weights and the order of the images, the same for both frameworks. Both use a fast loop (the next
# page compares loops). On a CPU, they get only a part of the subset, so don't expect the accuracy
# that MNIST is known for.
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
left_out = "Images that don't fill a batch are left out"
note = f"{left_out}, different ones in each epoch."
Table(f"After {steps} of {size}", headers, rows, [note])

# %%
# Does one framework learn better than the other? Before you compare one seed of each, see how far
# apart the seeds of a *single* framework lie:
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
# Now compare the frameworks seed by seed, since a seed gives both the same start. Flax was ahead
# for :measured:`flax_ahead` seeds. Three seeds can't name a winner. Even if one framework led in
# all three, chance alone would do that one time in four. The number of test images matters, too:
# with this many, a single accuracy has a standard error of :measured:`standard_error` percentage
# points. (The error of a *difference* may be smaller, because both frameworks were tested on the
# same images.)
#
# Does it matter how you count?
# -----------------------------
# The older program left out an image and weighted its batches equally. To see what that does, take
# the last network that Flax trained, and all the test images that we have. On a CPU, these are more
# than in the table above, so the accuracy may differ. The first line counts every image once, and
# the last is what the older program would have printed:
predictions = evaluate(flax, mnist.test).predictions
right = predictions == mnist.test.labels
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
# the same images, and every image counted. Then prove it: their outputs and losses may differ only
# by rounding. Compare accuracies over several seeds, because one seed says little. Here, the mean
# accuracies of the two frameworks differed by :measured:`apart` percentage points, and single seeds
# of one framework by up to :measured:`within`.
#
# Next: :doc:`which ideas make this training faster </tutorials/applications/training_speed>`, in
# JAX and beside PyTorch.
