"""
How should you pack parameters?
===============================

A model is many arrays, and its optimiser keeps some more. JAX takes them in dicts, lists and
classes of your own, nested to any depth, and calls such a nest a *pytree*. On this page we train a
model that lives in a dict, and find out which changes of a tree compile a program anew. Then we
measure two choices. Do you keep a thousand small arrays, or one large one? And do you keep them in
a module of Flax, which a step changes, or in a dict, which a step replaces?
"""

# %%
# A step takes a tree and returns one
# -----------------------------------
# Our model is a plane: three weights and an offset, in a dict. Its loss is the mean squared error.
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
# Gradient descent subtracts a multiple of the gradient from the parameters. :func:`jax.tree.map`
# does that for each parameter and its gradient:
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
# Adam, from `Optax <https://optax.readthedocs.io>`__, keeps averages of each gradient and of its
# square. Where? A compiled function can't hide them in an object, because its Python code runs only
# when it is traced. So ``init`` hands you the memory, as a second tree:
import optax

optimiser = optax.adam(0.1)
memory = optimiser.init(params)
for path, leaf in jax.tree.leaves_with_path(memory):
    print(f"{jax.tree_util.keystr(path):17} {leaf.shape}")


# %%
# The memory has a counter, and holds each of our arrays twice. A step takes the parameters and the
# memory, and returns both:
@jax.jit
def adam_step(params, memory, x, y):
    slopes = jax.grad(loss)(params, x, y)
    updates, memory = optimiser.update(slopes, memory)
    return optax.apply_updates(params, updates), memory


fitted = params
for _ in range(300):
    fitted, memory = adam_step(fitted, memory, x, y)
print(fitted["weights"], fitted["offset"])

# %%
# What JAX sees: leaves and a structure
# -------------------------------------
# ``jit`` takes each argument apart, as :func:`jax.tree.flatten` does, and computes with the leaves.
# What is a leaf? Guess which leaves each of these trees has:
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
# ``None`` is an empty tree and not a leaf. A string is a leaf, and so is an object of a class that
# JAX doesn't know. :func:`jax.tree.map` takes any leaf, but ``jit`` computes with arrays and
# numbers only:
from textwrap import fill

double = jax.jit(lambda tree: jax.tree.map(lambda leaf: 2 * leaf, tree))
for tree in trees[2:]:
    try:
        double(tree)
    except TypeError as error:
        print(fill(str(error).splitlines()[0].partition(". ")[2]))


# %%
# To make the class a tree, register it. Its fields become branches, except for those that you mark
# as static. Static fields belong to the structure, as the keys of a dict do:
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
# ``jit`` compiles for shapes and types, and for a structure, which it compares in each call. This
# function notes when it is traced, and so tells us when JAX compiles:
traces = []


@jax.jit
def total(tree):
    traces.append("traced")
    return sum(leaf.sum() for leaf in jax.tree.leaves(tree))


# %%
# All of these trees have two arrays of three numbers. Which calls compile?
a, b = jnp.ones(3), jnp.zeros(3)
trees = [{"a": a, "b": b}, {"b": b, "a": a}, {"a": b, "b": a}]
trees += [{"a": a, "c": b}, {"a": a, "b": b, "c": None}, [a, b], (a, b)]
for tree in trees:
    before = len(traces)
    total(tree)
    shown = repr(tree).replace(repr(a), "a").replace(repr(b), "b")
    print(f"{shown:31} {'compiles' * (len(traces) - before)}")

# %%
# The numbers don't matter, because a program is made for shapes and types. Nor does the order of a
# dict's keys, because JAX sorts them. Everything else matters: a renamed key, a list instead of a
# tuple, even an entry that is ``None``. So if each step adds a key to a dict, each step compiles
# again.
#
# A thousand arrays or one
# ------------------------
# A network of a hundred layers soon has hundreds of arrays, and with Adam, there are three of each.
# What does their number cost? We cut the same parameters into 1, 10, 100 and 1,000 equal parts, and
# keep these in a list or in nested dicts. We also keep all parameters in one array.
# :func:`~jax.flatten_util.ravel_pytree` makes such an array of any tree, and a function that turns
# it back into the tree:
from jax.flatten_util import ravel_pytree

flat, unravel = ravel_pytree(trained)
print(flat)
print(unravel(flat))

# %%
# An array is a tree as well, of a single leaf, so ``descend`` needs no change. Guess first: how does
# the time of a step with a thousand leaves compare with that of the same numbers in one array? And
# what does nesting add?
from jaxcap.experiments import pytrees as experiments
from jaxcap.experiments.pytrees import ARRAY, DICT, LIST
from jaxcap.report import figures

results = experiments.PYTREES.run(budget_s=0.03)
_ = figures.scaling(
    results, x="leaves", over=ARRAY, title="One step, by number of leaves"
)

# sphinx_gallery_thumbnail_number = 1

# %%
thousand = results.select(leaves=1000)
thousand

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
# Was your guess near? The step with a thousand leaves was
# :measured:`thousand_leaves than the one with a single array`, and with its leaves in nested dicts
# it was :measured:`nested than in a list`.
#
# Where could the time go? Before each run, JAX looks at every leaf, because a program is compiled
# for `shapes and types <https://docs.jax.dev/en/latest/201/jit.html>`__, and afterwards it makes an
# array of each result. The program itself may take longer, too. Here is how many kernels XLA made
# of a hundred leaves:
ways = experiments.prepare(leaves=100, numbers=100_000)
for name, way in ways.items():
    program = way.func.lower(*way.args).compile().as_text()
    print(f"{name:12} {program.count(' fusion(')}")

# %%
# If there are as many kernels as leaves, XLA has merged none of them, and the device has to start
# every one.
#
# Packing in the program is the compiler's work
# ---------------------------------------------
# Should you ravel everything? A model needs its matrices back, so the compiled function would have
# to cut the array into matrices, and join the results. A call would pass few leaves, but the
# program would be longer. How long does it take to compile, in a single run for each number of
# leaves, and how many kernels come out?
import time
from functools import partial


def packed_step(unravel, flat, slopes):
    stepped = descend(unravel(flat), unravel(slopes))
    return ravel_pytree(stepped)[0]


def compilation(function, *args):
    lowered = jax.jit(function).lower(*args)
    start = time.perf_counter()
    program = lowered.compile()
    seconds = time.perf_counter() - start
    kernels = program.as_text().count(" fusion(")
    return f"{seconds:.2f} s, {kernels} kernels"


# %%
for leaves in (10, 30, 100):
    tree = [jnp.zeros(100)] * leaves
    flat, unravel = ravel_pytree(tree)
    packed = partial(packed_step, unravel)
    print(f"{leaves:3} leaves, apart:  {compilation(descend, tree, tree)}")
    print(f"{leaves:3} leaves, packed: {compilation(packed, flat, flat)}")

# %%
# If there are still as many kernels as leaves, XLA has unpacked the array again. JAX then has less
# to look at in each call, because you pass one array, but the device starts as many kernels as
# before, and the compiler has more to do.
#
# There are other ways to have few leaves. Layers of equal shape can share an array, with an axis
# for the layers, and a ``scan`` goes through the layers, as on :doc:`the page on memory
# </tutorials/performance/memory>`. Or let one call :doc:`do many steps
# </tutorials/transformations/asynchronous_dispatch>`, so that the leaves are passed once for all of
# these steps.
#
# A module of Flax is taken apart in each call
# --------------------------------------------
# In Flax NNX, the newer of Flax's interfaces, a model is an object with its parameters as
# attributes. This is a stack of layers, and a step that trains the stack:
from jaxcap.kernels import stacks

Source(stacks.Stack, stacks.step_module)

# %%
# The step puts new parameters into the model, and returns nothing but the loss. Does the model
# learn, although the function is compiled?
from flax import nnx

examples = jax.random.normal(jax.random.key(0), (2, 16, 8))
model = stacks.Stack(layers=2, width=8)
train = nnx.jit(stacks.step_module)
for _ in range(3):
    print(f"{train(model, *examples):.4f}")

# %%
# If the loss falls, the model learns, thanks to some work around the call. ``nnx.jit`` `splits
# <https://flax.readthedocs.io/en/latest/guides/jax_and_nnx_transforms.html>`__ the object into a
# graph, which is part of the program, and a state, which is a pytree. The program merges graph and
# state into a model again, and returns a new state, which ``nnx.jit`` writes into your object. You
# can also split the object yourself, once, and pass only the state from step to step:
graph, state = nnx.split(model)
for path, leaf in jax.tree.leaves_with_path(state):
    print(f"{jax.tree_util.keystr(path)} {leaf.shape}")

# %%
Source(stacks.step_split)

# %%
# `Flax's guide to performance <https://flax.readthedocs.io/en/latest/guides/performance.html>`__
# says that ``nnx.jit`` goes through the object in Python, which adds to the time of each call. We
# let the same stack take a step in three forms: as a module, with its state split off, and with the
# same parameters in a plain dict. How far apart are the times for 10 layers, which have 20 arrays?
from jaxcap.experiments import stacks as stack_experiments
from jaxcap.experiments.stacks import MODULE, SPLIT

stack_results = stack_experiments.STACKS.run(budget_s=0.03)
ten = stack_results.select(layers=10)
ten

# %%
splitting_pays = claim(
    "a step of ten layers is faster with their state split off than with "
    "nnx.jit",
    stack_results,
    speedup_of(SPLIT, over=MODULE, layers=10),
)
splitting_pays

# %%
# All three give XLA the same work, so the difference is in Python. Here is how many Python
# functions run in each step:
import sys


def python_calls(call):
    events = []
    sys.setprofile(lambda *event: events.append(event[1]))
    call()
    sys.setprofile(None)
    return events.count("call")


for name, way in stack_experiments.prepare(layers=10).items():
    way()
    print(f"{name:12} {python_calls(way):5}")

# %%
# JAX takes a dict apart in compiled code, so the only Python function in the last line is ours,
# which drops the new parameters. In a state, each array is wrapped in a ``Param``, which Flax
# unwraps in Python. In a module, Flax has to find the arrays first. All this happens in each call
# and for each array, whatever the array's size, so it matters only if the device has little to
# compute. The developers of a server for large models `found thousands of such Python calls
# <https://github.com/vllm-project/tpu-inference/pull/2615>`__ in each step, and now pass a tuple of
# arrays.
#
# A ref keeps an array outside the tree
# -------------------------------------
# What if a step has to remember something that doesn't belong in the tree? Since release 0.7.2, JAX
# has :func:`jax.new_ref` (older ones have ``mutable_array`` in ``jax.experimental``). A *ref* is an
# array that a compiled function may write to, even if it is neither an argument nor a result. A ref
# suits what a step records along the way, such as its loss:
history = jax.new_ref(jnp.zeros(5))


@jax.jit
def noting_step(params, i):
    history[i], params = step(params, x, y)
    return params


noted = params
for i in range(5):
    noted = noting_step(noted, i)
print(history[...])

# %%
# Refs come with `rules <https://docs.jax.dev/en/latest/array_refs.html>`__ about who may share them.
# For instance, a compiled function can't return one:
try:
    jax.jit(lambda: history)()
except ValueError as error:
    _, returned, what = str(error).splitlines()[0].partition("returned")
    print(fill(returned + what))

# %%
# Takeaway
# --------
thousand_leaves = thousand.speedup(LIST, over=ARRAY)
nested = nesting_costs_little.estimate
module = ten.speedup(MODULE, over=SPLIT)

# %%
# JAX looks at each array in each call: a step with a thousand of them was
# :measured:`thousand_leaves than with the same numbers in one`, and nested in dicts it was
# :measured:`nested than in a list`. A module is taken apart in Python as well: with ten layers,
# ``nnx.jit`` was :measured:`module than jax.jit of a split state`. So pack parameters in the form
# that is easiest to read, be it a dict, a registered class or a module. But if your steps are
# short, stack equal layers, or do many steps in one call.
#
# Try it yourself in :doc:`exercise 9 </exercises/9_pytrees>`. Next: :doc:`what a type checker sees
# of all these transformations </tutorials/transformations/typed_transformations>`.
