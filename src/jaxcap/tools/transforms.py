"""JAX's transformations, with types that a checker can follow.

To a type checker, `jax.jit` and `jax.grad` turn any callable into one that takes and returns
anything, so mistakes in a call of the result go unnoticed. The functions here do the same as JAX's
when a program runs: they pass on all arguments and return what JAX returns. But mypy and pyright also
see the names and types of the arguments, the type of the result, and whether the function may be
transformed like that.

Almost all of this module is overloads: signatures that only a type checker reads. What runs is one
line for each function, and ``_apply`` at the end.

JAX passes and returns a `jax.Array` even where an annotation says ``float``. Annotate the arguments
and results of computations with `jax.Array`, or with containers of it, and the types are right.
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

_P = ParamSpec("_P")
_Q = ParamSpec("_Q")
_T = TypeVar("_T")
_R = TypeVar("_R")
_R_co = TypeVar("_R_co", covariant=True)
# Arguments to differentiate with respect to. Without the bound, pyright takes those of a lambda for
# objects without operators.
_A = TypeVar("_A", bound=Any)
_B = TypeVar("_B", bound=Any)
# The result of a function that can be differentiated: a number, and perhaps something else.
_Y = TypeVar("_Y", bound=ArrayLike)
_Aux = TypeVar("_Aux")

_FromFirst: TypeAlias = Callable[Concatenate[_A, _P], _R]
_FromFirstTwo: TypeAlias = Callable[Concatenate[_A, _B, _P], _R]
# The ways to write `argnums`.
_First: TypeAlias = Literal[0]
_Second: TypeAlias = Literal[1]
_Both: TypeAlias = tuple[Literal[0], Literal[1]]
_Others: TypeAlias = int | Sequence[int]
_Axes: TypeAlias = int | Sequence[Any] | None


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


class PlainOptions(GradOptions, total=False):
    """Keywords for a function that returns a number."""

    has_aux: Literal[False]


class AuxOptions(GradOptions):
    """Keywords for a function that returns a number and something else."""

    has_aux: Literal[True]


class VmapOptions(TypedDict, total=False):
    """Keywords of `jax.vmap` other than the axes."""

    axis_name: Hashable | None
    axis_size: int | None
    spmd_axis_name: Hashable | tuple[Hashable, ...] | None
    sum_match: bool


class Jitted(Protocol[_P, _R_co]):
    """The type of what `typed_jit` returns: a function with methods that inspect it.

    Calls are checked. `lower`, `trace` and `eval_shape` take anything, because JAX accepts a
    `jax.ShapeDtypeStruct` in place of an array there.
    """

    __name__: str

    @property
    def __wrapped__(self) -> Callable[_P, _R_co]: ...
    def __call__(self, *args: _P.args, **kwargs: _P.kwargs) -> _R_co:
        """Call the compiled function, compiling for new shapes, dtypes and static arguments."""

    # A method is bound to its instance; a static method, which doesn't take the instance, isn't.
    # (mypy 2.4 binds it nevertheless: call static methods through the class.)
    @overload
    def __get__(self, instance: None, owner: type) -> Self: ...
    @overload
    def __get__(
        self: Jitted[Concatenate[_T, _Q], _R], instance: _T, owner: type
    ) -> Callable[_Q, _R]: ...
    @overload
    def __get__(self, instance: object, owner: type) -> Self: ...
    def lower(self, *args: Any, **kwargs: Any) -> Lowered:
        """Trace for arguments like these, and translate to the compiler's input."""

    def trace(self, *args: Any, **kwargs: Any) -> Traced:
        """Trace for arguments like these."""

    def eval_shape(self, *args: Any, **kwargs: Any) -> Any:
        """Return the shapes and dtypes of the result for arguments like these, uncomputed."""

    def clear_cache(self) -> None:
        """Delete the compiled programs."""


@overload
def typed_jit(fun: Callable[_P, _R], **options: Unpack[JitOptions]) -> Jitted[_P, _R]: ...
@overload
def typed_jit(**options: Unpack[JitOptions]) -> Callable[[Callable[_P, _R]], Jitted[_P, _R]]: ...
def typed_jit(*fun: Any, **options: Any) -> Any:
    """Compile a function: `jax.jit`, which keeps the types of the function here.

    Parameters
    ----------
    fun
        The function. Without it, as in ``@typed_jit(static_argnames="n")``, the result is a
        decorator.
    **options
        See `jax.jit`.

    Returns
    -------
    Jitted
        The object that `jax.jit` returns, so a call costs the same.
    """
    return _apply(jax.jit, fun, options)


# A gradient has the type of the argument that it is taken with respect to. Type checkers can work that
# out if `argnums` is written as 0, 1 or (0, 1); in all other cases the gradient is `Any`. Each of these
# four cases has two overloads, without and with `has_aux`, and the first that matches counts. As
# decorators, only 0 and "other" have overloads: the message about a wrong call lists all of them, and
# with more it would be too long to read.
@overload
def typed_grad(
    fun: _FromFirst[_A, _P, ArrayLike], argnums: _First = 0, **options: Unpack[PlainOptions]
) -> _FromFirst[_A, _P, _A]: ...
@overload
def typed_grad(
    fun: _FromFirst[_A, _P, tuple[ArrayLike, _Aux]],
    argnums: _First = 0,
    **options: Unpack[AuxOptions],
) -> _FromFirst[_A, _P, tuple[_A, _Aux]]: ...
@overload
def typed_grad(
    fun: _FromFirstTwo[_A, _B, _P, ArrayLike], argnums: _Second, **options: Unpack[PlainOptions]
) -> _FromFirstTwo[_A, _B, _P, _B]: ...
@overload
def typed_grad(
    fun: _FromFirstTwo[_A, _B, _P, tuple[ArrayLike, _Aux]],
    argnums: _Second,
    **options: Unpack[AuxOptions],
) -> _FromFirstTwo[_A, _B, _P, tuple[_B, _Aux]]: ...
@overload
def typed_grad(
    fun: _FromFirstTwo[_A, _B, _P, ArrayLike], argnums: _Both, **options: Unpack[PlainOptions]
) -> _FromFirstTwo[_A, _B, _P, tuple[_A, _B]]: ...
@overload
def typed_grad(
    fun: _FromFirstTwo[_A, _B, _P, tuple[ArrayLike, _Aux]],
    argnums: _Both,
    **options: Unpack[AuxOptions],
) -> _FromFirstTwo[_A, _B, _P, tuple[tuple[_A, _B], _Aux]]: ...
@overload
def typed_grad(
    fun: _FromFirst[_A, _P, ArrayLike], argnums: _Others, **options: Unpack[PlainOptions]
) -> _FromFirst[_A, _P, Any]: ...
@overload
def typed_grad(
    fun: _FromFirst[_A, _P, tuple[ArrayLike, _Aux]], argnums: _Others, **options: Unpack[AuxOptions]
) -> _FromFirst[_A, _P, tuple[Any, _Aux]]: ...
@overload
def typed_grad(
    *, argnums: _First = 0, **options: Unpack[PlainOptions]
) -> Callable[[_FromFirst[_A, _P, ArrayLike]], _FromFirst[_A, _P, _A]]: ...
@overload
def typed_grad(
    *, argnums: _First = 0, **options: Unpack[AuxOptions]
) -> Callable[
    [_FromFirst[_A, _P, tuple[ArrayLike, _Aux]]], _FromFirst[_A, _P, tuple[_A, _Aux]]
]: ...
@overload
def typed_grad(
    *, argnums: _Others, **options: Unpack[PlainOptions]
) -> Callable[[_FromFirst[_A, _P, ArrayLike]], _FromFirst[_A, _P, Any]]: ...
@overload
def typed_grad(
    *, argnums: _Others, **options: Unpack[AuxOptions]
) -> Callable[
    [_FromFirst[_A, _P, tuple[ArrayLike, _Aux]]], _FromFirst[_A, _P, tuple[Any, _Aux]]
]: ...
def typed_grad(*fun: Any, **options: Any) -> Any:
    """Differentiate a function: `jax.grad`, with types.

    To a checker, the gradient has the type of the argument that it is taken with respect to, if
    ``argnums`` is written as 0, 1 or (0, 1); in a decorator, only as 0. Otherwise it could be
    anything. A checker refuses functions that don't return a number, or with ``has_aux=True`` a
    number and something else.

    Parameters
    ----------
    fun
        The function. Without it, as in ``@typed_grad(has_aux=True)``, the result is a decorator.
    argnums, has_aux, **options
        See `jax.grad`.

    Returns
    -------
    Callable
        The function that `jax.grad` returns. To a checker, the arguments to differentiate with
        respect to lose their names, because JAX takes them by position only.
    """
    return _apply(jax.grad, fun, options)


@overload
def typed_value_and_grad(
    fun: _FromFirst[_A, _P, _Y], argnums: _First = 0, **options: Unpack[PlainOptions]
) -> _FromFirst[_A, _P, tuple[_Y, _A]]: ...
@overload
def typed_value_and_grad(
    fun: _FromFirst[_A, _P, tuple[_Y, _Aux]], argnums: _First = 0, **options: Unpack[AuxOptions]
) -> _FromFirst[_A, _P, tuple[tuple[_Y, _Aux], _A]]: ...
@overload
def typed_value_and_grad(
    fun: _FromFirstTwo[_A, _B, _P, _Y], argnums: _Second, **options: Unpack[PlainOptions]
) -> _FromFirstTwo[_A, _B, _P, tuple[_Y, _B]]: ...
@overload
def typed_value_and_grad(
    fun: _FromFirstTwo[_A, _B, _P, tuple[_Y, _Aux]], argnums: _Second, **options: Unpack[AuxOptions]
) -> _FromFirstTwo[_A, _B, _P, tuple[tuple[_Y, _Aux], _B]]: ...
@overload
def typed_value_and_grad(
    fun: _FromFirstTwo[_A, _B, _P, _Y], argnums: _Both, **options: Unpack[PlainOptions]
) -> _FromFirstTwo[_A, _B, _P, tuple[_Y, tuple[_A, _B]]]: ...
@overload
def typed_value_and_grad(
    fun: _FromFirstTwo[_A, _B, _P, tuple[_Y, _Aux]], argnums: _Both, **options: Unpack[AuxOptions]
) -> _FromFirstTwo[_A, _B, _P, tuple[tuple[_Y, _Aux], tuple[_A, _B]]]: ...
@overload
def typed_value_and_grad(
    fun: _FromFirst[_A, _P, _Y], argnums: _Others, **options: Unpack[PlainOptions]
) -> _FromFirst[_A, _P, tuple[_Y, Any]]: ...
@overload
def typed_value_and_grad(
    fun: _FromFirst[_A, _P, tuple[_Y, _Aux]], argnums: _Others, **options: Unpack[AuxOptions]
) -> _FromFirst[_A, _P, tuple[tuple[_Y, _Aux], Any]]: ...
@overload
def typed_value_and_grad(
    *, argnums: _First = 0, **options: Unpack[PlainOptions]
) -> Callable[[_FromFirst[_A, _P, _Y]], _FromFirst[_A, _P, tuple[_Y, _A]]]: ...
@overload
def typed_value_and_grad(
    *, argnums: _First = 0, **options: Unpack[AuxOptions]
) -> Callable[
    [_FromFirst[_A, _P, tuple[_Y, _Aux]]], _FromFirst[_A, _P, tuple[tuple[_Y, _Aux], _A]]
]: ...
@overload
def typed_value_and_grad(
    *, argnums: _Others, **options: Unpack[PlainOptions]
) -> Callable[[_FromFirst[_A, _P, _Y]], _FromFirst[_A, _P, tuple[_Y, Any]]]: ...
@overload
def typed_value_and_grad(
    *, argnums: _Others, **options: Unpack[AuxOptions]
) -> Callable[
    [_FromFirst[_A, _P, tuple[_Y, _Aux]]], _FromFirst[_A, _P, tuple[tuple[_Y, _Aux], Any]]
]: ...
def typed_value_and_grad(*fun: Any, **options: Any) -> Any:
    """Evaluate and differentiate a function: `jax.value_and_grad`, with types.

    Parameters
    ----------
    fun
        The function. Without it, as in ``@typed_value_and_grad(has_aux=True)``, the result is a
        decorator.
    argnums, has_aux, **options
        See `jax.value_and_grad`.

    Returns
    -------
    Callable
        The function that `jax.value_and_grad` returns. Its result is a pair: the function's result,
        and the gradient, typed as by `typed_grad`.
    """
    return _apply(jax.value_and_grad, fun, options)


@overload
def typed_vmap(
    fun: Callable[_P, _R], in_axes: _Axes = 0, out_axes: Any = 0, **options: Unpack[VmapOptions]
) -> Callable[_P, _R]: ...
@overload
def typed_vmap(
    *, in_axes: _Axes = 0, out_axes: Any = 0, **options: Unpack[VmapOptions]
) -> Callable[[Callable[_P, _R]], Callable[_P, _R]]: ...
def typed_vmap(*fun: Any, **options: Any) -> Any:
    """Map a function over an axis of arrays: `jax.vmap`, also as a decorator with arguments.

    Parameters
    ----------
    fun
        The function. Without it, as in ``@typed_vmap(in_axes=(0, None))``, the result is a
        decorator.
    in_axes, out_axes, **options
        See `jax.vmap`.

    Returns
    -------
    Callable
        The function that `jax.vmap` returns. It has the type of ``fun``, because types don't
        include axes.
    """
    return _apply(jax.vmap, fun, options)


def _apply(
    transformation: Callable[..., Any], fun: tuple[Any, ...], options: dict[str, Any]
) -> Any:
    """Transform the function, if there is one; otherwise return the decorator that will do it."""
    if "fun" in options:  # jax.jit takes it by position only
        fun = (*fun, options.pop("fun"))
    return transformation(*fun, **options) if fun else partial(transformation, **options)
