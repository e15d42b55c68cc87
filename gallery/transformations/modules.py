"""
What does a Flax module cost?
=============================

In Flax NNX, a model is an object, and each training step changes it. :func:`jax.jit` compiles such a
step but discards its change to the model; ``nnx.jit`` does extra work in every call to keep it. This
page shows what that work is, how much longer it makes a step, and when you would notice.
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
# We compile it first with ``jax.jit`` and then with ``nnx.jit``, and take three steps with each:
import jax
from flax import nnx

examples = jax.random.normal(jax.random.key(0), (2, 16, 8))
for compile_step in jax.jit, nnx.jit:
    step = compile_step(stacks.step_module)
    model = stacks.Stack(layers=2, width=8)
    losses = [step(model, *examples) for _ in range(3)]
    print([f"{loss:.4f}" for loss in losses])

# %%
# With ``jax.jit``, the loss stays the same. JAX takes the model apart into its arrays, and builds a
# second model from them to trace the step with. The step changes this second model, which is then
# thrown away. With ``nnx.jit``, the loss falls, so the change reached our model.
#
# How a change leaves a compiled function
# ---------------------------------------
# JAX has :doc:`refs </tutorials/transformations/updates>`, which are arrays that a compiled function
# may change. But Flax keeps parameters in ordinary arrays by default, so a change has to leave the
# program as a result. In each call, ``nnx.jit`` `splits
# <https://flax.readthedocs.io/en/latest/guides/jax_and_nnx_transforms.html>`__ your object into a
# *graph*, which says how the object is built, and a *state*, which is a pytree of its arrays. The
# program takes a state and returns another, which ``nnx.jit`` writes back into the object.
#
# You can also split the object yourself, once, and pass the state from step to step:
Source(stacks.step_split)

# %%
from functools import partial

graph, state = nnx.split(stacks.Stack(layers=2, width=8))
split_step = jax.jit(partial(stacks.step_split, graph))
for _ in range(3):
    loss, state = split_step(state, *examples)
    print(f"{loss:.4f}")

# %%
# The losses are those of ``nnx.jit``, but this loop split the model only once.
#
# What does it cost to split in every call?
# -----------------------------------------
# We time a step of ten layers in :doc:`three forms </results/experiments/stacks>`: on a module with
# ``nnx.jit``, on a state that was split once, and on a dict, without Flax. All three compute the same
# loss and gradient, which is little work, because a layer has only 8 units. How much shorter will the
# step be if the model was split once?
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
# The step on a dict was :measured:`without_flax than the one with nnx.jit`.
#
# The extra work is done in Python
# --------------------------------
# The difference must lie in the work around the loss and gradient. Python can report each call of a
# Python function:
import sys


def python_calls(call, *args):
    events = []
    sys.setprofile(lambda *event: events.append(event[1]))
    call(*args)
    sys.setprofile(None)
    return events.count("call")


# %%
# Here are the counts for one step with ten layers, and with twice as many:
counts = {}
for layers in 10, 20:
    for name, way in experiments.prepare(layers).items():
        way()
        counts[name, layers] = python_calls(way)
        print(f"{layers} layers, {name:11} {counts[name, layers]:5}")

# %%
# With a dict, the only Python call is to our own wrapper, which drops the new parameters; JAX flattens
# dicts in C++. In a split state, each array sits in a ``Param``, an object of Flax's, and JAX
# calls Flax's Python code to unwrap it and to wrap the result. With a module, Flax must also search
# the module for these objects. So Python's work grows with the number of arrays, however small they
# are.
#
# You notice it when steps are short
# ----------------------------------
# While the device works on one step, Python can :doc:`prepare the next
# </tutorials/transformations/asynchronous_dispatch>`, unless it waits for the loss. So if the device
# takes longer than Python, Flax's work costs hardly any time. `Flax's guide to performance
# <https://flax.readthedocs.io/en/latest/guides/performance.html>`__ plots this for growing models.
#
# But even a large model can have short steps, for instance when it generates text. The developers
# of vLLM's backend for TPUs, who had split their model's state once, still `counted
# <https://github.com/vllm-project/tpu-inference/pull/2615>`__ thousands of calls a step to unwrap its
# arrays. They now pass a tuple of plain arrays.
#
# You can also keep the module and make fewer calls. With ``graph=False``, Flax treats the module as a
# pytree, which takes less work than a graph. ``nnx.jit_partial`` also binds the module to the step,
# and so takes it apart only once. Here are both, each with a module of its own:
one, two = (stacks.Stack(layers=10, width=8) for _ in range(2))
as_tree = partial(nnx.jit(stacks.step_module, graph=False), one)
bound = nnx.jit_partial(stacks.step_module, two, graph=False)
for step in as_tree, bound:
    step(*examples)
    calls = python_calls(step, *examples)
    print(f"{calls:4} calls a step, and a loss of {step(*examples):.4f}")

# %%
# Both steps change their module, and arrive at the same loss. The price is that ``graph=False`` passes
# on the new values of variables alone: an attribute that a step adds to the module is lost, and a
# variable `shared
# <https://flax.readthedocs.io/en/latest/api_reference/flax.nnx/transforms.html>`__ by two layers is
# an error. Calls differ in length, so time your own step before you choose.
#
# Takeaway
# --------
module_calls = counts[MODULE, 10]
split_calls = counts[SPLIT, 10]

# %%
# In each call, ``nnx.jit`` takes the model apart in Python. For ten small layers, a step made
# :measured:`module_calls` Python calls. With the state split once, it made :measured:`split_calls`,
# and was :measured:`split_once than with nnx.jit`.
#
# As long as the device takes longer than Python, you hardly notice, so if your steps are long, use
# ``nnx.jit``. If they are short, split the model once, or bind it to the step with
# ``nnx.jit_partial`` and ``graph=False``.
#
# Next: :doc:`what a type checker sees of JAX's transformations
# </tutorials/transformations/typed_transformations>`.
