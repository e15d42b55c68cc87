"""
What does a Flax module cost?
=============================

:doc:`The page before </tutorials/transformations/pytrees>` kept a model in a dict, which each step
replaced by a new one. In Flax, a model is an object, and a step changes it. JAX can take such an
object apart, but a change that a compiled function makes to it is lost. How does Flax keep the
change, what does that cost in each call, and how can you avoid it?
"""

# %%
# A step that changes its model
# -----------------------------
# In Flax NNX, `the newer of Flax's interfaces <https://flax.readthedocs.io/en/latest/why.html>`__,
# a model has its parameters as attributes. This is a stack of layers, and a step that trains the
# stack:
from jaxcap.kernels import stacks
from jaxcap.report.source import Source

Source(stacks.Stack, stacks.step_module)

# %%
# The step writes new parameters into the model, and returns nothing but the loss. Does the model
# learn if the step is compiled, by JAX and by Flax?
import jax
from flax import nnx

examples = jax.random.normal(jax.random.key(0), (2, 16, 8))
train = nnx.jit(stacks.step_module)
for compiled in jax.jit(stacks.step_module), train:
    model = stacks.Stack(layers=2, width=8)
    losses = [compiled(model, *examples) for _ in range(3)]
    print([f"{loss:.4f}" for loss in losses])

# %%
# Under ``jax.jit``, the loss stays what it was, because
# :doc:`side effects get lost </tutorials/transformations/jit>`. Under ``nnx.jit``, it falls.
#
# How a change gets out of a compiled program
# -------------------------------------------
# ``nnx.jit`` `splits <https://flax.readthedocs.io/en/latest/guides/jax_and_nnx_transforms.html>`__
# the object into a graph, which becomes part of the program, and a state, which is a pytree. The
# program puts a model together from the two, lets the step change it, and returns the new state,
# which ``nnx.jit`` writes into your object. You can also split the object yourself, once, and pass
# only the state from step to step:
graph, state = nnx.split(model)
for path, leaf in jax.tree.leaves_with_path(state):
    print(f"{jax.tree_util.keystr(path)} {leaf.shape}")

# %%
Source(stacks.step_split)

# %%
# What does the object cost in each call?
# ---------------------------------------
# `Flax's guide to performance <https://flax.readthedocs.io/en/latest/guides/performance.html>`__
# says that ``nnx.jit`` goes through the object in Python, which adds to the time of each call. How
# much? We let the same stack take a step in three forms: as a module, with its state split off, and
# with the same parameters in a plain dict. Its 10 layers have 20 arrays:
from jaxcap.experiments import stacks as experiments

results = experiments.STACKS.run(budget_s=0.03)

# %%
from jaxcap.experiments.stacks import MODULE, SPLIT
from jaxcap.report import figures

_ = figures.bars(
    results.select(layers=10),
    about=SPLIT,
    over=MODULE,
    title="One step of a stack of ten layers",
)

# %%
results.select(layers=10).speedups(over=MODULE)

# %%
from jaxcap.report.claims import claim, speedup_of

splitting_pays = claim(
    "a step of ten layers is faster with their state split off than with "
    "nnx.jit",
    results,
    speedup_of(SPLIT, over=MODULE, layers=10),
)
splitting_pays

# %%
# All three forms give XLA the same work, so a difference comes from what happens around that work.
# Here is how often Python enters a function in each step:
import sys


def python_calls(call, *args):
    events = []
    sys.setprofile(lambda *event: events.append(event[1]))
    call(*args)
    sys.setprofile(None)
    return events.count("call")


counts = {}
for name, way in experiments.prepare(layers=10).items():
    way()
    counts[name] = python_calls(way)
    print(f"{name:12} {counts[name]:5}")

# %%
# JAX takes a dict apart in compiled code, so next to no Python runs for the dict. A split state
# wraps each array in a ``Param``. Flax unwraps these in Python before the call, and makes new ones
# around the results after it. In a module, Flax has to find the arrays first.
#
# Python's work grows with the number of arrays, and not with their size. So it matters only if the
# device has little to compute. With longer steps, Python
# prepares the next call :doc:`while the device still works on the last one
# </tutorials/transformations/asynchronous_dispatch>`, and you don't wait for it.
#
# Large models can have many arrays and short steps, too. The developers of vLLM's backend for TPUs
# had already split their model, and still `found thousands of Python calls
# <https://github.com/vllm-project/tpu-inference/pull/2615>`__ in each step, which unwrapped the
# parameters. They now pass a tuple of plain arrays.
#
# How can you keep the module and spare the work?
# -----------------------------------------------
# Flax's guide to performance has a remedy. ``nnx.cached_partial`` goes through the module once and
# binds it to the function, and each later call reuses the result of that walk. In return, a step
# may change numbers in the module, but must not leave it with another structure:
stack = stacks.Stack(layers=10, width=8)
cached = nnx.cached_partial(train, stack)
cached(*examples)
cached_calls = python_calls(cached, *examples)
print(f"cached       {cached_calls:5}")

# %%
# The count shows how many of Python's calls are left with ``cached_partial``. Recent versions of
# Flax have another remedy: ``nnx.jit(..., graph=False)`` treats the module `as a pytree
# <https://flax.readthedocs.io/en/latest/api_reference/nnx/transforms.html>`__ instead of a graph,
# so no two of its layers can share a variable. We haven't measured how much time either saves.
#
# Takeaway
# --------
split_once = splitting_pays.estimate
split_calls = counts[SPLIT]

# %%
# In each call, ``nnx.jit`` takes the module apart in Python. With ten small layers, a step with a
# state that was split once was :measured:`split_once than one with nnx.jit`. If your steps take so
# long that the device is busy while Python works, keep the form that is easiest to read. If your
# steps are short, split the module once: a step then entered :measured:`split_calls` functions of
# Python, and with ``nnx.cached_partial`` :measured:`cached_calls`.
#
# Next: :doc:`what a type checker sees of JAX's transformations
# </tutorials/transformations/typed_transformations>`.
