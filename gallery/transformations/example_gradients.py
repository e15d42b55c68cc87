"""
Which examples pull too hard?
=============================

A training step averages the gradients of a batch of examples, and moves the weights against the
average. Sometimes you would rather see each gradient, to find the examples that pull too hard, or
to limit how hard they pull. ``grad`` inside ``vmap`` gives you one gradient for each example. We
use these gradients to find wrong labels, and then measure what they cost.
"""

# %%
# A gradient for each example
# ---------------------------
# Going backwards from the mean of the losses gives you only the mean of the gradients, which you
# can't take apart afterwards. Take the gradient of one example's loss instead, and map that.
# This is the loss of :doc:`the page before </tutorials/transformations/vmap>`:
import jax
import jax.numpy as jnp
import numpy as np


def loss(weights, features, label):
    score = jnp.dot(weights, features)
    return jnp.logaddexp(0, score) - label * score


each_gradient = jax.jit(jax.vmap(jax.grad(loss), in_axes=(None, 0, 0)))

# %%
# Here are the gradients of eight examples with four features:
rng = np.random.default_rng(0)
weights = jnp.asarray(rng.standard_normal(4, dtype=np.float32))
features = jnp.asarray(rng.standard_normal((8, 4), dtype=np.float32))
labels = jnp.asarray(rng.integers(2, size=8), jnp.float32)
each_gradient(weights, features, labels).shape


# %%
# Their mean is the gradient of the mean, up to rounding:
def mean_loss(weights, features, labels):
    losses = jax.vmap(loss, in_axes=(None, 0, 0))
    return losses(weights, features, labels).mean()


of_mean = jax.grad(mean_loss)(weights, features, labels)
mean_of = each_gradient(weights, features, labels).mean(axis=0)
float(abs(of_mean - mean_of).max())

# %%
# A wrong label pulls harder
# --------------------------
# Make two clouds of points, and label each point with its cloud, except that some labels are wrong.
# Each point gets a third number, a one, whose weight is the offset of the score:
n, wrong = 200, 12
rng = np.random.default_rng(0)
clouds = rng.integers(2, size=n)
centres = np.where(clouds == 1, 2.0, -2.0)
points = rng.normal(size=(n, 2)) + centres[:, None]
flipped = np.arange(n) < wrong
seen = np.where(flipped, 1 - clouds, clouds)
points = np.column_stack([points, np.ones(n)])


# %%
# Fit the weights by gradient descent on the mean loss, and look at the length of each example's
# gradient there. Which ones do you expect to be long?
@jax.jit
def step(weights, points, labels):
    return weights - 0.5 * jax.grad(mean_loss)(weights, points, labels)


fitted = jnp.zeros(3)
for _ in range(200):
    fitted = step(fitted, points, seen)
pulls = each_gradient(fitted, points, seen)
norms = np.linalg.norm(pulls, axis=1)

# %%
# A wrong label pulls against all the right ones around it, so its gradient should be long. In the
# picture, the examples are sorted by the length of their gradient:
import matplotlib.pyplot as plt

from jaxcap.report import figures

order = norms.argsort()
rank = np.arange(n)
is_wrong = flipped[order]
right_rank, wrong_rank = rank[~is_wrong], rank[is_wrong]

# %%
lengths = norms[order]
plt.semilogy(right_rank, lengths[~is_wrong], "o", label="right label")
plt.semilogy(
    wrong_rank, lengths[is_wrong], "o", color="C3", label="wrong label"
)
plt.xlabel("examples, sorted")
plt.ylabel("length of the gradient")
_ = plt.legend()
longest = int(is_wrong[-wrong:].sum())
finding = f"Of the {wrong} longest gradients, {longest} have a wrong label"
figures.headline(plt.gcf(), finding)

# %%
# Of the :measured:`wrong` longest gradients, :measured:`longest` belong to wrong labels, so a long
# gradient is a good place to look for one. These clouds hardly overlap, which makes the search
# easy. Where they do, right labels in the wrong cloud pull just as hard, and so may points that lie
# far out, because a gradient grows with its features.
#
# To keep one label from dragging the weights along, *clip* its gradient: shorten it if it is longer
# than a limit. What optimisers call gradient clipping does that to the mean of the batch. Here it
# is done to each gradient, so it is easiest to write for one:
from jaxcap.kernels import batching
from jaxcap.report.source import Source

Source(batching.clip)

# %%
# Map ``clip`` over all gradients, and take their median length as the limit. How much of the total
# length belongs to wrong labels, before and after?
limit = float(np.median(norms))
clipped = jax.vmap(batching.clip, in_axes=(0, None))(pulls, limit)
for name, vectors in {"before": pulls, "after": clipped}.items():
    lengths = np.linalg.norm(vectors, axis=1)
    print(f"{name:6} {lengths[flipped].sum() / lengths.sum():.2f}")
print(f"{wrong / n:.2f} of the labels are wrong")

# %%
# If every label pulled equally hard, the wrong ones would have the share of the total length that
# the last line shows. Clipping limits what any single example can do to the weights. To train with
# clipping, clip in every step, and step against the mean of the clipped gradients. We haven't
# measured how much that improves the fit. `Training with differential privacy
# <https://arxiv.org/abs/1607.00133>`__ clips in the same way, and then adds noise.
#
# What do they cost?
# ------------------
# They cost memory, because the gradients of a thousand examples take a thousand times the space of
# their mean. And time? Now a thousand examples have 64 features each. We find their gradients by a
# Python loop that calls a compiled gradient for each example, by ``vmap`` of that gradient, and by
# a formula derived and batched by hand. The derivative of the loss with respect to the score is the score's
# sigmoid minus the label, and that of the score with respect to the weights is the features, so the
# chain rule multiplies the two:
Source(batching.logistic_gradients)

# %%
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
from jaxcap.report.claims import claim, speedup_of

mapping_pays = claim(
    "mapping a thousand gradients is faster than a loop of compiled calls",
    gradients,
    speedup_of(rivals.GRADIENT_VMAP, over=rivals.GRADIENT_LOOP),
)
mapping_pays

# %%
gradients_by_hand = gradients.speedup(
    rivals.GRADIENT_VMAP, over=rivals.GRADIENT_BY_HAND
)

# %%
# ``vmap`` of ``grad`` was :measured:`gradients_by_hand than the formula`, which has to be derived
# again whenever the loss changes.
#
# Takeaway
# --------
to_loop = mapping_pays.estimate

# %%
# ``vmap`` of ``grad`` gives each example a gradient of its own. If you suspect that some of your
# data are wrong, look first at the examples with the longest gradients: on this page, where the
# clouds hardly overlap, :measured:`longest` of the :measured:`wrong` longest belonged to wrong
# labels.
#
# For a thousand examples, mapping was :measured:`to_loop than a loop of compiled calls`, and
# :measured:`gradients_by_hand than a formula derived by hand for the whole batch`.
#
# Try it yourself in :doc:`exercise 6 </exercises/6_vmap>`. Next:
# :doc:`what makes a comparison fair </tutorials/transformations/many_gradients>`, in JAX and in
# PyTorch.
