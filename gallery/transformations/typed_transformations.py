"""
What does a type checker see?
=============================

Misspell an argument of a compiled function, and you find out only when that line runs, perhaps
after an hour of training. A type checker could tell you while you type, if it still saw your
annotations through :func:`jax.jit` and :func:`jax.grad`. We make five mistakes on purpose, let two
checkers look for them, and give the types back where JAX drops them.
"""

# %%
# A checker finds mistakes before anything runs
# ---------------------------------------------
# An annotation says what goes into a function and what comes out. A type checker, such as `mypy
# <https://mypy.readthedocs.io>`__ or `pyright <https://microsoft.github.io/pyright>`__, reads the
# code without running it, and compares each call with the annotations. Here are two functions for
# it to read:
import jax
import jax.numpy as jnp


def wave(x: jax.Array, slope: float = 0.2) -> jax.Array:
    """Two waves on a slope."""
    return slope * x + jnp.sin(x) + jnp.cos(2 * x)


def loss(params: dict[str, jax.Array], x: jax.Array) -> jax.Array:
    """Mean square of a line through the origin."""
    return jnp.mean((params["slope"] * x) ** 2)


# %%
# Install the checkers with ``python -m pip install mypy "pyright[nodejs]"``. Checkers read files, so
# ``check`` gives them the source of some functions, below a line that imports ``jit``, ``grad`` and
# ``vmap``:
import inspect

from jaxcap.report import typecheck

CHECKERS = [c for c in typecheck.CHECKERS if typecheck.is_installed(c)]
IMPORTS = "from typing import reveal_type\nimport jax, jax.numpy as jnp"


def check(transformations, *functions):
    """Return what each checker reports about a module of functions."""
    sources = map(inspect.getsource, functions)
    text = "\n".join([IMPORTS, transformations, *sources])
    return {c: typecheck.run_checker(c, text) for c in CHECKERS}


# %%
# To begin with, pass a string to ``wave`` itself, which expects an array. The checkers find the
# mistake, although ``plain_mistake`` is never called:
JAX = "from jax import grad, jit, vmap"


def plain_mistake() -> None:
    wave("twelve")


for report in check(JAX, wave, plain_mistake).values():
    for error in report.errors:
        print(report.checker, "says:", error.message)

# %%
# Compiled functions and gradients lose their types
# -------------------------------------------------
# Wrap an expression in ``reveal_type``, and the checker reports its type. So we can ask what it knows
# about ``jit(wave)``. Below, ``jit``, ``grad`` and ``vmap`` come from the line that ``check`` puts
# above the functions:
from typing import reveal_type


def questions(x: jax.Array) -> None:
    reveal_type(jit(wave))
    reveal_type(jit(wave)(x))
    reveal_type(vmap(wave))
    reveal_type(grad(wave))
    reveal_type(grad(loss))


# %%
# Here are the five mistakes. Two calls pass a string for an array, two names are misspelt, and the
# last line takes the gradient of ``loss`` for an array, although it is a dict like ``params``. How
# many of these will a checker find?
def mistakes(x: jax.Array, params: dict[str, jax.Array]) -> None:
    jit(wave)("twelve")
    jit(wave)(x, slop=0.3)
    vmap(wave)("twelve")
    print(grad(wave)(x[0]).shpae)
    print(grad(loss)(params, x).shape)


# %%
# First the answers to our questions, by mypy:
def show_types(found):
    if "mypy" in found:
        for code, kind in found["mypy"].types.items():
            print(f"{code:13} {kind}")


by_jax = check(JAX, wave, loss, questions, mistakes)
show_types(by_jax)

# %%
# ``vmap`` keeps the types, because JAX declares that it returns a function of the type that it was
# given. Elsewhere, our annotations are gone. ``Any`` is the type that fits everywhere, so a checker
# accepts whatever you do with it. ``JitWrapped`` says that a function is compiled, and nothing about
# its arguments.
#
# An annotation can keep them
# ---------------------------
# What JAX declares for ``vmap`` can be declared for ``jit``, too. In ``typed_jit``, ``P`` stands for
# all arguments of a function, and ``R`` for its result. Without options such as static arguments, it
# could read like this::
#
#     def typed_jit(function: Callable[P, R]) -> Callable[P, R]:
#         return jax.jit(function)
#
# The idea is from the project `jax-capability-analysis
# <https://github.com/dostuffthatmatters/jax-capability-analysis>`__, which promised the same for
# ``grad``. That is wrong for ``loss``, because a gradient has the type of the *argument*: ``loss``
# returns an array, and its gradient is a dict. So ``typed_grad`` calls the type of the first argument
# ``A``, and promises a result of that type::
#
#     def typed_grad(
#         function: Callable[Concatenate[A, P], ArrayLike],
#     ) -> Callable[Concatenate[A, P], A]:
#         return jax.grad(function)
#
# :mod:`jaxcap.tools.transforms` declares the options as well. Ask the same questions again, with its
# functions in place of JAX's:
TYPED = """
from jaxcap.tools.transforms import typed_grad as grad
from jaxcap.tools.transforms import typed_jit as jit
from jaxcap.tools.transforms import typed_vmap as vmap
"""
by_us = check(TYPED, wave, loss, questions, mistakes)
show_types(by_us)

# %%
# The types are back, and so are the names of arguments. ``grad(wave)`` has none for its first argument,
# because JAX takes that by position. ``Jitted`` is a function with these arguments that also has the
# methods of compiled functions, such as ``lower``.
#
# Where a type is known, a mistake is found
# -----------------------------------------
# Here is who found which of the five mistakes:
caught = {
    f"{version}, {checker}": {error.code.strip() for error in report.errors}
    for version, found in {"JAX": by_jax, "typed": by_us}.items()
    for checker, report in found.items()
}
made_lines = [
    line.strip() for line in inspect.getsource(mistakes).splitlines()[1:]
]

# %%
from jaxcap.results.tables import Table

rows = [
    (line, *("yes" if line in found else "no" for found in caught.values()))
    for line in made_lines
]
title = "Mistakes that are found before anything runs"
Table(title, ("", *caught), rows)

# %%
# With JAX's own transformations, the checkers found :measured:`found_in_jax` of the
# :measured:`made` mistakes, and with the typed ones :measured:`found_typed`.
#
# At run time, the typed version is the same
# ------------------------------------------
# :func:`~jaxcap.tools.transforms.typed_jit` returns ``jax.jit``'s own object, so there is nothing left
# to slow a call:
from jaxcap.tools.transforms import typed_grad as grad
from jaxcap.tools.transforms import typed_jit as jit
from jaxcap.tools.transforms import typed_vmap as vmap

for compiled in jax.jit(wave), jit(wave):
    print(type(compiled).__name__, compiled.__wrapped__ is wave)

# %%
# We time both all the same, on an array so small that a call is mostly overhead. A second ``jax.jit``
# shows how far apart equal functions can seem:
from jaxcap.experiments.typed_jit import PLAIN, TYPED_JIT
from jaxcap.experiments.typed_jit import TYPED as WITH_TYPES
from jaxcap.report import figures

results = TYPED_JIT.run(budget_s=0.03)
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
types_cost_little


# %%
# A checker doesn't see shapes
# ----------------------------
# To a checker, an array is an array, whatever its shape. So it accepts the next two functions, although
# ``grad`` needs a scalar result, and ``wave`` returns an array shaped like ``x``. And ``vmap`` maps
# every argument that is passed by name over its first axis, which a number doesn't have:
def slope_of_a_vector(x: jax.Array) -> jax.Array:
    return grad(wave)(x)


def map_with_a_slope(x: jax.Array) -> jax.Array:
    return vmap(wave)(x, slope=0.3)


found = check(TYPED, wave, slope_of_a_vector, map_with_a_slope)
for checker, report in found.items():
    print(f"{checker}: {len(report.errors)} errors")

# %%
# JAX finds both when it traces the functions. :func:`jax.eval_shape` traces a function for a shape and
# computes no arrays, so it is a quick test for what a checker can't see:
from textwrap import fill

x = jax.ShapeDtypeStruct((1000,), jnp.float32)
for function in slope_of_a_vector, map_with_a_slope:
    try:
        jax.eval_shape(function, x)
    except (TypeError, ValueError) as error:
        print(fill(f"{function.__name__}: {error}", 80))

# %%
# You can also write shapes into annotations with `jaxtyping
# <https://docs.kidger.site/jaxtyping/>`__, and have them checked when the program runs.
#
# A checker doesn't see limits, either
# ------------------------------------
# The settings of a training need checks, too. If you keep them in a `ConfigDict
# <https://github.com/google/ml_collections>`__, as Flax's MNIST example did, each is ``Any`` to mypy.
# In a class, a checker sees names and types, but a momentum of 9 passes as well as one of 0.9. A class
# made with `pydantic <https://docs.pydantic.dev>`__ can state limits, too, and checks them when the
# program runs. The :doc:`training on this site </tutorials/applications/mnist>` declares its momentum
# so::
#
#     momentum: float = Field(default=0.9, ge=0, le=1)
#
# Here are three slips: a name that doesn't exist, a wrong type, and a value out of range. First, what
# the checkers find:
from pydantic import ValidationError

from jaxcap.mnist.config import Settings, explain


def slips() -> None:
    Settings(lr=0.1)
    Settings(learning_rate="fast")
    Settings(momentum=9)


of_settings = "from jaxcap.mnist.config import Settings"
for checker, report in check(of_settings, slips).items():
    print(f"{checker}: {[error.code.strip() for error in report.errors]}")

# %%
# The class catches what they let through, before the training begins:
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
    by_one = [found for name, found in caught.items() if version in name]
    return sum(line in set().union(*by_one) for line in made_lines)


found_in_jax, found_typed = count_found("JAX"), count_found("typed")
with_types = types_cost_little.estimate

# %%
# A type checker sees only what annotations tell it. Of :measured:`made` mistakes with transformed
# functions, the checkers found :measured:`found_in_jax` with JAX's own transformations, and
# :measured:`found_typed` with typed ones, which do the same at run time. Timed side by side, a call
# with types was :measured:`with_types than one without`.
#
# The types on this page say nothing about shapes or limits, so test shapes with ``eval_shape``, and let
# a class check limits when the program starts.
#
# Next: :doc:`how to time JAX, and how not to </tutorials/performance/timing>`.
