"""
How should you pack parameters?
===============================

A model has many arrays, and JAX takes them in dicts, lists and classes of your own, nested to any
depth. It calls such a structure a `pytree <https://docs.jax.dev/en/latest/101/pytrees.html>`__. Which
one should you choose? On this page we train a model that lives in a dict. Then we measure what it
costs to keep a thousand small arrays instead of a single large one, and find out which changes of a
tree make JAX compile again.
"""

# %%
# A training step takes a tree and returns one
# --------------------------------------------
# Our model is linear: three weights and an offset, in a dict. It will learn from a hundred noisy
# examples, which we make first:
import jax
import jax.numpy as jnp
import numpy as np

rng = np.random.default_rng(0)
x = rng.standard_normal((100, 3), dtype=np.float32)
noise = rng.standard_normal(100, dtype=np.float32)
y = x @ np.float32([1, -2, 0.5]) + 3 + 0.1 * noise


# %%
# The loss is the mean squared error. :func:`jax.grad` differentiates it with respect to the whole
# dict, so the gradient is a dict with the same keys:
def loss(params, x, y):
    errors = x @ params["weights"] + params["offset"] - y
    return jnp.mean(errors**2)


params = {"weights": jnp.zeros(3), "offset": jnp.zeros(())}
print(jax.grad(loss)(params, x, y))

# %%
# Gradient descent subtracts a multiple of the gradient from the parameters. :func:`jax.tree.map`
# does that for each parameter and its slope, and returns the results in a tree of the same form:
from jaxcap.kernels.pytrees import descend
from jaxcap.report.source import Source

Source(descend)


# %%
# A hundred such steps should lead to what NumPy's least squares finds:
@jax.jit
def step(params, x, y):
    return descend(params, jax.grad(loss)(params, x, y))


trained = params
for _ in range(100):
    trained = step(trained, x, y)

print(trained["weights"], trained["offset"])
print(np.linalg.lstsq(np.column_stack([x, np.ones(100)]), y)[0])

# %%
# An optimiser adds a second tree
# -------------------------------
# Many optimisers remember something from step to step: `Optax's Adam
# <https://optax.readthedocs.io/en/latest/api/optimizers.html#optax.adam>`__ keeps running averages
# of each gradient and of its square. A compiled step can't assign them to a Python attribute, because
# its Python code runs only while JAX traces it. So the memory is a second tree, which each step takes
# and returns:
import optax

optimiser = optax.adam(0.1)


@jax.jit
def adam_step(params, memory, x, y):
    slopes = jax.grad(loss)(params, x, y)
    changes, memory = optimiser.update(slopes, memory)
    return optax.apply_updates(params, changes), memory


params, memory = adam_step(params, optimiser.init(params), x, y)
for path, leaf in jax.tree.leaves_with_path(memory):
    print(f"{jax.tree_util.keystr(path):17} {leaf.shape}")

# %%
# Every call pays for every leaf
# ------------------------------
# The arrays in a tree are its *leaves*. Two parameters and Adam's memory already make seven. What do
# more of them cost? We cut the same numbers into up to a thousand equal parts, keep these in a list
# or in nested dicts, and time a compiled ``descend``. For comparison, it also takes one array,
# which is a tree of a single leaf. How much longer do you expect a step to take with a thousand?
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
# Each step computes the same numbers, but every leaf adds work. JAX looks at its shape and type, the
# program may need a kernel for it, and its result becomes an array of its own. Here are the kernels of
# ``descend`` for a hundred leaves, and for one:
from jaxcap.measure.compilation import kernels_compiled

tree = [jnp.zeros(100)] * 100
print("a hundred arrays:", kernels_compiled(descend, tree, tree))

array = jnp.zeros(100 * 100)
print("one array:       ", kernels_compiled(descend, array, array))

# %%
# The leaves in nested dicts are the same, but each call also has to take the dicts apart. Does that
# add much?
nesting_costs_little = claim(
    "a step with a thousand leaves in nested dicts is less than 1.5 times "
    "slower than one with a list of them",
    results,
    speedup_of(DICT, over=LIST, leaves=1000),
    above=2 / 3,
)
nesting_costs_little

# %%
# A step with nested dicts was :measured:`nested than with a list`. Should you then flatten a model into
# one array, to save leaves? ``descend`` treats all numbers alike, but a loss needs the matrices back.
# A real step would have to cut the array apart and join the gradients again, which can cost more than
# it gains. For short steps, there are other ways to pay for fewer leaves:
#
# - Stack the parameters of equal layers in one array, with a first axis for the layers, and let a
#   ``scan`` go through that axis. :doc:`The page on memory </tutorials/performance/memory>` does so.
# - Let one call :doc:`do many steps </tutorials/performance/dispatch_overhead>`, so that JAX
#   handles the leaves once for all of them.
#
# A new structure compiles a new program
# --------------------------------------
# So far, our parameters were in a dict. A class of your own works as well, once you register it with
# :func:`jax.tree_util.register_dataclass`. Its fields become branches of the tree, except for those
# that you mark as static:
from dataclasses import dataclass, field


@jax.tree_util.register_dataclass
@dataclass
class Line:
    """A model, and what to call it."""

    weights: jax.Array
    offset: jax.Array
    name: str = field(default="line", metadata={"static": True})


line = Line(**trained)
print(jax.tree.leaves(line))
print(jax.tree.structure(line))

# %%
# ``jit`` takes its arguments apart in the same way, into leaves and a *structure*, which says how they
# were nested. Static fields and the keys of a dict belong to the structure, and so does ``None``, which
# `isn't a leaf
# <https://docs.jax.dev/en/latest/101/pytrees.html#none-is-an-empty-node-not-a-leaf>`__.
#
# ``jit`` `looks up the compiled program
# <https://docs.jax.dev/en/latest/201/jit.html#jit-and-caching>`__ by the structure, and by the shape
# and type of each leaf. If it finds none, JAX compiles one. These trees all have the same two arrays.
# For which of them will JAX compile?
a, b = jnp.ones(3), jnp.zeros(3)
trees = {
    "{'a': a, 'b': b}": {"a": a, "b": b},
    "{'b': b, 'a': a}": {"b": b, "a": a},
    "{'a': b, 'b': a}": {"a": b, "b": a},
    "{'a': a, 'c': b}": {"a": a, "c": b},
    "{'a': a, 'b': b, 'c': None}": {"a": a, "b": b, "c": None},
    "[a, b]": [a, b],
    "(a, b)": (a, b),
    "Line(a, b)": Line(a, b),
    "Line(a, b, 'other')": Line(a, b, "other"),
}


# %%
# The function below adds to ``traces`` only while JAX traces it, so we can tell which calls compile:
traces = []


@jax.jit
def total(tree):
    traces.append("traced")
    return sum(leaf.sum() for leaf in jax.tree.leaves(tree))


for code, tree in trees.items():
    traces.clear()
    total(tree)
    print(f"{code:27} {'compiles' if traces else 'reuses a program'}")

# %%
# A renamed key, a list in place of a tuple, an entry that is ``None``, another static value: each
# makes another structure, so each compiles. The numbers in the leaves don't matter, nor does the
# order of a dict's keys, because JAX `sorts them
# <https://docs.jax.dev/en/latest/101/pytrees.html#dictionary-keys-must-be-sortable>`__. So don't let
# a dict grow by a key in each step, or each step will compile.
#
# Takeaway
# --------
one_array = many_leaves_cost.estimate
nested = nesting_costs_little.estimate

# %%
# Nest parameters as reads best: with a thousand arrays in nested dicts, a step was
# :measured:`nested than with a list`. Keep the structure from step to step, because JAX
# compiles again for a new one.
#
# The number of arrays matters when steps are short, because every call pays for each array. With the
# same numbers, a short step on one array was :measured:`one_array than on a list of a thousand`. To
# pay less, stack equal layers or do many steps in one call.
#
# Try it yourself in :doc:`exercise 9 </exercises/9_pytrees>`. Next: a model that is an object, and
# :doc:`what a Flax module costs </tutorials/transformations/modules>`.
