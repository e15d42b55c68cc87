"""
Will it fit into memory?
========================

A program may run out of memory as late as in its first step, when the data are loaded and everything
is compiled. You can find out sooner, because the compiler plans the memory of a program in advance.
This page reads that plan for a gradient, finds out what takes so much memory, and measures whether a
gradient that gets by with less takes longer.
"""

# %%
# Ask the compiler before anything runs
# -------------------------------------
# Our example is a stack of layers. Each multiplies a batch of examples by a matrix, takes ``tanh``,
# multiplies by another matrix, and adds the result to the batch. ``checkpoint_name`` returns its
# argument unchanged, under a name that we will refer to later.
from jaxcap.kernels import memory
from jaxcap.report.source import Source

Source(memory.layer, memory.loss)

# %%
# To compile a function, JAX `needs shapes and types
# <https://docs.jax.dev/en/latest/201/aot.html>`__, but no numbers. So we can describe the arrays
# instead of making them:
import jax
import jax.numpy as jnp


def analysis(function, layers, width=64, batch=512):
    """Compile a function of a stack and a batch, and analyse its memory."""
    stack = jax.eval_shape(lambda: memory.random_stack(layers, width))
    x = jax.ShapeDtypeStruct((batch, width), "float32")
    return jax.jit(function).lower(stack, x).compile().memory_analysis()


# %%
# The loss needs memory for one layer at a time. How much more does its gradient need, for a stack
# of 32 layers? Guess before you read on.
gradient = jax.grad(memory.loss)
for name, function in {"loss": memory.loss, "gradient": gradient}.items():
    found = analysis(function, layers=32)
    print(f"{name}:")
    print(f"  {found.argument_size_in_bytes / 1e6:6.2f} MB of arguments")
    print(f"  {found.output_size_in_bytes / 1e6:6.2f} MB of results")
    print(f"  {found.temp_size_in_bytes / 1e6:6.2f} MB of temporaries")

# %%
# *Temporaries* are the memory that the program sets aside for its own use while it runs. By this plan, a
# call needs the sum of the three numbers. If you :doc:`donate </tutorials/transformations/updates>` an
# argument, its memory can hold a result, so subtract the plan's ``alias_size_in_bytes``.
#
# A gradient remembers each layer
# -------------------------------
# Why does the gradient need so many temporaries? It goes through the layers forwards, and then
# backwards, and the *backward pass* needs numbers from the *forward pass*. :func:`jax.vjp` tells us
# which: it returns the backward pass as a function, which is also a pytree of `all that it
# remembers <https://docs.jax.dev/en/latest/301/vjp-objects.html>`__.
x = jnp.ones((512, 64))
weights = tuple(w[0] for w in memory.random_stack(layers=1, width=64))


def remembered(layer):
    """List the shapes of what the gradient of a layer remembers."""
    _, backwards = jax.vjp(layer, x, weights)
    return [leaf.shape for leaf in jax.tree.leaves(backwards)]


remembered(memory.layer)

# %%
# That is the batch, the two matrices, and two arrays that were computed between the two products. The
# matrices are arguments of the whole program, so they take no new memory. Does the rest explain the
# temporaries? Compare it with what one more layer adds to them:
inputs, _, _, *between = remembered(memory.layer)
kept = sum(4 * rows * columns for rows, columns in (inputs, *between))
few, more = (analysis(gradient, n).temp_size_in_bytes for n in (16, 32))
print(f"a layer remembers {kept / 1e6:.2f} MB")
print(f"and adds          {(more - few) / 16 / 1e6:.2f} MB of temporaries")

# %%
# Remember less, and compute it again
# -----------------------------------
# :func:`jax.checkpoint` wraps a function so that its gradient remembers only the arguments, and
# computes the rest again in the backward pass. A *policy* can keep more, such as the product that
# got a name in ``layer``:
only_product = jax.checkpoint_policies.save_only_these_names("product")
with_product = jax.checkpoint(memory.layer, policy=only_product)
print("arguments:  ", remembered(jax.checkpoint(memory.layer)))
print("and product:", remembered(with_product))

# %%
# Here are four ways to the same gradient. The second, with one checkpoint around the whole loss, is
# the easiest to add to a program. What will it save? And which of the four will take the longest?
from jaxcap.experiments import memory as experiments
from jaxcap.experiments.memory import EVERYTHING, INPUTS, PRODUCTS, WHOLE

Source(experiments.losses)

# %%
order = (EVERYTHING, WHOLE, PRODUCTS, INPUTS)
results = experiments.CHECKPOINTS.run(budget_s=0.05)

# %%
import matplotlib.pyplot as plt

from jaxcap.report import figures

least, most = (
    f"{results.only(name).temporary_bytes / 1e6:.1f} MB"
    for name in (INPUTS, EVERYTHING)
)
price = results.speedup(INPUTS, over=EVERYTHING).verdict_in_words
trade_off = f"{INPUTS.capitalize()}: {least} instead of {most}, {price}"

# %%
figure, (left, right) = plt.subplots(1, 2, sharey=True, figsize=(6, 3))
for row, (name, colour) in enumerate(figures.palette(order).items()):
    result = results.only(name)
    bar = left.barh(row, result.temporary_bytes / 1e6, color=colour)
    left.bar_label(bar, fmt="%.1f", padding=3)
    milliseconds = [1e3 * seconds for seconds in result.time.medians]
    right.plot(milliseconds, [row] * len(milliseconds), "o", color=colour)
left.set_yticks(range(4), [name.replace(", ", ",\n") for name in order])
left.invert_yaxis()
left.margins(x=0.3)
left.set(title="Memory", xlabel="MB of temporaries")
right.set(title="Time", xlabel="ms in each process", xlim=(0, None))
figures.headline(figure, trade_off)

# %%
# A checkpoint around the whole loss `saves nothing
# <https://docs.jax.dev/en/latest/301/remat.html#jax-checkpoint-fundamentals>`__: before it can go
# backwards, the gradient has to compute the whole loss, and remember all of it. With a checkpoint around
# each layer, one layer at a time is computed again and forgotten.
#
# That repeats the first product of each layer and ``tanh``, or only ``tanh`` if the policy keeps
# the product. Did you expect the repetition to take time?
from jaxcap.report.claims import claim, speedup_of

recomputing_costs = claim(
    "a gradient that remembers only the input of each layer takes longer than "
    "one that remembers everything",
    results,
    speedup_of(INPUTS, over=EVERYTHING),
    below=1,
)
recomputing_costs

# %%
# Memory takes time, too. On a CPU, the first access to each new page of memory interrupts the
# process by a *page fault*. How much new memory does the operating system give to each call?
import mmap

for name in order:
    faults = results.only(name).faults_per_call
    new = float("nan") if faults is None else faults * mmap.PAGESIZE / 1e6
    print(f"{name:32} {new:5.1f} MB of new pages in each call")


# %%
# On Linux, glibc's ``malloc`` keeps a freed block for the next call if it is `small enough
# <https://man7.org/linux/man-pages/man3/mallopt.3.html>`__, and returns a large one to the
# operating system. The next call then gets new pages, and pays for them again. A gradient that
# remembers less may need only small blocks, and the time that it saves on new pages can make up for
# what it computes twice.
#
# How many layers fit into a gigabyte?
# ------------------------------------
# Two analyses tell us what a layer adds. From that, we predict the largest stack that fits, and
# check the prediction by a third analysis:
def needed(function, layers):
    """Return the bytes of arguments, results and temporaries."""
    found = analysis(function, layers)
    besides = found.output_size_in_bytes + found.temp_size_in_bytes
    return found.argument_size_in_bytes + besides


largest = {}
for name in (EVERYTHING, INPUTS):
    function = jax.grad(experiments.losses()[name])
    few, more = needed(function, 16), needed(function, 32)
    fit = int(32 + (1e9 - more) / ((more - few) / 16))
    largest[name] = f"{fit:,}"
    print(f"{name}: {fit:,} layers, {needed(function, fit) / 1e9:.4f} GB")

# %%
# We found that out without allocating a gigabyte. The same arithmetic finds the largest batch.
#
# Does a process keep to such a plan? On a CPU, the operating system keeps a record of the most memory
# that a process has held, and on other devices, JAX keeps one. The record never falls, so each call
# gets a fresh process, and a large batch, and we see by how much it raises the record:
from jaxcap.measure import peak

point = {"layers": 32, "width": 64, "batch": 4096}
seen = {}
for name in (EVERYTHING, INPUTS):
    seen[name] = peak.growth_in_fresh_process(
        experiments.CHECKPOINTS, name, **point
    )

# %%
from jaxcap.results.tables import Table


def in_megabytes(size):
    """Write a number of bytes, which may be unknown."""
    return "unknown" if size is None else f"{size / 1e6:,.1f} MB"


rows = [(name, *map(in_megabytes, sizes)) for name, sizes in seen.items()]
columns = ("gradient", "planned", "measured")
Table("Temporaries and results of one call", columns, rows)


# %%
# Planned and measured memory differ by :measured:`excess`. On a CPU, the record counts the whole
# process, and the plan is for the compiled program alone, so leave some room.
#
# The compiler may undo a checkpoint
# ----------------------------------
# So far, the layers ran in a ``scan``. Write the same stack as a Python loop, and the compiler sees all
# layers at once, so it may save memory by itself. What does a checkpoint around each layer save then?
from functools import partial

sizes = []
for name, layer in {
    "everything": memory.layer,
    "checkpoint layers": jax.checkpoint(memory.layer),
}.items():
    unrolled = partial(memory.loss_unrolled, apply=layer)
    sizes.append(analysis(jax.grad(unrolled), layers=8).temp_size_in_bytes)
    print(f"{name:17} {sizes[-1] / 1e6:.2f} MB of temporaries")


# %%
# A compiler may notice that a number is computed twice, keep the first result, and so remember what
# the checkpoint wanted to forget. :func:`jax.checkpoint` asks it not to, by its option
# ``prevent_cse``. On this device, the compiler :measured:`merged`. In a ``scan``, the first
# computation is in the forward loop and the second in the backward loop, and across loops,
# `compilers usually optimise less
# <https://docs.jax.dev/en/latest/301/remat.html#practical-notes>`__.
#
# So ask the compiler that will compile your program, with a checkpoint and without it, and again after
# an update. Here are the temporaries of another gradient, as planned by many releases:
from jaxcap.releases import figures as by_release
from jaxcap.releases.recorded import recorded

name = "memory of a gradient of attention"
_ = by_release.course_of(recorded(), name)

# %%
# :doc:`Memory by release </releases/topics/memory>` has more programs.
#
# Takeaway
# --------
plain, thrifty = results.only(EVERYTHING), results.only(INPUTS)
size_plain = in_megabytes(plain.temporary_bytes)
size_thrifty = in_megabytes(thrifty.temporary_bytes)
compared = recomputing_costs.estimate
fit_plain, fit_thrifty = largest[EVERYTHING], largest[INPUTS]

# %%
more_mb = {
    "an unknown amount"
    if process is None
    else f"about {(process - planned) / 1e6:.0f} MB"
    for planned, process in seen.values()
}
same = " each" if len(more_mb) == 1 else ""
excess = " and ".join(sorted(more_mb)) + same
plain_loop, checkpointed_loop = sizes
merged = (
    "did it all the same" if checkpointed_loop == plain_loop else "complied"
)

# %%
# To know before you run, ask ``jax.jit(f).lower(...).compile().memory_analysis()``, which needs
# shapes but no numbers. Add up arguments, results and temporaries, and leave some room.
#
# A gradient through a stack of layers needed :measured:`size_plain` of temporaries when it
# remembered everything, and :measured:`size_thrifty` with a checkpoint around each layer. A
# gigabyte would hold the gradient of :measured:`fit_plain` layers without checkpoints, or of
# :measured:`fit_thrifty` layers with them.
#
# The gradient with checkpoints was :measured:`compared than the one without`. It computes some
# numbers twice, but needs less memory, and new memory takes time as well. Put checkpoints around the
# parts of a function, and ask the compiler what they save, because it may undo them.
#
# Try it yourself in :doc:`exercise 12 </exercises/12_memory>`. Next: :doc:`where does the time go
# </tutorials/performance/profiling>`?
