"""
What does a type checker see?
=============================

If you annotate your functions, a type checker finds mistakes in their calls before anything runs.
Does it still find them after a function has gone through :func:`jax.jit` or :func:`jax.grad`? We
make six mistakes on purpose, and let two checkers look for them, mypy and pyright: once with JAX's
own transformations, and once with those of :mod:`jaxcap.tools.transforms`, which keep the types.
Then we measure what keeping them adds to a call. The last two sections are about mistakes that no
annotation will find, and about what types can do for a program's settings.
"""

# %%
# A checker reads what Python ignores
# -----------------------------------
# An annotation says what goes into a function and what comes out. When the program runs, Python
# doesn't check it. A type checker, such as `mypy <https://mypy.readthedocs.io>`__ or `pyright
# <https://microsoft.github.io/pyright>`__, reads the program without running it, and checks that
# every call fits. Here are two functions for it to read:
import jax
import jax.numpy as jnp


def wave(x: jax.Array, slope: float = 0.2) -> jax.Array:
    """Two waves on a slope."""
    return slope * x + jnp.sin(x) + jnp.cos(2 * x)


def product(a: jax.Array, b: jax.Array) -> jax.Array:
    """Inner product of two vectors."""
    return a @ b


# %%
# The third function is a loss, such as you would train with. It takes its parameters in a
# dictionary, and returns a remark along with the number to minimise:
def loss(params: dict[str, jax.Array], x: jax.Array) -> tuple[jax.Array, str]:
    """Mean square of a line through the origin."""
    return jnp.mean((params["slope"] * x) ** 2), "no intercept"


# %%
# A transformation can promise to keep types
# ------------------------------------------
# ``jax.jit`` takes such a function and returns another. What is the type of the new function? The
# annotation of a transformation can promise that it is the type of the old one. This is all it
# takes, where ``P`` stands for whatever arguments there are, and ``R`` for the result:
from collections.abc import Callable
from typing import ParamSpec, TypeVar

P = ParamSpec("P")
R = TypeVar("R")


def small_typed_jit(function: Callable[P, R]) -> Callable[P, R]:
    """Compile a function, and promise that it keeps its type."""
    return jax.jit(function)


# %%
# The functions in :mod:`jaxcap.tools.transforms` apply this idea to :func:`jax.jit`,
# :func:`jax.grad` and :func:`jax.vmap` with all of their options. Gradients need more work, because
# their type depends on ``argnums`` and ``has_aux``.
#
# Six questions and six mistakes, each in two versions
# ----------------------------------------------------
# To learn what a checker sees, write ``reveal_type(...)`` around an expression, and the checker
# reports its type. We ask about each of these six expressions twice, once with JAX's own
# transformation, such as ``jax.jit``, and once with its typed counterpart, such as ``typed_jit``:
def both(code):
    """Return an expression with JAX's transformation, and with ours."""
    return f"jax.{code}", f"typed_{code}"


QUESTIONS = (
    "jit(wave)",
    "jit(wave)(x)",
    "vmap(wave)",
    "grad(wave)",
    "grad(product, (0, 1))",
    "grad(loss, has_aux=True)",
)

# %%
# We make each of the six mistakes twice, too:
MISTAKES = (
    "jit(wave)('twelve')",
    "jit(wave)(x, slop=0.3)",
    "grad(wave)(x[0]).shpae",
    "grad(loss)(params, x)",
    "vmap(wave)('twelve')",
    "jit(wave, static_argnum=1)",
)

# %%
# Two calls pass a string where an array belongs. Two names are misspelt, ``slop`` and ``shpae``.
# The loss returns a pair where ``grad`` expects a number, because nobody told ``grad`` of the
# remark. And ``jit`` has no option ``static_argnum``; it is called ``static_argnums``.
#
# A checker has to read all of JAX, which takes a while. So we put everything into a single program,
# which each checker reads once. That includes the lines for the last two sections, on shapes and on
# settings:
BEYOND = (
    "typed_jit(product)(x, x[1:])",
    "typed_grad(wave)(jnp.asarray(3))",
    "typed_grad(wave)(x)",
)
SLIPS = {
    "lr=0.1": {"lr": 0.1},
    "learning_rate='fast'": {"learning_rate": "fast"},
    "momentum=9": {"momentum": 9},
}
WAYS = ("SimpleNamespace", "Settings")
SETTINGS = [f"{way}({slip})" for way in WAYS for slip in SLIPS]

# %%
# The program begins like this:
IMPORTS = """
from types import SimpleNamespace
import jax
import jax.numpy as jnp
from jaxcap.mnist.config import Settings
from jaxcap.tools.transforms import typed_grad, typed_jit, typed_vmap

x = jnp.linspace(0.0, 12.0, 1000)
params = {"slope": x[1]}
"""

# %%
# The rest is the three functions from above, the questions, and the mistakes:
import inspect

lines = [IMPORTS, *map(inspect.getsource, (wave, product, loss))]
for question in QUESTIONS:
    lines += [f"reveal_type({asked})" for asked in both(question)]
for mistake in MISTAKES:
    lines += both(mistake)
program = "\n".join([*lines, *BEYOND, *SETTINGS])

# %%
# Now :func:`jaxcap.report.typecheck.run_checker` runs both checkers, which ``python -m pip install
# mypy "pyright[nodejs]"`` installs:
from jaxcap.report import typecheck

reports = {}
for checker in typecheck.CHECKERS:
    if typecheck.is_installed(checker):
        reports[checker] = typecheck.run_checker(checker, program)
    else:
        print(f"{checker} is not installed: its part of the tables is empty.")

# %%
# Where types get lost, Any takes their place
# -------------------------------------------
# JAX's own ``vmap`` is annotated to return a function of the type that it was given, so the type of
# ``wave`` should survive even without our help. What about the others?
from jaxcap.results.tables import Table


def seen_by(checker):
    """Tabulate the types that a checker sees, first JAX's, then ours."""
    types = reports[checker].types if checker in reports else {}
    expressions = [asked for code in QUESTIONS for asked in both(code)]
    rows = [(asked, types.get(asked, "")) for asked in expressions]
    return Table(f"Types that {checker} sees", ("", "type"), rows)


seen_by("mypy")

# %%
# Beware of ``Any``. It is the type that fits everywhere, so from there on nothing is checked.
# Pyright calls it *Unknown* where nobody wrote ``Any``. Pyright also shows the default of an
# argument, and mypy only says that there is one:
seen_by("pyright")

# %%
# Compare the two rows of each pair. With the typed functions, arguments and results keep their
# types, names and defaults. A gradient has the type of the argument that you differentiate with
# respect to: an array for an array, a dictionary for a dictionary, a pair for two of them. Only the
# name of this argument is lost, because JAX differentiates with respect to positions. And
# ``Jitted`` is a function that also has the methods of compiled functions, such as ``lower``.
#
# A checker finds only what the types still say
# ---------------------------------------------
# Which of the six mistakes will the checkers find? The tables above have given a hint, because what
# comes after an ``Any`` isn't checked. Here are the errors of each checker, by the line that it
# complains about:
caught = {}
for checker, report in reports.items():
    caught[checker] = {error.code: error for error in report.errors}

# %%
rows = []
for mistake in MISTAKES:
    row = [mistake]
    for line in both(mistake):
        row += ["yes" if line in caught[c] else "no" for c in caught]
    rows.append(tuple(row))
columns = [
    f"{way}, {checker}" for way in ("jax", "typed") for checker in caught
]
title = "Mistakes that are found before anything runs"
Table(title, ("", *columns), rows)

# %%
# Between them, the checkers found :measured:`found_in_jax` of the :measured:`made` mistakes with
# JAX's own transformations, and :measured:`found_typed` with the typed ones. This is what they say
# about the misspelt attribute of the gradient:
for checker, found in caught.items():
    print(f"{checker}: {found['typed_grad(wave)(x[0]).shpae'].message}")

# %%
# At run time, nothing of the types remains
# -----------------------------------------
# What does a call pay for its types? When the program runs,
# :func:`~jaxcap.tools.transforms.typed_jit` calls ``jax.jit`` once, and hands back the object that
# it made. Nothing of ours remains that could slow a call down:
from jaxcap.tools.transforms import typed_grad, typed_jit

for compiled in jax.jit(wave), typed_jit(wave):
    print(type(compiled).__name__, compiled.__wrapped__ is wave)

# %%
# The name, the documentation and the signature survive as well, but that is JAX's doing:
print(typed_jit(wave).__name__, inspect.signature(typed_jit(wave)))
print(typed_jit(wave).__doc__)

# %%
# So both should take the same time to call. To see whether they do, we time calls on an array so
# small that a call is mostly overhead. But how large must a difference be to mean anything? To find
# out, a second ``jax.jit`` takes part as a control. It is the same as the first, so any difference
# that the clock finds between these two is an error of the measurement.
from jaxcap.experiments.typed_jit import CONTROL, PLAIN, TYPED, TYPED_JIT

results = TYPED_JIT.run(budget_s=0.03)
results

# %%
from jaxcap.report import figures

_ = figures.ratios(
    results,
    over=PLAIN,
    band=1.1,
    title="The same compiled function, and a band of a tenth",
)

# sphinx_gallery_thumbnail_number = 1

# %%
# Compared with the first ``jax.jit``, where 1 means no difference:
results.speedups(over=PLAIN)

# %%
from jaxcap.report.claims import claim, speedup_of

types_cost_little = claim(
    "a call from typed_jit takes less than a tenth longer",
    results,
    speedup_of(TYPED, over=PLAIN),
    above=1 / 1.1,
)
speedup = types_cost_little.estimate
control = results.speedup(CONTROL, over=PLAIN)
types_cost_little


# %%
# ``typed_jit`` was :measured:`speedup than jax.jit`. The control, which *is* ``jax.jit``, was
# :measured:`control than the first jax.jit`. The difference between the types counts for something
# only if it is clearly larger than that of the control.
#
# To a type checker, an array is an array
# ---------------------------------------
# Three lines of the program are wrong only in their shapes and number types. One multiplies vectors
# of different lengths, one differentiates with respect to an integer, and one wants a single
# gradient of a thousand results. Do the checkers object to them? Does JAX?
def what_jax_raises(function, *arguments):
    """Name the exception that a call raises."""
    try:
        function(*arguments)
    except TypeError as error:
        return type(error).__name__
    return "nothing"


# %%
x = jnp.linspace(0.0, 12.0, 1000)
raised = (
    what_jax_raises(typed_jit(product), x, x[1:]),
    what_jax_raises(typed_grad(wave), jnp.asarray(3)),
    what_jax_raises(typed_grad(wave), x),
)

# %%
rows = []
for line, name in zip(BEYOND, raised):
    found = [checker for checker in caught if line in caught[checker]]
    rows.append((line, ", ".join(found) or "nobody", name))
headers = ("", "found by", "JAX raises")
Table("Mistakes of shape and number type", headers, rows)

# %%
# JAX notices such mistakes while it traces the function, from the shapes and types of the arguments
# and before it computes anything. ``eval_shape`` traces and stops there:
from textwrap import fill

try:
    typed_jit(product).eval_shape(x, x[1:])
except TypeError as error:
    print(fill(str(error)))


# %%
# So a test that traces your functions finds what a checker can't, and it needn't compute anything.
# You can also write shapes into annotations, with `jaxtyping
# <https://docs.kidger.site/jaxtyping>`__. A type checker ignores them, and a runtime checker such
# as `beartype <https://beartype.readthedocs.io>`__ enforces them when the program runs.
#
# And annotations can be wrong. A checker believes this one, which says ``float``. What comes back
# from JAX is an array all the same:
@typed_grad
def parabola_slope(x: float) -> float:
    return x**2


slope = parabola_slope(3.0)
print(isinstance(slope, float), isinstance(slope, jax.Array))

# %%
# So annotate what JAX computes with :class:`jax.Array`. The page on `jax.typing
# <https://docs.jax.dev/en/latest/jax.typing.html>`__ says more.
#
# A class can check settings
# --------------------------
# A training run has a handful of settings, and Flax's examples keep them in a `ConfigDict
# <https://ml-collections.readthedocs.io>`__, a dictionary that lets you write
# ``config.learning_rate``. If you write ``config.lr = 0.1`` by mistake, the dictionary accepts it
# without a word, and the training goes on with the old rate. You can lock a ``ConfigDict`` against
# new names, and it refuses a value of another type. But it does so only when the program runs, and
# your editor still can't tell you which names there are, what they mean, or which values make
# sense.
#
# A class can tell it all this. The class below, made with `pydantic <https://docs.pydantic.dev>`__,
# has a type, a default and limits for each setting of this site's own :doc:`training
# </tutorials/applications/mnist>`. The sentence below a setting ends up in the help of the command
# line:
from jaxcap.mnist.config import Settings
from jaxcap.report.source import Source

Source(Settings)

# %%
# Three slips are easy to make: a name that doesn't exist, a wrong type, and a value that makes no
# sense. The program for the checkers makes each of them with the class, and with a namespace that
# takes anything, as an empty ``ConfigDict`` does. Which are found before the program runs, and
# which when it runs?
from types import SimpleNamespace

from pydantic import ValidationError


def what_raises(make, settings):
    """Name the exception that settings raise."""
    try:
        make(**settings)
    except ValidationError as error:
        return type(error).__name__
    return "nothing"


# %%
rows = []
for make in (SimpleNamespace, Settings):
    for slip, settings in SLIPS.items():
        line = f"{make.__name__}({slip})"
        found = [checker for checker in caught if line in caught[checker]]
        by = ", ".join(found) or "nobody"
        rows.append((line, by, what_raises(make, settings)))
headers = ("", "found by", "raises")
Table("Mistakes in the settings of a training run", headers, rows)

# %%
# Limits aren't types, so a momentum that is too large can be found only when the program runs. But
# then the class finds it at the start, and not after an hour of training. It can also say what it
# expected:
from jaxcap.mnist.config import explain

try:
    Settings(momentum=9)
except ValidationError as error:
    print(explain(error))

# %%
# With a dataclass, the checkers would find the first two slips as well. But when the program runs,
# a dataclass objects only to the wrong name, and takes any value of any type.
#
# Takeaway
# --------
made = len(MISTAKES)


def count_found(way):
    """Count the mistakes that at least one checker found."""
    found = {line for errors in caught.values() for line in errors}
    return sum(way + mistake in found for mistake in MISTAKES)


found_in_jax, found_typed = count_found("jax."), count_found("typed_")
print(f"{made} mistakes, asked: {', '.join(reports) or 'nobody'}")
print(f"found: {found_in_jax} in JAX's own, {found_typed} in the typed ones")

# %%
# A type checker sees only what annotations tell it: of the :measured:`made` mistakes on this page,
# the checkers found :measured:`found_in_jax` with JAX's own transformations, and
# :measured:`found_typed` with the typed ones. When the program runs, the types are gone, so they
# can't slow a call down. But they say nothing about shapes and number types, so write tests for
# those, on small arrays or with ``eval_shape``. And keep settings in a class that checks them, so
# that a slip ends the program before it has trained for an hour.
#
# Next: :doc:`how to time JAX, and how not to </tutorials/performance/timing>`.
