"""
Will it fit into memory?
========================

A program that runs out of memory usually does so late, when the data are loaded and everything is
compiled. But you can find out beforehand. This page asks the compiler how much memory a gradient
needs, and checks the answer against what a process really takes. Then we let the gradient remember
less and compute some numbers a second time. How much memory does that save, and what does it cost
in time?
"""

# %%
# Ask the compiler
# ----------------
# Our example is a stack of layers. Each multiplies a batch of examples by one matrix, takes
# ``tanh``, multiplies by another matrix, and adds the result to the batch. (Ignore
# ``checkpoint_name`` for now: it names the first product, so that JAX can be told to keep it.)
from jaxcap.kernels import memory
from jaxcap.report.source import Source

Source(memory.layer, memory.loss)

# %%
# To compile, JAX `needs shapes and types <https://docs.jax.dev/en/latest/201/aot.html>`__ but no
# numbers, so you can compile for arrays that don't exist. :func:`jax.eval_shape` describes what a
# function would return, and :class:`jax.ShapeDtypeStruct` describes an array:
import jax
import jax.numpy as jnp


def described(layers, width=64, batch=512):
    """Describe the weights of a stack, and a batch."""
    stack = jax.eval_shape(lambda: memory.random_stack(layers, width))
    return stack, jax.ShapeDtypeStruct((batch, width), "float32")


def analysis(function, layers):
    """Compile a function of a stack and a batch, and analyse its memory."""
    compiled = jax.jit(function).lower(*described(layers)).compile()
    return compiled.memory_analysis()


# %%
# The loss needs memory for one layer at a time. How much more does its gradient need, for 32
# layers? Guess before you read on.
gradient = jax.grad(memory.loss)
plans = {}
for name, function in {"loss": memory.loss, "gradient": gradient}.items():
    plans[name] = found = analysis(function, layers=32)
    print(f"{name}:")
    print(f"  {found.argument_size_in_bytes / 1e6:6.2f} MB of arguments")
    print(f"  {found.output_size_in_bytes / 1e6:6.2f} MB of results")
    print(f"  {found.temp_size_in_bytes / 1e6:6.2f} MB of temporaries")
    print(f"  {found.peak_memory_in_bytes / 1e6:6.2f} MB at the peak?")

# %%
omitted = 0
for found in plans.values():
    others = found.argument_size_in_bytes + found.output_size_in_bytes
    omitted += (
        found.peak_memory_in_bytes < others + found.temp_size_in_bytes / 2
    )
omits_in = ("neither program", "one program", "both programs")[omitted]

# %%
# *Temporaries* are the memory that the program sets aside for its own use while it runs. The last
# number, ``peak_memory_in_bytes``, looks like the answer, but here it leaves out the temporaries of
# :measured:`omits_in`. So add arguments, results and temporaries instead.
#
# A gradient remembers
# --------------------
# A gradient goes through the layers forwards, and then backwards from the last to the first. Going
# backwards, it needs numbers that it computed going forwards. Which ones? :func:`jax.vjp` returns
# the second half, the *backward pass*, as a function, which is also a pytree of
# `everything that it remembers <https://docs.jax.dev/en/latest/301/vjp-objects.html>`__:
x = jnp.ones((512, 64))
weights = tuple(w[0] for w in memory.random_stack(layers=1, width=64))


def remembered(layer):
    """List the shapes of what the gradient of a layer remembers."""
    _, backwards = jax.vjp(layer, x, weights)
    return [leaf.shape for leaf in jax.tree.leaves(backwards)]


remembered(memory.layer)

# %%
# The gradient of a layer remembers the batch, the two matrices, and two arrays that were computed
# between the matrices. The matrices are there anyway. So each layer should add the batch and the
# two arrays to the temporaries:
numbers_of_layers = (4, 16, 32, 64)
temporaries = {
    name: [analysis(f, n).temp_size_in_bytes for n in numbers_of_layers]
    for name, f in {"gradient": gradient, "loss": memory.loss}.items()
}

# %%
import matplotlib.pyplot as plt

from jaxcap.report import figures

figure, axes = plt.subplots(figsize=(6, 3.2))
for (name, sizes), marker in zip(temporaries.items(), figures.MARKERS):
    megabytes = [size / 1e6 for size in sizes]
    axes.plot(numbers_of_layers, megabytes, marker=marker, label=name)
axes.set(xlabel="layers", ylabel="MB of temporaries\n(lower is better)")
axes.set_ylim(0)
most, least = (temporaries[name][-1] for name in ("gradient", "loss"))
times = f"{most / least:.0f} times as much as their loss"
finding = f"The gradient of {numbers_of_layers[-1]} layers needs {times}"
figures.headline(figure, finding)
figures.label_ends(axes)

# %%
# Compare the slope of the gradient's line with the size of what a layer remembers besides its
# matrices:
first, *_, last = temporaries["gradient"]
rise = (last - first) / (numbers_of_layers[-1] - numbers_of_layers[0])
inputs, _, _, *between = remembered(memory.layer)
kept = sum(4 * rows * columns for rows, columns in (inputs, *between))
print(f"a layer adds {rise / 1e6:.2f} MB, and remembers {kept / 1e6:.2f} MB")

# %%
# What does the process take?
# ---------------------------
# An analysis is a plan. How much memory does the process take when it runs? The operating system
# keeps a record of the most that a process has ever held. We read it before and after a call, and
# the difference is what the call added. The record never falls, so a large call hides all smaller
# ones after it. Therefore, each call gets a fresh process. (On a GPU, we ask JAX for the peak. What
# ``nvidia-smi`` shows is no help, because by default JAX `reserves most of the GPU's memory
# <https://docs.jax.dev/en/latest/201/gpu-memory.html>`__ with its first operation.)
#
# We run two gradients, with a batch so large that little else in the process matters. The second
# gradient is the subject of the next section:
from jaxcap.experiments import memory as experiments
from jaxcap.experiments.memory import EVERYTHING, INPUTS, PRODUCTS, WHOLE
from jaxcap.measure import peak

point = {"layers": 32, "width": 64, "batch": 4096}
run = peak.growth_in_fresh_process
seen = {
    name: run(experiments.CHECKPOINTS, name, **point)
    for name in (EVERYTHING, INPUTS)
}

# %%
from jaxcap.results.tables import Table


def in_megabytes(size):
    """Write a number of bytes, which may be unknown."""
    return "unknown" if size is None else f"{size / 1e6:,.1f} MB"


rows = [(name, *map(in_megabytes, sizes)) for name, sizes in seen.items()]
columns = ("gradient", "by analysis", "by its process")
Table("Temporaries and results of one call", columns, rows)

# %%
# The operating system also counts memory that the runtime and its threads use, which the compiler
# doesn't know about: here, :measured:`excess`. Plan with the analysis, and leave some room
# for the rest.
#
# Remember less, and compute it again
# -----------------------------------
# :func:`jax.checkpoint` wraps a function so that its gradient remembers only the arguments. In the
# backward pass, the function runs again to recover the rest, which is called *rematerialisation*. A
# *policy* lets you choose what else to remember, such as the product that got a name in ``layer``:
only_product = jax.checkpoint_policies.save_only_these_names("product")
with_product = jax.checkpoint(memory.layer, policy=only_product)
print("arguments:  ", remembered(jax.checkpoint(memory.layer)))
print("and product:", remembered(with_product))

# %%
# Here are four ways to the same gradient. The second looks like the easiest way to save memory,
# with one checkpoint around everything:
Source(experiments.losses)

# %%
# Do they agree? And what do they compute? The program's text contains the body of each loop only
# once, so we count the operations of a single layer:
ways = experiments.prepare(layers=4, width=8, batch=16)
expected = jax.tree.leaves(ways[EVERYTHING]())
for name, way in ways.items():
    pairs = zip(jax.tree.leaves(way()), expected)
    off = max(abs(a - b).max() for a, b in pairs)
    text = way.func.lower(*way.args, **way.keywords).as_text()
    products = text.count("stablehlo.dot_general")
    tanhs = text.count("stablehlo.tanh")
    print(f"{name:32} off by {off:.0e}, {products} products, {tanhs} tanh")

# %%
# An offset of 0 means that two gradients agree to the last bit. On other devices, they may differ
# by rounding. For each layer, a plain gradient multiplies matrices six times: twice in the forward
# pass, and four times in the backward pass. A checkpoint around each layer repeats the first of
# these products and ``tanh``, or only ``tanh`` if the policy keeps the product. What will that do
# to the time?
order = (EVERYTHING, WHOLE, PRODUCTS, INPUTS)
results = experiments.CHECKPOINTS.run(budget_s=0.05)
results

# %%
least, most = (
    f"{results.only(name).temporary_bytes / 1e6:.3g} MB"
    for name in (INPUTS, EVERYTHING)
)
price = results.speedup(INPUTS, over=EVERYTHING).verdict_in_words
trade_off = f"{INPUTS.capitalize()}: {least} instead of {most}, {price}"

# %%
figure, (left, right) = plt.subplots(1, 2, sharey=True, figsize=(6, 3))
for row, name in enumerate(order):
    result, colour = results.only(name), figures.COLOURS[row]
    left.barh(row, result.temporary_bytes / 1e6, color=colour)
    milliseconds = [1e3 * seconds for seconds in result.time.medians]
    right.plot(milliseconds, [row] * len(milliseconds), "o", color=colour)
left.set_yticks(range(4), [name.replace(", ", ",\n") for name in order])
left.invert_yaxis()
left.set(title="Memory", xlabel="MB of temporaries")
longest = max(max(result.time.medians) for result in results)
right.set(
    title="Time", xlabel="ms in each process", xlim=(0, 1.1e3 * longest)
)
figures.headline(figure, trade_off)

# sphinx_gallery_thumbnail_number = 2

# %%
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
# Memory takes time, too. The first access to each new page of it interrupts the process by a *page
# fault* (:doc:`mistake 9 of timing </tutorials/performance/timing>` has more on them). How much new
# memory does each call get?
import mmap

for name in order:
    faults = results.only(name).faults_per_call or 0
    new = faults * mmap.PAGESIZE / 1e6
    print(f"{name:32} {new:5.1f} MB of new pages in each call")

# %%
# On Linux, glibc's ``malloc`` keeps freed blocks below a threshold for the next call, and returns
# larger ones to the operating system. By default, the threshold `adapts
# <https://man7.org/linux/man-pages/man3/mallopt.3.html>`__, but only up to 34 MB. So a gradient
# with fewer temporaries may be spared the page faults. The experiment leaves ``malloc`` as it is,
# as your program does. When we told it to keep all memory, in a try on a CPU, the two gradients came
# much closer to each other.
#
# A checkpoint may save nothing
# -----------------------------
# A checkpoint around everything saves nothing, because the backward pass can't begin before the
# whole forward pass has run, and all of it has to be remembered. And if you ask for the value as
# well, the forward pass runs twice. JAX's documentation `warns of such a checkpoint
# <https://docs.jax.dev/en/latest/301/remat.html#jax-checkpoint-fundamentals>`__: wrap the parts,
# not the whole.
#
# Even a checkpoint around each layer may save nothing. Write the same stack as a Python loop, and
# the compiler sees all its layers at once. Count how often JAX asks for ``tanh``, and how often the
# compiled program computes it:
import re
from functools import partial

asked, done = {}, {}
checkpointed = jax.checkpoint(memory.layer)
for name, layer in {"plain": memory.layer, "layers": checkpointed}.items():
    unrolled = partial(memory.loss_unrolled, apply=layer)
    lowered = jax.jit(jax.grad(unrolled)).lower(*described(layers=8))
    compiled = lowered.compile()
    asked[name] = lowered.as_text().count("stablehlo.tanh")
    done[name] = len(re.findall(r" tanh\(", compiled.as_text()))
    size = compiled.memory_analysis().temp_size_in_bytes / 1e6
    print(f"{name:6} {asked[name]:2} asked, {done[name]} done, {size:.2f} MB")


# %%
# With checkpoints, JAX asked for each ``tanh`` twice, and the compiler :measured:`reaction`.
# Usually, reusing a result is good. Here it undoes the checkpoint. JAX tries to prevent the reuse
# by a barrier (the option ``prevent_cse`` of :func:`jax.checkpoint`), but a compiler may remove it,
# and users `have reported that it saved nothing <https://github.com/jax-ml/jax/issues/19822>`__.
#
# In a ``scan``, as above, one ``tanh`` is in the forward loop and its repeat in the backward loop,
# and `compilers optimise less across loops
# <https://docs.jax.dev/en/latest/301/remat.html#practical-notes>`__. So a scan doesn't need the
# barrier, and ``prevent_cse=False`` leaves it out. Whether you write a scan or a loop, ask for the
# temporaries before you trust a checkpoint.
#
# Give an argument's memory to the result
# ---------------------------------------
# While a training step runs, there are two copies of the weights, old and new. :doc:`Donate
# </tutorials/transformations/updates>` the old ones, and the new ones are written in their place:
def descend(stack, slopes):
    return jax.tree.map(lambda w, slope: w - 0.1 * slope, stack, slopes)


stack = memory.random_stack(layers=32, width=64)
donating = jax.jit(descend, donate_argnums=0)
found = donating.lower(stack, stack).compile().memory_analysis()
print(f"{found.output_size_in_bytes / 1e6:.2f} MB of results, of which")
print(f"{found.alias_size_in_bytes / 1e6:.2f} MB in the place of arguments")


# %%
# So from the sum of arguments, results and temporaries, subtract this ``alias_size_in_bytes``.
#
# The largest stack that fits
# ---------------------------
# How many layers fit into a gigabyte? Two analyses tell us what a layer adds:
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
# The last analysis checks each forecast, and nothing of that size had to be allocated. The same
# arithmetic finds the largest batch.
#
# A plan depends on the compiler that makes it, so it may change with a release:
# :doc:`/releases/topics/memory` shows the temporaries of a gradient under many releases. If a
# program of yours no longer fits after an update, compare the analyses of both releases. Unlike
# times, they don't scatter. (Make them for the kind of device on which the program will run.)
#
# If a GPU runs out of memory (we haven't tried this advice on one), first see whether another
# process uses it, because each process of JAX reserves three quarters of its memory by default.
# JAX's `page on GPU memory <https://docs.jax.dev/en/latest/201/gpu-memory.html>`__ has the settings
# for that. Then donate what a step replaces, make the batches smaller, and put a checkpoint around
# the body of the ``scan``: the analysis says beforehand how much you gain by each.
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
same = " in each" if len(more_mb) == 1 else ""
excess = " and ".join(sorted(more_mb)) + same
saved_pages = (plain.faults_per_call or 0) - (thrifty.faults_per_call or 0)
saved_mb = round(saved_pages * mmap.PAGESIZE / 1e6)
less = f"{saved_mb} MB less new memory, and so avoided page faults"
touched = less if saved_mb > 0 else "no less new memory"

# %%
merged = done["layers"] < asked["layers"]
reaction = "computed it only once" if merged else "computed it twice"

# %%
# To know before you run, ask ``jax.jit(f).lower(...).compile().memory_analysis()``, which needs
# shapes but no numbers. To get the memory of a call, add arguments, results and temporaries. Then
# subtract ``alias_size_in_bytes``, the donated memory that the results reuse.
#
# Here a gradient through a stack of layers needed :measured:`size_plain` of temporaries when it
# remembered everything, and :measured:`size_thrifty` with a checkpoint around each layer. A
# gigabyte would hold the gradient of :measured:`fit_plain` layers without checkpoints, or of
# :measured:`fit_thrifty` layers with them.
#
# The gradient with checkpoints was :measured:`compared than the one without`. Checkpoints repeat
# work, but each call touched :measured:`touched`. On another device or at another size, the balance
# may differ.
#
# Compare the temporaries before and after you add a checkpoint, because a checkpoint around the
# whole function saves nothing, and a compiler may undo a checkpoint around a part.
#
# Try it yourself in :doc:`exercise 12 </exercises/12_memory>`. Next: :doc:`where does the time go
# </tutorials/performance/profiling>`?
