"""
What does vmap replace?
=======================

:func:`jax.vmap` takes a function of one example and returns a function of a whole batch, so that
you can forget about batches while you write. It can take the place of a loop, or of the batching
that you would otherwise do by hand. This page shows how to say what is batched, which mistakes
raise no error, and what mapping costs in memory and gains in time.
"""

# %%
# A loss that knows nothing of batches
# ------------------------------------
# Logistic regression weighs the features of an example and adds them up to a score. Here is its
# loss for one example, whose label is 0 or 1:
import jax
import jax.numpy as jnp
import numpy as np


def loss(weights, features, label):
    score = jnp.dot(weights, features)
    return jnp.logaddexp(0, score) - label * score


# %%
# And here are eight examples with four features each:
rng = np.random.default_rng(0)
weights = jnp.asarray(rng.standard_normal(4, dtype=np.float32))
features = jnp.asarray(rng.standard_normal((8, 4), dtype=np.float32))
labels = jnp.asarray(rng.integers(2, size=8), jnp.float32)
loss(weights, features[0], labels[0])

# %%
# Loop, rewrite, or map
# ---------------------
# How do you get all eight losses? The first way is a loop, which is easy to write:
looped = [loss(weights, x, y) for x, y in zip(features, labels, strict=True)]
jnp.stack(looped)


# %%
# The second way is to rewrite the function for a batch. The product of two vectors becomes the
# product of a matrix and a vector, so we swap the factors. The last line needs no change, because
# it works elementwise:
def batched_by_hand(weights, features, labels):
    scores = features @ weights
    return jnp.logaddexp(0, scores) - labels * scores


batched_by_hand(weights, features, labels)

# %%
# The third way is ``vmap``, which leaves the function alone. All examples share the weights, so
# those aren't mapped, and ``None`` says so. Features and labels are mapped along their axis 0:
batched = jax.vmap(loss, in_axes=(None, 0, 0))
batched(weights, features, labels)

# %%
# Does ``vmap`` just hide the loop? No, it runs the function once, with stand-ins for its arguments.
# When an operation meets a mapped argument, ``vmap`` replaces it by a version for one more axis, and
# each operation has a rule that says which. For the product of two vectors, the rule gives the product of a matrix
# and a vector, as we did by hand, with the factors in their old order:
score = jax.vmap(jnp.dot, in_axes=(None, 0))
print(jax.make_jaxpr(jnp.dot)(weights, features[0]))
print(jax.make_jaxpr(score)(weights, features))

# %%
# Name the axis of each argument
# ------------------------------
# ``in_axes`` has an entry for each argument: the number of the axis to map, or ``None``. The result
# is as if the function had been called for each example, with these parts of the arguments:
from jaxcap.report import figures

_ = figures.mapped_axes(
    {
        "weights": (weights.shape, None),
        "features": (features.shape, 0),
        "labels": (labels.shape, 0),
    }
)

# %%
# If the examples are stored as columns, the axis to map is number 1:
columns = features.T
jax.vmap(loss, in_axes=(None, 1, 0))(weights, columns, labels)

# %%
# Keyword arguments are always mapped along their axis 0. In the result, the mapped axis comes first,
# unless ``out_axes`` names another place. And if examples have to know of one another, name the axis
# with ``axis_name``: then :func:`jax.lax.psum` adds up over the batch, in the same way as :doc:`over
# devices </tutorials/applications/messages>`.
#
# A wrong axis may raise no error
# -------------------------------
# If you leave ``in_axes`` out, every argument is mapped along axis 0. Here that includes the
# weights, whose axis has another length:
from textwrap import fill

try:
    jax.vmap(loss)(weights, features, labels)
except ValueError as error:
    for line in str(error).splitlines():
        print(fill(line, subsequent_indent="    "))

# %%
# The message names the argument that doesn't fit. Mistakes without a message are worse, and here are
# three. The first maps the weights again, for as many examples as there are features. The second
# forgets to map the labels. The third is meant to add up each example's features, and maps the wrong
# axis:
print(jax.vmap(loss)(weights, features[:4], labels[:4]).shape)
print(
    jax.vmap(loss, in_axes=(None, 0, None))(weights, features, labels).shape
)
print(jax.vmap(jnp.sum, in_axes=1)(features).shape)

# %%
# All three run, because the mapped axes agree and what is left fits the operations: ``jnp.dot``
# accepts a number and a vector, too. They should have returned a number for each example, so shapes
# of ``(4,)``, ``(8,)`` and ``(8,)``. Two habits catch such mistakes:
#
# - Try each new ``vmap`` on a batch whose size differs from all other lengths. With eight examples,
#   the first mistake is the error above.
# - Look at the shape of the result, which gives away the other two. With four examples of four
#   features, the shape of the third would have looked right.
#
# Mapped twice, a distance becomes a table
# ----------------------------------------
# When two axes have to be mapped, batching by hand becomes harder to read. Take the distance between
# two points, as a function of one pair and batched by hand:
from jaxcap.kernels import batching
from jaxcap.report.source import Source

Source(batching.distance, batching.distances)

# %%
# The second function inserts axes of length 1, so that broadcasting pairs every point with every
# other. With ``vmap``, you map the first function twice instead: the inner map goes through the
# points of ``b``, and the outer map through those of ``a``.
to_each = jax.vmap(batching.distance, in_axes=(None, 0))
table = jax.vmap(to_each, in_axes=(0, None))

cities = jnp.asarray(rng.uniform(size=(5, 2)), jnp.float32)
shops = jnp.asarray(rng.uniform(size=(200, 2)), jnp.float32)
found = table(cities, shops)
by_hand = batching.distances(cities, shops)
print(found.shape, "largest difference:", float(abs(found - by_hand).max()))


# %%
# A whole batch needs memory for all of it
# ----------------------------------------
# A loop works on one example at a time, and ``vmap`` on all of them at once, so it may need memory
# for all of their intermediate results. Take the median of the distances from one place to all
# places. JAX finds it by sorting, so it has to store the distances:
def typical_distance(place, places):
    return jnp.median(abs(places - place))


def in_pieces(places):
    return jax.lax.map(
        lambda place: typical_distance(place, places), places, batch_size=100
    )


# %%
# With a ``batch_size``, :func:`jax.lax.map` cuts the batch into pieces, and runs ``vmap`` on one
# piece after another. How much memory for temporary arrays does XLA plan for two thousand places?
places = jnp.asarray(rng.standard_normal(2000, dtype=np.float32))
at_once = jax.vmap(typical_distance, in_axes=(0, None))
programs = {
    "vmap": jax.jit(at_once).lower(places, places),
    "pieces": jax.jit(in_pieces).lower(places),
}
for name, program in programs.items():
    memory = program.compile().memory_analysis()
    print(f"{name:6} {memory.temp_size_in_bytes:,} bytes")

# %%
# A table of two thousand by two thousand numbers of four bytes takes 16 million bytes, and each piece
# of it a twentieth of that. Choose pieces that fit into memory but are still large enough to keep the
# device busy.
#
# How much faster, and than what?
# -------------------------------
# ``jit(vmap(loss))`` has two advantages over a Python loop that calls ``jit(loss)`` for each example:
# it makes a single call, and each of its operations takes the whole batch. To tell the two apart, we
# add a *compiled loop*. :func:`jax.lax.map` makes a single call, too, but still takes one example
# after another:
Source(batching.logistic_losses_in_turn)

# %%
# What do you expect of the times? The Python loop pays for a call in each iteration, so its time
# should grow with the batch from the start. (It gets its examples already split and returns a list,
# so slicing and stacking aren't timed.) ``vmap`` and batching by hand ask for the same operations, so
# XLA should make much the same program of both, and its time should hardly grow until there is enough
# to compute. Here, all are compiled by ``jit``, and each example has 64 features:
from jaxcap.experiments import batching as rivals

results = rivals.BATCHING.run(budget_s=0.03)
losses = results.subset(r for r in results if "of" not in r.parameters)
_ = figures.scaling(
    losses,
    x="batch",
    over=rivals.LOOP,
    about=rivals.VMAP,
    title="Losses of a batch",
    xlabel="examples in the batch",
)

# sphinx_gallery_thumbnail_number = 2

# %%
from jaxcap.report.claims import claim, speedup_of

vmap_pays = claim(
    "mapping a thousand losses is faster than a loop of compiled calls",
    results,
    speedup_of(rivals.VMAP, over=rivals.LOOP, batch=1000),
)
vmap_pays

# %%
# With a thousand examples, the compiled loop was :measured:`to_compiled than the Python loop`, and
# the main difference between these loops is the number of calls. ``vmap`` was
# :measured:`to_batched than the compiled loop`, from which it differs by its operations on the whole
# batch. So at this size, :measured:`matters_more` matters more. And ``vmap`` was
# :measured:`against_hand than batching by hand`. When somebody tells you how much ``vmap`` gains, ask
# what it was compared with.
#
# Ask for the size of the batch, too. With a hundred examples, ``vmap`` was
# :measured:`to_batched_hundred than the compiled loop`. For ``vmap``, a hundred examples took
# :measured:`grows_to_hundred` as one, and a thousand :measured:`grows_to_thousand` as a hundred.
#
# Takeaway
# --------
speedup = vmap_pays.estimate
thousand, hundred = (losses.select(batch=batch) for batch in (1000, 100))
to_compiled = thousand.speedup(rivals.COMPILED_LOOP, over=rivals.LOOP)
to_batched, to_batched_hundred = (
    batch.speedup(rivals.VMAP, over=rivals.COMPILED_LOOP)
    for batch in (thousand, hundred)
)
against_hand = thousand.speedup(rivals.VMAP, over=rivals.BY_HAND)

# %%
is_calls = to_compiled.value > to_batched.value
matters_more = "making a single call" if is_calls else "taking whole arrays"
times_s = {
    batch: losses.only(rivals.VMAP, batch=batch).time.value
    for batch in (1, 100, 1000)
}
grows_to_hundred, grows_to_thousand = (
    f"{times_s[many] / times_s[few]:.1f} times as long"
    for few, many in ((1, 100), (100, 1000))
)

# %%
# ``vmap`` replaces a loop over examples, and the batching that you would otherwise do by hand. So
# write functions for one example, map them with ``vmap``, and put ``jit`` around the whole. Mark
# what all examples share with ``None``, test on a batch whose size differs from all other lengths,
# and look at the shape of the result.
#
# For a thousand losses on this page's device, ``vmap`` was
# :measured:`speedup than a loop of compiled calls` and
# :measured:`against_hand than batching by hand`. If the whole batch doesn't fit into memory,
# :func:`jax.lax.map` with a ``batch_size`` takes it in pieces.
#
# Next: with ``vmap`` around ``grad``, you can see
# :doc:`which examples pull too hard </tutorials/transformations/example_gradients>`.
