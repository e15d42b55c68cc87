"""
Who should hand out the keys?
=============================

Splitting keys by hand is tedious to write and to read, so many programs let an object hand them
out. `Such a class <https://github.com/dostuffthatmatters/jax-capability-analysis>`__ is easy to
write, and looks harmless. But used inside a compiled function, it can hand out the same key in every
call without an error. This page shows why, tries two generators without that fault, and measures
what a hundred keys cost.
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
# The provider itself is now broken, too. While JAX traced, ``get`` stored a *tracer*, a stand-in
# for a key that is useless once the record is made. The error comes when the provider is used
# again, perhaps in another part of the program:
try:
    provider.get()
except jax.errors.UnexpectedTracerError as error:
    print(str(error).split(". ")[0])

# %%
# A key that is an argument can't freeze
# --------------------------------------
# What changes from call to call has to be an argument. So split outside of the compiled function,
# and pass a new key into each call:
noisy = jax.jit(lambda key, x: x + jax.random.normal(key))
for noise_key in jax.random.split(jax.random.key(1), 3):
    print(noisy(noise_key, 0.0))

# %%
# Two generators that don't freeze
# --------------------------------
# To keep the convenience of a generator, you can let JAX see its state. JAX's own ``stateful_rng``,
# which is `experimental <https://docs.jax.dev/en/latest/jep/28845-stateful-rng.html>`__, keeps a
# counter in a *ref* (:func:`jax.new_ref`), an array that a compiled function can change. So the
# counter advances in each call:
from jax.experimental.random import stateful_rng

rng = stateful_rng(2)
noisy = jax.jit(lambda x: x + rng.normal())
for call in range(3):
    print(call, noisy(0.0))

# %%
# Such a generator has `limits
# <https://docs.jax.dev/en/latest/_autosummary/jax.experimental.random.stateful_rng.html>`__. The rows
# of a batch can't share one under :func:`jax.vmap`, so you pass in ``rng.split(n)``, a generator for
# each row. And a function that draws from one can't be differentiated: have it take a key, and pass
# it ``rng.key()``.
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
# What do a hundred keys cost?
# ----------------------------
# Suppose that you need a hundred keys. You can split a hundred times, or draw a hundred times from
# a stream. Or you can ask for all keys at once, with ``split(key, 100)`` or ``stream(100)``, and
# get an array of keys, over which you can map with :func:`jax.vmap`.
#
# There is little to compute for a key, but each call of JAX :doc:`takes a while to start
# </tutorials/performance/dispatch_overhead>`. A hundred keys at once take a single call. What
# difference do you expect?
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
split_each_s = results.only(ways.SPLIT_EACH, keys=100).time.value
apiece = f"{1e6 * split_each_s / 100:.0f} µs"
batch_pays

# %%
# The number of calls isn't the whole price. Unless you compile them, splitting a key and taking the
# pair apart both spend time in JAX's Python code, while a stream calls a function that is compiled
# already. So the bars don't tell you whether splits or streams are faster, because a split gains
# from compiling, too.
#
# Split one by one, a key took :measured:`apiece`. Such a price matters in a loop that does little
# but draw. Elsewhere, choose the way that is easiest to get right.
#
# Takeaway
# --------
batch = batch_pays.estimate

# %%
# Hand a compiled function its key as an argument. A key from anywhere else may become a constant of
# the compiled program, and then the noise freezes. A generator doesn't freeze if it keeps its counter
# where JAX sees it change, as ``stateful_rng`` does, or if it refuses to draw while JAX traces, as
# ``KeyStream`` does. If you know how many keys you need, ask for all of them at once: one split
# into a hundred was :measured:`batch than a hundred splits`.
#
# Try it yourself in :doc:`the second exercise </exercises/2_random_numbers>`. Next:
# :doc:`what jit buys </tutorials/transformations/jit>`.
