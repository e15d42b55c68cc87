"""
Random numbers
==============

NumPy keeps the state of its generator where nobody sees it. JAX has no such state: a random number
is a function of a *key*. After this page you will know how to make keys, why each may be used only
once, how to hand them out without a name for each, and which mistakes in doing so are silent.
"""

# %%
# Hidden state
# ------------
# Here are two functions that return a random number each, and two ways to write a sum of them. A
# sum doesn't depend on the order of its terms:
import numpy as np


def bar():
    return np.random.uniform()


def baz():
    return np.random.uniform()


# %%
np.random.seed(0)
bar_first = bar() + 2 * baz()

np.random.seed(0)
baz_first = 2 * baz() + bar()

print(bar_first, baz_first)

# %%
# This one does. Each call takes the next number of a sequence that all share, so whichever function
# runs first gets the first number. NumPy's newer :func:`numpy.random.default_rng` makes the sequence
# an object that you can see, but it is still the order of calls that decides.
#
# JAX has to be free to reorder calls, or to run them at the same time on two devices. Then such a
# program has no defined result.
#
# Keys
# ----
# In JAX the caller brings the randomness along, as a key. It is made from a seed:
import jax

key = jax.random.key(0)
key

# %%
# A key is an array whose type says what it is for. The functions of :mod:`jax.random` take one, and
# what they return depends on nothing else. The same key gives the same number, as often as you ask:
again = jax.random.key(1)
print(jax.random.uniform(again), jax.random.uniform(again))

# %%
# For another number take another key. :func:`jax.random.split` makes as many new keys from one as
# you like. By convention one of them replaces the old key, which must not be used again.
key, first, second = jax.random.split(key, 3)
print(jax.random.uniform(first), jax.random.uniform(second))

# %%
# Now the order of the calls doesn't matter, since no call leaves anything behind:


def foo1(key1, key2):
    return jax.random.uniform(key1) + 2 * jax.random.uniform(key2)


def foo2(key1, key2):
    return 2 * jax.random.uniform(key2) + jax.random.uniform(key1)


print(foo1(first, second), foo2(first, second))

# %%
# Same seed, other numbers
# ------------------------
# The exercise that this example comes from expects another value. It was written before JAX 0.5,
# which changed a default. The setting is called ``jax_threefry_partitionable``, and both can be run:
from jaxcap.results.tables import Table


def both_orders(partitionable):
    with jax.threefry_partitionable(partitionable):
        _, first, second = jax.random.split(jax.random.key(0), 3)
        return float(foo1(first, second)), float(foo2(first, second))


since_0_5, before_0_5 = both_orders(True), both_orders(False)
rows = [
    ("True, since JAX 0.5", *(f"{value:.7f}" for value in since_0_5)),
    ("False, before", *(f"{value:.7f}" for value in before_0_5)),
]
Table("One seed, two settings", ("partitionable", "foo1", "foo2"), rows)

# %%
# Either way one value, whichever function goes first; but not the same one. To see what changed,
# ask for two, four and six numbers, and look at the first of them:


def first_number(count, partitionable):
    with jax.threefry_partitionable(partitionable):
        return float(jax.random.uniform(jax.random.key(0), (count,))[0])


rows = [
    (name, *(f"{first_number(count, setting):.7f}" for count in (2, 4, 6)))
    for name, setting in (("True", True), ("False", False))
]
Table("First number", ("partitionable", "of 2", "of 4", "of 6"), rows)

# %%
# JAX's generator, Threefry, scrambles a counter with the key. Before, it scrambled the counters of
# an array in pairs, the first half with the second, and so a number depended on the length of the
# array that it was in. No device could fill its part of an array without work on another's. Now a
# number depends on its own place alone, each device can fill its part by itself, and that is what
# *partitionable* means. The same holds for the keys that ``split`` makes. JAX's documentation has
# more on it under :mod:`jax.random` and in the `announcement of the change
# <https://github.com/jax-ml/jax/discussions/18480>`_.
#
# So a seed alone doesn't reproduce a number. Note the version of JAX and its settings as well.
#
# A key for each step
# -------------------
# :func:`jax.random.fold_in` makes a new key from a key and a number. In a loop, nothing needs to be
# carried from step to step, and any step can be repeated without those before it:
key, loop_key = jax.random.split(key)
for step in range(3):
    step_key = jax.random.fold_in(loop_key, step)
    print(step, jax.random.uniform(step_key))

# %%
# A key used twice is a bug
# -------------------------
# And a quiet one. Three pairs of samples: from one key, from one key by different functions, and
# from two keys.
import matplotlib.pyplot as plt

x_key, y_key = jax.random.split(key)
x = jax.random.normal(x_key, (500,))
samples = {
    "one key": jax.random.normal(x_key, (500,)),
    "one key, two functions": jax.random.uniform(x_key, (500,)),
    "two keys": jax.random.normal(y_key, (500,)),
}
_, axes = plt.subplots(1, 3, figsize=(7, 2.9))
for ax, (title, y) in zip(axes, samples.items(), strict=True):
    ax.scatter(x, y, s=4)
    ax.set_title(title)
    ax.set_xlabel("x")
_ = axes[0].set_ylabel("y")

# %%
# Only on the right is *y* random when *x* is known. Each sample by itself looks as it should, in
# all three. It shows when two are combined. The sum of two independent standard normal numbers has a
# standard deviation of √2:
for title in ("one key", "two keys"):
    print(f"{title:8} {(x + samples[title]).std():.3f}")

# %%
# JAX can look for this mistake. The `check
# <https://docs.jax.dev/en/latest/jax.experimental.key_reuse.html>`_ is experimental and off by
# default. Switch it on in your tests:
with jax.debug_key_reuse(True):
    try:
        jax.random.normal(x_key) + jax.random.normal(x_key)
    except jax.errors.KeyReuseError as error:
        print(str(error).splitlines()[0])

# %%
# Without a name for each
# -----------------------
# Splitting by hand needs a new name for each key, and the old ones stay in reach. This program has
# the bug, and it is hard to see:
key = jax.random.key(42)
key, key1 = jax.random.split(key)
weights = jax.random.normal(key1, (3,))
key, key2 = jax.random.split(key)
biases = jax.random.normal(key1, (3,))
print("all equal:", bool((weights == biases).all()))

# %%
# A :class:`~jaxcap.prng.KeyStream` has no names to mix up. It hands out each key once:
from jaxcap.prng import KeyStream

stream = KeyStream(42)
weights = jax.random.normal(next(stream), (3,))
biases = jax.random.normal(next(stream), (3,))
print("all equal:", bool((weights == biases).all()))
stream

# %%
# It is nothing but a counter that is folded into the key of the seed. ``stream(n)`` hands out
# several keys in one array, for instance to map over:
jax.vmap(jax.random.uniform)(stream(4))

# %%
# With one stream, the order of draws matters again. ``fork`` limits that: it makes an independent
# stream for a part of a program, which depends on the seed and a name, and not on what was drawn.
before = next(KeyStream(42).fork("data"))
stream(10)
after = next(stream.fork("data"))
print("the same key:", bool(before == after))

# %%
# A stream can be pickled, or kept with a checkpoint as plain numbers and strings:
import json

saved = json.dumps(stream.state)
restored = KeyStream.from_state(json.loads(saved))
print(saved)
print("goes on alike:", bool(next(restored) == next(stream)))

# %%
# A stream inside jit
# -------------------
# Such a helper has state, and :func:`jax.jit` is for functions without. This is the class that many
# programs have, in a function that is compiled. One would expect a new number in each line:


class Provider:
    def __init__(self, seed):
        self.key = jax.random.key(seed)

    def get(self):
        self.key, key = jax.random.split(self.key)
        return key


provider = Provider(0)
noisy = jax.jit(lambda x: x + jax.random.normal(provider.get()))
for call in range(3):
    print(call, noisy(0.0))

# %%
# The Python code ran once, when JAX traced the function. What it drew became part of the compiled
# program. The provider is broken as well: the key that it holds now is one of the stand-ins that
# JAX traced with, and the next use fails, perhaps far away from the cause.
try:
    provider.get()
except jax.errors.UnexpectedTracerError as error:
    print(str(error).split(". ")[0])

# %%
# ``KeyStream`` notices, refuses, and stays as it was:
import textwrap

from jaxcap.prng import TracedDrawError

stream = KeyStream(7)
try:
    jax.jit(lambda x: x + jax.random.normal(next(stream)))(0.0)
except TracedDrawError as error:
    print(textwrap.fill(str(error), 72))
stream

# %%
# It does so under :func:`jax.vmap` too, where one key would serve all rows, and under
# :func:`jax.grad`, so that nothing changes when the gradient is compiled. As the message says: draw
# outside, and pass the key in.
noisy = jax.jit(lambda key, x: x + jax.random.normal(key))
for call in range(3):
    print(call, noisy(next(stream), 0.0))

# %%
# What keys cost
# --------------
# A split is a call to JAX, and taking its result apart is two more. A draw from a stream is one.
# Either is dispatched from Python for each key, whereas a batch of keys is dispatched once. So
# expect the ways that make all keys at once to pull away with the number of keys. They return an
# array of keys, to be used whole, under :func:`jax.vmap` for instance: taking it apart would cost a
# call for each key again.
from jaxcap.experiments.keys import KEYS, NEXT_EACH, SPLIT_BATCH, SPLIT_EACH

results = KEYS.run(budget_s=0.03)
results

# %%
results.speedups(over=SPLIT_EACH)

# %%
from jaxcap.report import figures

_ = figures.bars(results.select(keys=100), title="A hundred random keys")

# %%
from jaxcap.report.claims import claim, speedup_of

stream_pays = claim(
    "drawing a hundred keys from a stream is faster than splitting them "
    "one by one",
    results,
    speedup_of(NEXT_EACH, over=SPLIT_EACH, keys=100),
)
stream_pays

# %%
batch_pays = claim(
    "one split into a hundred keys is faster than a hundred splits",
    results,
    speedup_of(SPLIT_BATCH, over=SPLIT_EACH, keys=100),
)
batch_pays

# %%
# Takeaway
# --------
drawn, batch = stream_pays.estimate, batch_pays.estimate

# %%
# Give each use of randomness a key of its own: split, or fold in a number, or draw from a stream;
# and pass keys into compiled functions as arguments. Make keys in one batch where you know how many
# you need. Compared with splitting a hundred keys one by one, drawing them from a stream came out
# :measured:`drawn`, and a single split into all of them :measured:`batch`. A difference matters only
# where little else happens in a step. Where a step takes long, choose by what is easiest to get
# right.
#
# JAX's own pages on the subject: :mod:`jax.random`, and `why it is designed as it is
# <https://docs.jax.dev/en/latest/jep/263-prng.html>`_.
#
# Next: :doc:`what jit buys </tutorials/transformations/jit>`.
