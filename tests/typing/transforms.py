"""What mypy and pyright must see and refuse; read by them in ``test_transforms.py``, never run.

``#:`` gives the type that both reveal, ``# error:`` the rules by which mypy and pyright refuse.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, reveal_type

import jax
import jax.numpy as jnp
from jax.stages import Wrapped

from jaxcap.tools.transforms import (
    Jitted,
    typed_grad,
    typed_jit,
    typed_value_and_grad,
    typed_vmap,
)


@jax.tree_util.register_dataclass
@dataclass
class Layer:
    weight: jax.Array
    bias: jax.Array


Params = dict[str, Layer]


def wave(x: jax.Array, scale: float = 1.0) -> jax.Array:
    return scale * jnp.sin(x)


def loss(params: Params, x: jax.Array, *, power: int) -> jax.Array:
    return jnp.sum(params["first"].weight * x**power)


def loss_and_aux(params: Params, x: jax.Array) -> tuple[jax.Array, str]:
    return jnp.sum(params["first"].weight * x), "aux"


def pair(a: jax.Array, b: Layer, c: jax.Array) -> jax.Array:
    return a @ b.weight + c


def unannotated(x, y):  # type: ignore[no-untyped-def]
    return x * y


x = jnp.ones(3)
params = {"first": Layer(x, x)}
shape = jax.ShapeDtypeStruct((3,), "float32")  # type: ignore[no-untyped-call]

# jit: calls are checked, and compiled functions can be inspected.
reveal_type(typed_jit(wave))  #: Jitted[(x: Array, scale: float = ...), Array]
reveal_type(typed_jit(wave)(x, scale=2.0))  #: Array
reveal_type(typed_jit(loss)(params, x, power=2))  #: Array
reveal_type(typed_jit(wave).__wrapped__)  #: (x: Array, scale: float = ...) -> Array
reveal_type(typed_jit(fun=wave)(x))  #: Array
reveal_type(typed_jit(wave).__name__)  #: str
reveal_type(typed_jit(wave).lower(shape))  #: Lowered
reveal_type(typed_jit(wave).trace(x))  #: Traced
reveal_type(typed_jit(wave).clear_cache())  #: None
reveal_type(typed_jit(lambda x: x**2))  #: Jitted[(x: Any), Any]
reveal_type(typed_jit(unannotated)(x, 2))  #: Any
typed_jit(wave)("text")  # error: arg-type reportArgumentType
typed_jit(wave)(x, 1.0, 2.0)  # error: call-arg reportCallIssue
typed_jit(wave)(x, scal=2.0)  # error: call-arg reportCallIssue
misspelt = typed_jit(wave)(x).shpae  # error: attr-defined reportAttributeAccessIssue
typed_jit(wave, static_argnum=1)  # error: call-overload reportCallIssue
typed_jit("text")  # error: call-overload reportArgumentType
typed_jit(wave).compile(x)  # error: attr-defined reportAttributeAccessIssue

as_jax_has_it: Wrapped = typed_jit(wave)
as_function: Callable[[jax.Array, float], jax.Array] = typed_jit(wave)
as_other: Callable[[str], jax.Array] = typed_jit(wave)  # error: arg-type reportAssignmentType
exact: Jitted[[jax.Array, float], jax.Array] = typed_jit(wave)


@typed_jit
def bare(x: jax.Array) -> jax.Array:
    return x


@typed_jit(static_argnames="times", inline=True)
def configured(x: jax.Array, times: int) -> Layer:
    return Layer(x, times * x)


class Model:
    @typed_jit
    def method(self, x: jax.Array) -> jax.Array:
        return x

    @typed_jit(static_argnums=0)
    def configured_method(self, x: jax.Array, *, times: int) -> jax.Array:
        return times * x

    @staticmethod
    @typed_jit
    def static_method(x: jax.Array) -> jax.Array:
        return x


reveal_type(bare)  #: Jitted[(x: Array), Array]
reveal_type(configured)  #: Jitted[(x: Array, times: int), Layer]
reveal_type(Model().method)  #: (x: Array) -> Array
reveal_type(Model().configured_method(x, times=2))  #: Array
reveal_type(Model.static_method(x))  #: Array
bare("text")  # error: arg-type reportArgumentType
configured(x)  # error: call-arg reportCallIssue
Model().method("text")  # error: arg-type reportArgumentType
Model().configured_method(x, time=2)  # error: call-arg reportCallIssue

# grad: the gradient has the type of what it is taken by.
reveal_type(typed_grad(wave))  #: (Array, scale: float = ...) -> Array
reveal_type(typed_grad(wave)(x))  #: Array
reveal_type(typed_grad(loss))  #: (dict[str, Layer], x: Array, *, power: int) -> dict[str, Layer]
reveal_type(typed_grad(loss, 1))  #: (dict[str, Layer], Array, *, power: int) -> Array
reveal_type(typed_grad(pair, argnums=1))  #: (Array, Layer, c: Array) -> Layer
reveal_type(typed_grad(pair, argnums=(0, 1)))  #: (Array, Layer, c: Array) -> tuple[Array, Layer]
reveal_type(typed_grad(pair, argnums=(1, 2)))  #: (Array, b: Layer, c: Array) -> Any
reveal_type(typed_grad(pair, argnums=2))  #: (Array, b: Layer, c: Array) -> Any
reveal_type(typed_grad(loss_and_aux, has_aux=True)(params, x))  #: tuple[dict[str, Layer], str]
reveal_type(typed_grad(loss_and_aux, argnums=1, has_aux=True)(params, x))  #: tuple[Array, str]
reveal_type(
    typed_grad(loss_and_aux, (0, 1), has_aux=True)(params, x)
)  #: tuple[tuple[dict[str, Layer], Array], str]
reveal_type(typed_grad(loss_and_aux, [0], has_aux=True)(params, x))  #: tuple[Any, str]
reveal_type(typed_grad(lambda x: x**2))  #: (Any) -> Any
reveal_type(typed_grad(lambda x, y: jnp.sum(x * y)))  #: (Any, y: Any) -> Any
reveal_type(typed_grad(unannotated))  #: (Any, y: Any) -> Any
reveal_type(typed_grad(typed_grad(wave)))  #: (Array, scale: float = ...) -> Array
reveal_type(typed_grad(wave, holomorphic=True)(x))  #: Array
typed_grad(loss_and_aux)  # error: arg-type reportArgumentType
typed_grad(wave, has_aux=True)  # error: call-overload reportArgumentType
typed_grad(wave)("text")  # error: arg-type reportArgumentType
typed_grad(wave)(x=x)  # error: call-arg reportCallIssue
misspelt_too = typed_grad(wave)(x).shpae  # error: attr-defined reportAttributeAccessIssue
typed_grad(wave, alow_int=True)  # error: call-overload reportCallIssue
typed_grad(pair, (0, 1))(x, x, x)  # error: arg-type reportArgumentType


@typed_grad
def slope(x: jax.Array) -> jax.Array:
    return x


@typed_grad(has_aux=True)
def slope_and_aux(x: jax.Array) -> tuple[jax.Array, str]:
    return x, "aux"


@typed_grad(argnums=1)
def second_slope(params: Params, x: jax.Array) -> jax.Array:
    return x


@typed_grad(argnums=(0, 1), has_aux=True)
def both_slopes(params: Params, x: jax.Array) -> tuple[jax.Array, str]:
    return x, "aux"


@typed_grad(argnums=(1, 2), allow_int=True)
def other_slopes(a: jax.Array, b: jax.Array, c: jax.Array) -> jax.Array:
    return a


@typed_grad(has_aux=True)  # error: arg-type reportArgumentType
def no_aux(x: jax.Array) -> jax.Array:
    return x


reveal_type(slope)  #: (Array) -> Array
reveal_type(slope_and_aux)  #: (Array) -> tuple[Array, str]
reveal_type(second_slope)  #: (dict[str, Layer], x: Array) -> Any
reveal_type(both_slopes(params, x))  #: tuple[Any, str]
reveal_type(other_slopes)  #: (Array, b: Array, c: Array) -> Any

# value_and_grad: what the function returns, and the gradient.
reveal_type(typed_value_and_grad(wave))  #: (Array, scale: float = ...) -> tuple[Array, Array]
reveal_type(typed_value_and_grad(loss)(params, x, power=2))  #: tuple[Array, dict[str, Layer]]
reveal_type(typed_value_and_grad(pair, argnums=1)(x, params["first"], x))  #: tuple[Array, Layer]
reveal_type(
    typed_value_and_grad(pair, (0, 1))(x, params["first"], x)
)  #: tuple[Array, tuple[Array, Layer]]
reveal_type(
    typed_value_and_grad(pair, argnums=2)
)  #: (Array, b: Layer, c: Array) -> tuple[Array, Any]
reveal_type(
    typed_value_and_grad(loss_and_aux, has_aux=True)(params, x)
)  #: tuple[tuple[Array, str], dict[str, Layer]]
reveal_type(
    typed_value_and_grad(loss_and_aux, (0, 1), has_aux=True)(params, x)
)  #: tuple[tuple[Array, str], tuple[dict[str, Layer], Array]]
reveal_type(
    typed_value_and_grad(loss_and_aux, 1, has_aux=True)(params, x)
)  #: tuple[tuple[Array, str], Array]
reveal_type(typed_value_and_grad(lambda x: jnp.sum(x)))  #: (Any) -> tuple[Array, Any]
typed_value_and_grad(loss_and_aux)  # error: type-var reportArgumentType
typed_value_and_grad(wave, has_aux=True)  # error: call-overload reportArgumentType


@typed_value_and_grad
def valued(x: jax.Array) -> jax.Array:
    return x


@typed_value_and_grad(has_aux=True)
def valued_with_aux(params: Params, x: jax.Array) -> tuple[jax.Array, int]:
    return x, 1


reveal_type(valued)  #: (Array) -> tuple[Array, Array]
reveal_type(
    valued_with_aux
)  #: (dict[str, Layer], x: Array) -> tuple[tuple[Array, int], dict[str, Layer]]

# vmap: what the function was, and all of them together.
reveal_type(typed_vmap(wave, (0, None)))  #: (x: Array, scale: float = ...) -> Array
reveal_type(
    typed_vmap(typed_grad(wave), in_axes=(0, None))
)  #: (Array, scale: float = ...) -> Array
reveal_type(typed_jit(typed_vmap(typed_grad(slope))))  #: Jitted[(Array), Array]
typed_vmap(wave)("text")  # error: arg-type reportArgumentType
typed_vmap(wave, in_axis=0)  # error: call-overload reportCallIssue


@typed_vmap(in_axes=(0, None), out_axes=1)
def mapped(x: jax.Array, y: jax.Array) -> jax.Array:
    return x * y


@typed_vmap
def mapped_bare(x: jax.Array) -> Layer:
    return Layer(x, x)


reveal_type(mapped)  #: (x: Array, y: Array) -> Array
reveal_type(mapped_bare)  #: (x: Array) -> Layer


def from_outside(fun: Callable[..., Any], argnums: int, **options: Any) -> None:
    reveal_type(typed_grad(fun, argnums)(1.0, **options))  #: Any
