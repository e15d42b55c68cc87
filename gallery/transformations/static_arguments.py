"""
Which arguments must be static?
===============================

Some arguments are numbers to compute with. Others decide *what* is computed: how often a loop runs,
which branch is taken, how large an array is. If Python code needs the value of such an argument,
``jit`` raises an error. You can make the argument *static*, but then JAX compiles again for each new
value. This page shows what that costs, which arguments can do without it, and what to do when the
lengths of arrays keep changing.
"""

# %%
# While JAX traces, an argument has no value
# ------------------------------------------
# Here are three functions. The first counts to ``num_loops``, the second makes an array with that
# many columns, and the third has a branch:
import jax
import jax.numpy as jnp


def empty_loop(x, num_loops):
    for _ in range(num_loops):
        pass
    return x


def fives(columns):
    return jnp.full((2, columns), 5)


def leaky(x):
    if x > 0:
        return x
    return 0.01 * x


# %%
# Python runs all of them:
calls = {empty_loop: (14, 1_000_000), fives: (3,), leaky: (-2.0,)}
for function, args in calls.items():
    print(f"{function.__name__}:", function(*args))

# %%
# Will they still work when they are compiled?
from textwrap import fill


def say(error):
    """Print the first sentence of an error message."""
    print(fill(str(error).splitlines()[0].split(". ")[0], 70))


for function, args in calls.items():
    try:
        jax.jit(function)(*args)
    except TypeError as error:
        print(f"{function.__name__}: ", end="")
        say(error)


# %%
# None of them does. To compile a function, :func:`jax.jit` runs it with stand-ins for its arguments
# and records what happens to them. This is `tracing
# <https://docs.jax.dev/en/latest/tracing.html>`__, and the stand-ins are called *tracers*. Print one
# to see what it knows:
@jax.jit
def look(n):
    print(n, n.shape, n.dtype)


look(1_000_000)

# %%
# A tracer has a shape and a type, but no value, so that the recorded program is good for every value.
# (The ``~`` says that the type is :term:`weak <weak type>`, as a Python number's is.) Now the errors
# make sense: ``range``, the shape and ``if`` each ask for a value, and the tracer has none to give.
#
# A static argument keeps its value
# ---------------------------------
# A *static* argument isn't replaced with a tracer, so Python code sees its value. Tell ``jit`` its
# position or its name:
print(jax.jit(empty_loop, static_argnums=1)(14, 1_000_000))
print(jax.jit(fives, static_argnames="columns")(columns=3))

# %%
# The price is that a program that was traced with one value is good for that value only. To see when
# JAX traces anew, count how often Python runs the function. Here, each trace is followed by a
# compilation:
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
# Which of these four calls compile? Those also make Python count, so they should take much longer:
import time

counted_loop = counting(empty_loop)
fast_loop = jax.jit(counted_loop, static_argnames="num_loops")
for num_loops in (1_000_000, 1_000_000, 999_999, 1_000_000):
    start = time.perf_counter()
    fast_loop(14, num_loops).block_until_ready()
    took_ms = 1000 * (time.perf_counter() - start)
    print(f"{num_loops:9,}: {took_ms:6.2f} ms,", end=" ")
    print("compilations so far:", counted_loop.traces)

# %%
# The second call found the program of the first. The third asked for one iteration fewer, which to
# JAX is another program. The fourth went back to the first value, whose program JAX still had.
#
# The loop itself is in neither program. Python counted to a million while JAX traced, and counting
# left nothing to record.
#
# You could also fill the value in before you compile, with :func:`functools.partial`. Then compile
# once and keep the result, because to JAX :doc:`a new function is a new program
# </tutorials/performance/timing>`.
#
# Static values must be hashable, and equal if they mean the same
# ---------------------------------------------------------------
# JAX keeps its programs as in a dictionary, with the static values as part of the key. So these
# values need a hash, and a list has none:
total = jax.jit(jnp.sum, static_argnames="axis")
matrix = jnp.ones((2, 3))
try:
    total(matrix, axis=[0, 1])
except ValueError as error:
    say(error)

# %%
# A tuple has one:
total(matrix, axis=(0, 1))

# %%
# Several settings fit into an object of their own. These two classes both have a hash, but they
# differ in when their objects are equal:
from dataclasses import dataclass


@dataclass(frozen=True)
class Frozen:
    """Equal to others of its class with the same values."""

    axis: tuple[int, ...]


class Plain:
    """Equal to itself only."""

    def __init__(self, axis):
        self.axis = axis


# %%
# Call a function five times with each, and each time with a new object of the same values. How often
# does it compile?
def sum_along(x, settings):
    return x.sum(settings.axis)


for kind in (Frozen, Plain):
    sums = counting(sum_along)
    fast_sums = jax.jit(sums, static_argnames="settings")
    for _ in range(5):
        fast_sums(matrix, settings=kind((0, 1)))
    print(f"{kind.__name__:6} compilations in 5 calls: {sums.traces}")


# %%
# To JAX, each object of the plain class is a new value. That is worse than an error, because
# everything works, and you notice at most that it is slow. So keep settings in a frozen dataclass.
#
# Branches and loops can do without static values
# -----------------------------------------------
# A branch needs no static argument if the program itself makes the choice.
# :func:`jax.numpy.where` computes both sides and picks one for each number.
# :func:`jax.lax.cond` runs one of two functions, so it suits expensive ones. (Under ``vmap``,
# :doc:`it may run both </tutorials/transformations/mapped_loops>`.)
@jax.jit
def leaky_where(x):
    return jnp.where(x > 0, x, 0.01 * x)


@jax.jit
def leaky_cond(x):
    return jax.lax.cond(x > 0, lambda x: x, lambda x: 0.01 * x, x)


print(leaky_where(-2.0), leaky_cond(-2.0))


# %%
# A loop can move into the program, too. :func:`jax.lax.fori_loop` takes the function that does one
# step, and compares a counter with the number of steps while the program runs. This one takes the
# cosine of a number, and the cosine of that, and so on:
def cosines(x, steps):
    return jax.lax.fori_loop(0, steps, lambda _, x: jnp.cos(x), x)


counted_cosines = counting(cosines)
fast_cosines = jax.jit(counted_cosines)
for steps in (1, 10, 100, 1000):
    print(f"{steps:4} steps from 0.5: {fast_cosines(0.5, steps):.6f}")
print("compilations:", counted_cosines.traces)

# %%
# One compilation serves all numbers of steps. But if you need a gradient, make the number static after
# all. With a traced one, ``fori_loop`` `becomes a while_loop
# <https://docs.jax.dev/en/latest/_autosummary/jax.lax.fori_loop.html>`__, and :func:`jax.grad`
# :doc:`can't go backwards through that </tutorials/transformations/loops>`.
#
# When lengths keep changing, pad to a few
# ----------------------------------------
# Shapes are different. A program is compiled for fixed ones, so each new shape is another program,
# even if no argument is static. Suppose that measurements arrive in arrays of many lengths, and that
# you want the mean of each:
from jaxcap.kernels import loops

arrays = loops.measurements(20)
mean = counting(jnp.mean)
fast_mean = jax.jit(mean)
exact = [fast_mean(a) for a in arrays]
print(len(arrays), "arrays,", mean.traces, "compilations")

# %%
# To get by with fewer programs, allow only a few lengths. Append zeros until the length is a power
# of two, and pass the true length as a traced number, so that the mean can leave out the zeros:
from jaxcap.report.source import Source

Source(loops.padded, loops.mean_of_first)

# %%
# How many programs does the same stream take now?
mean_padded = counting(loops.mean_of_first)
fast_mean_padded = jax.jit(mean_padded)


def mean_after_padding(a):
    return fast_mean_padded(loops.padded(a), len(a))


means = [mean_after_padding(a) for a in arrays]
off = max(abs(float(a - b)) for a, b in zip(means, exact))
print(len(arrays), "arrays,", mean_padded.traces, "compilations")
print(f"largest difference: {off:.1g}")

# %%
compiled_exact, compiled_padded = mean.traces, mean_padded.traces
ways = {"exact lengths": fast_mean, "padded": mean_after_padding}

# %%
# The means are the same but for rounding. Here is the time that passes in this process, array by
# array, when nothing has been compiled yet:
import matplotlib.pyplot as plt

from jaxcap.report import figures

figure, axes = plt.subplots()
for name, way in ways.items():
    jax.clear_caches()
    start, passed = time.perf_counter(), [0.0]
    for a in arrays:
        way(a).block_until_ready()
        passed.append(time.perf_counter() - start)
    axes.plot(passed, drawstyle="steps", label=name)
axes.set(xlabel="arrays so far", ylabel="seconds so far (lower is better)")
finding = f"{compiled_exact} compilations, or {compiled_padded} if padded"
figures.headline(figure, finding, "A stream of arrays of many lengths")
figures.label_ends(axes)

# sphinx_gallery_thumbnail_number = 1

# %%
# A line jumps where a new length is compiled. What happens once every length has been seen? There is
# no compilation left to save, but each call still pads its array in Python, and its program has more
# numbers to add:
from jaxcap.experiments import static_arguments as experiments
from jaxcap.report.claims import claim, speedup_of

measured = experiments.LOOPS.run(budget_s=0.03)
stream = measured.select(of=experiments.MEANS)
padding_costs = claim(
    "padding slows down a stream whose lengths have all been seen",
    stream,
    speedup_of(experiments.PADDED, over=experiments.EXACT),
    below=1,
)
padding_costs

# %%
first_exact = stream.only(experiments.EXACT).first_call
first_padded = stream.only(experiments.PADDED).first_call
later_padded = padding_costs.estimate

# %%
# In fresh processes, the first pass through the stream took :measured:`first_exact` with exact
# lengths, and :measured:`first_padded` padded. Later passes were
# :measured:`later_padded than with exact lengths`. So padding is for data that keep bringing new
# lengths.
#
# Takeaway
# --------
# Whether an argument must be static depends on what it decides:
#
# - A number to compute with: leave it traced.
# - A shape or an axis: make it static, and change it rarely, because every new value compiles.
# - A branch: choose with ``where`` or ``cond``.
# - The number of steps: let ``fori_loop`` or ``while_loop`` take it, unless ``grad`` has to go
#   through the loop.
# - The lengths of arrays, if they keep changing: pad them to a few. For twenty arrays, padding took
#   :measured:`compiled_padded` compilations instead of :measured:`compiled_exact`.
#
# Try it yourself in :doc:`exercise 4 </exercises/4_static_arguments>`. Next:
# :doc:`what grad computes </tutorials/transformations/grad>`.
