"""
What does a type checker see?
=============================

Misspell an argument of a function that you have compiled, and you hear of it when the program
reaches that line, perhaps after an hour of training. A type checker reads annotations and could
mark the line while you type it, but does it still see them through :func:`jax.jit` and
:func:`jax.grad`? We make six mistakes on purpose, and let two checkers look for them: first with
JAX's own transformations, and then with versions that keep the types. Then we ask what such types
cost, and which mistakes they can't catch.
"""

# %%
# A checker finds mistakes before anything runs
# ---------------------------------------------
# An annotation says what goes into a function and what comes out. Python ignores it when the
# program runs, but a type checker, such as `mypy <https://mypy.readthedocs.io>`__ or `pyright
# <https://microsoft.github.io/pyright>`__, reads the program instead of running it, and compares
# each call with the annotations. Here are two functions for it to read:
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
# You install the two checkers with ``python -m pip install mypy "pyright[nodejs]"``. They read the
# text of a module, so ``check`` makes such a text of a few functions. Its first argument is the
# line that imports ``jit``, ``grad`` and ``vmap``:
import inspect

from jaxcap.report import typecheck

CHECKERS = [c for c in typecheck.CHECKERS if typecheck.is_installed(c)]
print("Checkers installed here:", ", ".join(CHECKERS) or "none")
IMPORTS = "from typing import reveal_type\nimport jax, jax.numpy as jnp"


def check(transformations, *functions):
    """Return what each checker reports about a module of functions."""
    sources = map(inspect.getsource, functions)
    text = "\n".join([IMPORTS, transformations, *sources])
    return {c: typecheck.run_checker(c, text) for c in CHECKERS}


# %%
# Pass a string where ``wave`` expects an array, and both checkers should object. They only read
# ``plain_mistake``: nothing calls it, nor the mistakes that follow.
JAX = "from jax import grad, jit, vmap"


def plain_mistake() -> None:
    wave("twelve")


for report in check(JAX, wave, plain_mistake).values():
    for error in report.errors:
        print(report.checker, "says:", error.message)

# %%
# JAX's transformations lose the types
# ------------------------------------
# Now for the transformed functions. What is the type of ``jit(wave)``? If you wrap an expression in
# ``reveal_type``, a checker reports the type that it has worked out. Here are six such questions.
# This function never runs either. It doesn't import ``jit``, ``grad`` and ``vmap``, because
# ``check`` will add that import, once from JAX and once from the typed versions:
from typing import reveal_type


def questions(x: jax.Array) -> None:
    reveal_type(jit(wave))
    reveal_type(jit(wave)(x))
    reveal_type(vmap(wave))
    reveal_type(grad(wave))
    reveal_type(grad(product, (0, 1)))
    reveal_type(grad(loss, has_aux=True))


# %%
# And these are the six mistakes. Two of the calls pass a string for an array. Two names are
# misspelt, ``slop`` and ``shpae``. ``loss`` returns a pair, but ``grad`` expects a single number,
# because the call lacks ``has_aux=True``. And ``jit`` has no option ``static_argnum``: it is called
# ``static_argnums``.
def mistakes(x: jax.Array, params: dict[str, jax.Array]) -> None:
    jit(wave)("twelve")
    jit(wave)(x, slop=0.3)
    print(grad(wave)(x[0]).shpae)
    grad(loss)(params, x)
    vmap(wave)("twelve")
    jit(wave, static_argnum=1)


# %%
# How many of the six would you expect a checker to find? Both checkers read this module twice. In
# the first version, ``jit``, ``grad`` and ``vmap`` come from JAX. In the second, they come from
# :mod:`jaxcap.tools.transforms`, and nothing else differs:
TYPED = """
from jaxcap.tools.transforms import typed_grad as grad
from jaxcap.tools.transforms import typed_jit as jit
from jaxcap.tools.transforms import typed_vmap as vmap
"""
module = wave, product, loss, questions, mistakes
reports = {"JAX": check(JAX, *module), "typed": check(TYPED, *module)}

# %%
# First the answers to our questions. Look at the column *JAX*: what is left of the annotations?
from jaxcap.results.tables import Table

rows = []
if "mypy" in CHECKERS:
    by_jax, by_us = (found["mypy"].types for found in reports.values())
    rows = [(code, by_jax[code], by_us[code]) for code in by_jax]
Table("Types that mypy sees", ("", "JAX", "typed"), rows)

# %%
# Beware of ``Any``. It is the type that fits everywhere, so nothing that follows from it is
# checked: not the arguments of a gradient, and not what a compiled function returns. A name such as
# ``JitWrapped`` hides as much, since it says that a function was compiled, but not which arguments
# the function takes. (Pyright writes types in a notation of its own, and calls an ``Any`` that
# nobody wrote *Unknown*.) How much gets lost depends on the transformation, because each has
# annotations of its own. JAX's ``vmap``, for one, is declared to return a function of the type that
# it was given.
#
# One annotation keeps them
# -------------------------
# A transformation that returns a function like the one it was given can say so in its own
# annotation. This is all it takes, where ``P`` stands for whatever arguments there are, and ``R``
# for the result:
from collections.abc import Callable
from typing import ParamSpec, TypeVar

P = ParamSpec("P")
R = TypeVar("R")


def small_typed_jit(function: Callable[P, R]) -> Callable[P, R]:
    """Compile a function, and promise that it keeps its type."""
    return jax.jit(function)


# %%
# The functions in :mod:`jaxcap.tools.transforms` do the same for ``jit``, ``grad`` and ``vmap``
# with all of their options. Gradients take more work, since their type depends on ``argnums`` and
# ``has_aux``.
#
# Read the column *typed* again. With these functions, arguments keep their types, names and
# defaults. A gradient has the type of the argument that you differentiate with respect to: an array
# for an array, a dictionary for a dictionary, a pair for the first two arguments. For other choices
# of ``argnums``, the gradient is ``Any``. The argument that you differentiate with respect to has
# no name any more, because JAX picks it by position. ``Jitted`` is a function that also has the
# methods of compiled functions, such as ``lower``.
#
# Where a type is known, a mistake is found
# -----------------------------------------
# And the six mistakes? A checker can only find a mistake if it knows the types involved:
caught = {
    (version, checker): {error.code.strip() for error in report.errors}
    for version, found in reports.items()
    for checker, report in found.items()
}
lines = inspect.getsource(mistakes).splitlines()[1:]
made_lines = [line.strip() for line in lines]

# %%
rows = [
    (line, *("yes" if line in found else "no" for found in caught.values()))
    for line in made_lines
]
columns = [f"{version}, {checker}" for version, checker in caught]
title = "Mistakes that are found before anything runs"
Table(title, ("", *columns), rows)

# %%
# Between them, the checkers found :measured:`found_in_jax` of the :measured:`made` mistakes with
# JAX's own transformations, and :measured:`found_typed` with the typed ones. This is what they say
# about the misspelt attribute of the gradient:
for checker, report in reports["typed"].items():
    for error in report.errors:
        if "shpae" in error.code:
            print(f"{checker}: {error.message}")

# %%
# At run time, the typed version is the same
# ------------------------------------------
# Does a call pay for its types? When the program runs,
# :func:`~jaxcap.tools.transforms.typed_jit` calls ``jax.jit`` once, and hands back the object that
# ``jax.jit`` made. Nothing of ours remains that could slow a call down. From here on, this page
# uses the typed transformations itself:
from jaxcap.tools.transforms import typed_grad as grad
from jaxcap.tools.transforms import typed_jit as jit
from jaxcap.tools.transforms import typed_vmap as vmap

for compiled in jax.jit(wave), jit(wave):
    print(type(compiled).__name__, compiled.__wrapped__ is wave)

# %%
# So calls should take the same time. As a check, we time them on an array so small that a call is
# mostly overhead. A second ``jax.jit`` takes part as a control: any difference between the two is
# an error of the measurement.
from jaxcap.experiments.typed_jit import CONTROL, PLAIN, TYPED_JIT
from jaxcap.experiments.typed_jit import TYPED as WITH_TYPES

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
from jaxcap.report.claims import claim, speedup_of

types_cost_little = claim(
    "a call from typed_jit takes less than a tenth longer",
    results,
    speedup_of(WITH_TYPES, over=PLAIN),
    above=1 / 1.1,
)
speedup = types_cost_little.estimate
control = results.speedup(CONTROL, over=PLAIN)
is_sure = speedup.verdict != "undecided"
cost = "more than chance explains" if is_sure else "nothing measurable"
types_cost_little


# %%
# ``typed_jit`` was :measured:`speedup than jax.jit`. The control, which *is* ``jax.jit``, was
# :measured:`control than the first jax.jit`. So the types cost :measured:`cost`.
#
# To a type checker, an array is an array
# ---------------------------------------
# Annotations such as ours say nothing about shapes and number types, and these three functions are
# wrong in just that. One multiplies vectors of different lengths, one differentiates with respect
# to an integer, and one takes the gradient of a function with a thousand results:
def unequal_lengths(x: jax.Array) -> jax.Array:
    return jit(product)(x, x[1:])


def slope_of_an_integer(x: jax.Array) -> jax.Array:
    return grad(wave)(x[0].astype(int))


def slope_of_a_vector(x: jax.Array) -> jax.Array:
    return grad(wave)(x)


# %%
# Do the checkers object? And does JAX, if we trace these functions with :func:`jax.eval_shape`,
# which computes nothing?
from textwrap import fill

wrong = unequal_lengths, slope_of_an_integer, slope_of_a_vector
for checker, report in check(TYPED, wave, product, *wrong).items():
    print(f"{checker}: {len(report.errors)} errors")

for function in wrong:
    try:
        jax.eval_shape(function, jnp.linspace(0.0, 12.0, 1000))
    except TypeError as error:
        sentence = str(error).split(". ")[0]
        print(fill(f"{function.__name__}: {sentence}", 76))


# %%
# JAX notices such mistakes while it traces, from the shapes and types alone. So a test that traces
# your functions finds what a checker can't, and computes no arrays. You can also write shapes into
# annotations, with `jaxtyping <https://docs.kidger.site/jaxtyping>`__. A type checker ignores them,
# and a runtime checker such as `beartype <https://beartype.readthedocs.io>`__ enforces them when
# the program runs.
#
# A typed gradient can also promise too much. Here the argument is annotated as a ``float``, so a
# checker takes the gradient for a ``float``, but JAX returns an array:
@grad
def parabola_slope(x: float) -> float:
    return x**2


slope = parabola_slope(3.0)
print(isinstance(slope, float), isinstance(slope, jax.Array))

# %%
# So annotate what JAX computes with :class:`jax.Array`. The page on `jax.typing
# <https://docs.jax.dev/en/latest/jax.typing.html>`__ says more.
#
# A limit isn't a type
# --------------------
# To a type checker, a momentum is just a ``float``, whether it is 0.9 or 9. A class can state a
# limit beside the type, and check it when the program runs. The
# :doc:`training </tutorials/applications/mnist>` on this site keeps its settings in such a class,
# made with `pydantic <https://docs.pydantic.dev>`__. This is one of the settings::
#
#     momentum: float = Field(default=0.9, ge=0, le=1)
#
# Three slips are easy to make: a name that doesn't exist, a wrong type, and a value that makes no
# sense. Which of them will the checkers find?
from jaxcap.mnist.config import Settings, explain


def slips() -> None:
    Settings(lr=0.1)
    Settings(learning_rate="fast")
    Settings(momentum=9)


of_settings = "from jaxcap.mnist.config import Settings"
for checker, report in check(of_settings, slips).items():
    print(f"{checker}: {[error.code.strip() for error in report.errors]}")

# %%
# The class finds all three slips, even one that a checker misses, and does so at the start of the
# program instead of after an hour of training:
from pydantic import ValidationError

for slip in {"lr": 0.1}, {"learning_rate": "fast"}, {"momentum": 9}:
    try:
        Settings(**slip)
    except ValidationError as error:
        print("-", explain(error))

# %%
# Takeaway
# --------
made = len(made_lines)


def count_found(version):
    """Count the mistakes that at least one checker found."""
    by_one = set().union(*(caught[version, checker] for checker in CHECKERS))
    return sum(line in by_one for line in made_lines)


found_in_jax, found_typed = count_found("JAX"), count_found("typed")

# %%
# A type checker sees only what annotations tell it: of :measured:`made` mistakes with transformed
# functions, the checkers found :measured:`found_in_jax` with JAX's own transformations, and
# :measured:`found_typed` with the typed ones. When the program runs, JAX ignores the types, so they
# can't slow a call down. But they say nothing about shapes, number types and limits. So test shapes
# and number types on small arrays or with ``eval_shape``, and let a class check limits when the
# program starts.
#
# Next: :doc:`how to time JAX, and how not to </tutorials/performance/timing>`.
