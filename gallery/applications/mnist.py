"""
The same network in JAX and in PyTorch
======================================

Two programs can look alike and still do different work, and then a comparison of their speed or accuracy
says little about JAX and PyTorch. This page takes one network from its layers to its accuracy, in both,
and checks after each step that the numbers agree. Along the way, it meets four mistakes that raise no
error.
"""

# %%
# A layer's defaults can differ
# -----------------------------
# The network will learn to read handwritten digits from MNIST or, on a CPU, from a subset that comes
# with our package. For both frameworks, we shift and scale all pixels, so that those of the training
# images get a mean of 0 and a standard deviation of 1:
import jax

from jaxcap.mnist import data

mnist = data.load("subset" if jax.default_backend() == "cpu" else "any")
mean, std = data.mean_and_std(mnist.train.images)


def normalised(images):
    return ((images / 255 - mean) / std).astype("float32")


images = normalised(mnist.test.images[:100])
mnist

# %%
# Both libraries have a convolution, and both take the number of channels and the size of the
# kernel. Given the same numbers and the same images, do they return arrays of the same size?
import torch
from flax import nnx

flax_layer = nnx.Conv(1, 32, (3, 3), rngs=nnx.Rngs(0))
torch_layer = torch.nn.Conv2d(1, 32, 3)
print("Flax:   ", flax_layer(images[..., None]).shape)
print("PyTorch:", tuple(torch_layer(torch.from_numpy(images[:, None])).shape))

# %%
# They don't, for two reasons. Flax keeps the 32 channels of an image last, and PyTorch keeps them
# first. The other difference is a default: Flax surrounds each image with zeros, so that the result
# is as large as the image, and PyTorch doesn't.
#
# `An older comparison <https://github.com/dostuffthatmatters/jax-capability-analysis>`__, on which
# this page is modelled, left both layers at their defaults. So its network in Flax had larger images
# to process. Nothing failed, because dense layers of Flax's older interface, Linen, take their size from
# the first input, and a comment still said that 28 rows become 26. To get equal networks, we turn the
# zeros off:


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
# Here is its counterpart in PyTorch, where ``_POOLED`` is ``(12, 12, 64)``. It has dropout as well,
# which sets activations to zero at random. Until the last section, ``eval()`` turns that off:
from jaxcap.mnist import model_torch
from jaxcap.report.source import Source

Source(model_torch.CNN)

# %%
# Weights in the wrong order can fit
# ----------------------------------
# The two libraries draw their first weights differently, so we copy Flax's weights to PyTorch.
# These are the shapes of the kernels, first Flax's and then PyTorch's:
network, in_torch = PlainCNN(nnx.Rngs(0)), model_torch.CNN().eval()
weights = nnx.to_pure_dict(nnx.state(network))
for layer, arrays in weights.items():
    shape = tuple(getattr(in_torch, layer).weight.shape)
    print(f"{layer:8}{arrays['kernel'].shape!s:16}{shape}")

# %%
# In Flax, the outputs come last, and in PyTorch first, so the axes have to change places: by
# ``kernel.transpose(3, 2, 0, 1)`` in a convolution, and by ``kernel.T`` in a dense layer.
#
# The layer ``dense1`` needs more. Its input is an image, flattened to a vector, by Flax with the
# channels last and by PyTorch with the channels first. So the rows of its kernel need another order,
# too. What will PyTorch say if we forget that?
import numpy as np


def torch_scores(model, images):
    with torch.no_grad():
        return model(torch.from_numpy(images[:, None])).numpy()


kernel = weights["dense1"]["kernel"]
channels_first = kernel.reshape(12, 12, 64, 256).transpose(2, 0, 1, 3)
ways = {
    "transposed": kernel.T,
    "reordered, too": channels_first.reshape(-1, 256).T,
}

# %%
scores = network(images[..., None])
print(f"largest score: {abs(scores).max():.7f}")
for way, dense1 in ways.items():
    converted = model_torch.from_flax(weights)
    converted["dense1.weight"] = torch.from_numpy(np.array(dense1))
    in_torch.load_state_dict(converted)
    difference = abs(scores - torch_scores(in_torch, images)).max()
    print(f"{way}: scores differ by up to {difference:.7f}")

# %%
# PyTorch accepts both kernels, because the vector has the same length in either order. The scores show
# which of the two is right: there, what remains is rounding.
#
# Equal steps have equal losses
# -----------------------------
# Now both networks learn. A step computes the loss of a batch and its gradient, and an optimiser
# updates the weights. In Flax:
import optax


@nnx.jit
def flax_step(network, optimizer, images, labels):
    def mean_loss(network):
        losses = optax.softmax_cross_entropy_with_integer_labels(
            network(images), labels
        )
        return losses.mean()

    loss, gradient = nnx.value_and_grad(mean_loss)(network)
    optimizer.update(network, gradient)
    return loss


# %%
# In PyTorch, ``backward`` adds the gradient to the one that each parameter has from the step before,
# so the step clears that first:
def torch_step(network, optimizer, images, labels):
    optimizer.zero_grad()
    loss = torch.nn.functional.cross_entropy(network(images), labels)
    loss.backward()
    optimizer.step()
    return loss.detach()


# %%
# Both optimisers descend with the same momentum, at a rate of 0.01. Would the losses betray a small
# mistake? To find out, a copy of PyTorch's network learns at a rate of 0.011:
from copy import deepcopy

descent = optax.sgd(0.01, momentum=0.9)
flax_sgd = nnx.Optimizer(network, descent, wrt=nnx.Param)
torch_sgd = torch.optim.SGD(in_torch.parameters(), 0.01, momentum=0.9)
mistaken = deepcopy(in_torch)
mistaken_sgd = torch.optim.SGD(mistaken.parameters(), 0.011, momentum=0.9)
order = np.random.default_rng(0).permutation(len(mnist.train.labels))

# %%
print("step  Flax     PyTorch  mistaken")
losses = []
for step, batch in enumerate(order[: 5 * 128].reshape(5, 128), start=1):
    images = normalised(mnist.train.images[batch])
    labels = mnist.train.labels[batch].astype("int64")
    tensors = torch.from_numpy(images[:, None]), torch.from_numpy(labels)
    by_flax = flax_step(network, flax_sgd, images[..., None], labels)
    by_torch = torch_step(in_torch, torch_sgd, *tensors)
    by_mistaken = torch_step(mistaken, mistaken_sgd, *tensors)
    losses.append([float(by_flax), float(by_torch), float(by_mistaken)])
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
# The first loss is computed before the first update, so a wrong rate can't show in it. Over all five
# steps, PyTorch's losses stay within :measured:`by_rounding` of Flax's, and those of the mistaken
# network stray by up to :measured:`by_mistake`. So compare the losses of a few steps digit by digit.
#
# Equal networks share an accuracy, if every image counts
# -------------------------------------------------------
# How many of a thousand new images does each network recognise by now? The older comparison counted in
# two ways. In PyTorch, its accuracy was the share of all test images. In Flax, it left out the last
# image, and averaged the accuracies of batches as if all were equally large. Here are the test losses,
# and the accuracies in both ways:
test, truth = normalised(mnist.test.images[:1000]), mnist.test.labels[:1000]
scores = {
    "Flax": np.asarray(network(test[..., None])),
    "PyTorch": torch_scores(in_torch, test),
    "mistaken": torch_scores(mistaken, test),
}

# %%
from scipy.special import logsumexp

print("          test loss  all images  mean of batches")
accuracy = {}
for name, given in scores.items():
    loss = (logsumexp(given, axis=1) - given[np.arange(1000), truth]).mean()
    right = given.argmax(axis=1) == truth
    starts = range(0, 999, 128)
    batches = [right[:999][start : start + 128].mean() for start in starts]
    accuracy[name] = right.mean()
    accuracies = f"{accuracy[name]:10.3%}  {np.mean(batches):15.3%}"
    print(f"{name:8}{loss:11.5f}  {accuracies}")

# %%
by_rate = f"{100 * abs(accuracy['mistaken'] - accuracy['PyTorch']):.1f}"

# %%
# Flax's network and PyTorch's took equal steps, so only rounding can separate their lines. The two
# accuracies in a line describe the same predictions, so only the counting can separate them. As for
# the wrong learning rate, it moved PyTorch's accuracy by :measured:`by_rate` percentage points. Does
# a difference of this size show a mistake?
#
# One seed says little
# --------------------
# Accuracies also lie apart without a mistake. To see how far, we turn dropout on, for which each
# framework draws random numbers of its own, and train from three seeds. A seed fixes the first weights
# and the order of the images for both frameworks. On a CPU, they learn from a thousand images, too few
# for the accuracy that MNIST is known for:
from dataclasses import replace

SEEDS = 3
learned = mnist
if jax.default_backend() == "cpu":
    learned = replace(mnist, train=data.balanced(mnist.train, 100))

# %%
# The package has a trainer for each framework. Their steps are like those above, at a rate that falls
# towards zero:
from jaxcap.mnist.config import THREE_EPOCHS
from jaxcap.mnist.train_flax import NaiveFlaxTrainer, initial_weights
from jaxcap.mnist.train_torch import TorchTrainer
from jaxcap.mnist.training import fit

runs = {"Flax": [], "PyTorch": []}
for seed in range(SEEDS):
    settings = THREE_EPOCHS.model_copy(update={"seed": seed})
    flax = NaiveFlaxTrainer(settings, learned.train)
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
# end up to :measured:`within` points apart. The wrong learning rate had made a difference of
# :measured:`by_rate`.
#
# Takeaway
# --------
# Four mistakes raised no error: another default of a layer, weights in another order, another
# learning rate, and another way to count. Numbers reveal them. Turn dropout off, give both frameworks
# the same weights and images, and compare their scores, the losses of a few steps and the test losses:
# only rounding may separate them.
#
# Then compare accuracies over several seeds. Here, the two frameworks differed by up to
# :measured:`apart` percentage points from the same seed, and two seeds of one framework by up to
# :measured:`within`.
#
# Next: :doc:`what makes a training step faster? </tutorials/applications/training_speed>`
