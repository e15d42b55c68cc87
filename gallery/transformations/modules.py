"""
What does a Flax module cost?
=============================

In Flax NNX, a model is an object, and each training step changes it. JAX can compile such a step,
but loses the change, so Flax does extra work in each call to save it. This page shows what that
work is, how much it adds to a plain step on a dict, and when you would notice.
"""

# %%
# A compiled step forgets what it changed
# ---------------------------------------
# :doc:`The page before </tutorials/transformations/pytrees>` kept a model in a dict, which each step
# replaced by a new one. In NNX, `the newer of Flax's interfaces
# <https://flax.readthedocs.io/en/latest/why.html>`__, parameters are attributes of an object. Here
# is a stack of layers, and a step that writes new parameters into it and returns the loss:
from jaxcap.kernels import stacks
from jaxcap.report.source import Source

Source(stacks.Stack, stacks.step_module)

# %%
# We compile this step first with :func:`jax.jit` and then with ``nnx.jit``, and take three steps
# with each. With which of them does the model learn?
import jax
from flax import nnx

examples = jax.random.normal(jax.random.key(0), (2, 16, 8))
train = nnx.jit(stacks.step_module)
for compiled in jax.jit(stacks.step_module), train:
    model = stacks.Stack(layers=2, width=8)
    losses = [compiled(model, *examples) for _ in range(3)]
    print([f"{loss:.4f}" for loss in losses])

# %%
# With ``jax.jit``, the loss stays what it was. JAX takes the model apart into its arrays, and puts
# together another model to trace the step with. The step changes that other model, and nobody keeps
# it. With ``nnx.jit``, the loss falls, so the change must have found a way out.
#
# A change gets out in a ref, or as a result
# ------------------------------------------
# JAX has arrays that a compiled function may change, which are called :doc:`refs
# </tutorials/transformations/updates>`. Writing to a ref is part of the compiled program, so it
# happens in each call:
steps = jax.new_ref(0)


@jax.jit
def count_step():
    steps[...] += 1


for _ in range(3):
    count_step()
print(steps[...])

# %%
# By default, Flax keeps parameters in ordinary arrays, so ``nnx.jit`` goes the other way, and lets
# the program return the new ones. It `splits
# <https://flax.readthedocs.io/en/latest/guides/jax_and_nnx_transforms.html>`__ your object into a
# *graph*, which says how the object is built, and a *state*, which is a pytree of its arrays. The
# program takes a state and returns another, which ``nnx.jit`` then writes into your object.
#
# You can also split the object by hand, once, and pass the state from step to step:
Source(stacks.step_split)

# %%
from functools import partial

graph, state = nnx.split(stacks.Stack(layers=2, width=8))
split_step = jax.jit(partial(stacks.step_split, graph))
for _ in range(3):
    loss, state = split_step(state, *examples)
    print(f"{loss:.4f}")

# %%
# The model learns as it did with ``nnx.jit``, which splits in every call. This loop split once.
#
# What does it cost to split in every call?
# -----------------------------------------
# We let a stack of ten layers take a step in three forms: as a module with ``nnx.jit``, with its
# state split off, and as a dict, without Flax. All three compute the same loss and gradient, which
# is little work, because a layer has only 8 units. How much shorter will the step be without Flax?
from jaxcap.experiments import stacks as experiments

results = experiments.STACKS.run(budget_s=0.03)

# %%
from jaxcap.experiments.stacks import DICT, MODULE, SPLIT
from jaxcap.report import figures

_ = figures.bars(
    results.select(layers=10),
    about=SPLIT,
    over=MODULE,
    title="One step of a stack of ten layers",
)

# %%
from jaxcap.report.claims import claim, speedup_of

splitting_pays = claim(
    "a step of ten layers is faster with their state split off than with "
    "nnx.jit",
    results,
    speedup_of(SPLIT, over=MODULE, layers=10),
)
split_once = splitting_pays.estimate
without_flax = results.select(layers=10).speedup(DICT, over=MODULE)
splitting_pays

# %%
# And the step on a dict, without Flax, was :measured:`without_flax than the one with nnx.jit`.
#
# The extra work is done in Python
# --------------------------------
# The arithmetic is the same, so we look at what happens around it. Python can report each of its
# functions that a call enters:
import sys


def python_calls(call, *args):
    events = []
    sys.setprofile(lambda *event: events.append(event[1]))
    call(*args)
    sys.setprofile(None)
    return events.count("call")


# %%
# Here are the counts for one step, first with ten layers, and then with twice as many:
counts = {}
for layers in 10, 20:
    for name, way in experiments.prepare(layers).items():
        way()
        counts[name, layers] = python_calls(way)
        print(f"{layers} layers, {name:11} {counts[name, layers]:5}")

# %%
# For a dict, the one function is our own, which drops the new parameters: JAX takes a dict apart in
# compiled code. In a split state, each array sits in a ``Param``, an object of Flax's, and JAX calls
# Flax's Python code to unwrap it and to wrap the result. In a module, Flax first has to find these
# objects. So Python's work grows with the number of arrays, however small they are.
#
# You notice it when steps are short
# ----------------------------------
# While the device works on one step, Python can :doc:`prepare the next
# </tutorials/transformations/asynchronous_dispatch>`, unless it waits for the loss. So if the device
# takes longer than Python, Flax's work costs you nothing. `Flax's guide to performance
# <https://flax.readthedocs.io/en/latest/guides/performance.html>`__ plots that for growing models.
#
# But even a large model can have short steps, for instance when it generates text. The developers
# of vLLM's backend for TPUs had split the state of their model once, and still `counted
# <https://github.com/vllm-project/tpu-inference/pull/2615>`__ thousands of calls a step, each to
# unwrap an array. They now pass a tuple of plain arrays.
#
# In training, you can keep the module, and have Flax take it apart only once. ``nnx.jit_partial``
# binds it to the step, so that a call needs nothing but the data:
model = stacks.Stack(layers=10, width=8)
bound = nnx.jit_partial(stacks.step_module, model, graph=False)
bound(*examples)
bound_calls = python_calls(bound, *examples)
print(bound_calls)

# %%
# In return, the step may change the numbers in the module, but not how the module is built, and with
# ``graph=False``, no two layers may `share a variable
# <https://flax.readthedocs.io/en/latest/api_reference/flax.nnx/transforms.html>`__. A count of calls
# isn't a time, so time your own step before you choose.
#
# Takeaway
# --------
module_calls = counts[MODULE, 10]

# %%
# In each call, ``nnx.jit`` takes the model apart in Python. For ten small layers, a step entered
# :measured:`module_calls` functions of Python. With the state split once, a step was
# :measured:`split_once than one with nnx.jit`.
#
# You don't notice that while the device takes longer than Python, so if your steps are long, use
# ``nnx.jit``. If they are short, split the model once, or bind it to the step: with
# ``nnx.jit_partial``, a step entered :measured:`bound_calls` functions.
#
# Next: :doc:`what a type checker sees of JAX's transformations
# </tutorials/transformations/typed_transformations>`.
