"""
Which examples pull too hard?
=============================

A training step averages the gradients of a batch of examples, and moves the weights against the
average. But the average can't tell you which examples pull too hard. ``grad`` inside ``vmap`` gives
you one gradient for each example. On this page, these gradients point out wrong labels, we limit
how hard any example can pull, and then we measure what separate gradients cost.
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
is_wrong = flipped[order]
longest = int(is_wrong[-wrong:].sum())

# %%
for kind, colour in (("right", "C0"), ("wrong", "C3")):
    rank = np.flatnonzero(is_wrong == (kind == "wrong"))
    lengths = norms[order][rank]
    plt.semilogy(rank, lengths, "o", color=colour, label=f"{kind} label")
plt.xlabel("examples, sorted")
plt.ylabel("length of the gradient")
_ = plt.legend()
finding = f"Of the {wrong} longest gradients, {longest} have a wrong label"
figures.headline(plt.gcf(), finding)

# %%
# The :measured:`wrong` longest gradients include those of :measured:`labels_found`, so a long
# gradient is a good place to look for one. These clouds hardly overlap, which makes the search
# easy. If you move their centres to plus and minus one, they do, and a few right labels come up
# among the longest, because their points lie in the wrong cloud. So may a point with a right label
# that lies near the border but far from both clouds.
#
# Limit how hard an example can pull
# ----------------------------------
# To keep one label from dragging the weights along, *clip* its gradient: shorten it if it is longer
# than a limit. Optimisers usually clip the mean gradient of the batch. Here we clip every gradient,
# so we write ``clip`` for one and let ``vmap`` do the rest:
from jaxcap.kernels import batching
from jaxcap.report.source import Source

Source(batching.clip)

# %%
# Take the median length as the limit. How much of the total length belongs to wrong labels, before
# and after?
limit = float(np.median(norms))
clipped = jax.vmap(batching.clip, in_axes=(0, None))(pulls, limit)
for name, vectors in {"before": pulls, "after": clipped}.items():
    lengths = np.linalg.norm(vectors, axis=1)
    print(f"{name:6} {lengths[flipped].sum() / lengths.sum():.2f}")
print(f"{wrong / n:.2f} of the labels are wrong")


# %%
# After clipping, the wrong labels have hardly more than the share that they'd have if every label
# pulled equally hard. To train with clipping, clip in every step, and step against the mean of the
# clipped gradients. Does that bring the weights closer to those from the right labels?
@jax.jit
def clipped_step(weights, points, labels):
    gradients = each_gradient(weights, points, labels)
    clipped = jax.vmap(batching.clip, in_axes=(0, None))(gradients, limit)
    return weights - 0.5 * clipped.mean(axis=0)


with_clipping = without_mistakes = jnp.zeros(3)
for _ in range(200):
    with_clipping = clipped_step(with_clipping, points, seen)
    without_mistakes = step(without_mistakes, points, clouds)
print("wrong labels         ", fitted)
print("wrong labels, clipped", with_clipping)
print("right labels         ", without_mistakes)

# %%
# The wrong labels shrink the weights of both features. With clipping, the weights after these steps
# are closer to those from the right labels. (Don't read more into it: the right labels can be
# separated without an error, so their weights go on growing for as long as you train.) `Training
# with differential privacy <https://arxiv.org/abs/1607.00133>`__ clips in the same way, and then
# adds noise.
#
# What do separate gradients cost?
# --------------------------------
# Separate gradients cost memory: a thousand of them take a thousand times the space of their mean.
# And time? For a thousand examples with 64 features each, we compare a Python loop over a compiled
# gradient, ``jit(vmap(grad))``, and a formula derived by hand. The loop gets examples that are
# already split and leaves its gradients in a list, so it is spared the work of taking the batch
# apart and putting the result together. The formula is short: the derivative of the loss with
# respect to the score is ``sigmoid(score) - label``. Multiply it by the features, and you have the
# gradient:
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
how_many = "all" if longest == wrong else str(longest)
labels_found = f"{how_many} of the wrong labels"

# %%
# ``vmap`` of ``grad`` gives each example a gradient of its own. If you suspect that some of your
# data are wrong, look first at the examples with the longest gradients: on this page, where the
# clouds hardly overlap, the :measured:`wrong` longest included those of :measured:`labels_found`.
# If you can't mend the data, clip each gradient, so that no example can pull harder than the limit.
#
# For a thousand examples, mapping was :measured:`to_loop than a loop of compiled calls`, and
# :measured:`gradients_by_hand than a formula derived by hand for the whole batch`.
#
# Try it yourself in :doc:`exercise 6 </exercises/6_vmap>`. Next:
# :doc:`what makes a comparison fair </tutorials/transformations/many_gradients>`, in JAX and in
# PyTorch.
