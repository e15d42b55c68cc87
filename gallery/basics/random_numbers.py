"""
Random numbers without hidden state
===================================

In NumPy you ask for a random number and get one. In JAX you have to bring a *key*, and you may draw
with each key only once. This page shows what you get for that trouble, how to make as many keys as
you need, and which mistakes raise no error.
"""

# %%
# With hidden state, the order of calls matters
# ---------------------------------------------
# These two functions each return a random number:
import numpy as np


def single():
    return np.random.uniform()


def doubled():
    return 2 * np.random.uniform()


# %%
# Mathematically, a sum doesn't depend on the order of its terms. Does this one?
np.random.seed(0)
single_first = single() + doubled()

np.random.seed(0)
doubled_first = doubled() + single()

print(single_first, doubled_first)

# %%
# Here the order matters. NumPy's generator has a state, which every draw changes, so whichever
# function is called first gets the first number of the sequence. NumPy's newer
# :func:`numpy.random.default_rng` turns that state into an object that you can pass around, but the
# order of calls still decides which of them gets which number.
#
# The functions of :mod:`jax.random` don't work that way. JAX wants to be free to reorder your
# calls, or to run them at the same time on several devices, and with a hidden state, either would
# change your numbers.
#
# With keys, the order doesn't matter
# -----------------------------------
# So in JAX, randomness is an argument. You make a key from a seed, and pass it to the function that
# draws:
import jax

key = jax.random.key(0)
key

# %%
# A key is an array with a type of its own. Here that type is called ``fry``, after Threefry, JAX's
# usual generator. (Older code calls ``jax.random.PRNGKey``, which returns a plain array of integers
# and leads to the same numbers.) The functions of :mod:`jax.random` have no other source of
# randomness than their key, so with the same key they return the same number:
again = jax.random.key(1)
print(jax.random.uniform(again), jax.random.uniform(again))

# %%
# For a different number you need a different key, and :func:`jax.random.split` makes as many as you
# like from one. By convention, one of them takes over the name ``key``, because the old key must
# not be used again:
key, first, second = jax.random.split(key, 3)
print(jax.random.uniform(first), jax.random.uniform(second))

# %%
# Back to the sum. Now each function has a key to itself and changes nothing, so both orders agree.
# (To compare them, we have to draw from each key twice.)


def single(key):
    return jax.random.uniform(key)


def doubled(key):
    return 2 * jax.random.uniform(key)


print(single(first) + doubled(second), doubled(second) + single(first))

# %%
# A loop can make its keys from its counter
# -----------------------------------------
# A loop needs a new key in each step. It could split a key and carry one half along, but it already
# has a counter, and :func:`jax.random.fold_in` makes a key from a key and a number:
key, loop_key = jax.random.split(key)


def draw(step):
    return jax.random.uniform(jax.random.fold_in(loop_key, step))


for step in range(3):
    print(step, draw(step))

# %%
# Because a step's key depends only on ``loop_key`` and the step's number, you can repeat any step
# without those before it. Nor do the steps have to wait for each other. :func:`jax.vmap` takes all
# of them at once, and draws the same numbers:
jax.vmap(draw)(jax.numpy.arange(3))

# %%
# Here is the family tree of ``jax.random.key(0)`` so far. Each key has one of three uses: it is
# split, it has numbers folded in, or it draws.
from jaxcap.report import figures

steps = {f"step {step}": {} for step in range(3)}
later = {"loop_key": steps, "key": {figures.MORE: {}}}
_ = figures.key_tree(
    {"key(0)": {"first": {}, "second": {}, "key": later}},
    finding="A key makes keys or draws numbers, and never does both",
)

# %%
# Give each key only one of these uses. Splitting a key and folding into it may even make the same
# key twice. Since JAX 0.5, with the usual generator, key number *i* of a split is the one that
# folding in *i* makes:
parent = jax.random.key(3)
print(jax.random.split(parent)[1] == jax.random.fold_in(parent, 1))

# %%
# A function needs only one key
# -----------------------------
# One key fills an array of any shape with independent numbers, so you don't need a key for each of
# them. For a function that draws several arrays, the custom is to pass it one key, which it splits:


def dense_layer(key, inputs, outputs):
    weights_key, biases_key = jax.random.split(key)
    weights = jax.random.normal(weights_key, (inputs, outputs))
    return weights, jax.random.normal(biases_key, (outputs,))


key, layers_key = jax.random.split(key)
layers = [dense_layer(k, 3, 3) for k in jax.random.split(layers_key, 2)]
print([weights[0, 0].item() for weights, _ in layers])

# %%
# The caller needn't know how many arrays the function draws. If the function draws one more
# tomorrow, no number outside it changes, whereas a generator with a state would deal out other
# numbers from there on.
#
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
# On the left and in the middle, *y* is a function of *x*: once you know *x*, nothing about *y* is
# random. Only on the right are the two independent. You'd hardly notice the mistake, because each
# sample by itself looks fine. It shows once you combine samples. The sum of two independent
# standard normal numbers, for example, should have a standard deviation of √2, which is about 1.41:
for title in ("one key", "two keys"):
    print(f"{title:8} {(x + samples[title]).std():.2f}")

# %%
# With one key, each number is added to itself, so the sum has a deviation of about 2. JAX can look
# for keys that are used twice, if you ask it to. The
# `check for reused keys <https://docs.jax.dev/en/latest/jax.experimental.key_reuse.html>`_ is
# experimental and off by default. Your tests are a good place to switch it on:
with jax.debug_key_reuse(True):
    try:
        jax.random.normal(x_key) + jax.random.normal(x_key)
    except jax.errors.KeyReuseError as error:
        print(str(error).splitlines()[0])

# %%
# The check doesn't see everything. Below, a number is folded into a key, which then draws. That
# breaks our rule, and yet no error is raised:
with jax.debug_key_reuse(True):
    used = jax.random.key(2)
    jax.random.fold_in(used, 1)
    print(jax.random.normal(used))

# %%
# So where you fold in numbers, you have to watch your keys yourself.
#
# A seed alone doesn't reproduce a number
# ---------------------------------------
# We took the sum above from the exercises of a course held in 2023, where the same seed gave another
# result. Since then, JAX 0.5 has changed the default of a setting called
# ``jax_threefry_partitionable``. You can still run the example both ways:


def both_orders(partitionable):
    with jax.threefry_partitionable(partitionable):
        _, first, second = jax.random.split(jax.random.key(0), 3)
        one_way = single(first) + doubled(second)
        other_way = doubled(second) + single(first)
        return float(one_way), float(other_way)


since_0_5 = both_orders(True)
before_0_5 = both_orders(False)
print(f"since JAX 0.5: {since_0_5[0]:.7f} and {since_0_5[1]:.7f}")
print(f"before:        {before_0_5[0]:.7f} and {before_0_5[1]:.7f}")

# %%
# Under either setting the order makes no difference, but each has its own numbers. What did JAX
# change? Draw two, four and six numbers from one key, and look at the first of them:


def first_number(count, partitionable):
    with jax.threefry_partitionable(partitionable):
        numbers = jax.random.uniform(jax.random.key(0), (count,))
        return float(numbers[0])


for count in (2, 4, 6):
    now, then = first_number(count, True), first_number(count, False)
    print(f"first of {count}: {now:.7f} since JAX 0.5, {then:.7f} before")

# %%
# Before the change, JAX made numbers in pairs, one for each half of the array, so a number depended
# on the length of its array. If the array was spread over several devices, each had to compute the
# partners of its numbers as well, or get them from another device. Now each device can fill its
# part by itself, so the array is *partitionable*. The `announcement of the change
# <https://github.com/jax-ml/jax/discussions/18480>`_ has more.
#
# So if others are to repeat your numbers, give them the version of JAX and its settings along with
# the seed.
#
# Takeaway
# --------
with_one_key = f"{(x + samples['one key']).std():.2f}"

# %%
# A random number in JAX is a function of its key. That frees you from the order of calls, but you
# must draw with each key only once, and no error reminds you. When two samples of standard normal
# numbers shared a key, the standard deviation of their sum came to :measured:`with_one_key` instead
# of 1.41. Give a function one key, and let the function split that key. In a loop, fold the counter
# into a key.
#
# JAX's documentation has more on :mod:`jax.random`, and on `why it is designed this way
# <https://docs.jax.dev/en/latest/jep/263-prng.html>`_.
#
# Next: :doc:`who should hand out the keys </tutorials/basics/generators>`.
