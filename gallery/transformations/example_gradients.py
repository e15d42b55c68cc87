"""
Which examples pull too hard?
=============================

A training step averages the gradients of a batch of examples, and moves the weights against the
average. But the average can't tell you which examples pull too hard, for instance because their
labels are wrong. ``grad`` inside ``vmap`` gives you one gradient for each example. On this page,
these gradients point out wrong labels. Then we limit how hard an example can pull, and measure what
separate gradients cost.
"""

# %%
# Twelve labels are wrong
# -----------------------
# Make two clouds of points, and label each point with its cloud, 0 or 1. But twelve points of cloud 1
# are labelled 0 by mistake. Each point gets a third number, a one, whose weight is the offset of the
# score:
import jax
import jax.numpy as jnp
import numpy as np

n, wrong = 200, 12
rng = np.random.default_rng(0)
clouds = rng.integers(2, size=n)
centres = np.where(clouds == 1, 2.0, -2.0)
points = rng.normal(size=(n, 2)) + centres[:, None]
points = np.column_stack([points, np.ones(n)])
mistaken = (clouds == 1) & (np.cumsum(clouds) <= wrong)
seen = np.where(mistaken, 0, clouds)


# %%
# We fit the weights by gradient descent, with the loss of :doc:`the page before
# </tutorials/transformations/vmap>`:
def loss(weights, features, label):
    score = jnp.dot(weights, features)
    return jnp.logaddexp(0, score) - label * score


def mean_loss(weights, points, labels):
    losses = jax.vmap(loss, in_axes=(None, 0, 0))
    return losses(weights, points, labels).mean()


# %%
@jax.jit
def step(weights, points, labels):
    return weights - 0.5 * jax.grad(mean_loss)(weights, points, labels)


fitted = jnp.zeros(3)
for _ in range(200):
    fitted = step(fitted, points, seen)
of_mean = jax.grad(mean_loss)(fitted, points, seen)
print(f"length of the mean gradient: {jnp.linalg.norm(of_mean):.1e}")

# %%
# Training has all but settled, since the mean gradient is nearly 0. Either no example pulls hard any
# more, or they pull hard against one another. From their mean, you can't tell.
#
# A gradient for each example
# ---------------------------
# Take the gradient of one example's loss instead of the mean's, and map that:
each_gradient = jax.jit(jax.vmap(jax.grad(loss), in_axes=(None, 0, 0)))
pulls = each_gradient(fitted, points, seen)
print(pulls.shape, "off by", abs(pulls.mean(axis=0) - of_mean).max())

# %%
# There is a row for each example, and up to rounding, the mean of the rows is the gradient of the
# mean. How many of the twelve mistakes do you expect among the twelve longest rows?
norms = np.linalg.norm(pulls, axis=1)
order = norms.argsort()
is_wrong = mistaken[order]
longest = int(is_wrong[-wrong:].sum())

# %%
import matplotlib.pyplot as plt

from jaxcap.report import figures

for kind, colour in figures.palette(("right", "wrong")).items():
    rank = np.flatnonzero(is_wrong == (kind == "wrong"))
    lengths = norms[order][rank]
    plt.semilogy(rank, lengths, "o", color=colour, label=f"{kind} label")
plt.xlabel("examples, sorted")
plt.ylabel("length of the gradient")
_ = plt.legend()
finding = f"Of the {wrong} longest gradients, {longest} have a wrong label"
figures.headline(plt.gcf(), finding)

# %%
# The :measured:`wrong` longest gradients include those of :measured:`labels_found`. The reason is that
# the gradient of this loss is an example's features times its error, which is the predicted
# probability of a 1 minus the label. Deep in cloud 1, a right label leaves an error near 0, and a wrong
# one an error near 1. But if the model gets a point wrong, its gradient is long as well, even if the
# label is right. So take a long gradient as a reason to look at the example, and not as a verdict.
#
# Limit how hard an example can pull
# ----------------------------------
# All twelve mistakes pull the line between the clouds towards cloud 1. If you can't mend them,
# *clip* each gradient: shorten it if it is longer than a limit. ``clip`` does so for one gradient, and
# ``vmap`` for all:
from jaxcap.kernels import batching
from jaxcap.report.source import Source

Source(batching.clip)

# %%
# With the median length as the limit, half of the gradients are shortened. Add up the gradients of
# the twelve wrong labels, and those of all the right ones. Which sum do you expect to be longer, before
# and after clipping?
clip_all = jax.vmap(batching.clip, in_axes=(0, None))
limit = float(np.median(norms))

for name, rows in {"as is": pulls, "clipped": clip_all(pulls, limit)}.items():
    by_wrong = jnp.linalg.norm(rows[mistaken].sum(axis=0))
    by_right = jnp.linalg.norm(rows[~mistaken].sum(axis=0))
    print(f"{name:8} wrong: {by_wrong:4.1f}, right: {by_right:4.1f}")


# %%
# Without clipping, twelve mistakes balance all the right labels, so training stops there. Clipped, they
# no longer do, and training can go on. So start again, with clipping in every step and, for
# comparison, with the right labels. How many points will each line leave on the wrong side?
@jax.jit
def clipped_step(weights, points, labels):
    gradients = each_gradient(weights, points, labels)
    return weights - 0.5 * clip_all(gradients, limit).mean(axis=0)


with_clipping = without_mistakes = jnp.zeros(3)
for _ in range(200):
    with_clipping = clipped_step(with_clipping, points, seen)
    without_mistakes = step(without_mistakes, points, clouds)

# %%
lines = {
    "twelve mistakes": fitted,
    "twelve mistakes, clipped": with_clipping,
    "right labels": without_mistakes,
}
misplaced = {}
for name, weights in lines.items():
    misplaced[name] = int(np.sum((points @ weights > 0) != clouds))
    print(f"{name:24} {misplaced[name]} of {n}")

# %%
misled, cured, _ = misplaced.values()

# %%
# The mistakes moved the line past :measured:`misled` points. With clipping, :measured:`cured` are left
# on the wrong side.
#
# What do separate gradients cost?
# --------------------------------
# Separate gradients take more memory, one for each example instead of one for all. Do they take more
# time, too? For a thousand examples with 64 features each, ``jit(vmap(grad))`` has two
# rivals: a Python loop over a compiled gradient, and a formula that we derived by hand.
from jaxcap.experiments import batching as rivals

results = rivals.BATCHING.run(budget_s=0.03)
gradients = results.select(of=rivals.GRADIENTS)
_ = figures.bars(
    gradients,
    about=rivals.GRADIENT_VMAP,
    over=rivals.GRADIENT_LOOP,
    title="A thousand gradients",
)

# %%
# The loop calls a compiled function for every example, and each call has its price.
# ``jit(vmap(grad))`` is a single program for the whole batch, like the formula.
from jaxcap.report.claims import claim, speedup_of

mapping_pays = claim(
    "mapping a thousand gradients is faster than a loop of compiled calls",
    gradients,
    speedup_of(rivals.GRADIENT_VMAP, over=rivals.GRADIENT_LOOP),
)
mapping_pays

# %%
# Takeaway
# --------
to_loop = mapping_pays.estimate
gradients_by_hand = gradients.speedup(
    rivals.GRADIENT_VMAP, over=rivals.GRADIENT_BY_HAND
)
labels_found = (
    "all wrong labels" if longest == wrong else f"{longest} wrong labels"
)

# %%
# The examples with the longest gradients pull hardest, and ``vmap`` of ``grad`` gives you a gradient for
# each. On this page, where the clouds hardly overlap, the :measured:`wrong` longest included those of
# :measured:`labels_found`. If you can't mend such labels, clip each gradient: here, the line then left
# :measured:`cured` points on the wrong side instead of :measured:`misled`.
#
# For a thousand examples, mapping was :measured:`to_loop than a loop of compiled calls`, and
# :measured:`gradients_by_hand than a formula derived by hand for the whole batch`.
#
# Try it yourself in :doc:`exercise 6 </exercises/6_vmap>`. Next:
# :doc:`what makes a comparison fair </tutorials/transformations/many_gradients>`, in JAX and in
# PyTorch.
