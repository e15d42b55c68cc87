"""
The same network in JAX and in PyTorch
======================================

Is JAX faster than PyTorch? The answer means something only if both do the same work, and two
programs can look alike and still differ. This page writes one network in Flax and in PyTorch, and
looks for hidden differences: in its layers, in its weights, in its training, and in how its
successes are counted. Only then is it worth asking :doc:`which of the two is faster
</tutorials/applications/training_speed>`.
"""

# %%
# Handwritten digits
# ------------------
# The network will learn to read digits from MNIST, a collection of 70,000 small images. These would
# keep a CPU busy for a long time, so on a CPU we take a subset that comes with our package:
import jax

from jaxcap.mnist import data

on_cpu = jax.default_backend() == "cpu"
mnist = data.load("subset" if on_cpu else "any")
mnist

# %%
# A pixel is a byte. We shift and scale all bytes so that those of the training images get a mean of
# 0 and a standard deviation of 1. Here are a hundred test images:
mean, std = data.mean_and_std(mnist.train.images)
images = (mnist.test.images[:100] / 255 - mean) / std
images = images.astype("float32")
print(images.shape)

# %%
# Layers of the same name can differ
# ----------------------------------
# Both libraries have a convolution, and both take the number of channels and the size of the
# kernel. Give both the same numbers and the same images. Do they return arrays of the same size?
import torch
from flax import nnx

flax_layer = nnx.Conv(1, 32, (3, 3), rngs=nnx.Rngs(0))
torch_layer = torch.nn.Conv2d(1, 32, 3)
print("Flax:   ", flax_layer(images[..., None]).shape)
print("PyTorch:", tuple(torch_layer(torch.from_numpy(images[:, None])).shape))

# %%
# They don't, for two reasons. The order of the axes is plain to see: Flax keeps the channels of an
# image last, and PyTorch keeps them first. The other difference is a default. Flax surrounds each
# image with zeros, so that the result is as large as the image, and PyTorch doesn't.
#
# This page is modelled on `an older comparison
# <https://github.com/dostuffthatmatters/jax-capability-analysis>`__, which left both layers at
# their defaults. So its network in Flax had larger images to process, and more weights in the layer
# behind them. Nothing failed, and a comment beside the layer in Flax still said that 28 rows become
# 26. To get equal networks, we turn the zeros off:


class PlainCNN(nnx.Module):
    """Two convolutions, a pool and two dense layers."""

    def __init__(self, rngs):
        self.conv1 = nnx.Conv(1, 32, (3, 3), padding="VALID", rngs=rngs)
        self.conv2 = nnx.Conv(32, 64, (3, 3), padding="VALID", rngs=rngs)
        self.dense1 = nnx.Linear(12 * 12 * 64, 256, rngs=rngs)
        self.dense2 = nnx.Linear(256, 10, rngs=rngs)

    def __call__(self, images):
        """Return a score for each of the ten digits."""
        x = nnx.relu(self.conv2(nnx.relu(self.conv1(images))))
        x = nnx.max_pool(x, (2, 2), strides=(2, 2)).reshape(len(x), -1)
        return self.dense2(nnx.relu(self.dense1(x)))


# %%
# Its counterpart in PyTorch has dropout as well, which sets activations to zero at random. We leave
# dropout off until both networks agree without it:
from jaxcap.mnist import model_torch
from jaxcap.report.source import Source

Source(model_torch.CNN)

# %%
# Equal weights can lie in another order
# --------------------------------------
# The two libraries draw their first weights differently, so we copy Flax's weights to PyTorch.
# These are the shapes of the kernels, first Flax's and then PyTorch's:
network, in_torch = PlainCNN(nnx.Rngs(0)), model_torch.CNN()
weights = nnx.to_pure_dict(nnx.state(network))
for layer, arrays in weights.items():
    shape = tuple(getattr(in_torch, layer).weight.shape)
    print(f"{layer:8}{arrays['kernel'].shape!s:16}{shape}")

# %%
# In Flax, the outputs come last, and in PyTorch first, so the axes have to change places. If you
# forget that for one of these four, PyTorch refuses the kernel, because its shape doesn't fit. In a
# convolution, ``kernel.transpose(3, 2, 0, 1)`` is the right order.
#
# The layer ``dense1`` needs more care. Its input is an image, flattened to a vector. Flax flattens
# an image with the channels last, and PyTorch one with the channels first, so the same numbers
# stand in different places. Let's convert this kernel in two ways: transposed only, and with its rows
# reordered, too. What will PyTorch say to the wrong one?
kernel = weights["dense1"]["kernel"]
channels_first = kernel.reshape(12, 12, 64, 256).transpose(2, 0, 1, 3)
ways = {
    "transposed": kernel.T,
    "reordered": channels_first.reshape(-1, 256).T,
}

# %%
import numpy as np

scores = network(images[..., None])
print(f"largest score: {abs(scores).max():.7f}")
for way, dense1 in ways.items():
    converted = model_torch.from_flax(weights)
    converted["dense1.weight"] = torch.from_numpy(np.array(dense1))
    in_torch.load_state_dict(converted)
    with torch.no_grad():
        theirs = in_torch.eval()(torch.from_numpy(images[:, None])).numpy()
    print(f"{way}: scores differ by up to {abs(scores - theirs).max():.7f}")

# %%
# PyTorch accepts both. The vector has the same length in either order, so the wrong kernel fits, and
# wrong scores come out without an error. With the right kernel, what remains is rounding. So before
# you train anything, compare outputs and not only shapes.
#
# Equal trainings have equal losses
# ---------------------------------
# Now let both networks learn. A step in JAX is a function that takes the state of the training,
# weights and momentum, and returns the next state and the loss. Its first argument holds the
# network without its weights, and settings:
from jaxcap.mnist import train_flax

Source(train_flax.step)

# %%
# The step in PyTorch does the same by changing objects: ``loss.backward()`` adds the gradient to
# each parameter's ``grad``, and the optimiser overwrites the parameters. Around the steps stand two
# trainers, one for each framework. Both read the same object with all settings, and take the images
# in the same order, which NumPy draws. The Flax trainer's network is ``PlainCNN`` with dropout, and
# it can swap the layers for others, as the next pages do. Here we ask for XLA's own, and start each
# step from Python, as in PyTorch:
from functools import partial

from jaxcap.mnist.train_flax import FlaxTrainer, layer_options

in_flax = partial(
    FlaxTrainer, layers=layer_options("xla"), steps_per_program=1
)

# %%
# So with dropout off, the losses of the first steps should be equal but for rounding. Would they
# betray a small mistake? To find out, we add a third training, in PyTorch, whose learning rate is
# two per cent too high:
from jaxcap.mnist.config import THREE_EPOCHS
from jaxcap.mnist.train_flax import initial_weights
from jaxcap.mnist.train_torch import TorchTrainer

same = THREE_EPOCHS.model_copy(update={"dropout": False})
higher = {"learning_rate": 1.02 * same.learning_rate}
mistaken = same.model_copy(update=higher)
trainers = [
    in_flax(same, mnist.train),
    TorchTrainer(same, mnist.train, initial_weights(same.seed)),
    TorchTrainer(mistaken, mnist.train, initial_weights(same.seed)),
]

# %%
from jaxcap.mnist.training import shuffled

print("step  Flax     PyTorch  mistaken")
order = shuffled(len(mnist.train.labels), 1, same)
losses = []
for step, batch in enumerate(order[:5], start=1):
    losses.append([float(t.train_epoch(batch[None], 1)) for t in trainers])
    print(f"{step:4}  ", "  ".join(f"{loss:.5f}" for loss in losses[-1]))

# %%
flax_losses, *others = np.array(losses).T
by_rounding, by_mistake = (
    np.format_float_positional(
        100 * abs(other / flax_losses - 1).max(),
        precision=2,
        fractional=False,
        trim="-",
    )
    + "%"
    for other in others
)

# %%
# The first loss is computed before the first update, so a wrong learning rate can't show in it. Nor
# need the losses fall so early. What counts is that they move alike: over all five steps, PyTorch's
# stay within :measured:`by_rounding` of Flax's, and those of the mistaken training stray by up to
# :measured:`by_mistake`. Compare a few losses, and you can find such a mistake within seconds.
#
# One seed says little
# --------------------
# One difference remains. With dropout, each framework draws its own random numbers and drops other
# activations, so we can't expect equal losses. Do both still learn equally well? We train from three
# seeds, each of which fixes the first weights and the order of the images for both frameworks. On a
# CPU, they learn from a thousand images, too few for the accuracy that MNIST is known for.
from dataclasses import replace

from jaxcap.mnist.training import evaluate, fit

SEEDS = 3
learned = mnist
if on_cpu:
    learned = replace(mnist, train=data.balanced(mnist.train, 100))

# %%
runs = {"Flax": [], "PyTorch": []}
for seed in range(SEEDS):
    settings = THREE_EPOCHS.model_copy(update={"seed": seed})
    flax = in_flax(settings, learned.train)
    runs["Flax"].append(fit(flax, learned))
    pytorch = TorchTrainer(settings, learned.train, initial_weights(seed))
    runs["PyTorch"].append(fit(pytorch, learned))

# %%
final = {
    name: 100 * np.array([epochs[-1].accuracy for epochs in trainings])
    for name, trainings in runs.items()
}
ranges = {name: (each.min(), each.max()) for name, each in final.items()}
ends = [f"{name} {a:.1f}% to {b:.1f}%" for name, (a, b) in ranges.items()]
finding = f"In the end: {', '.join(ends)}"
flax_ahead = f"{(final['Flax'] > final['PyTorch']).sum()} of {SEEDS}"
apart = f"{abs(final['Flax'] - final['PyTorch']).max():.1f}"
within = f"{max(high - low for low, high in ranges.values()):.1f}"

# %%
import matplotlib.pyplot as plt

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
figures.headline(figure, finding, f"{SEEDS} seeds, a line for each")
figures.label_ends(axes)

# %%
# From the same seed, the two frameworks end up to :measured:`apart` percentage points apart. Before
# you make anything of that, look at the lines of one colour: within a *single* framework, two seeds
# end up to :measured:`within` points apart. Flax was ahead for :measured:`flax_ahead` seeds. Even a
# lead in all three would prove little, because one of two equally good frameworks leads in all three
# in a quarter of all cases.
#
# Every image counts once
# -----------------------
# Even the counting can differ. In the older comparison, PyTorch's accuracy was the share of all
# test images that the network recognised. The test in Flax computed gradients that nobody used,
# left out the last image, and averaged the accuracies of batches as if all were equally large. Here
# are both ways to count, for the network that Flax trained last:
predictions = evaluate(flax, mnist.test).predictions
right = predictions == mnist.test.labels
size = settings.batch_size_validation
without_last = right[:-1]
starts = range(0, len(without_last), size)
batches = [without_last[start : start + size].mean() for start in starts]
print(f"every image once: {right.mean():.4%}")
print(f"mean of batches:  {np.mean(batches):.4%}")

# %%
# Both lines describe the same predictions, so only the counting can separate them.
#
# Takeaway
# --------
# Before you compare the speed of two frameworks, give both the same layers, weights and images,
# and prove it: with dropout off, their scores and first losses may differ only by rounding.
# Matching shapes prove little: weights in the wrong order fit, too.
#
# Then compare accuracies over several seeds, with every image counted once. Here, the two frameworks
# differed by up to :measured:`apart` percentage points from the same seed, and two seeds of one
# framework by up to :measured:`within`.
#
# Next: :doc:`what makes a training step faster? </tutorials/applications/training_speed>`
