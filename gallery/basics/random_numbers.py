"""
Random numbers without hidden state
===================================

In NumPy you ask for a random number and get one. In JAX you have to bring a *key*, and each key may
draw only once. Why the trouble? This page shows what keys are good for, how to make as many of them
as you need, which mistakes go unnoticed, and what keys cost.
"""

# %%
# With hidden state, the order of calls matters
# ---------------------------------------------
# Here are two functions that each return a random number:
import numpy as np


def bar():
    return np.random.uniform()


def baz():
    return np.random.uniform()


# %%
# In mathematics, the order of its terms doesn't change a sum. Does it change this one?
np.random.seed(0)
bar_first = bar() + 2 * baz()

np.random.seed(0)
baz_first = 2 * baz() + bar()

print(bar_first, baz_first)

# %%
# Here the order matters. NumPy's generator has a state, and each draw changes it, so whichever
# function is called first gets the first number of the sequence. NumPy's newer
# :func:`numpy.random.default_rng` makes that state an object that you can see and pass around, but
# it is still the order of calls that decides.
#
# JAX can't allow that. It wants to be free to reorder your calls, or to run them at the same time
# on several devices, and a program like this one would then have no defined result.
#
# With keys, the order doesn't matter
# -----------------------------------
# So in JAX, you bring the randomness along, in the form of a key, which is made from a seed:
import jax

key = jax.random.key(0)
key

# %%
# A key is an array with a type of its own. Functions of :mod:`jax.random` take one, and have no
# other source of randomness. Use the same key again, and you get the same number again:
again = jax.random.key(1)
print(jax.random.uniform(again), jax.random.uniform(again))

# %%
# For a different number you need a different key. :func:`jax.random.split` makes as many as you
# like from one. By convention, the first of them replaces the old key, which must not be used any
# more:
key, first, second = jax.random.split(key, 3)
print(jax.random.uniform(first), jax.random.uniform(second))

# %%
# Back to the sum. Each call now takes its own key and changes nothing, so the order doesn't matter:


def foo1(key1, key2):
    return jax.random.uniform(key1) + 2 * jax.random.uniform(key2)


def foo2(key1, key2):
    return 2 * jax.random.uniform(key2) + jax.random.uniform(key1)


print(foo1(first, second), foo2(first, second))

# %%
# A seed alone doesn't reproduce a number
# ---------------------------------------
# We took this example from the exercises of a course of 2023, which promise another number for the
# same seed. They are older than JAX 0.5, which changed the default of a setting called
# ``jax_threefry_partitionable``. You can still run it both ways:


def both_orders(partitionable):
    with jax.threefry_partitionable(partitionable):
        _, first, second = jax.random.split(jax.random.key(0), 3)
        return float(foo1(first, second)), float(foo2(first, second))


since_0_5 = both_orders(True)
before_0_5 = both_orders(False)
print(f"since JAX 0.5: {since_0_5[0]:.7f} and {since_0_5[1]:.7f}")
print(f"before:        {before_0_5[0]:.7f} and {before_0_5[1]:.7f}")

# %%
# Under either setting the order makes no difference, but the setting itself does. What did it
# change? Ask for two, four and six numbers from one key, and look at the first of them:


def first_number(count, partitionable):
    with jax.threefry_partitionable(partitionable):
        numbers = jax.random.uniform(jax.random.key(0), (count,))
        return float(numbers[0])


for count in (2, 4, 6):
    now, then = first_number(count, True), first_number(count, False)
    print(f"first of {count}: {now:.7f} since JAX 0.5, {then:.7f} before")

# %%
# JAX's generator is called Threefry. It makes random bits by scrambling a counter with the key.
# Before the change it took the counters of an array in pairs, one from the first half and one from
# the second, so a number depended on the length of the array it was in. That hurts when an array is
# spread over several devices: to fill its slice, a device had to compute a part of another's, or to
# be sent it. Now a number depends only on its own position, and each device can fill its part by
# itself. That is what *partitionable* means, and it holds for the keys from ``split`` as well. The
# `announcement of the change <https://github.com/jax-ml/jax/discussions/18480>`_ has more.
#
# So if others should be able to repeat your numbers, tell them the version of JAX and its settings
# beside the seed.
#
# A loop can make its keys from its counter
# -----------------------------------------
# A loop needs a new key in each step. It could split one and carry the rest along, but it has a
# counter already. :func:`jax.random.fold_in` makes a key from a key and a number, so you can repeat
# any step without those before it:
key, loop_key = jax.random.split(key)
for step in range(3):
    step_key = jax.random.fold_in(loop_key, step)
    print(step, jax.random.uniform(step_key))

# %%
# Here is what has become of the first key so far. Each key has one of three uses: it is split, it
# has numbers folded in, or it draws. Never put a key to two of these uses, not even to the first
# two: since JAX 0.5, ``split(key)[1]`` and ``fold_in(key, 1)`` are the same key.
from jaxcap.report import figures

steps = {f"step {step}": {} for step in range(3)}
later = {"loop_key": steps, "key": {figures.MORE: {}}}
_ = figures.key_tree(
    {"key(0)": {"first": {}, "second": {}, "key": later}},
    finding="A key makes keys or draws numbers, and never does both",
)

# %%
# A key used twice is a silent bug
# --------------------------------
# What happens if you use a key again by mistake? No error is raised. To see the damage, draw *x*
# from one key, and *y* in three ways: from the same key, from the same key by another function, and
# from a key of its own.
x_key, y_key = jax.random.split(key)
x = jax.random.normal(x_key, (500,))
samples = {
    "one key": jax.random.normal(x_key, (500,)),
    "one key,\ntwo functions": jax.random.uniform(x_key, (500,)),
    "two keys": jax.random.normal(y_key, (500,)),
}

# %%
import matplotlib.pyplot as plt

_, axes = plt.subplots(1, 3, figsize=(6, 2.8))
for ax, (title, y) in zip(axes, samples.items(), strict=True):
    ax.scatter(x, y, s=4)
    ax.set_title(title)
    ax.set_xlabel("x")
_ = axes[0].set_ylabel("y")

# sphinx_gallery_thumbnail_number = 2

# %%
# On the left and in the middle, *y* is a function of *x*: nothing about it is random once you know
# *x*. Only on the right are the two independent. You'd hardly notice the mistake, because each
# sample by itself looks fine. It shows once you combine the samples. The sum of two independent
# standard normal numbers, for example, should have a standard deviation of √2, which is about 1.41:
for title in ("one key", "two keys"):
    print(f"{title:8} {(x + samples[title]).std():.3f}")

# %%
# With one key, the sum adds a number to itself, and doubles its deviation. JAX can look for keys
# that are used twice, if you ask it to. The `check for reused keys
# <https://docs.jax.dev/en/latest/jax.experimental.key_reuse.html>`_ is experimental and off by
# default. Your tests are a good place to switch it on:
with jax.debug_key_reuse(True):
    try:
        jax.random.normal(x_key) + jax.random.normal(x_key)
    except jax.errors.KeyReuseError as error:
        print(str(error).splitlines()[0])

# %%
# It doesn't see everything. This key first makes another and then draws a number, which our rule
# forbids, and no error is raised:
with jax.debug_key_reuse(True):
    used = jax.random.key(2)
    jax.random.fold_in(used, 1)
    print(jax.random.normal(used))

# %%
# So where you fold in numbers, you have to watch your keys yourself.
#
# Why a generator freezes inside jit
# ----------------------------------
# Splitting by hand is tedious, so many programs hide it in a class like this one:


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
# The noise is frozen. :func:`jax.jit` ran the Python code once, at the first call, to record what
# it does to its arguments. The key wasn't an argument, so it became a constant of the compiled
# program. Worse, the provider is broken, too. It now holds one of the stand-ins with which JAX made
# its record, and fails when it is used next, perhaps far away from the cause:
try:
    provider.get()
except jax.errors.UnexpectedTracerError as error:
    print(str(error).split(". ")[0])

# %%
# The cure is to make the key an argument. Draw it outside, and pass it in:
noisy = jax.jit(lambda key, x: x + jax.random.normal(key))
for noise_key in jax.random.split(jax.random.key(1), 3):
    print(noisy(noise_key, 0.0))

# %%
# Let something else count the keys
# ---------------------------------
# Keys that are split by hand all need names, and the old names stay within reach. What went wrong
# here?
key = jax.random.key(42)
key, key1 = jax.random.split(key)
weights = jax.random.normal(key1, (3,))
key, key2 = jax.random.split(key)
biases = jax.random.normal(key1, (3,))
print("all equal:", bool((weights == biases).all()))

# %%
# The biases were drawn with ``key1``. With a generator that counts for you, there are no names to
# mix up. But inside a compiled function, a generator's counter stands still, as the last section
# showed. Two kinds of generator avoid that. One makes its counter a part of the program, and the
# other refuses to be used in a compiled function.
#
# The first is JAX's own ``stateful_rng``, which is `experimental
# <https://docs.jax.dev/en/latest/jep/28845-stateful-rng.html>`_. It keeps its counter in a mutable
# array, a *ref* (:func:`jax.new_ref`). Refs are the one kind of state that JAX can trace, so the
# counter advances even inside a compiled function:
from jax.experimental.random import stateful_rng

rng = stateful_rng(0)
noisy = jax.jit(lambda x: x + rng.normal())
for call in range(3):
    print(call, noisy(0.0))

# %%
# The price is that a ref can't go everywhere. A compiled function can't return such a generator.
# The rows of a batch that you map with ``vmap`` can't share one: each row needs its own, from
# ``rng.split``. And under some transformations a draw may fail, so test the ones that your program
# uses. Dropout, for one, draws in a function that is differentiated:
try:
    print(jax.grad(lambda x: x * rng.normal())(1.0))
except TypeError as error:
    print(f"TypeError: {str(error).split('. ')[0]}")

# %%
# If you read an error here, as under JAX 0.10, draw the number outside, or pass in a key that
# ``rng.key()`` made outside. A key works everywhere, and it is what you'd use without a generator.
#
# The second kind is this site's :class:`~jaxcap.tools.prng.KeyStream`. It hands out keys and nothing
# else, and makes each by folding a counter into the key of its seed:
from jaxcap.tools.prng import KeyStream

stream = KeyStream(42)
weights = jax.random.normal(next(stream), (3,))
biases = jax.random.normal(next(stream), (3,))
print("all equal:", bool((weights == biases).all()))
stream

# %%
# The stream's counter is an ordinary Python number, which a compiled function could not advance. So
# while JAX traces a function, under ``jit``, ``vmap``, ``grad`` or any other transformation, the
# stream refuses to hand out a key, and says what to do instead:
import textwrap

from jaxcap.tools.prng import TracedDrawError

try:
    jax.jit(lambda x: x + jax.random.normal(next(stream)))(0.0)
except TracedDrawError as error:
    print(textwrap.fill(str(error), 72))

# %%
# With a counter, the order of draws matters again. ``fork`` keeps that from spreading through a
# program: it makes an independent stream, which depends on the seed and on a name, but not on what
# was drawn before:
early = next(KeyStream(42).fork("data"))
late = next(stream.fork("data"))
print("the same key:", bool(early == late))

# %%
# And if a training stops halfway? The state of a stream is nothing but numbers and strings, so a
# checkpoint can hold it:
import json

saved = json.dumps(stream.state)
restored = KeyStream.from_state(json.loads(saved))
print(saved)
print("the same next key:", bool(next(restored) == next(stream)))

# %%
# Do calls decide what keys cost?
# -------------------------------
# Suppose you need a hundred keys. You can split a hundred times, or draw a hundred times from a
# stream. Or you can make all of them in one call, with ``split(key, 100)`` or ``stream(100)``,
# which return an array of keys to map over with :func:`jax.vmap`. How do these four compare?
#
# Count the calls to JAX. Splitting makes two for each key: one to split, and one to take the result
# apart. A draw from a stream makes one. A batch makes one in all, however many keys it has. If
# nothing but calls took time, a stream would need half as long as splitting, and a batch of a
# hundred a two-hundredth.
from jaxcap.experiments.keys import KEYS, NEXT_EACH, SPLIT_BATCH, SPLIT_EACH

results = KEYS.run(budget_s=0.03)
results

# %%
results.speedups(over=SPLIT_EACH)

# %%
_ = figures.bars(
    results.select(keys=100),
    over=SPLIT_EACH,
    about=SPLIT_BATCH,
    title="A hundred random keys",
)

# %%
# How close did the count come? First, keys that are made one by one:
from jaxcap.report.claims import claim, speedup_of

stream_pays = claim(
    "drawing a hundred keys from a stream is faster than splitting them "
    "one by one",
    results,
    speedup_of(NEXT_EACH, over=SPLIT_EACH, keys=100),
)
stream_pays

# %%
# Then all keys at once:
batch_pays = claim(
    "one split into a hundred keys is faster than a hundred splits",
    results,
    speedup_of(SPLIT_BATCH, over=SPLIT_EACH, keys=100),
)
single = results.speedup(NEXT_EACH, over=SPLIT_EACH, keys=1)
batch_pays

# %%
# For a hundred keys, the stream was :measured:`drawn than splitting one by one`, and the batch
# :measured:`batch than a hundred splits`. If nothing but calls took time, these factors would be
# two and two hundred. The work inside the calls, and what Python does between them, can move the
# factors either way. For a single key, a draw from the stream was :measured:`single than a split`.
#
# The price of keys matters in a loop whose steps do little else. If its steps do a lot, choose the
# way that is easiest to get right.
#
# Takeaway
# --------
drawn, batch = stream_pays.estimate, batch_pays.estimate

# %%
# A random number in JAX is a function of its key. That frees you from the order of calls, and
# obliges you to draw from each key only once. Pass keys into compiled functions as arguments, or
# the noise freezes. If you know how many keys you need, ask for all of them at once: one split into
# a hundred was :measured:`batch than a hundred splits`.
#
# JAX's documentation has more on :mod:`jax.random`, and on `why it is designed this way
# <https://docs.jax.dev/en/latest/jep/263-prng.html>`_.
#
# Try it yourself in :doc:`the second exercise </exercises/2_random_numbers>`. Next:
# :doc:`what jit buys </tutorials/transformations/jit>`
