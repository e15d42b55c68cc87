"""
Which arguments must be static?
===============================

Some arguments decide *what* a function computes: how often a loop runs, or how large an array is.
A compiled function can't take them like other arguments. After this page you will know the errors
that say so, what a static argument costs, and how to do without.
"""

# %%
# A loop over a traced number
# ---------------------------
# This function counts and returns its argument. Python has no trouble with it. Compiled, it fails:
import textwrap

import jax
import jax.numpy as jnp


def empty_loop(x, num_loops):
    for _ in range(num_loops):
        pass
    return x


def say(message):
    """Print the first sentence of an error message."""
    print(textwrap.fill(message.splitlines()[0].split(". ")[0], 70))


try:
    jax.jit(empty_loop)(14, 1_000_000)
except jax.errors.TracerIntegerConversionError as error:
    say(str(error))

# %%
# To compile a function, :func:`jax.jit` calls it with stand-ins, and records what is done to them.
# That is called `tracing <https://docs.jax.dev/en/latest/tracing.html>`__, and the stand-ins tracers. A tracer has a shape and a type, but
# no value, so that the record holds for all values. Here is one:
_ = jax.jit(lambda n: print(n, n.shape, n.dtype))(1_000_000)

# %%
# ``range`` wants a number, and there is none. For the same reason an array can't get its shape from
# an argument:
try:
    jax.jit(lambda n: jnp.full((2, n), 5))(5)
except TypeError as error:
    say(str(error))
    print(str(error).splitlines()[1])

# %%
# Static arguments
# ----------------
# The message ends with the remedy. An argument that is *static* isn't replaced by a tracer: the function
# sees its value while it is traced. Name it by position or, more safely, by name:
jax.jit(empty_loop, static_argnums=1)(14, 1_000_000)


# %%
def fives(columns):
    return jnp.full((2, columns), 5)


jax.jit(fives, static_argnames="columns")(columns=5)

# %%
# Each value compiles
# -------------------
# The price: the compiled program is good for that value only. Python code in the function runs when
# it is traced, and not when the compiled program does, so a line that counts its own calls counts
# compilations:
from functools import wraps


def counting(function):
    """Make a function that counts how often it is traced."""

    @wraps(function)
    def counted(*args, **kwargs):
        counted.traces += 1
        return function(*args, **kwargs)

    counted.traces = 0
    return counted


# %%
counted_loop = counting(empty_loop)
fast_loop = jax.jit(counted_loop, static_argnames="num_loops")
for num_loops in (1_000_000, 1_000_000, 999_999):
    fast_loop(14, num_loops)
    print(f"{num_loops:9,}: {counted_loop.traces} compilations so far")

# %%
# The second call finds the program of the first. The third asks for another number and, as far as
# JAX knows, for another program. That shows on the clock, here with a single run in this process:
import time


def stopwatch(function, *args):
    """Print the milliseconds until the result of a call is there."""
    start = time.perf_counter()
    jax.block_until_ready(function(*args))
    print(f"{args[-1]:9,}: {1000 * (time.perf_counter() - start):7.2f} ms")


fast_loop = jax.jit(empty_loop, static_argnums=1)
jax.clear_caches()
for num_loops in (1_000_000, 1_000_000, 999_999):
    stopwatch(fast_loop, 14, num_loops)

# %%
# By the time that the program runs, the loop is over: Python counts to a million while the function is
# traced, and nothing of that is left in the program, which returns its argument. That is why the second
# call is fast. The same for the shapes:
fast_fives = jax.jit(fives, static_argnums=0)
for columns in (5, 5, 6):
    stopwatch(fast_fives, columns)

# %%
# How much that is, over several processes, comes next, with a loop whose length matters.
#
# A loop that does something
# --------------------------
# An empty loop leaves nothing behind. A loop with an operation in it leaves that operation, as many
# times as it ran. Take the cosine, again and again:
x = jnp.linspace(0.0, 1.0, 1000)


def cosines_unrolled(x, steps):
    for _ in range(steps):
        x = jnp.cos(x)
    return x


jax.make_jaxpr(cosines_unrolled, static_argnums=1)(x, 4)


# %%
# With a million steps that would be a million lines to trace, optimise and translate. The loop
# should run on the device instead, and there is an operation for it, :func:`jax.lax.fori_loop`. It
# takes the function that does one step, is a single operation to the compiler, and its bound can be
# traced:
def cosines(x, steps):
    return jax.lax.fori_loop(0, steps, lambda _, x: jnp.cos(x), x)


counted_cosines = counting(cosines)
fast_cosines = jax.jit(counted_cosines)
for steps in (1, 10, 100, 1000):
    print(f"{steps:4} steps of 0.5: {fast_cosines(0.5, steps):.6f}")
print("compilations:", counted_cosines.traces)

# %%
# (It converges to the only number that is its own cosine.) Both loops compute the same:
static_cosines = jax.jit(cosines_unrolled, static_argnames="steps")
float(abs(static_cosines(x, 100) - fast_cosines(x, 100)).max())

# %%
# Now both are measured for more and more steps, in several fresh processes. The unrolled loop
# should take longer to compile the more steps it has; the other should not care.
from jaxcap.experiments import static_arguments as experiments
from jaxcap.experiments.static_arguments import ROLLED, UNROLLED

loops_and_means = experiments.LOOPS.run(budget_s=0.05)
results = loops_and_means.subset(
    r for r in loops_and_means if "of" not in r.parameters
)
results

# %%
import matplotlib.pyplot as plt
import numpy as np
from matplotlib.ticker import EngFormatter

figure, axes = plt.subplots()
for variant, line in ((UNROLLED, "o-"), (ROLLED, "s-")):
    chosen = results.select(variant=variant).results
    steps = [result.parameters["steps"] for result in chosen]
    first = [result.first_call for result in chosen]
    values = [one.value for one in first]
    ends = np.transpose([(one.low, one.high) for one in first])
    axes.errorbar(steps, values, abs(ends - values), fmt=line, label=variant)
axes.set_title("What the first call takes")
axes.set_xlabel("steps")
axes.set_ylabel("time of the first call")
axes.set_ylim(bottom=0)
axes.yaxis.set_major_formatter(EngFormatter(unit="s"))
_ = figure.legend(loc="outside lower center", ncols=2)

# sphinx_gallery_thumbnail_number = 1

# %%
# With a single step there is nothing to unroll yet, and still a new value of the static argument takes
# as long as many calls with a known one:
one_step = results.only(UNROLLED, steps=1)
new_value = one_step.first_call
known_value = one_step.time
new_in_calls = round(new_value.value / known_value.value)
print(f"new {new_value.short}, known {known_value.short}")

# %%
# The calls after the first one:
from jaxcap.report import figures

_ = figures.scaling(results, x="steps", title="What later calls take")

# %%
# Here, unrolling can be ahead: the compiler sees all steps at once and may fuse them, and there is no
# loop to run. Only where it is ahead, and by enough to earn back the longer first call, does a static
# bound pay, provided that the bound rarely changes. Is it ahead here?
from jaxcap.report.claims import LARGEST, claim, speedup_of

largest = max(result.parameters["steps"] for result in results)
at_largest = results.select(steps=largest)
first_unrolled = at_largest.only(UNROLLED).first_call
first_rolled = at_largest.only(ROLLED).first_call
unrolling_pays = claim(
    "later calls are faster unrolled than with fori_loop, for the most steps "
    "measured",
    results,
    speedup_of(UNROLLED, over=ROLLED, steps=LARGEST),
)
unrolling_pays

# %%
# One thing the traced bound costs: such a loop can't be differentiated backwards, since JAX would
# have to keep a value for each step and can't know how many there will be. If you need
# :func:`jax.grad`, make the bound static. ``fori_loop`` then is a :func:`jax.lax.scan`, and still
# compiles a single step.
try:
    jax.grad(fast_cosines)(0.5, 3)
except ValueError as error:
    say(str(error))

# %%
# With a static bound it works, and agrees with the unrolled loop:
slope = jax.grad(jax.jit(cosines, static_argnames="steps"))
print(slope(0.5, steps=3), jax.grad(cosines_unrolled)(0.5, 3))

# %%
# Shapes: pad to a few
# --------------------
# For shapes there is no way around: each shape of an argument compiles too, static or not. Take
# measurements that arrive in lengths of all kinds, of which we want the means:
from jaxcap.kernels import loops

arrays = loops.measurements(20)
mean = counting(jnp.mean)
fast_mean = jax.jit(mean)
exact = [fast_mean(a) for a in arrays]
print(len(arrays), "arrays,", mean.traces, "compilations")


# %%
# Instead, append zeros until the length is a power of two, and hand over the true length as an
# ordinary, traced number. ``mean_of_first`` sums ``jnp.where(jnp.arange(x.size) < count, x, 0)`` and
# divides by the count. At most twice as much is computed, and a handful of programs do for all
# lengths:
mean_padded = counting(loops.mean_of_first)
fast_mean_padded = jax.jit(mean_padded)
means = loops.means_padded(fast_mean_padded, arrays)
print(len(arrays), "arrays,", mean_padded.traces, "compilations")
print("largest difference:", abs(np.subtract(means, exact)).max())

# %%
compiled_exact, compiled_padded = mean.traces, mean_padded.traces

# %%
# ``padded`` is NumPy's work. JAX's own padding would have to be compiled for each length, and
# nothing would be won. The time that passes in this process, array by array, from empty caches:
ways = {
    "exact shapes": fast_mean,
    "padded": lambda a: fast_mean_padded(loops.padded(a), len(a)),
}
figure, axes = plt.subplots()
for name, way in ways.items():
    jax.clear_caches()
    clock = [time.perf_counter()]
    for a in arrays:
        way(a).block_until_ready()
        clock.append(time.perf_counter())
    axes.plot(np.subtract(clock, clock[0]), drawstyle="steps", label=name)
axes.set_title("A stream of arrays of many lengths")
axes.set_xlabel("arrays so far")
axes.set_ylabel("time so far in seconds")
_ = axes.legend()

# %%
# The experiment above had the whole stream as well, in each of its processes, for the first time and
# again:
from jaxcap.experiments.static_arguments import EXACT, PADDED

stream = loops_and_means.select(of=experiments.MEANS)
stream

# %%
first_exact = stream.only(EXACT).first_call
first_padded = stream.only(PADDED).first_call

# %%
# Once all lengths have been seen there is nothing left to save, and the zeros are still computed:
padding_costs = claim(
    "padding makes a stream slower whose lengths have all been seen",
    stream,
    speedup_of(PADDED, over=EXACT),
    below=1,
)
padding_costs

# %%
# Padding saves compilations and nothing else, so it is for data that keeps bringing new lengths.
#
# Static arguments must be hashable
# ---------------------------------
# JAX finds the program for a static value in a dictionary. So the value needs a hash, and a list has
# none:
total = jax.jit(jnp.sum, static_argnames="axis")
matrix = jnp.ones((2, 3))
try:
    total(matrix, axis=[0, 1])
except ValueError as error:
    say(str(error))

# %%
# A tuple has one:
total(matrix, axis=(0, 1))

# %%
# Several settings are best kept in a frozen dataclass, which is hashable and compares by value. A
# plain class is hashable too, but by identity, and that is worse than an error: it works, and each
# new object compiles, though it says the same.
from dataclasses import dataclass


@dataclass(frozen=True)
class Frozen:
    """Equal to others that say the same."""

    axis: tuple[int, ...]


class Plain:
    """Equal to itself only."""

    def __init__(self, axis):
        self.axis = axis


# %%
for kind in (Frozen, Plain):
    sums = counting(lambda x, settings: x.sum(settings.axis))
    fast_sums = jax.jit(sums, static_argnames="settings")
    for _ in range(5):
        fast_sums(matrix, settings=kind((0, 1)))
    print(f"{kind.__name__:6} 5 calls, {sums.traces} compilations")

# %%
# Takeaway
# --------
later_unrolled = unrolling_pays.estimate

# %%
# Make static what decides about the program: a shape, an axis, a switch between two methods. Leave
# traced what are numbers to compute with. A call with a new static value took :measured:`new_value`
# here, as long as :measured:`new_in_calls` calls with a known one, so new values should be rare. A loop
# belongs on the device: with :measured:`largest` steps the first call took
# :measured:`first_unrolled` unrolled and :measured:`first_rolled` with ``fori_loop``, and compared with
# the latter, later calls came out :measured:`later_unrolled` unrolled. Lengths that keep changing are
# padded to a few: :measured:`compiled_padded` compilations instead of :measured:`compiled_exact`, and a
# first pass that took :measured:`first_padded` instead of :measured:`first_exact`.
#
# Before this: :doc:`when a result is there </tutorials/transformations/asynchronous_dispatch>`. Next:
# :doc:`gradients </tutorials/transformations/grad>`.
