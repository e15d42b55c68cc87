"""
Random numbers without hidden state
===================================

In NumPy you ask for a random number and get one. In JAX you have to bring a *key*, and you may draw
with each key only once. This page shows what you get for that trouble, what goes wrong if you use a
key twice, and how to make as many keys as you need.
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
# function is called first gets the first number of the sequence. NumPy's newer generators,
# which :func:`numpy.random.default_rng` returns, can be passed around, but they have a state, too.
#
# JAX wants to be free to reorder your calls, or to run them on several devices at the same time. With
# a hidden state, that could change your numbers.
#
# With keys, the order doesn't matter
# -----------------------------------
# So in JAX, randomness is an argument. You make a key from a seed, and pass it to the function that
# draws. What do you expect if you draw from one key twice?
import jax

again = jax.random.key(1)
print(jax.random.uniform(again), jax.random.uniform(again))

# %%
# The numbers are equal, because the functions of :mod:`jax.random` have no other source of randomness
# than their key. Older code makes keys with ``jax.random.PRNGKey``, which leads to the same numbers.
#
# For different numbers you need different keys, and :func:`jax.random.split` makes as many as you
# like from one. Since the old key shouldn't be used again, one of the new keys takes over its name:
key = jax.random.key(0)
key, first, second = jax.random.split(key, 3)
print(jax.random.uniform(first), jax.random.uniform(second))

# %%
# Back to the sum, in which each function now has a key to itself. To compare the two orders, we draw
# from each key twice:


def single(key):
    return jax.random.uniform(key)


def doubled(key):
    return 2 * jax.random.uniform(key)


print(single(first) + doubled(second), doubled(second) + single(first))

# %%
# Both orders agree, because a draw changes nothing that the other could see.
#
# A key used twice is a silent bug
# --------------------------------
# What happens if you draw from a key again by mistake? No error is raised. To see the damage, draw
# *x* from one key, and *y* in three ways: from the same key, from the same key by another function,
# and from a key of its own. In which of the three will you see the mistake?
x_key, y_key = jax.random.split(jax.random.key(2))
x = jax.random.normal(x_key, (1000,))
samples = {
    "one key": jax.random.normal(x_key, (1000,)),
    "one key,\ntwo functions": jax.random.uniform(x_key, (1000,)),
    "two keys": jax.random.normal(y_key, (1000,)),
}

# %%
import matplotlib.pyplot as plt

_, axes = plt.subplots(1, 3, figsize=(6, 2.8))
for ax, (title, y) in zip(axes, samples.items(), strict=True):
    ax.scatter(x, y, s=4)
    ax.set_title(title)
    ax.set_xlabel("x")
_ = axes[0].set_ylabel("y")

# sphinx_gallery_thumbnail_number = 1

# %%
# On the left and in the middle, *y* is a function of *x*: once you know *x*, nothing about *y* is
# random. Only on the right are the two independent. Each sample by itself looks fine, so the mistake
# shows only where samples meet. For example, the sum of two independent standard normal numbers
# has a standard deviation of √2, about 1.41. What do our samples give?
for title in ("one key", "two keys"):
    print(f"{title:8} {(x + samples[title]).std():.2f}")

# %%
# With one key, each number is added to itself, so the sum has a deviation of about 2.
#
# JAX can look for keys that are used twice. The `check for reused keys
# <https://docs.jax.dev/en/latest/jax.experimental.key_reuse.html>`_ is experimental and off by
# default, and your tests are a good place to switch it on:
with jax.debug_key_reuse(True):
    try:
        jax.random.normal(x_key) + jax.random.normal(x_key)
    except jax.errors.KeyReuseError as error:
        print(str(error).splitlines()[0])

# %%
# A loop can make its keys from its counter
# -----------------------------------------
# A loop needs a new key in each step. It already has a counter, and :func:`jax.random.fold_in` makes
# a key from a key and a number:
key, loop_key = jax.random.split(key)


def draw(step):
    return jax.random.uniform(jax.random.fold_in(loop_key, step))


for step in range(3):
    print(step, draw(step))

# %%
# Because a step's key depends only on ``loop_key`` and the step's number, no step needs those before
# it. So :func:`jax.vmap` can take all steps at once, and draws the same numbers:
jax.vmap(draw)(jax.numpy.arange(3))

# %%
# Don't split a key into which you fold numbers. The two ways may make the same key, and the check for
# reused keys doesn't notice:
with jax.debug_key_reuse(True):
    parent = jax.random.key(3)
    by_split = jax.random.split(parent)[1]
    by_fold = jax.random.fold_in(parent, 1)
    print(jax.random.uniform(by_split), jax.random.uniform(by_fold))

# %%
# So give each key a single purpose: to be split, to have numbers folded in, or to draw. Here is the
# family tree of ``jax.random.key(0)`` so far:
from jaxcap.report import figures

steps = {f"step {step}": {} for step in range(3)}
later = {"loop_key": steps, "key": {figures.MORE: {}}}
_ = figures.key_tree(
    {"key(0)": {"first": {}, "second": {}, "key": later}},
    finding="A key makes keys or draws numbers, and never does both",
)

# %%
# A function needs only one key
# -----------------------------
# One key fills an array of any shape with independent numbers, so you don't need a key for each
# number. A function that draws several arrays takes one key as well, by custom, and splits it:


def dense_layer(key, inputs, outputs):
    weights_key, biases_key = jax.random.split(key)
    weights = jax.random.normal(weights_key, (inputs, outputs))
    return weights, jax.random.normal(biases_key, (outputs,))


key, layers_key = jax.random.split(key)
layers = [dense_layer(k, 3, 3) for k in jax.random.split(layers_key, 2)]
print([weights[0, 0].item() for weights, _ in layers])

# %%
# The caller needn't know how many arrays the function draws. If the function draws one more
# tomorrow, no number outside it changes. With a generator that has a state, every later draw
# would change.
#
# A seed alone doesn't reproduce a number
# ---------------------------------------
# The sum above comes from the exercises of a course held in 2023, where the same seed gave another
# result. In the meantime, JAX 0.5 has changed the default of ``jax_threefry_partitionable``, a setting
# for `how keys are split and numbers drawn <https://github.com/jax-ml/jax/discussions/18480>`_. You
# can still run the example both ways:


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
# Under either setting the order makes no difference, but each has its own numbers. So if others are
# to repeat yours, give them the version of JAX and its settings along with the seed.
#
# Takeaway
# --------
with_one_key = f"{(x + samples['one key']).std():.2f}"

# %%
# A random number in JAX is a function of its key. That frees you from the order of calls, but you
# must draw with each key only once, and by default no error reminds you. When two samples of standard normal
# numbers shared a key, the standard deviation of their sum came to :measured:`with_one_key` instead
# of 1.41. Give a function one key, and let the function split that key. In a loop, fold the counter
# into a key.
#
# JAX's documentation says `why it has keys <https://docs.jax.dev/en/latest/jep/263-prng.html>`_.
#
# Next: :doc:`who should hand out the keys </tutorials/basics/generators>`.
