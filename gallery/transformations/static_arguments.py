"""
Which arguments must be static?
===============================

Some arguments are numbers to compute with. Others decide *what* is computed: how often a loop runs,
which branch is taken, how large an array is. If Python code needs the value of such an argument,
``jit`` raises an error. You can make the argument *static*, but then JAX compiles again for each new
value. This page shows what that costs, and which arguments can do without it.
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
# Which of them can ``jit`` compile?
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
# Each raises an error, because :func:`jax.jit` runs a function with stand-ins for its arguments, in
# order to record what happens to them. This is `tracing
# <https://docs.jax.dev/en/latest/tracing.html>`__, and the stand-ins are called *tracers*. What does
# a tracer know of the number for which it stands?
@jax.jit
def look(n):
    print(n, n.shape, n.dtype)


look(jnp.int32(1_000_000))

# %%
# It knows a shape and a type, but no value, because the recorded program has to be good for every
# value. Hence the errors: ``range``, the shape and ``if`` each ask for a value, and the tracer has none
# to give.
#
# A static argument keeps its value
# ---------------------------------
# A *static* argument isn't replaced with a tracer, so Python code sees its value. Tell ``jit`` its
# position or its name:
print(jax.jit(empty_loop, static_argnums=1)(14, 1_000_000))
print(jax.jit(fives, static_argnames="columns")(columns=3))

# %%
# The price is that a program that was traced with one value is good for that value only. To see how
# often JAX traces and compiles, count how often Python runs the function:
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
# Which of these four calls compile? A call that does should take much longer:
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
# Static values must be hashable, and equal if they mean the same
# ---------------------------------------------------------------
# JAX looks up its programs as if in a dictionary, and the static values are part of the key. So they
# need a hash, and a list has none:
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
# To JAX, each object of the plain class is a new value. The results are right all the same, so
# nothing but the time gives the mistake away. Keep settings in a frozen dataclass instead.
#
# Branches and loops can do without static values
# -----------------------------------------------
# A branch needs no static argument if the program itself makes the choice. With
# :func:`jax.numpy.where`, it computes both sides and picks one. With :func:`jax.lax.cond`, it runs
# only the side that it needs, unless :doc:`vmap makes it run both
# </tutorials/transformations/mapped_loops>`:
@jax.jit
def leaky_where(x):
    return jnp.where(x > 0, x, 0.01 * x)


@jax.jit
def leaky_cond(x):
    return jax.lax.cond(x > 0, lambda x: x, lambda x: 0.01 * x, x)


print(leaky_where(-2.0), leaky_cond(-2.0))


# %%
# A loop can move into the program, too. :func:`jax.lax.fori_loop` takes a function that does one
# step, and the compiled program counts the steps. Here, each step replaces a number by its cosine:
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
# New lengths compile even without static arguments
# -------------------------------------------------
# Unlike a number of steps, a shape can't move into the program, because a program is compiled for
# fixed shapes. But if the lengths of your arrays keep changing, you can allow only a few. Append
# zeros until the length is a power of two, and pass the true length as a traced number:
from jaxcap.kernels import loops
from jaxcap.report.source import Source

Source(loops.padded, loops.mean_of_first)

# %%
# Suppose that measurements arrive in twenty arrays of different lengths, and that you want the mean of
# each. How many programs do they take, as they are and padded?
arrays = loops.measurements(20)
mean, mean_padded = counting(jnp.mean), counting(loops.mean_of_first)
fast_mean, fast_mean_padded = jax.jit(mean), jax.jit(mean_padded)


def mean_after_padding(a):
    return fast_mean_padded(loops.padded(a), len(a))


for a in arrays:
    assert jnp.allclose(mean_after_padding(a), fast_mean(a), atol=1e-6)
print(mean.traces, "programs for the arrays as they are")
print(mean_padded.traces, "programs for padded arrays")

# %%
compiled_exact, compiled_padded = mean.traces, mean_padded.traces
ways = {"exact lengths": fast_mean, "padded": mean_after_padding}

# %%
# Suppose that nothing has been compiled yet. Here is the time that passes, array by array:
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
# A line jumps where a new length is compiled, and runs flat where a program can be reused. What if the
# same twenty arrays come a second time? There is no compilation left to save, but each call still has
# to pad its array:
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
later_padded = padding_costs.estimate

# %%
# Once everything was compiled, padding the arrays was :measured:`later_padded` than using them
# as they are. So padding is for streams that keep bringing new lengths.
#
# Takeaway
# --------
# Whether an argument must be static depends on what it decides:
#
# - A number to compute with: leave it traced.
# - A shape or an axis: make it static, and change it rarely, because every new value compiles.
# - A branch: choose with ``where`` or ``cond``, or make a flag of few values static.
# - The number of steps: let ``fori_loop`` take it, unless ``grad`` has to go through the loop.
#
# New lengths of arrays compile in any case. If they keep coming, pad to a few: twenty arrays then took
# :measured:`compiled_padded` compilations instead of :measured:`compiled_exact`.
#
# Try it yourself in :doc:`exercise 4 </exercises/4_static_arguments>`. Next:
# :doc:`what grad computes </tutorials/transformations/grad>`.
