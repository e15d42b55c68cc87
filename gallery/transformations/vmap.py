"""
What does vmap replace?
=======================

:func:`jax.vmap` takes a function of one example and returns a function of a whole batch, so that
you can forget about batches while you write. What does it replace: a loop, or the batching that you
would otherwise do by hand? And does the convenience cost anything? This page shows how to say what
is batched, what happens if you get that wrong, and what mapping costs.
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
# product of a matrix and a vector, so its factors have to trade places. The second line works on a
# batch as it is, because it acts number by number:
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
# You might suspect a loop in there, but there is none. ``vmap`` runs the function once, with
# stand-ins for its arguments, and replaces each operation according to a rule that says what
# becomes of it when an argument gets one more axis. For the product of two vectors, the rule gives
# the product of a matrix and a vector, which is what we wrote by hand:
score = jax.vmap(jnp.dot, in_axes=(None, 0))
print(jax.make_jaxpr(jnp.dot)(weights, features[0]))
print(jax.make_jaxpr(score)(weights, features))

# %%
# A wrong axis fails, unless its length fits
# ------------------------------------------
# ``in_axes`` has an entry for each argument: the number of the axis to map, or ``None``. The result
# is as if the function had been called for each example. What would each call get?
from jaxcap.report import figures

_ = figures.mapped_axes(
    {
        "weights": (weights.shape, None),
        "features": (features.shape, 0),
        "labels": (labels.shape, 0),
    }
)

# %%
# If you leave ``in_axes`` out, every argument is mapped along axis 0. Here that includes the
# weights, whose axis has another length:
from textwrap import fill


def show_error(call, *args):
    try:
        call(*args)
    except ValueError as error:
        for line in str(error).splitlines():
            print(fill(line, subsequent_indent="    "))


show_error(jax.vmap(loss), weights, features, labels)

# %%
# The message names the argument that doesn't fit. Now suppose that the examples are stored as
# columns. The axis to map is then number 1, so asking for axis 0 fails:
columns = features.T
show_error(jax.vmap(loss, (None, 0, 0)), weights, columns, labels)

# %%
jax.vmap(loss, (None, 1, 0))(weights, columns, labels)

# %%
# Worse is a mistake without a message. If there happen to be as many examples as features, all
# lengths agree. Map the weights by mistake, and each example gets a single weight, but everything
# runs:
square = features[:4]
mistaken = jax.vmap(loss)(weights, square, labels[:4])
meant = jax.vmap(loss, (None, 0, 0))(weights, square, labels[:4])
print(mistaken.shape, meant.shape)


# %%
# Here the shape of the result gives the mistake away, but that isn't always so. If you mapped axis
# 1 of these square features, you would get four losses, as you should, and all of them wrong. So
# try each new ``vmap`` on a batch whose size differs from all other lengths. A wrong axis then
# raises an error. And mind keyword arguments: whatever ``in_axes`` says, they are mapped along
# their axis 0.
#
# If an argument is a dictionary or a list of arrays, its entry in ``in_axes`` may be a dictionary
# or a list as well, with an axis for each array. Some of the arrays can then be mapped while others
# are shared. Here, three models differ in their weights and have the same offset:
def score_of(params, features):
    return jnp.dot(params["weights"], features) + params["offset"]


three = jnp.stack([weights, -weights, 0 * weights])
models = {"weights": three, "offset": 1.0}
axes = {"weights": 0, "offset": None}
jax.vmap(score_of, in_axes=(axes, None))(models, features[0])

# %%
# The mapped axis goes where you want it
# --------------------------------------
# ``out_axes`` says where the mapped axis appears in the result. It comes first unless you ask for
# another place:
gradients = jax.vmap(jax.grad(loss), (None, 0, 0), out_axes=1)
print(jax.eval_shape(gradients, weights, features, labels).shape)


# %%
# A named axis lets examples meet
# -------------------------------
# So far, no example knew of the others. But suppose that you want to subtract the mean of the batch
# from each. Then give the mapped axis a name, and :func:`jax.lax.pmean` takes the mean over all
# examples, as :func:`jax.lax.psum` takes their sum:
def centred(number):
    return number - jax.lax.pmean(number, "examples")


jax.vmap(centred, axis_name="examples")(jnp.array([1.0, 2.0, 6.0]))

# %%
# ``centred`` is still a function of one number. These names aren't only for ``vmap``:
# :doc:`the page on messages </tutorials/applications/messages>` uses them for sums over devices.
#
# Mapped twice, a distance becomes a table
# ----------------------------------------
# When two axes have to be mapped, batching by hand turns into a puzzle of broadcasting. Take the
# distance between two points, as a function of one pair and batched by hand:
from jaxcap.kernels import batching
from jaxcap.report.source import Source

Source(batching.distance, batching.distances)

# %%
# The second function computes the same for all pairs, but you have to decode it. With ``vmap``, you
# map the first function twice instead: the inner map goes through the points of ``b``, and the
# outer map through those of ``a``.
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
# the other. How much memory for temporary arrays does XLA plan for two thousand places?
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
# A table of two thousand by two thousand numbers takes 16 million bytes, and each piece of it a
# twentieth of that. Choose pieces that fit into memory but are still large enough to keep the
# device busy.
#
# How much faster, and than what?
# -------------------------------
# Now for the clock. Each example now has 64 features, the batches grow, and all four ways are
# compiled by ``jit``. The Python loop calls ``jit(loss)`` for each example. ``jit(vmap(loss))`` has
# two advantages over that loop: it makes a single call, and each of its operations takes the whole
# batch. Which of them matters more? To find out, we add a *compiled loop*: :func:`jax.lax.map`
# makes a single call, too, but still takes one example after another. Batching by hand is the
# fourth:
Source(batching.logistic_losses_in_turn)

# %%
# Do all four agree? Here is each one's largest difference from batching by hand:
from jaxcap.experiments import batching as rivals

calls = rivals.prepare(batch=1000)
expected = calls[rivals.BY_HAND]()
for name, call in calls.items():
    print(f"{name:14} {abs(np.asarray(call()) - expected).max():.1e}")

# %%
# What do you expect? The Python loop pays for a call in each iteration, so its time should grow
# with the batch from the start, while the compiled loop makes a single call. ``vmap`` and batching
# by hand ask for the same operations, so XLA should make much the same program of both. Its time
# should hardly grow until the batch is large enough to keep the device busy:
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
thousand = losses.select(batch=1000)
to_compiled = thousand.speedup(rivals.COMPILED_LOOP, over=rivals.LOOP)
to_batched = thousand.speedup(rivals.VMAP, over=rivals.COMPILED_LOOP)
against_hand = thousand.speedup(rivals.VMAP, over=rivals.BY_HAND)
is_calls = to_compiled.value > to_batched.value
matters_more = "making a single call" if is_calls else "taking whole arrays"

# %%
from jaxcap.report.claims import claim, speedup_of

vmap_pays = claim(
    "mapping a thousand losses is faster than a loop of compiled calls",
    results,
    speedup_of(rivals.VMAP, over=rivals.LOOP, batch=1000),
)
vmap_pays

# %%
# With a thousand examples, :measured:`matters_more` matters more. The compiled loop was
# :measured:`to_compiled than the Python loop`, and what separates these two loops is calls.
# ``vmap`` was :measured:`to_batched than the compiled loop`, and
# :measured:`against_hand than batching by hand`. (Each ratio is the median of ratios within rounds,
# so their product needn't be exact.) So when somebody tells you how much faster ``vmap`` is, ask:
# faster than what?
#
# Takeaway
# --------
speedup = vmap_pays.estimate

# %%
# ``vmap`` replaces a loop over examples, and the batching that you would otherwise do by hand. So
# write functions for one example, map them with ``vmap``, and put ``jit`` around the whole. Mark
# what all examples share with ``None``, and test on a batch whose size differs from all other
# lengths, so that a wrong axis can't pass.
#
# For a thousand losses on this page's device, ``vmap`` was
# :measured:`speedup than a loop of compiled calls` and
# :measured:`against_hand than batching by hand`. If the whole batch doesn't fit into memory,
# :func:`jax.lax.map` with a ``batch_size`` takes it in pieces.
#
# Next: ``vmap`` does what ``grad`` alone can't, and shows
# :doc:`which examples pull too hard </tutorials/transformations/example_gradients>`.
