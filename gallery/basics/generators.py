"""
Who should hand out the keys?
=============================

Splitting keys by hand is tedious, so many programs leave it to a *generator*: an object that holds
a key, and hands out a new one when asked. That is convenient, but inside a compiled function, a
generator may hand out the same key in every call, and no error says so. This page shows why, looks
at two generators without that fault, one of JAX's and one of this site's, and measures what keys
cost.
"""

# %%
# A generator may freeze inside jit
# ---------------------------------
# Many programs have a class like this one:
import jax


class Provider:
    def __init__(self, seed):
        self.key = jax.random.key(seed)

    def get(self):
        self.key, key = jax.random.split(self.key)
        return key


# %%
# The provider works until you use it inside a compiled function. What do you expect from three
# calls?
provider = Provider(0)
noisy = jax.jit(lambda x: x + jax.random.normal(provider.get()))
for call in range(3):
    print(call, noisy(0.0))

# %%
# The noise is frozen. :func:`jax.jit` ran the Python code only once, at the first call, to record
# what it does to its arguments. The key that the provider held wasn't an argument, so it became a
# constant of the compiled program, and each call splits that same key. Worse, the provider is
# broken: it now holds one of the stand-ins with which JAX made its record, and fails when it is
# used next, perhaps far away from the cause:
try:
    provider.get()
except jax.errors.UnexpectedTracerError as error:
    print(str(error).split(". ")[0])

# %%
# The cure is to make the key an argument. Split outside, and pass a new key into each call:
noisy = jax.jit(lambda key, x: x + jax.random.normal(key))
for noise_key in jax.random.split(jax.random.key(1), 3):
    print(noisy(noise_key, 0.0))

# %%
# Two generators that don't freeze
# --------------------------------
# Here are two generators that avoid the problem, in opposite ways. JAX's own ``stateful_rng``, which
# is `experimental
# <https://docs.jax.dev/en/latest/jep/28845-stateful-rng.html>`_, keeps its counter in a mutable
# array, a *ref* (:func:`jax.new_ref`). JAX can trace what happens to a ref, so the counter advances
# even inside a compiled function:
from jax.experimental.random import stateful_rng

rng = stateful_rng(2)
noisy = jax.jit(lambda x: x + rng.normal())
for call in range(3):
    print(call, noisy(0.0))

# %%
# Two transformations need care. Under :func:`jax.vmap`, the rows of a batch can't share a generator,
# so pass in ``rng.split(n)``, a generator for each. Under :func:`jax.grad`, a generator from outside
# can't draw in JAX 0.10, so pass in a key from ``rng.key()``.
#
# This site's :class:`~jaxcap.tools.prng.KeyStream` goes the other way: it hands out keys, by folding
# a counter into the key of its seed, and refuses to do so while JAX traces:
from textwrap import fill

from jaxcap.tools.prng import KeyStream, TracedDrawError

stream = KeyStream(42)
weights = jax.random.normal(next(stream), (3,))
try:
    jax.jit(lambda: jax.random.normal(next(stream)))()
except TracedDrawError as error:
    print(fill(str(error), 70))

# %%
# What do a hundred keys cost?
# ----------------------------
# Suppose you need a hundred keys. You can split a hundred times, or draw a hundred times from a
# stream. Or you can make all of them in one call, with ``split(key, 100)`` or ``stream(100)``,
# which return an array of keys to map over with :func:`jax.vmap`. Which of these four ways will be
# fast?
#
# Count the calls to JAX. For each key, ``key, subkey = split(key)`` takes two: the split, and the
# unpacking of its result into two keys. ``next(stream)`` takes one, a compiled ``fold_in``. A batch
# takes one in all, however many keys it has. If only calls took time, a stream would need half of
# splitting's time, and a batch of a hundred keys a two-hundredth of it.
from jaxcap.experiments import keys as ways

from jaxcap.report import figures

results = ways.KEYS.run(budget_s=0.03)
_ = figures.bars(
    results.select(keys=100),
    over=ways.SPLIT_EACH,
    about=ways.SPLIT_BATCH,
    title="A hundred random keys",
)

# sphinx_gallery_thumbnail_number = 1

# %%
results.speedups(over=ways.SPLIT_EACH)

# %%
# The count predicts factors of two and two hundred. For a hundred keys, the stream was
# :measured:`drawn than splitting one by one`, and one split into all was
# :measured:`batch than a hundred splits`. First, the keys that are made one by one:
from jaxcap.report.claims import claim, speedup_of

stream_pays = claim(
    "drawing a hundred keys from a stream is faster than splitting them "
    "one by one",
    results,
    speedup_of(ways.NEXT_EACH, over=ways.SPLIT_EACH, keys=100),
)
stream_pays

# %%
# Then all keys at once:
batch_pays = claim(
    "one split into a hundred keys is faster than a hundred splits",
    results,
    speedup_of(ways.SPLIT_BATCH, over=ways.SPLIT_EACH, keys=100),
)
batch_pays

# %%
# The count takes all calls to be equally expensive, and they aren't. The stream's calls are
# compiled as a whole, while :func:`jax.random.split` runs some Python code first. And on a CPU, JAX
# :doc:`hands larger computations to another thread
# </tutorials/transformations/asynchronous_dispatch>`, which can take longer than making the keys.
# It goes by the floating-point operations that XLA counts. When we read the source, the border was
# at a thousand:
from functools import partial

for count in (2, 100):
    split = jax.jit(partial(jax.random.split, num=count))
    cost = split.lower(jax.random.key(0)).compile().cost_analysis()
    print(f"{count} keys: {cost.get('flops', 0):,.0f} operations")

# %%
# So a CPU may hand over a split into a hundred keys, and does a split into two at once. But the
# price of keys matters only in a loop whose steps do little else. Otherwise, choose the way that is
# easiest to get right.
#
# Takeaway
# --------
drawn, batch = stream_pays.estimate, batch_pays.estimate

# %%
# Hand a compiled function its key as an argument. If the function gets a key anywhere else, JAX may
# make that key a constant, and then the noise freezes. A generator is convenient, and safe if it
# refuses to draw while JAX traces, or keeps its counter where JAX can see it. If you know how many
# keys you need, ask for all of them at once: one split into a hundred was
# :measured:`batch than a hundred splits`.
#
# Try it yourself in :doc:`the second exercise </exercises/2_random_numbers>`. Next:
# :doc:`what jit buys </tutorials/transformations/jit>`.
