"""
Who should hand out the keys?
=============================

Splitting keys by hand is tedious to write and to read, so many programs let an object hand them
out. `Such an object <https://github.com/dostuffthatmatters/jax-capability-analysis>`__ looks
harmless. But inside a compiled function, it can hand out the same key in every call, without an
error. This page shows why, how to have the convenience all the same, and what a hundred keys cost.
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
# The trouble came from asking inside, so we ask a new provider outside, and pass each key in as an
# argument:
provider = Provider(0)
noisy = jax.jit(lambda key, x: x + jax.random.normal(key))
for call in range(3):
    print(call, noisy(provider.get(), 0.0))

# %%
# That works as long as nobody asks inside again, and a generator can refuse to answer there. This site's
# :class:`~jaxcap.tools.prng.KeyStream` folds a counter into the key of its seed, and raises an error if
# you ask it for a key while JAX traces. The end of the message says what to do:
from textwrap import fill

from jaxcap.tools.prng import KeyStream, TracedDrawError

stream = KeyStream(42)
print(noisy(next(stream), 0.0))
try:
    jax.jit(lambda x: x + jax.random.normal(next(stream)))(0.0)
except TracedDrawError as error:
    print(fill(str(error).split(". ")[1], 70))

# %%
# If you would rather draw inside, JAX itself has an `experimental generator
# <https://docs.jax.dev/en/latest/jep/28845-stateful-rng.html>`__, ``stateful_rng``. It keeps a
# counter in a :func:`ref <jax.new_ref>`, an array that compiled programs can change, so the counter
# advances in each call:
from jax.experimental.random import stateful_rng

rng = stateful_rng(2)
noisy = jax.jit(lambda x: x + rng.normal())
for call in range(3):
    print(call, noisy(0.0))

# %%
# Ask for all your keys at once
# -----------------------------
# Does the convenience cost time? We made a hundred keys by splitting one after another, and by as many
# calls of ``next(stream)``. Both can also return all hundred at once, as an array: ``split(key, 100)``
# and ``stream(100)``. Which of the four would you expect to be quickest, and by how much?
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
from jaxcap.report.claims import claim, speedup_of

batch_pays = claim(
    "one split into a hundred keys is faster than a hundred splits",
    results,
    speedup_of(ways.SPLIT_BATCH, over=ways.SPLIT_EACH, keys=100),
)
batch_pays

# %%
# A key takes little to compute, but each call of JAX :doc:`takes a while to start
# </tutorials/performance/dispatch_overhead>`. For each of its keys, the stream makes one call, and
# splitting by hand more than one, because each pair of keys has to be taken apart. All at once, you pay
# for a single call. So if you know how many keys you need, make them together. Taking them out of the
# array again costs time, too, so if you can, map over it with :func:`jax.vmap`.
#
# Takeaway
# --------
batch = batch_pays.estimate
stream_pays = results.speedup(ways.NEXT_EACH, over=ways.SPLIT_EACH, keys=100)

# %%
# Hand a compiled function its key as an argument, because a key that Python code fetches while JAX
# traces may become a constant of the compiled program. Outside, a generator can hand out the keys.
# Asked a hundred times, ``KeyStream`` was :measured:`stream_pays than splitting by hand`. And if you
# know how many keys you need, ask for all of them at once: one split into a hundred was
# :measured:`batch than a hundred splits`.
#
# Try it yourself in :doc:`the second exercise </exercises/2_random_numbers>`. Next:
# :doc:`what jit buys </tutorials/transformations/jit>`.
