"""
What does a type checker see?
=============================

Annotations let a tool find mistakes before anything runs. A function that went through
:func:`jax.jit` or :func:`jax.grad` has lost them. After this page you will know what the type
checkers mypy and pyright see of transformed functions, how :mod:`jaxcap.transforms` gives the types
back and what that costs in a call, and which mistakes no annotation will find.
"""

# %%
# Three functions with annotations
# --------------------------------
# An annotation says what goes in and what comes out. Python ignores it; a type checker, such as
# `mypy <https://mypy.readthedocs.io>`__ or `pyright <https://microsoft.github.io/pyright>`__, reads
# the program without running it, and compares.
import jax
import jax.numpy as jnp


def wave(x: jax.Array, slope: float = 0.2) -> jax.Array:
    """Two waves on a slope."""
    return slope * x + jnp.sin(x) + jnp.cos(2 * x)


def product(a: jax.Array, b: jax.Array) -> jax.Array:
    """Inner product of two vectors."""
    return a @ b


# %%
# The third is a loss as one writes them for training: it takes parameters by name, and returns
# a remark beside the number that is to be made small.
def loss(params: dict[str, jax.Array], x: jax.Array) -> tuple[jax.Array, str]:
    """Mean square of a line through the origin."""
    return jnp.mean((params["slope"] * x) ** 2), "no intercept"


# %%
# What to ask
# -----------
# ``reveal_type(...)`` is how to ask a checker for the type of an expression. Each question is put
# twice: about what JAX's own transformation returns, as in ``jax.jit(wave)``, and about its typed
# counterpart, as in ``typed_jit(wave)``.
QUESTIONS = (
    "jit(wave)",
    "jit(wave)(x)",
    "vmap(wave)",
    "grad(wave)",
    "grad(product, (0, 1))",
    "grad(loss, has_aux=True)",
)
WAYS = ("jax.", "typed_")

# %%
# And these are mistakes. A string is not an array, there is no argument ``slop`` and no attribute
# ``shpae``, the loss returns two things, and ``jit`` has no option ``static_argnum``.
MISTAKES = (
    "jit(wave)('twelve')",
    "jit(wave)(x, slop=0.3)",
    "grad(wave)(x[0]).shpae",
    "grad(loss)(params, x)",
    "vmap(wave)('twelve')",
    "jit(wave, static_argnum=1)",
)

# %%
# The checkers get all of it as one program: imports, the three functions, questions, mistakes.
import inspect

IMPORTS = """
import jax
import jax.numpy as jnp
from jaxcap.transforms import typed_grad, typed_jit, typed_vmap

x = jnp.linspace(0.0, 12.0, 1000)
params = {"slope": x[1]}
"""
functions = "\n".join(map(inspect.getsource, (wave, product, loss)))
questions = [f"reveal_type({way}{q})" for q in QUESTIONS for way in WAYS]
mistakes = [way + mistake for mistake in MISTAKES for way in WAYS]

# %%
# Three lines more, for the end of the page. They are mistakes too, of another kind.
BEYOND = (
    "typed_jit(product)(x, x[1:])",
    "typed_grad(wave)(jnp.asarray(3))",
    "typed_grad(wave)(x)",
)
program = "\n".join((IMPORTS, functions, *questions, *mistakes, *BEYOND))

# %%
# What they see
# -------------
# The next cell runs both checkers, by :func:`jaxcap.report.typecheck.run_checker`. That takes a while, because mypy
# reads all of JAX first. To install both: ``python -m pip install mypy "pyright[nodejs]"``.
from jaxcap.report import typecheck

reports = {}
for checker in typecheck.CHECKERS:
    if typecheck.is_installed(checker):
        reports[checker] = typecheck.run_checker(checker, program)
    else:
        print(f"{checker} is not installed: its part of the tables is empty.")

# %%
# JAX annotates ``vmap`` as a function that returns what it was given. Expect the type of ``wave``
# there, and little for the others.
from jaxcap.results.tables import Table


def seen_by(checker):
    """Tabulate the types that a checker sees, first JAX's, then ours."""
    types = reports[checker].types if checker in reports else {}
    asked = [way + q for q in QUESTIONS for way in WAYS]
    rows = [(expression, types.get(expression, "")) for expression in asked]
    return Table(f"Types that {checker} sees", ("", "type"), rows)


seen_by("mypy")

# %%
# ``Any`` is the type that fits everywhere: from there on, nothing is checked. Pyright calls it
# *Unknown* where nobody asked for it, and shows the default of an argument, of which mypy only says
# that there is one.
seen_by("pyright")

# %%
# In the second row of each pair, arguments and results are what they were, with names and defaults.
# The gradient has the type of what it is taken by: an array for an array, a dictionary for a
# dictionary, a pair for two of them. That argument has lost its name, because JAX differentiates by
# position only. ``Jitted`` is a function with the methods of compiled ones, such as ``lower``.
#
# What they catch
# ---------------
# Now the mistakes. Those in what goes into ``vmap``, and in the options of ``jit``, JAX's own
# annotations give away as well. For the others the types must have survived.
caught = {
    checker: {error.code: error for error in report.errors}
    for checker, report in reports.items()
}
columns = [(way, checker) for way in WAYS for checker in caught]
rows = [
    (m, *("yes" if way + m in caught[c] else "no" for way, c in columns))
    for m in MISTAKES
]
Table(
    "Mistakes that are found before anything runs",
    ("", *(f"{way.strip('._')}, {checker}" for way, checker in columns)),
    rows,
)

# %%
# In their own words, on the misspelt attribute of the gradient:
for checker, found in caught.items():
    print(f"{checker}: {found['typed_grad(wave)(x[0]).shpae'].message}")

# %%
# What it costs
# -------------
# Nothing of the wrapper runs in a call, because :func:`~jaxcap.transforms.typed_jit` hands back the
# object that ``jax.jit`` made.
from jaxcap.transforms import typed_grad, typed_jit

for compiled in jax.jit(wave), typed_jit(wave):
    print(type(compiled).__name__, compiled.__wrapped__ is wave)

# %%
# The name, the documentation and the signature of the function are there when the program runs too,
# which is JAX's work:
print(typed_jit(wave).__name__, inspect.signature(typed_jit(wave)))
print(typed_jit(wave).__doc__)

# %%
# If that is so, a call must take the same time. On few numbers a call is mostly overhead, so that is
# where a difference would show. A second ``jax.jit`` takes part as a control: it can't differ from
# the first, so what the clock makes of the two is the error of the measurement.
from jaxcap.experiments.typed_jit import CONTROL, PLAIN, TYPED, TYPED_JIT

results = TYPED_JIT.run(budget_s=0.05)
results

# %%
from jaxcap.report import figures

_ = figures.bars(results, title="A call of the same compiled function")

# sphinx_gallery_thumbnail_number = 1

# %%
# Compared with the first, where 1 is no difference:
results.speedups(over=PLAIN)

# %%
from jaxcap.report.claims import claim, speedup_of

types_cost_little = claim(
    "a call from typed_jit takes less than a tenth longer",
    results,
    speedup_of(PLAIN, over=TYPED),
    below=1.1,
)
types_cost_little

# %%
# What types don't know
# ---------------------
# To a type checker an array is an array. The three lines that were put aside differ from correct
# ones only in shapes and number types. What do the checkers say, and what does JAX?
x = jnp.linspace(0.0, 12.0, 1000)
rows = []
for line in BEYOND:
    found = [checker for checker in caught if line in caught[checker]]
    try:
        eval(line)
        raised = "nothing"
    except TypeError as error:
        raised = type(error).__name__
    rows.append((line, ", ".join(found) or "nobody", raised))
Table(
    "Mistakes of shape and number type", ("", "found by", "JAX raises"), rows
)

# %%
# JAX finds such mistakes when it traces the function, from the shapes and types of the arguments,
# before it computes anything. ``eval_shape`` does only that:
try:
    typed_jit(product).eval_shape(x, x[1:])
except TypeError as error:
    print(*str(error).partition(", ")[::2], sep="\n")


# %%
# So a test with small arrays finds what the checker can't. Shapes can be written into annotations
# with `jaxtyping <https://docs.kidger.site/jaxtyping>`__, which checks them when the program runs.
#
# Annotations can also be wrong. JAX computes with arrays even where a function is annotated for
# Python's own numbers, and the checkers believe the annotation:
@typed_grad
def parabola_slope(x: float) -> float:
    return x**2


slope = parabola_slope(3.0)
print(isinstance(slope, float), isinstance(slope, jax.Array))

# %%
# Annotate with :class:`jax.Array` what JAX computes on;
# `jax.typing <https://docs.jax.dev/en/latest/jax.typing.html>`__ says more.
#
# Takeaway
# --------
speedup = results.speedup(TYPED, over=PLAIN)
control = results.speedup(CONTROL, over=PLAIN)
made = len(MISTAKES)
found_in_jax, found_typed = (
    sum(any(way + m in caught[c] for c in caught) for m in MISTAKES)
    for way in WAYS
)
print(f"{made} mistakes, asked: {', '.join(reports) or 'nobody'}")
print(f"found: {found_in_jax} in JAX's own, {found_typed} in the typed ones")

# %%
# ``jax.jit`` and ``jax.grad`` hide from a type checker what a function takes and returns. Of the
# :measured:`made` mistakes on this page, the checkers found :measured:`found_in_jax` in JAX's own
# transformations, and :measured:`found_typed` in the typed ones. In a call nothing of the wrapper is
# left, so it should take no longer: compared with ``jax.jit``, ``typed_jit`` came out
# :measured:`speedup`, and a second ``jax.jit`` :measured:`control`. Types say nothing of shapes and number types, so they replace no
# test.
