"""
What does a type checker see?
=============================

Misspell an argument of a compiled function, and you find out only when that line runs, perhaps
after an hour of training. A type checker could tell you while you type, if it still saw your
annotations through :func:`jax.jit` and :func:`jax.grad`. We make five mistakes on purpose, let two
checkers look for them, and give the types back where JAX drops them.
"""

# %%
# Five mistakes that a checker could find
# ---------------------------------------
# An annotation says what goes into a function and what comes out. A type checker, such as `mypy
# <https://mypy.readthedocs.io>`__ or `pyright <https://microsoft.github.io/pyright>`__, reads the
# code without running it, and compares each call with the annotations. Here are two functions for
# it to read:
import inspect

import jax
import jax.numpy as jnp
from jax import grad, jit, vmap


def wave(x: jax.Array, slope: float = 0.2) -> jax.Array:
    """Two waves on a slope."""
    return slope * x + jnp.sin(x) + jnp.cos(2 * x)


def loss(params: dict[str, jax.Array], x: jax.Array) -> jax.Array:
    """Mean square of a line through the origin."""
    return jnp.mean((params["slope"] * x) ** 2)


# %%
# The next function makes five mistakes. Two calls pass a string for an array, two names are misspelt,
# and the last line takes the gradient of ``loss`` for an array, although it is a dict like ``params``:
def mistakes(x: jax.Array, params: dict[str, jax.Array]) -> None:
    jit(wave)("twelve")
    jit(wave)(x, slop=0.3)
    vmap(wave)("twelve")
    print(grad(wave)(x[0]).shpae)
    print(grad(loss)(params, x).shape)


# %%
# If these functions were in a file, you would run ``mypy --strict`` or ``pyright`` on it. Our ``check``
# writes such a file, with some imports and then the functions, and runs both, which you install with
# ``python -m pip install mypy "pyright[nodejs]"``. How many of the five mistakes will they find?
from jaxcap.report.typecheck import check

IMPORTS = "from typing import reveal_type\nimport jax, jax.numpy as jnp\n"
JAX = "from jax import grad, jit, vmap"

by_jax = check(IMPORTS + JAX, wave, loss, mistakes)
for report in by_jax.values():
    for error in report.errors:
        print(report.checker, "finds", error.code.strip())

# %%
# Compiled functions and gradients lose their types
# -------------------------------------------------
# Why does a checker overlook the same string in ``jit(wave)("twelve")``? Wrap an expression in
# ``reveal_type``, and the checker reports the type that it sees:
from typing import reveal_type


def questions(x: jax.Array) -> None:
    reveal_type(jit(wave))
    reveal_type(jit(wave)(x))
    reveal_type(vmap(wave))
    reveal_type(grad(wave))
    reveal_type(grad(loss))


# %%
# Here are the answers of mypy:
def show_types(found):
    if "mypy" in found:
        for code, kind in found["mypy"].types.items():
            print(f"{code:13} {kind}")


show_types(check(IMPORTS + JAX, wave, loss, questions))

# %%
# ``vmap`` keeps the types, because JAX declares that it returns a function of the type that it was
# given. Elsewhere, our annotations are gone. A checker lets you do anything with ``Any``, and
# ``JitWrapped`` says that a function is compiled, and nothing about its arguments.
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
# Because of this promise, annotate what you differentiate with :class:`jax.Array`. If an argument is
# declared as a ``float``, the checker takes its gradient for a ``float``, too, but JAX returns an array.
#
# :mod:`jaxcap.tools.transforms` declares the options as well. Ask the same questions again, with its
# functions in place of JAX's:
TYPED = """
from jaxcap.tools.transforms import typed_grad as grad
from jaxcap.tools.transforms import typed_jit as jit
from jaxcap.tools.transforms import typed_vmap as vmap
"""
by_us = check(IMPORTS + TYPED, wave, loss, questions, mistakes)
show_types(by_us)

# %%
# The types are back, and so are most names of arguments. ``Jitted`` is a function with these arguments
# that also has the methods of compiled functions, such as ``lower``.
#
# Where a type is known, a mistake is found
# -----------------------------------------
# How many of the five mistakes will the checkers find now?
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
# :func:`~jaxcap.tools.transforms.typed_jit` returns what ``jax.jit`` returns, without a wrapper around
# it:
from jaxcap.tools.transforms import typed_jit

for compiled in jit(wave), typed_jit(wave):
    print(type(compiled).__name__, compiled.__wrapped__ is wave)

# %%
# So types should cost nothing in a call. We time calls on a small array, where a wrapper would be
# noticed. A second ``jax.jit`` shows how far apart equal functions can seem:
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
# A checker sees neither shapes nor limits
# ----------------------------------------
# To a checker, an array is an array and a number is a number. So it accepts two more mistakes. The first
# takes the gradient of ``wave`` for a whole array, although ``grad`` needs a scalar result. The second
# gives a training a momentum of 9, although momentum is a fraction:
from jaxcap.mnist.config import Settings, explain


def more_mistakes(x: jax.Array) -> None:
    grad(wave)(x)
    Settings(momentum=9)


SETTINGS = "from jaxcap.mnist.config import Settings\n"
found = check(IMPORTS + SETTINGS + TYPED, wave, more_mistakes)
for checker, report in found.items():
    print(f"{checker}: {len(report.errors)} errors")

# %%
# Shapes are checked when JAX traces. :func:`jax.eval_shape` traces a function for a shape and computes
# no arrays, so it makes a quick test:
x = jax.ShapeDtypeStruct((1000,), jnp.float32)
try:
    jax.eval_shape(grad(wave), x)
except TypeError as error:
    print(error)

# %%
# You can also write shapes into annotations with `jaxtyping
# <https://docs.kidger.site/jaxtyping/>`__, and have them checked when the program runs.
#
# Settings come from a command line or a file, which no checker reads. The `ConfigDict
# <https://github.com/google/ml_collections>`__ of Flax's MNIST example has neither limits nor a
# class in which a checker could look up the names of its settings. The :doc:`training on this site
# </tutorials/applications/mnist>` keeps its settings in a class made with `pydantic
# <https://docs.pydantic.dev>`__, which declares names, types and limits::
#
#     momentum: float = Field(default=0.9, ge=0, le=1)
#
# A wrong value is then refused before the training begins:
from pydantic import ValidationError

try:
    Settings(momentum=9)
except ValidationError as error:
    print(explain(error))

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
# A type checker learns from annotations what a transformation returns. Of :measured:`made` mistakes
# with transformed functions, the checkers found :measured:`found_in_jax` with JAX's own
# transformations, which mostly drop the annotations, and :measured:`found_typed` with typed ones,
# which keep them. In a call, types should cost nothing: timed side by side, one with types was
# :measured:`with_types than one without`. These types say nothing about shapes and limits, so test
# shapes with ``eval_shape``, and let a class check the limits of settings.
#
# Next: :doc:`how to time JAX, and how not to </tutorials/performance/timing>`.
