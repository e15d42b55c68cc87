"""
Which arguments must be static?
===============================

Some arguments are numbers to compute with. Others decide *what* is computed: how often a loop runs,
which branch is taken, how large an array is. If Python code depends on such an argument, Python has
to know it while JAX traces the function. This page shows the errors that you get, and two ways out.
You can make the argument *static*: then Python knows its value, but JAX compiles again for each new
one. Or you can leave the argument *traced*, and move the loop or the branch into the compiled
program. That works for numbers, unless they fix a shape, such as a length or an axis.
"""


# %%
# A loop needs a number, and tracing has none
# -------------------------------------------
# This function counts to ``num_loops``, and then returns ``x``. Python runs it without complaint:
def empty_loop(x, num_loops):
    for _ in range(num_loops):
        pass
    return x


empty_loop(14, 1_000_000)

# %%
# Compiled, it fails:
from textwrap import fill

import jax
import jax.numpy as jnp


def say(error):
    """Print the first sentence of an error message."""
    first_line = str(error).splitlines()[0]
    print(fill(first_line.split(". ")[0], 70))


try:
    jax.jit(empty_loop)(14, 1_000_000)
except jax.errors.TracerIntegerConversionError as error:
    say(error)


# %%
# To compile a function, :func:`jax.jit` runs it once with stand-ins for its arguments and records
# what happens to them. This is `tracing <https://docs.jax.dev/en/latest/tracing.html>`__, and the
# stand-ins are called tracers. A tracer has a shape and a type but no value, so that the recorded
# program is good for every value. Print one to see it (the ``~`` marks a *weak* type, that of a
# Python number):
@jax.jit
def look(n):
    print(n, n.shape, n.dtype)


look(1_000_000)

# %%
# Now the error makes sense: ``range`` asks for a number, and the tracer has none to give. Shapes
# cause the same problem, since a program is compiled for arrays of fixed shapes:
try:
    jax.jit(lambda n: jnp.full((2, n), 5))(5)
except TypeError as error:
    say(error)
    print(str(error).splitlines()[1])

# %%
# A static argument keeps its value
# ---------------------------------
# The message about shapes hints at a remedy: make the argument *static*. JAX doesn't
# replace a static argument with a tracer, so the function sees its value while it is traced. You
# name the argument by its position or, more safely, by its name:
jax.jit(empty_loop, static_argnums=1)(14, 1_000_000)


# %%
def fives(columns):
    return jnp.full((2, columns), 5)


jax.jit(fives, static_argnames="columns")(columns=5)

# %%
# The price: every new value compiles
# -----------------------------------
# A program that was traced with one static value is good for that value only, so JAX keeps one for
# each combination of static values, shapes and dtypes. How can you tell when it compiles again?
# Your Python code runs while JAX traces it, and never when the compiled program runs. So a function
# that counts its own runs counts traces, and here each trace is followed by a compilation:
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
# Which of these four calls compile? A call that compiles should also take much longer:
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
# The second call found the program of the first. The third asked for one iteration fewer, which as
# far as JAX knows is a different program. The fourth went back to the first value, and JAX still
# had its program, because it keeps one for each value.
#
# The loop isn't in any of these programs. Python counted to a million while JAX traced, which took
# part of the time that the clock shows. Counting left nothing to record, so the program just
# returns its argument.
#
# Static arguments must be hashable
# ---------------------------------
# JAX can trace numbers, arrays, and nests of them. Anything else, such as a string, or an object of
# a class that isn't registered as a pytree, can't be traced: make it static, or fill it in
# beforehand. Because JAX looks up the program for a static value in a dictionary, the value needs a
# hash, and a list has none:
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
# If you have several settings, keep them in a frozen dataclass, which is hashable if its fields
# are, and equal to any other of its class with the same values. Beware of plain classes: they are
# hashable, too, but each object equals only itself:
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
# Call the same function five times with each, and each time with a new object of the same values:
def sum_along(x, settings):
    return x.sum(settings.axis)


for kind in (Frozen, Plain):
    sums = counting(sum_along)
    fast_sums = jax.jit(sums, static_argnames="settings")
    for _ in range(5):
        fast_sums(matrix, settings=kind((0, 1)))
    print(f"{kind.__name__:6} compilations in 5 calls: {sums.traces}")

# %%
# The plain class is worse than an error, because everything works while every call compiles.
#
# A closure fixes a value, too
# ----------------------------
# Instead of declaring an argument static, you can fill it in before ``jit`` sees the function, with
# :func:`functools.partial` or with a function inside another. Python then keeps the value, and
# ``jit`` never hears of an argument. How often does this compile?
from functools import partial

counted_fives = counting(fives)
for _ in range(3):
    jax.jit(partial(counted_fives, columns=5))()
    print("compilations so far:", counted_fives.traces)

# %%
# Each ``partial`` is a new function to JAX, even if it holds the same value. So make and compile
# each one once, and keep the result for later calls. (With a static argument, ``jit`` keeps the
# compiled programs for you.)
#
# What if the value is an array? An array that a function uses without taking it as an argument
# becomes a constant in the compiled program. Compare the lengths of the two programs that JAX hands
# to the compiler:
million = jnp.linspace(0.0, 1.0, 1_000_000)


def times_outside(factor):
    return factor * million


as_constant = jax.jit(times_outside).lower(2.0)
as_argument = jax.jit(jnp.multiply).lower(2.0, million)
for name, program in (("constant", as_constant), ("argument", as_argument)):
    print(f"{name}: {len(program.as_text()):9,} characters")


# %%
# All of the million numbers are in the first program, where they take memory and the compiler has
# to read them. And if ``million`` later becomes the name of another array, the program keeps the
# old one. So close over settings and small tables, and pass large arrays as arguments.
#
# A branch can stay in the program
# --------------------------------
# Now for arguments that needn't be static. Which branch should ``if`` take, when the number isn't
# known yet?
def leaky(x):
    if x > 0:
        return x
    return 0.01 * x


try:
    jax.jit(leaky)(-2.0)
except jax.errors.TracerBoolConversionError as error:
    say(error)


# %%
# You could make ``x`` static, and compile for each number. Put the choice into the program instead.
# :func:`jax.numpy.where` computes both sides and picks one, number by number.
# :func:`jax.lax.cond` picks one of two functions and runs only that one (unless ``vmap`` maps the
# condition), which is worth its longer form when the branches are expensive:
@jax.jit
def leaky_where(x):
    return jnp.where(x > 0, x, 0.01 * x)


@jax.jit
def leaky_cond(x):
    return jax.lax.cond(x > 0, lambda x: x, lambda x: 0.01 * x, x)


print(leaky_where(-2.0), leaky_cond(-2.0))

# %%
# Unroll a loop, or keep it a loop
# --------------------------------
# A loop that does something leaves its operations in the program, as many times as it ran. Take the
# cosine of a thousand numbers, and the cosine of that, and so on:
x = jnp.linspace(0.0, 1.0, 1000)


def cosines_unrolled(x, steps):
    for _ in range(steps):
        x = jnp.cos(x)
    return x


jax.make_jaxpr(cosines_unrolled, static_argnums=1)(x, 4)


# %%
# Four steps became four lines; a million steps would be a million lines to trace and compile. The
# alternative is to put the loop itself into the program. :func:`jax.lax.fori_loop` takes the
# function that does one step, and if the number of steps is traced, the program compares it with a
# counter:
def cosines(x, steps):
    return jax.lax.fori_loop(0, steps, lambda _, x: jnp.cos(x), x)


counted_cosines = counting(cosines)
fast_cosines = jax.jit(counted_cosines)
for steps in (1, 10, 100, 1000):
    print(f"{steps:4} steps of 0.5: {fast_cosines(0.5, steps):.6f}")
print("compilations:", counted_cosines.traces)

# %%
# One compilation serves all numbers of steps. The values converge to 0.739085, the only number that
# is its own cosine. And does the unrolled loop compute the same? This is the largest difference
# after a hundred steps:
static_cosines = jax.jit(cosines_unrolled, static_argnames="steps")
float(abs(static_cosines(x, 100) - fast_cosines(x, 100)).max())


# %%
# What does each kind of loop cost? An unrolled program grows with every step, so its first call
# should take longer and longer, while that of ``fori_loop`` shouldn't. Here are both, measured in
# several fresh processes:
from jaxcap.experiments import static_arguments as experiments
from jaxcap.report import figures

measured = experiments.LOOPS.run(budget_s=0.03)
results = measured.subset(r for r in measured if "of" not in r.parameters)
_ = figures.scaling(
    results,
    x="steps",
    value="first_call",
    label="time of the first call\n(lower is better)",
    title="What the first call takes",
)

# %%
largest = max(result.parameters["steps"] for result in results)
at_largest = results.select(steps=largest)
first_unrolled = at_largest.only(experiments.UNROLLED).first_call
first_rolled = at_largest.only(experiments.ROLLED).first_call

one_step = results.only(experiments.UNROLLED, steps=1)
ratio = one_step.first_call.value / one_step.time.value
new_in_calls = int(float(f"{ratio:.1e}"))  # no more than two digits are known

# %%
# With :measured:`largest` steps, the first call took :measured:`first_unrolled` unrolled and
# :measured:`first_rolled` with ``fori_loop``. Unrolling pays only if later calls are faster by
# enough to make up for that, and if the number of steps rarely changes. Is that so here, with the
# most steps?
from jaxcap.report.claims import LARGEST, claim, speedup_of

unrolling_pays = claim(
    "later calls are faster unrolled than with fori_loop, for the most steps "
    "measured",
    results,
    speedup_of(experiments.UNROLLED, over=experiments.ROLLED, steps=LARGEST),
)
later_unrolled = unrolling_pays.estimate
pays_late = "pays only after many calls"
unrolling_here = pays_late if unrolling_pays.holds else "doesn't pay here"
unrolling_pays

# %%
# Unrolled, a later call was :measured:`later_unrolled than with fori_loop`, so unrolling
# :measured:`unrolling_here`. :doc:`The page on loops </tutorials/transformations/loops>` looks into
# such differences. It also shows a reason for a static number of steps: :func:`jax.grad` has to go
# backwards through the loop, and refuses a ``fori_loop`` whose number of steps is traced.
#
# When shapes keep changing, pad to a few
# ---------------------------------------
# A loop can move into the program, but a shape can't: JAX compiles for each new shape, whether a
# static number asked for it or an array brought it along. Suppose that measurements arrive in
# arrays of many lengths, and that you want the mean of each:
from jaxcap.kernels import loops

arrays = loops.measurements(20)
mean = counting(jnp.mean)
fast_mean = jax.jit(mean)
exact = [fast_mean(a) for a in arrays]
print(len(arrays), "arrays,", mean.traces, "compilations")

# %%
# To get by with fewer programs, allow only a few lengths. Append zeros until the length is a power
# of two, and pass the true length on as an ordinary, traced number, so that the mean can leave out
# the zeros:
from jaxcap.report.source import Source

Source(loops.padded, loops.mean_of_first)

# %%
# At worst, the program computes with almost twice as many numbers as needed. In return, how many
# programs does it take?
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

# %%
# Here is the time that passes in this process, array by array, when nothing has been compiled yet:
import matplotlib.pyplot as plt

ways = {"exact lengths": fast_mean, "padded": mean_after_padding}
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

# sphinx_gallery_thumbnail_number = 2

# %%
# A line jumps where a new length is compiled. In fresh processes, the first pass through the stream
# took :measured:`first_exact` with exact lengths, and :measured:`first_padded` padded. Once every
# length has been seen, there is no compilation left to save, but each call still pads its array in
# Python, and its program has more to do:
stream = measured.select(of=experiments.MEANS)
first_exact = stream.only(experiments.EXACT).first_call
first_padded = stream.only(experiments.PADDED).first_call
padding_costs = claim(
    "padding slows down a stream whose lengths have all been seen",
    stream,
    speedup_of(experiments.PADDED, over=experiments.EXACT),
    below=1,
)
padding_costs

# %%
# Padding saves compilations, and nothing else, so it is for data that keeps bringing new lengths.
#
# Takeaway
# --------
# Make an argument static, or fill it in beforehand, if it decides what the program is: a shape, an
# axis, or a switch between two methods. Leave it traced if it is a number to compute with. Avoid
# changing static values often, because every new value compiles: here, the first call of a program
# with a single cosine took as long as :measured:`new_in_calls` later ones.
#
# Whether an argument must be static depends on what it decides:
#
# - A shape, an axis, or a method chosen by a string: make it static.
# - The number of steps: let ``fori_loop`` or ``while_loop`` take it, unless ``grad`` has to go
#   through the loop.
# - A branch: choose with ``where`` or ``cond``.
# - The lengths of arrays, if they keep changing: pad them to a few. For twenty arrays, padding took
#   :measured:`compiled_padded` compilations instead of :measured:`compiled_exact`.
#
# Try it yourself in :doc:`exercise 4 </exercises/4_static_arguments>`. Next:
# :doc:`what grad computes </tutorials/transformations/grad>`.
