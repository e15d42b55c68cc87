"""
How should you pack parameters?
===============================

A model is many arrays, and its optimiser keeps more of them. JAX takes them in dicts, lists and
classes of your own, nested to any depth, and calls such a nest a `pytree
<https://docs.jax.dev/en/latest/101/pytrees.html>`__. On this page we train a model that lives in a
dict, and find out which changes of a tree make JAX compile again. Then we measure what it costs to
have a thousand small arrays instead of a single large one.
"""

# %%
# A step takes a tree and returns one
# -----------------------------------
# Our model is linear: three weights and an offset, in a dict. Its loss is the mean squared error.
import jax
import jax.numpy as jnp
import numpy as np


def loss(params, x, y):
    errors = x @ params["weights"] + params["offset"] - y
    return jnp.mean(errors**2)


rng = np.random.default_rng(0)
x = rng.standard_normal((100, 3), dtype=np.float32)
noise = rng.standard_normal(100, dtype=np.float32)
y = x @ np.float32([1, -2, 0.5]) + 3 + 0.1 * noise

# %%
# :func:`jax.value_and_grad` differentiates with respect to the whole dict, and returns the gradient
# in a dict of the same form:
params = {"weights": jnp.zeros(3), "offset": jnp.zeros(())}
value, slopes = jax.value_and_grad(loss)(params, x, y)
slopes

# %%
# Gradient descent subtracts a multiple of the gradient from the parameters. With
# :func:`jax.tree.map`, a step does that for each parameter and its gradient:
from jaxcap.kernels.pytrees import descend
from jaxcap.report.source import Source

Source(descend)


# %%
# A hundred steps later, the dict should hold what NumPy's least squares finds:
@jax.jit
def step(params, x, y):
    value, slopes = jax.value_and_grad(loss)(params, x, y)
    return value, descend(params, slopes)


trained = params
for _ in range(100):
    value, trained = step(trained, x, y)

columns = np.column_stack([x, np.ones(100)])
exact, *_ = np.linalg.lstsq(columns, y)
print(trained["weights"], trained["offset"])
print(exact)

# %%
# An optimiser remembers in a tree of its own
# -------------------------------------------
# Adam, from `Optax <https://optax.readthedocs.io/en/latest/api/optimizers.html#optax.adam>`__,
# keeps running averages of each gradient and of its square. A compiled step can't store them in an
# ordinary Python object, because its Python code runs only when it is traced. So the averages are a
# second tree, which ``init`` makes for you:
import optax

optimiser = optax.adam(0.1)
memory = optimiser.init(params)
for path, leaf in jax.tree.leaves_with_path(memory):
    print(f"{jax.tree_util.keystr(path):17} {leaf.shape}")


# %%
# This memory has a counter, and two arrays for each of ours, ``mu`` and ``nu``. In each step,
# ``optimiser.update`` returns the changes to make and a new memory. So a step takes parameters and
# memory, and returns both:
@jax.jit
def adam_step(params, memory, x, y):
    slopes = jax.grad(loss)(params, x, y)
    changes, memory = optimiser.update(slopes, memory)
    return optax.apply_updates(params, changes), memory


moved, memory = adam_step(params, memory, x, y)
print(moved)

# %%
# What JAX sees: leaves and a structure
# -------------------------------------
# ``jit`` takes each argument apart, as :func:`jax.tree.flatten` does, into *leaves*, with which it
# computes, and a *structure*, which says how they were nested. What counts as a leaf? Guess the
# leaves of each of these trees:
from dataclasses import dataclass, field


@dataclass
class Circle:
    """A class that JAX doesn't know."""

    radius: float
    colour: str = "red"


trees = [2.0, [3.0]], [None, 1.0], ["red", 1.0], Circle(1.0)
for tree in trees:
    print(f"{tree!s:33} {jax.tree.leaves(tree)}")


# %%
# ``None`` is an
# `empty tree <https://docs.jax.dev/en/latest/101/pytrees.html#none-is-an-empty-node-not-a-leaf>`__,
# so it has no leaves. With ``is_leaf``, you say what else is a leaf. A shape needs that, because it
# is a tuple, which JAX would take apart. Even ``None`` can be a leaf:
def is_shape(node):
    return isinstance(node, tuple)


shapes = {"weights": (3,), "offset": ()}
print(jax.tree.map(jnp.zeros, shapes))
print(jax.tree.map(jnp.zeros, shapes, is_leaf=is_shape))
print(jax.tree.leaves([None, 1.0], is_leaf=lambda node: node is None))

# %%
# A string is a leaf, and so is an object of a class that JAX doesn't know. :func:`jax.tree.map`
# takes any leaf, but ``jit`` takes arrays and numbers only:
from textwrap import fill

double = jax.jit(lambda tree: jax.tree.map(lambda leaf: 2 * leaf, tree))
for tree in trees[2:]:
    try:
        double(tree)
    except TypeError as error:
        print(fill(str(error).splitlines()[0].partition(". ")[2]))


# %%
# To turn objects of a class into trees, :func:`register <jax.tree_util.register_dataclass>` the
# class. Its fields become branches, except for those that you mark as static (which needs `release
# 0.4.36 <https://docs.jax.dev/en/latest/changelog.html#jax-0-4-36-dec-5-2024>`__ or later). Static
# fields belong to the structure, as the keys of a dict do:
@jax.tree_util.register_dataclass
@dataclass
class Disc:
    """A tree with one leaf."""

    radius: float
    colour: str = field(default="red", metadata={"static": True})


print(double(Disc(1.0)))
print(jax.tree.structure(Disc(1.0)))

# %%
# Another structure is another program
# ------------------------------------
# ``jit`` `compiles a program <https://docs.jax.dev/en/latest/201/jit.html#jit-and-caching>`__ for
# one structure, and for one shape and type of each leaf. Each call has to compare all of these.
# This function notes when it is traced, and so tells us when JAX compiles:
traces = []


@jax.jit
def total(tree):
    traces.append("traced")
    return sum(leaf.sum() for leaf in jax.tree.leaves(tree))


# %%
# Each of these trees has two arrays of three numbers. Which calls compile?
a, b = jnp.ones(3), jnp.zeros(3)
trees = {
    "{'a': a, 'b': b}": {"a": a, "b": b},
    "{'b': b, 'a': a}": {"b": b, "a": a},
    "{'a': b, 'b': a}": {"a": b, "b": a},
    "{'a': a, 'c': b}": {"a": a, "c": b},
    "{'a': a, 'b': b, 'c': None}": {"a": a, "b": b, "c": None},
    "[a, b]": [a, b],
    "(a, b)": (a, b),
}

# %%
for code, tree in trees.items():
    traces.clear()
    total(tree)
    print(f"{code:27} {'compiles' if traces else 'is compiled'}")

# %%
# A renamed key, a list in place of a tuple, even an entry that is ``None``: each is another
# structure, so each compiles. The numbers don't matter, because a program is made for shapes and
# types. Nor does the order of a dict's keys, because JAX
# `sorts them <https://docs.jax.dev/en/latest/101/pytrees.html#dictionary-keys-must-be-sortable>`__.
# So don't let a dict grow by a key in each step, or each step will compile.
#
# A thousand arrays or one
# ------------------------
# A network of a hundred layers has hundreds of arrays, and Adam keeps two more for each. What does
# it cost to have so many? We cut the same parameters into 1, 10, 100 and 1,000 equal parts, and
# keep the parts in a list or in nested dicts. We also keep all parameters in one array, which is
# what :func:`~jax.flatten_util.ravel_pytree` makes of a tree, together with a function that turns
# the array back into the tree:
from jax.flatten_util import ravel_pytree

flat, unravel = ravel_pytree(trained)
print(flat)
print(unravel(flat))

# %%
# An array by itself is a tree, too, of a single leaf, so ``descend`` takes all three forms. Guess
# first: with a thousand leaves, how much longer does a step take than with one array? And what does
# nesting add?
from jaxcap.experiments import pytrees as experiments
from jaxcap.experiments.pytrees import ARRAY, DICT, LIST
from jaxcap.report import figures

results = experiments.PYTREES.run(budget_s=0.03)
_ = figures.scaling(
    results,
    x="leaves",
    over=LIST,
    about=ARRAY,
    title="One step, by number of leaves",
)

# sphinx_gallery_thumbnail_number = 1

# %%
thousand = results.select(leaves=1000)
thousand.speedups(over=LIST)

# %%
from jaxcap.report.claims import claim, speedup_of

many_leaves_cost = claim(
    "a step with one array is more than ten times faster than one with the "
    "same numbers in a list of a thousand",
    results,
    speedup_of(ARRAY, over=LIST, leaves=1000),
    above=10,
)
many_leaves_cost

# %%
nesting_costs_little = claim(
    "a step with a thousand leaves in nested dicts takes less than one and a "
    "half times as long as with a list of them",
    results,
    speedup_of(DICT, over=LIST, leaves=1000),
    above=2 / 3,
)
nesting_costs_little

# %%
# Why do many leaves take time? Before each run, JAX looks at the shape and type of every leaf, to
# find the program that fits, and after the run it makes a Python object for every result. The
# program itself takes longer, too, if XLA makes a kernel for each leaf.
#
# Should you then ravel everything? A model needs its matrices back, so somewhere, a real step has
# to cut the array apart. At worst, it joins the results again, as ``packed_step`` does. How many
# kernels does XLA make of each step, for a hundred leaves?
from jaxcap.measure.compilation import kernels_compiled

tree = [jnp.zeros(100)] * 100
flat, unravel = ravel_pytree(tree)


def packed_step(flat, slopes):
    stepped = descend(unravel(flat), unravel(slopes))
    return ravel_pytree(stepped)[0]


in_list = kernels_compiled(descend, tree, tree)
in_array = kernels_compiled(descend, flat, flat)
in_packed = kernels_compiled(packed_step, flat, flat)
print(f"list: {in_list}, one array: {in_array}, packed: {in_packed}")

# %%
is_merged = in_list < len(tree)
of_list = (
    "fewer kernels than leaves" if is_merged else "a kernel for each leaf"
)

# %%
# For the list, XLA made :measured:`of_list`, and the device has to start every kernel.
# ``packed_step`` needs :measured:`in_packed` kernels, because its program also has to join the
# results. What packing saves for sure is JAX's own work for each leaf. With small leaves on a CPU,
# that can be most of what you wait for, so time your step both ways.
#
# There are better ways to get by with fewer leaves. Stack the parameters of equal layers in one
# array, with a first axis for the layers, and let a ``scan`` go through that axis, as
# :doc:`the page on memory </tutorials/performance/memory>` does. Or let one call
# :doc:`do many steps </tutorials/transformations/asynchronous_dispatch>`, so that the leaves are
# passed once for all of the steps.
#
# Takeaway
# --------
one_array = many_leaves_cost.estimate
nested = nesting_costs_little.estimate

# %%
# Pack parameters in the form that is easiest to read, be it a dict or a registered class. Reduce
# the number of arrays only if your steps are so short that the device waits for Python: stack equal
# layers, or do many steps in one call. And keep the structure the same from step to step, because a
# new one compiles.
#
# JAX looks at every array in each call, and the compiled program may have to start a kernel for
# each. With the same numbers, a short step on one array was
# :measured:`one_array than on a list of a thousand`. With the thousand arrays in nested dicts, the
# step was :measured:`nested than with the list`.
#
# Try it yourself in :doc:`exercise 9 </exercises/9_pytrees>`. Next: a model that is an object, and
# :doc:`what a Flax module costs </tutorials/transformations/modules>`.
