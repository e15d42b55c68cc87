"""
What does vmap replace?
=======================

:func:`jax.vmap` takes a function of one example and returns one that takes a batch. After this page
you will be able to replace loops and batching by hand with it, to say which arguments are batched
and how errors there show, to take a gradient for each example, and you will know what each costs.
"""

# %%
# One example
# -----------
# Logistic regression weighs the features of an example and adds them up to a score. This is its
# loss, for one example with a label of 0 or 1. Nothing in it speaks of batches:
import jax
import jax.numpy as jnp
import numpy as np


def loss(weights, features, label):
    score = jnp.dot(weights, features)
    return jnp.logaddexp(0, score) - label * score


# %%
# And these are eight examples with four features each.
rng = np.random.default_rng(0)
weights = jnp.asarray(rng.standard_normal(4, dtype=np.float32))
features = jnp.asarray(rng.standard_normal((8, 4), dtype=np.float32))
labels = jnp.asarray(rng.integers(2, size=8), jnp.float32)
loss(weights, features[0], labels[0])

# %%
# A batch, three ways
# -------------------
# First, a loop:
looped = [loss(weights, x, y) for x, y in zip(features, labels, strict=True)]
jnp.stack(looped)


# %%
# Second, batched by hand. The product becomes one of a matrix and a vector, in the other order, and
# the rest happens to work as it is:
def batched_by_hand(weights, features, labels):
    scores = features @ weights
    return jnp.logaddexp(0, scores) - labels * scores


batched_by_hand(weights, features, labels)

# %%
# Third, ``vmap``. The weights are shared by all examples, so they aren't mapped, which ``None``
# says. Features and labels are mapped along their axis 0:
batched = jax.vmap(loss, in_axes=(None, 0, 0))
batched(weights, features, labels)

# %%
# There is no loop in it. ``vmap`` runs the function once, with stand-ins, and has a rule for each
# operation that says what becomes of it with one more axis. The rule for the product of two vectors
# gives the product of a matrix and a vector, as by hand:
score = jax.vmap(jnp.dot, in_axes=(None, 0))
print(jax.make_jaxpr(jnp.dot)(weights, features[0]))
print(jax.make_jaxpr(score)(weights, features))

# %%
# Which axis?
# -----------
# ``in_axes`` has an entry for each argument: the number of the axis to map, or ``None``. Without it,
# each argument is mapped along axis 0, here the weights too. Their axis has another length:
from textwrap import fill


def show_error(call):
    try:
        call()
    except ValueError as error:
        for line in str(error).splitlines():
            print(fill(line, subsequent_indent="    "))


show_error(lambda: jax.vmap(loss)(weights, features, labels))

# %%
# The message names the argument that doesn't fit. With the examples stored as columns, the axis to
# map is number 1. Telling ``vmap`` to map the rows instead:
columns = features.T
show_error(lambda: jax.vmap(loss, (None, 0, 0))(weights, columns, labels))

# %%
jax.vmap(loss, (None, 1, 0))(weights, columns, labels)

# %%
# It can go wrong without an error. If there happen to be as many examples as features, mapping the
# weights by mistake gives each example one weight:
square = features[:4]
mistaken = jax.vmap(loss)(weights, square, labels[:4])
meant = jax.vmap(loss, (None, 0, 0))(weights, square, labels[:4])
print(mistaken.shape, meant.shape)

# %%
# The shape gives it away, and :func:`jax.eval_shape` shows it without computing anything. Try
# a new ``vmap`` on a batch whose size occurs nowhere else.
#
# An argument that is a dictionary or a list of arrays may have an entry of the same form; JAX's own
# `tutorial <https://docs.jax.dev/en/latest/automatic-vectorization.html>`__ has more on that.
#
# ``out_axes`` says where the mapped axis goes in the result, for instance last:
gradients = jax.vmap(jax.grad(loss), (None, 0, 0), out_axes=1)
print(jax.eval_shape(gradients, weights, features, labels).shape)

# %%
# ``None`` is allowed there too, and promises that all examples give the same result. Losses don't
# keep that promise:
show_error(
    lambda: jax.vmap(loss, (None, 0, 0), out_axes=None)(
        weights, features, labels
    )
)

# %%
# Distances of all pairs
# ----------------------
# Where two axes are to be mapped, batching by hand becomes a puzzle of broadcasting. Take the
# distance of two points, and map it twice, the second point first, inside:
from jaxcap.kernels import batching

table = jax.vmap(
    jax.vmap(batching.distance, in_axes=(None, 0)), in_axes=(0, None)
)

# %%
# By hand, the axes are put in place with ``a[:, None, :] - b[None, :, :]`` and the like, which says
# the same and has to be deciphered. The results should agree:
angles = jnp.linspace(0.0, 6 * jnp.pi, 200)
spiral = jnp.stack([jnp.cos(angles), jnp.sin(angles)], axis=1)
spiral *= angles[:, None]
found = table(spiral, spiral)
print(
    found.shape, float(abs(found - batching.distances(spiral, spiral)).max())
)

# %%
import matplotlib.pyplot as plt

_, (left, right) = plt.subplots(1, 2, figsize=(7, 3.4))
left.plot(*spiral.T, ".-", linewidth=0.8)
left.set_aspect("equal")
left.set_title("Points on a spiral")
picture = right.imshow(found, origin="lower")
right.set_title("Distance of each pair")
right.grid(visible=False)
_ = plt.colorbar(picture, ax=right, shrink=0.8)

# sphinx_gallery_thumbnail_number = 1

# %%
# How much faster?
# ----------------
# The rivals get 64 features and more and more examples. All are compiled. For the loop that means a
# compiled function, called once for each example. There is also a loop that is compiled as a whole,
# :func:`jax.lax.map`, which still takes one example after another. Do they agree? The error is
# relative to the largest loss, in 64 bits:
from jaxcap.experiments import batching as rivals

calls = rivals.prepare(batch=1000)
inputs = [np.asarray(a, float) for a in calls[rivals.VMAP].args]
with jax.enable_x64(True):
    truth = np.asarray(batched_by_hand(*map(jnp.asarray, inputs)))
for name, call in calls.items():
    error = abs(np.asarray(call()) - truth).max() / truth.max()
    print(f"{name:14} {error:.1e}")

# %%
# Expect the loop in Python to grow with the batch from the start: each call costs its dispatch. The
# compiled loop drops that. ``vmap`` and batching by hand do the same operations and should come out
# alike, unless XLA makes different programs of them, and hardly grow until there is enough work.
from jaxcap.report import figures

results = rivals.BATCHING.run(budget_s=0.05)
losses = results.subset(r for r in results if "of" not in r.parameters)
_ = figures.scaling(losses, x="batch", title="Losses of a batch")

# %%
# For a thousand examples:
thousand = losses.select(batch=1000)
thousand

# %%
# Where the loop is compiled, what is left of the difference is that it handles one example at a
# time, where the others give all to one operation. What each step changed:
to_compiled = thousand.speedup(rivals.COMPILED_LOOP, over=rivals.LOOP)
to_batched = thousand.speedup(rivals.VMAP, over=rivals.COMPILED_LOOP)
against_hand = thousand.speedup(rivals.VMAP, over=rivals.BY_HAND)
for step, ratio in {
    "loop moved into the program": to_compiled,
    "loop replaced by an axis": to_batched,
    "vmap in place of by hand": against_hand,
}.items():
    print(f"{step:28} {ratio}")

# %%
from jaxcap.report.claims import claim, speedup_of

vmap_pays = claim(
    "mapping a thousand losses is faster than a loop of compiled calls",
    results,
    speedup_of(rivals.VMAP, over=rivals.LOOP, batch=1000),
)
vmap_pays

# %%
vmap_costs_little = claim(
    "mapping a thousand losses takes less than twice the time of batching "
    "them by hand",
    results,
    speedup_of(rivals.VMAP, over=rivals.BY_HAND, batch=1000),
    above=0.5,
)
vmap_costs_little

# %%
# A gradient for each example
# ---------------------------
# Training needs the gradient of the mean loss, and ``grad`` of the mean gives just that. Sometimes
# each example's own gradient is wanted: to find examples that pull too hard, to limit their pull,
# or to measure the noise. Frameworks that only go backwards from a sum have lost them by then. Here
# it takes ``grad`` and ``vmap``:
each_gradient = jax.jit(jax.vmap(jax.grad(loss), in_axes=(None, 0, 0)))
each_gradient(weights, features, labels).shape


# %%
# Their mean is the gradient of the mean, up to rounding:
def mean_loss(weights, features, labels):
    return batched(weights, features, labels).mean()


of_mean = jax.grad(mean_loss)(weights, features, labels)
mean_of = each_gradient(weights, features, labels).mean(axis=0)
float(abs(of_mean - mean_of).max())

# %%
# Now a use. Two clouds of points, told apart by their label, but some labels are wrong:
n, wrong = 200, 12
rng = np.random.default_rng(0)
clouds = rng.integers(2, size=n)
points = rng.normal(size=(n, 2)) + np.where(clouds == 1, 2.0, -2.0)[:, None]
flipped = np.zeros(n, bool)
flipped[rng.choice(n, wrong, replace=False)] = True

seen = (clouds ^ flipped).astype(np.float32)
points = np.column_stack([points, np.ones(n)]).astype(np.float32)

# %%
# Fit the weights by descending along the mean gradient, and look at each example's gradient there.
# The wrong ones should have long gradients: they pull against all others.
step = jax.jit(lambda w: w - 0.5 * jax.grad(mean_loss)(w, points, seen))
fitted = jnp.zeros(3)
for _ in range(200):
    fitted = step(fitted)
pulls = each_gradient(fitted, points, seen)
norms = np.asarray(jnp.linalg.norm(pulls, axis=1))

# %%
# To clip a gradient is to shorten it if it is too long. That, too, is written for one gradient and
# mapped. Take the median length for the limit:
limit = float(np.median(norms))
clipped = jax.vmap(batching.clip, in_axes=(0, None))(pulls, limit)
clipped_norms = np.asarray(jnp.linalg.norm(clipped, axis=1))

# %%
rank = norms.argsort().argsort()
for chosen, label, colour in (
    (~flipped, "right label", "C0"),
    (flipped, "wrong label", "C3"),
):
    plt.semilogy(rank[chosen], norms[chosen], "o", color=colour, label=label)
plt.axhline(limit, color="C1", linestyle="--", label="limit for clipping")
plt.title("Length of each example's gradient, sorted")
plt.xlabel("examples")
plt.ylabel("length")
_ = plt.legend()

# %%
# How much of the total length is the wrong labels' share, before and after clipping?
share_before = float(norms[flipped].sum() / norms.sum())
share_after = float(clipped_norms[flipped].sum() / clipped_norms.sum())
print(f"{share_before:.2f} before, {share_after:.2f} after")

# %%
# Clipping each example limits what any single one can do to the weights, which is the first half of
# `training with differential privacy <https://arxiv.org/abs/1607.00133>`__ (the other half is
# noise).
#
# What they cost
# --------------
# For the logistic loss the gradient can also be derived by hand. The experiment above has timed three
# ways to a thousand gradients as well. Do they agree, relative to the largest number?
ways = rivals.prepare(batch=1000, of=rivals.GRADIENTS)
reference = np.asarray(ways[rivals.GRADIENT_BY_HAND]())
for name, way in ways.items():
    error = abs(np.asarray(way()) - reference).max() / abs(reference).max()
    print(f"{name:22} {error:.1e}")

# %%
# They do, to the rounding of 32-bit numbers. Their times:
gradients = results.select(of=rivals.GRADIENTS)
gradients

# %%
# Takeaway
# --------
speedup = vmap_pays.estimate
gradient_speedup = gradients.speedup(
    rivals.GRADIENT_VMAP, over=rivals.GRADIENT_LOOP
)
gradients_by_hand = gradients.speedup(
    rivals.GRADIENT_VMAP, over=rivals.GRADIENT_BY_HAND
)

# %%
# Write functions for one example, map them with ``vmap``, and put ``jit`` around the whole. Say what
# is shared with ``None``, and look at the shape that comes out. On this page's device, and compared
# with a loop in Python, ``vmap`` came out :measured:`speedup` for a thousand losses, and
# :measured:`gradient_speedup` for as many gradients. Compared with batching by hand, it came out
# :measured:`against_hand` for the losses and :measured:`gradients_by_hand` for the gradients. The
# whole batch is in memory at once. Where that is too much, :func:`jax.lax.map` takes it in pieces,
# with ``batch_size``.
#
# Next: :doc:`what a type checker sees </tutorials/transformations/typed_transformations>`.
