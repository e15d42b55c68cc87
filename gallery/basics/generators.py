"""
Who should hand out the keys?
=============================

Splitting keys by hand is tedious to write and to read, so many programs let an object hand them
out. `Such an object <https://github.com/dostuffthatmatters/jax-capability-analysis>`__ looks
harmless. But inside a compiled function, it can hand out the same key in every call, without an
error. This page shows why, and where your keys should come from instead.
"""

# %%
# A generator may freeze inside jit
# ---------------------------------
# This class holds a key, and splits off another whenever it is asked:
import jax


class Provider:
    def __init__(self, seed):
        self.key = jax.random.key(seed)

    def get(self):
        self.key, key = jax.random.split(self.key)
        return key


# %%
# Use the provider inside a compiled function, which adds noise to its argument. What do you expect
# from three calls?
provider = Provider(0)
noisy = jax.jit(lambda x: x + jax.random.normal(provider.get()))
for call in range(3):
    print(call, noisy(0.0))

# %%
# The noise is frozen. :func:`jax.jit` ran the Python code only once, in the first call, to record
# what it does to ``x``, which is called *tracing*. The provider's key wasn't an argument, so it
# became a constant of the compiled program, and each call splits the same key.
#
# The provider is now broken, too. While JAX traced, ``get`` stored a *tracer*, which stands in for the
# next key and can't be used after tracing. So there is an error after all, but only when the provider
# is used again, perhaps in another part of the program:
try:
    provider.get()
except jax.errors.UnexpectedTracerError as error:
    print(str(error).split(". ")[0])

# %%
# A key that is an argument can't freeze
# --------------------------------------
# What changes from call to call should be an argument. So split outside of the compiled function,
# and pass a new key into each call:
noisy = jax.jit(lambda key, x: x + jax.random.normal(key))
for noise_key in jax.random.split(jax.random.key(1), 3):
    print(noisy(noise_key, 0.0))

# %%
# Ask for all your keys at once
# -----------------------------
# The loop above took its three keys from a single split. It could as well have split off a new key
# before each call, as ``Provider`` does. There is little to compute for a key, but each call of JAX
# :doc:`takes a while to start </tutorials/performance/dispatch_overhead>`. So for a hundred keys, what
# difference do you expect between a hundred splits and one?
from jaxcap.experiments import keys as ways

from jaxcap.report import figures

results = ways.KEYS.run(budget_s=0.03)
splits = ways.SPLIT_EACH, ways.SPLIT_BATCH
of_a_hundred = results.select(keys=100)
_ = figures.bars(
    results.subset(r for r in of_a_hundred if r.variant in splits),
    title="A hundred random keys",
)

# sphinx_gallery_thumbnail_number = 1

# %%
from jaxcap.report.claims import claim, speedup_of

batch_pays = claim(
    "one split into a hundred keys is faster than a hundred splits",
    results,
    speedup_of(ways.SPLIT_BATCH, over=ways.SPLIT_EACH, keys=100),
)
split_each_s = results.only(ways.SPLIT_EACH, keys=100).time.value
apiece = f"{1e6 * split_each_s / 100:.0f} µs"
batch_pays

# %%
# Split one by one, a key took :measured:`apiece`. So if you know how many keys you need, make them in
# one call. You get an array, and taking the keys out one by one costs time again, so if you can, map
# over it with :func:`jax.vmap`.
#
# Two generators that don't freeze
# --------------------------------
# If you want the convenience of a generator all the same, use one whose state JAX can see. JAX's own
# ``stateful_rng``, which is `experimental
# <https://docs.jax.dev/en/latest/jep/28845-stateful-rng.html>`__, keeps a counter in a *ref*
# (:func:`jax.new_ref`), a kind of array that compiled programs can change. So the counter advances in
# each call:
from jax.experimental.random import stateful_rng

rng = stateful_rng(2)
noisy = jax.jit(lambda x: x + rng.normal())
for call in range(3):
    print(call, noisy(0.0))

# %%
# A function that draws from ``rng`` can't be mapped by :func:`jax.vmap` or differentiated by
# :func:`jax.grad`: both raise an error. To map it, `pass in a generator for
# each row <https://docs.jax.dev/en/latest/_autosummary/jax.experimental.random.stateful_rng.html>`__ of
# the batch, ``rng.split(n)``. To differentiate it, pass in a key, ``rng.key()``.
#
# This site's :class:`~jaxcap.tools.prng.KeyStream` stays out of compiled functions altogether. It
# makes keys by folding a counter into the key of its seed, and raises an error if you ask for one
# while JAX traces. The end of the message says what to do:
from textwrap import fill

from jaxcap.tools.prng import KeyStream, TracedDrawError

stream = KeyStream(42)
weights = jax.random.normal(next(stream), (3,))
try:
    jax.jit(lambda: jax.random.normal(next(stream)))()
except TracedDrawError as error:
    print(fill(str(error).split(". ")[1], 70))

# %%
# Takeaway
# --------
batch = batch_pays.estimate

# %%
# Hand a compiled function its key as an argument, because a key that Python code fetches while JAX
# traces may become a constant of the compiled program. If you know how many keys you need, ask for
# all of them at once: one split into a hundred was :measured:`batch than a hundred splits`. If you
# prefer a generator, take one that JAX knows, ``stateful_rng``, or one that refuses to draw while JAX
# traces, ``KeyStream``.
#
# Try it yourself in :doc:`the second exercise </exercises/2_random_numbers>`. Next:
# :doc:`what jit buys </tutorials/transformations/jit>`.
