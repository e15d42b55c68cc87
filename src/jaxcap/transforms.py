"""JAX's transformations, typed: a checker sees what went in and what comes out.

`jax.jit` and `jax.grad` take any callable and give back one that takes and returns anything, as
far as a type checker can tell. The functions here *are* JAX's when a program runs: they pass on
all they get, and return what JAX returns. They differ in what mypy and pyright know of it: names
and types of the arguments, the type of the result, and whether the function may be transformed
like that at all.

JAX hands out a `jax.Array` also where an annotation says ``float``. Annotate what is computed on
with `jax.Array`, or with containers of it, and the types are right.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Sequence
from functools import partial
from typing import (
    Any,
    Concatenate,
    Literal,
    ParamSpec,
    Protocol,
    Self,
    TypeAlias,
    TypedDict,
    TypeVar,
    Unpack,
    overload,
)

import jax
from jax.stages import Lowered, Traced
from jax.typing import ArrayLike

P = ParamSpec("P")
Q = ParamSpec("Q")
T = TypeVar("T")
R = TypeVar("R")
R_co = TypeVar("R_co", covariant=True)
# Arguments to differentiate by. Without the bound, pyright takes those of a lambda for objects
# that no operator works on.
A = TypeVar("A", bound=Any)
B = TypeVar("B", bound=Any)
# What a function that can be differentiated returns: a number, and perhaps more beside it.
Y = TypeVar("Y", bound=ArrayLike)
Aux = TypeVar("Aux")

One: TypeAlias = Callable[Concatenate[A, P], R]
Two: TypeAlias = Callable[Concatenate[A, B, P], R]
First: TypeAlias = Literal[0]
Second: TypeAlias = Literal[1]
Both: TypeAlias = tuple[Literal[0], Literal[1]]
Others: TypeAlias = int | Sequence[int]
Axes: TypeAlias = int | Sequence[Any] | None


class JitOptions(TypedDict, total=False):
    """Keywords of `jax.jit`."""

    in_shardings: Any
    out_shardings: Any
    static_argnums: int | Sequence[int] | None
    static_argnames: str | Iterable[str] | None
    donate_argnums: int | Sequence[int] | None
    donate_argnames: str | Iterable[str] | None
    keep_unused: bool
    device: Any  # jax.Device is a variable to pyright
    backend: str | None
    inline: bool
    compiler_options: dict[str, Any] | None


class GradOptions(TypedDict, total=False):
    """Keywords of `jax.grad` and `jax.value_and_grad` that say nothing about types."""

    holomorphic: bool
    allow_int: bool
    reduce_axes: Sequence[Hashable]


class Plain(GradOptions, total=False):
    """Keywords for a function that returns a number."""

    has_aux: Literal[False]


class WithAux(GradOptions):
    """Keywords for a function that returns a number and something else."""

    has_aux: Literal[True]


class VmapOptions(TypedDict, total=False):
    """Keywords of `jax.vmap` other than the axes."""

    axis_name: Hashable | None
    axis_size: int | None
    spmd_axis_name: Hashable | tuple[Hashable, ...] | None
    sum_match: bool


class Jitted(Protocol[P, R_co]):
    """What `typed_jit` returns, for a type checker: a function that can also be inspected.

    Calls are checked. `lower`, `trace` and `eval_shape` take anything, because JAX accepts
    `jax.ShapeDtypeStruct` there in place of arrays.
    """

    __name__: str

    @property
    def __wrapped__(self) -> Callable[P, R_co]: ...
    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> R_co:
        """Call the compiled function, compiling for new shapes, dtypes and static arguments."""
        ...

    # A method is bound to its instance; a static method, which doesn't take the instance, is not.
    # (mypy 2.4 binds it all the same: call static methods through the class.)
    @overload
    def __get__(self, instance: None, owner: type) -> Self: ...
    @overload
    def __get__(self: Jitted[Concatenate[T, Q], R], instance: T, owner: type) -> Callable[Q, R]: ...
    @overload
    def __get__(self, instance: object, owner: type) -> Self: ...
    def lower(self, *args: Any, **kwargs: Any) -> Lowered:
        """Trace for such arguments and translate to the compiler's input."""
        ...

    def trace(self, *args: Any, **kwargs: Any) -> Traced:
        """Trace for such arguments."""
        ...

    def eval_shape(self, *args: Any, **kwargs: Any) -> Any:
        """Return the shapes and dtypes of the result for such arguments, without computing it."""
        ...

    def clear_cache(self) -> None:
        """Forget what was compiled."""
        ...


@overload
def typed_jit(fun: Callable[P, R], /, **options: Unpack[JitOptions]) -> Jitted[P, R]: ...
@overload
def typed_jit(**options: Unpack[JitOptions]) -> Callable[[Callable[P, R]], Jitted[P, R]]: ...
def typed_jit(*fun: Any, **options: Any) -> Any:
    """Compile a function: `jax.jit`, with the types of the function kept.

    Parameters
    ----------
    fun
        The function. Left out, as in ``@typed_jit(static_argnames="n")``, the answer is a
        decorator.
    **options
        Those of `jax.jit`.

    Returns
    -------
    Jitted
        The very object that `jax.jit` returns: a call costs the same.
    """
    return jax.jit(*fun, **options)


# The gradient has the type of what it is the gradient by. Overloads come in pairs, without and with
# `has_aux`, for each `argnums` that types can follow, and for the others, where the gradient could
# be anything; first with the function, then as a decorator. Of these, checkers remark that 1 is also
# one of the others: it is meant to be, and the first match counts.
@overload
def typed_grad(
    fun: One[A, P, ArrayLike], argnums: First = 0, **options: Unpack[Plain]
) -> One[A, P, A]: ...
@overload
def typed_grad(
    fun: One[A, P, tuple[ArrayLike, Aux]], argnums: First = 0, **options: Unpack[WithAux]
) -> One[A, P, tuple[A, Aux]]: ...
@overload
def typed_grad(
    fun: Two[A, B, P, ArrayLike], argnums: Second, **options: Unpack[Plain]
) -> Two[A, B, P, B]: ...
@overload
def typed_grad(
    fun: Two[A, B, P, tuple[ArrayLike, Aux]], argnums: Second, **options: Unpack[WithAux]
) -> Two[A, B, P, tuple[B, Aux]]: ...
@overload
def typed_grad(
    fun: Two[A, B, P, ArrayLike], argnums: Both, **options: Unpack[Plain]
) -> Two[A, B, P, tuple[A, B]]: ...
@overload
def typed_grad(
    fun: Two[A, B, P, tuple[ArrayLike, Aux]], argnums: Both, **options: Unpack[WithAux]
) -> Two[A, B, P, tuple[tuple[A, B], Aux]]: ...
@overload
def typed_grad(
    fun: One[A, P, ArrayLike], argnums: Others, **options: Unpack[Plain]
) -> One[A, P, Any]: ...
@overload
def typed_grad(
    fun: One[A, P, tuple[ArrayLike, Aux]], argnums: Others, **options: Unpack[WithAux]
) -> One[A, P, tuple[Any, Aux]]: ...
@overload
def typed_grad(
    *, argnums: First = 0, **options: Unpack[Plain]
) -> Callable[[One[A, P, ArrayLike]], One[A, P, A]]: ...
@overload
def typed_grad(
    *, argnums: First = 0, **options: Unpack[WithAux]
) -> Callable[[One[A, P, tuple[ArrayLike, Aux]]], One[A, P, tuple[A, Aux]]]: ...
@overload
def typed_grad(  # type: ignore[overload-overlap]
    *, argnums: Second, **options: Unpack[Plain]
) -> Callable[[Two[A, B, P, ArrayLike]], Two[A, B, P, B]]: ...
@overload
def typed_grad(  # type: ignore[overload-overlap]
    *, argnums: Second, **options: Unpack[WithAux]
) -> Callable[[Two[A, B, P, tuple[ArrayLike, Aux]]], Two[A, B, P, tuple[B, Aux]]]: ...
@overload
def typed_grad(  # type: ignore[overload-overlap]
    *, argnums: Both, **options: Unpack[Plain]
) -> Callable[[Two[A, B, P, ArrayLike]], Two[A, B, P, tuple[A, B]]]: ...
@overload
def typed_grad(  # type: ignore[overload-overlap]
    *, argnums: Both, **options: Unpack[WithAux]
) -> Callable[[Two[A, B, P, tuple[ArrayLike, Aux]]], Two[A, B, P, tuple[tuple[A, B], Aux]]]: ...
@overload
def typed_grad(
    *, argnums: Others, **options: Unpack[Plain]
) -> Callable[[One[A, P, ArrayLike]], One[A, P, Any]]: ...
@overload
def typed_grad(
    *, argnums: Others, **options: Unpack[WithAux]
) -> Callable[[One[A, P, tuple[ArrayLike, Aux]]], One[A, P, tuple[Any, Aux]]]: ...
def typed_grad(*fun: Any, **options: Any) -> Any:
    """Differentiate a function: `jax.grad`, with types.

    A checker gives the gradient the type of the argument that it is taken by, for ``argnums`` of
    0, 1 and (0, 1), written out; for others it could be anything. It refuses functions that don't
    return a number, or a number and something else with ``has_aux=True``.

    Parameters
    ----------
    fun
        The function. Left out, as in ``@typed_grad(has_aux=True)``, the answer is a decorator.
    argnums, has_aux, **options
        Those of `jax.grad`.

    Returns
    -------
    Callable
        What `jax.grad` returns. Arguments to differentiate by lose their names for a checker:
        JAX takes them by position only.
    """
    return _apply(jax.grad, fun, options)


@overload
def typed_value_and_grad(
    fun: One[A, P, Y], argnums: First = 0, **options: Unpack[Plain]
) -> One[A, P, tuple[Y, A]]: ...
@overload
def typed_value_and_grad(
    fun: One[A, P, tuple[Y, Aux]], argnums: First = 0, **options: Unpack[WithAux]
) -> One[A, P, tuple[tuple[Y, Aux], A]]: ...
@overload
def typed_value_and_grad(
    fun: Two[A, B, P, Y], argnums: Second, **options: Unpack[Plain]
) -> Two[A, B, P, tuple[Y, B]]: ...
@overload
def typed_value_and_grad(
    fun: Two[A, B, P, tuple[Y, Aux]], argnums: Second, **options: Unpack[WithAux]
) -> Two[A, B, P, tuple[tuple[Y, Aux], B]]: ...
@overload
def typed_value_and_grad(
    fun: Two[A, B, P, Y], argnums: Both, **options: Unpack[Plain]
) -> Two[A, B, P, tuple[Y, tuple[A, B]]]: ...
@overload
def typed_value_and_grad(
    fun: Two[A, B, P, tuple[Y, Aux]], argnums: Both, **options: Unpack[WithAux]
) -> Two[A, B, P, tuple[tuple[Y, Aux], tuple[A, B]]]: ...
@overload
def typed_value_and_grad(
    fun: One[A, P, Y], argnums: Others, **options: Unpack[Plain]
) -> One[A, P, tuple[Y, Any]]: ...
@overload
def typed_value_and_grad(
    fun: One[A, P, tuple[Y, Aux]], argnums: Others, **options: Unpack[WithAux]
) -> One[A, P, tuple[tuple[Y, Aux], Any]]: ...
@overload
def typed_value_and_grad(
    *, argnums: First = 0, **options: Unpack[Plain]
) -> Callable[[One[A, P, Y]], One[A, P, tuple[Y, A]]]: ...
@overload
def typed_value_and_grad(
    *, argnums: First = 0, **options: Unpack[WithAux]
) -> Callable[[One[A, P, tuple[Y, Aux]]], One[A, P, tuple[tuple[Y, Aux], A]]]: ...
@overload
def typed_value_and_grad(  # type: ignore[overload-overlap]
    *, argnums: Second, **options: Unpack[Plain]
) -> Callable[[Two[A, B, P, Y]], Two[A, B, P, tuple[Y, B]]]: ...
@overload
def typed_value_and_grad(  # type: ignore[overload-overlap]
    *, argnums: Second, **options: Unpack[WithAux]
) -> Callable[[Two[A, B, P, tuple[Y, Aux]]], Two[A, B, P, tuple[tuple[Y, Aux], B]]]: ...
@overload
def typed_value_and_grad(  # type: ignore[overload-overlap]
    *, argnums: Both, **options: Unpack[Plain]
) -> Callable[[Two[A, B, P, Y]], Two[A, B, P, tuple[Y, tuple[A, B]]]]: ...
@overload
def typed_value_and_grad(  # type: ignore[overload-overlap]
    *, argnums: Both, **options: Unpack[WithAux]
) -> Callable[[Two[A, B, P, tuple[Y, Aux]]], Two[A, B, P, tuple[tuple[Y, Aux], tuple[A, B]]]]: ...
@overload
def typed_value_and_grad(
    *, argnums: Others, **options: Unpack[Plain]
) -> Callable[[One[A, P, Y]], One[A, P, tuple[Y, Any]]]: ...
@overload
def typed_value_and_grad(
    *, argnums: Others, **options: Unpack[WithAux]
) -> Callable[[One[A, P, tuple[Y, Aux]]], One[A, P, tuple[tuple[Y, Aux], Any]]]: ...
def typed_value_and_grad(*fun: Any, **options: Any) -> Any:
    """Evaluate and differentiate a function: `jax.value_and_grad`, with types.

    Parameters
    ----------
    fun
        The function. Left out, as in ``@typed_value_and_grad(argnums=1)``, the answer is a
        decorator.
    argnums, has_aux, **options
        Those of `jax.value_and_grad`.

    Returns
    -------
    Callable
        What `jax.value_and_grad` returns. Its result is a pair: what the function returns, and
        the gradient, of the type that `typed_grad` gives it.
    """
    return _apply(jax.value_and_grad, fun, options)


@overload
def typed_vmap(
    fun: Callable[P, R], in_axes: Axes = 0, out_axes: Any = 0, **options: Unpack[VmapOptions]
) -> Callable[P, R]: ...
@overload
def typed_vmap(
    *, in_axes: Axes = 0, out_axes: Any = 0, **options: Unpack[VmapOptions]
) -> Callable[[Callable[P, R]], Callable[P, R]]: ...
def typed_vmap(*fun: Any, **options: Any) -> Any:
    """Map a function over an axis of arrays: `jax.vmap`, also as a decorator with arguments.

    Parameters
    ----------
    fun
        The function. Left out, as in ``@typed_vmap(in_axes=(0, None))``, the answer is a
        decorator.
    in_axes, out_axes, **options
        Those of `jax.vmap`.

    Returns
    -------
    Callable
        What `jax.vmap` returns. Its type is that of the function, since types don't know axes.
    """
    return _apply(jax.vmap, fun, options)


def _apply(
    transformation: Callable[..., Any], fun: tuple[Any, ...], options: dict[str, Any]
) -> Any:
    """Transform a function, or return the decorator that will."""
    if fun or "fun" in options:
        return transformation(*fun, **options)
    return partial(transformation, **options)
