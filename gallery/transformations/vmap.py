"""
What does vmap replace?
=======================

:func:`jax.vmap` takes a function of one example and returns a function of a whole batch, so that
you can forget about batches while you write. It can take the place of a loop, or of the batching
that you would otherwise do by hand. This page measures it against both, and shows which mistakes
raise no error and what a whole batch costs in memory.
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
# Does ``vmap`` just hide the loop? No, it runs the function once, with stand-ins for its arguments,
# and replaces each operation that meets a mapped argument by one with one axis more. For the product
# of two vectors, that is the product of a matrix and a vector, which we also wrote by hand, with the
# factors swapped:
score = jax.vmap(jnp.dot, in_axes=(None, 0))
print(jax.make_jaxpr(jnp.dot)(weights, features[0]))
print(jax.make_jaxpr(score)(weights, features))

# %%
# How much faster, and than what?
# -------------------------------
# ``jit(vmap(loss))`` has two advantages over a Python loop that calls ``jit(loss)`` for each example:
# it makes a single call, and each of its operations takes the whole batch. A *compiled loop*, written
# with :func:`jax.lax.map`, has only the first of them, because it takes one example after another. Here
# ``logistic_loss`` is our loss:
from jaxcap.kernels import batching
from jaxcap.report.source import Source

Source(batching.logistic_losses_in_turn)

# %%
# ``vmap`` and batching by hand ask for the same operations, so XLA should make much the same program
# of both. Will the time of the compiled loop be closer to theirs, or to that of the Python loop? Each
# example now has 64 features:
from jaxcap.experiments import batching as rivals
from jaxcap.report import figures

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

# sphinx_gallery_thumbnail_number = 1

# %%
from jaxcap.report.claims import claim, speedup_of

vmap_pays = claim(
    "mapping a thousand losses is faster than a loop of compiled calls",
    results,
    speedup_of(rivals.VMAP, over=rivals.LOOP, batch=1000),
)
vmap_pays

# %%
# With a thousand examples, the compiled loop was :measured:`to_compiled than the Python loop`, which
# makes a call for each example. ``vmap`` was :measured:`to_batched than the compiled loop`, which
# takes the examples one by one. So at this size, :measured:`matters_more` matters more. And ``vmap``
# was :measured:`against_hand than batching by hand`.
#
# The size of the batch matters, too: with a hundred examples, ``vmap`` was
# :measured:`to_batched_hundred than the compiled loop`. When somebody tells you how much ``vmap``
# gains, ask what it was compared with, and for how many examples.
#
# Name the axis of each argument
# ------------------------------
# ``in_axes`` has an entry for each argument: the number of the axis to map, or ``None``. The result
# is as if the function had been called for each example, with these parts of the arguments:
_ = figures.mapped_axes(
    {
        "weights": (weights.shape, None),
        "features": (features.shape, 0),
        "labels": (labels.shape, 0),
    }
)

# %%
# If the examples were the columns of ``features``, their axis would be number 1. In the result, the
# mapped axis comes first, unless ``out_axes`` names another place.
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
# The message names the argument that doesn't fit. Worse are mistakes without a message, such as these
# three. The first maps the weights again, for as many examples as there are features, and the second
# forgets to map the labels. The third is meant to add up each example's features, but maps the wrong
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
# - Look at the shape of the result, which gives away the other two.
#
# Mapped twice, a distance becomes a table
# ----------------------------------------
# With two axes to map, batching by hand becomes harder to read. Here is the distance between two
# points, and below it that of all pairs, batched by hand:
Source(batching.distance, batching.distances)

# %%
# Axes of length 1 let broadcasting pair every point with every other. With ``vmap``, you map the first
# function twice instead: the inner map goes through the points of ``b``, the outer one through those
# of ``a``.
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
# With a ``batch_size``, :func:`jax.lax.map` cuts the batch into pieces, and maps one piece after
# another as ``vmap`` does. How much memory for temporary arrays does XLA plan for two thousand places?
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
# of it a twentieth of that.
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

# %%
# ``vmap`` replaces a loop over examples, and the batching that you would otherwise do by hand. So
# write functions for one example, map them, and put ``jit`` around the whole. Mark what all examples
# share with ``None``, test on a batch whose size differs from all other lengths, and look at the shape
# of the result.
#
# For a thousand losses, ``vmap`` was :measured:`speedup than a loop of compiled calls` and
# :measured:`against_hand than batching by hand`. If the whole batch doesn't fit into memory,
# :func:`jax.lax.map` with a ``batch_size`` takes it in pieces.
#
# Next: with ``vmap`` around ``grad``, you can see
# :doc:`which examples pull too hard </tutorials/transformations/example_gradients>`.
