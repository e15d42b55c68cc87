"""Transformations that are JAX's own when a program runs, and typed before that."""

from __future__ import annotations

import ast
import inspect
import re
from pathlib import Path
from typing import Any, get_overloads, is_typeddict

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from jaxcap.report import typecheck
from jaxcap.tools import transforms
from jaxcap.tools.transforms import typed_grad, typed_jit, typed_value_and_grad, typed_vmap

SNIPPET = Path(__file__).parents[1] / "typing" / "transforms.py"
PAIRS = [
    (typed_jit, jax.jit),
    (typed_grad, jax.grad),
    (typed_value_and_grad, jax.value_and_grad),
    (typed_vmap, jax.vmap),
]
X = jnp.arange(3.0)

each_pair = pytest.mark.parametrize(("typed", "plain"), PAIRS, ids=lambda fn: fn.__name__)


def cube(x: jax.Array, scale: float = 1.0) -> jax.Array:
    """Raise to the third power."""
    return scale * x**3


def product(a: jax.Array, b: jax.Array) -> jax.Array:
    return a * b


def tree_allclose(a: Any, b: Any) -> bool:
    return bool(jax.tree.all(jax.tree.map(np.allclose, a, b)))


@each_pair
def test_result_is_that_of_jax(typed: Any, plain: Any) -> None:
    in_axes = {"in_axes": (0, None)} if plain is jax.vmap else {}
    x = X if plain is jax.vmap else X[2]
    ours, theirs = typed(cube, **in_axes), plain(cube, **in_axes)
    assert type(ours) is type(theirs)
    assert tree_allclose(ours(x, 2.0), theirs(x, 2.0))


@each_pair
def test_name_docstring_and_signature_are_those_that_jax_gives(typed: Any, plain: Any) -> None:
    ours, theirs = typed(cube), plain(cube)
    assert ours.__wrapped__ is cube
    assert (ours.__name__, ours.__doc__) == (theirs.__name__, theirs.__doc__)
    assert inspect.signature(ours) == inspect.signature(cube)


@each_pair
def test_no_code_of_the_wrapper_runs_in_a_call(typed: Any, plain: Any) -> None:
    files: set[str] = set()

    def spy(x: jax.Array) -> jax.Array:
        files.update(frame.filename for frame in inspect.stack())
        return x

    typed(spy)(X if plain is jax.vmap else X[0])
    assert __file__ in files
    assert transforms.__file__ not in files


@each_pair
def test_types_know_every_keyword_of_jax(typed: Any, plain: Any) -> None:
    theirs = set(inspect.signature(plain).parameters)
    for overload in get_overloads(typed):
        parameters = inspect.signature(overload).parameters
        named = set(parameters) - {"options"}
        options = re.fullmatch(r"Unpack\[(\w+)\]", str(parameters["options"].annotation))
        assert options is not None
        keywords = getattr(transforms, options[1])
        assert is_typeddict(keywords)
        has_aux = set() if plain not in (jax.grad, jax.value_and_grad) else {"has_aux"}
        assert has_aux <= keywords.__annotations__.keys()
        assert named | keywords.__annotations__.keys() | {"fun"} == theirs


@each_pair
def test_keywords_of_a_newer_jax_are_passed_on(
    typed: Any, plain: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    calls = []
    monkeypatch.setattr(jax, plain.__name__, lambda *args, **options: calls.append((args, options)))
    typed(cube, of_tomorrow=1)
    assert calls == [((cube,), {"of_tomorrow": 1})]


@each_pair
def test_function_may_be_named(typed: Any, plain: Any) -> None:
    assert typed(fun=cube).__wrapped__ is cube


@each_pair
def test_a_function_given_twice_is_refused(typed: Any, plain: Any) -> None:
    with pytest.raises(TypeError):
        typed(cube, fun=cube)


@each_pair
def test_what_is_no_function_is_refused_as_by_jax(typed: Any, plain: Any) -> None:
    with pytest.raises(TypeError) as theirs:
        plain(None)
    with pytest.raises(TypeError) as ours:
        typed(None)
    assert str(ours.value) == str(theirs.value)


def test_jit_as_decorator_with_options() -> None:
    @typed_jit(static_argnames="times")
    def repeat(x: jax.Array, times: int) -> jax.Array:
        """Say it again."""
        return jnp.concatenate([x] * times)

    assert repeat.__doc__ == "Say it again."
    assert repeat(X, 2).shape == (6,)


def test_jitted_function_can_be_inspected() -> None:
    compiled = typed_jit(cube)
    assert compiled.eval_shape(X).shape == (3,)
    assert "lambda" in str(compiled.trace(X).jaxpr)
    assert "stablehlo" in compiled.lower(jax.ShapeDtypeStruct((3,), "float32")).as_text()  # type: ignore[no-untyped-call]
    compiled.clear_cache()


def test_jitted_method_is_bound() -> None:
    class Scale:
        factor = 3.0

        @typed_jit(static_argnums=0)
        def __call__(self, x: jax.Array) -> jax.Array:
            return self.factor * x

    assert tree_allclose(Scale()(X), 3 * X)


@pytest.mark.parametrize(
    ("argnums", "expected"), [(0, 4.0), (1, 3.0), ((0, 1), (4.0, 3.0)), ([1], (3.0,))]
)
def test_grad_by_each_kind_of_argnums(argnums: Any, expected: Any) -> None:
    grad: Any = typed_grad  # a parameter doesn't say which overload it is for
    value_and_grad: Any = typed_value_and_grad
    assert tree_allclose(grad(product, argnums)(3.0, 4.0), expected)
    assert tree_allclose(grad(argnums=argnums)(product)(3.0, 4.0), expected)
    assert tree_allclose(value_and_grad(product, argnums)(3.0, 4.0), (12.0, expected))
    assert tree_allclose(value_and_grad(argnums=argnums)(product)(3.0, 4.0), (12.0, expected))


def test_grad_as_decorator_with_aux() -> None:
    @typed_grad(has_aux=True)
    def slope(params: dict[str, jax.Array]) -> tuple[jax.Array, str]:
        return params["x"] ** 2, "aux"

    @typed_value_and_grad(has_aux=True)
    def both(params: dict[str, jax.Array]) -> tuple[jax.Array, str]:
        return params["x"] ** 2, "aux"

    at = {"x": jnp.asarray(3.0)}
    gradient, aux = slope(at)
    (value, same_aux), same_gradient = both(at)
    assert (float(gradient["x"]), float(value), aux) == (6.0, 9.0, "aux")
    assert (same_gradient, same_aux) == (gradient, aux)


def test_vmap_as_decorator_with_and_without_options() -> None:
    @typed_vmap
    def total(x: jax.Array) -> jax.Array:
        return jnp.sum(x)

    @typed_vmap(in_axes=(0, None), out_axes=1)
    def scaled(x: jax.Array, by: jax.Array) -> jax.Array:
        return x * by

    assert total(jnp.ones((2, 3))).tolist() == [3.0, 3.0]
    assert scaled(jnp.ones((2, 3)), jnp.asarray(2.0)).shape == (3, 2)


# What the checkers say
# The snippet says what it expects, in comments on the lines in question.


def remarks(mark: str) -> dict[int, str]:
    """Comments of the snippet that start with a mark, by line."""
    lines = enumerate(SNIPPET.read_text(encoding="utf-8").splitlines(), 1)
    return {number: line.partition(mark)[2] for number, line in lines if mark in line}


def expected_types() -> dict[str, str]:
    """Type of each expression that the snippet reveals."""
    source = SNIPPET.read_text(encoding="utf-8")
    types = remarks("  #: ")
    asked = [
        node
        for node in ast.walk(ast.parse(source))
        if isinstance(node, ast.Call) and ast.unparse(node.func) == "reveal_type"
    ]
    assert len(types) == len(asked)
    return {
        ast.get_source_segment(source, node.args[0]) or "": types[node.end_lineno or 0]
        for node in asked
    }


def in_common_notation(revealed: str) -> str:
    """Write a type as mypy and pyright would if they agreed on how."""
    text = revealed.replace("def (", "(").replace("Unknown", "Any")
    text = re.sub(r"^Jitted\[\[(.*)\], ", r"Jitted[(\1), ", text)
    return re.sub(r" =[^,)]*", " = ...", text)


@pytest.fixture(scope="module", params=typecheck.CHECKERS)
def report(request: pytest.FixtureRequest) -> typecheck.Report:
    checker = request.param
    if not typecheck.is_installed(checker):
        pytest.skip(f"{checker} is not installed")
    # So that mypy reads JAX only once, pytest keeps this folder between runs.
    cache = request.config.pluginmanager.has_plugin("cacheprovider") and request.config.cache
    with pytest.MonkeyPatch.context() as patch:
        if cache:
            patch.setenv("MYPY_CACHE_DIR", str(cache.mkdir("mypy")))
        return typecheck.run_checker(checker, SNIPPET.read_text(encoding="utf-8"))


@pytest.mark.typing
def test_types_are_seen_by_both_checkers(report: typecheck.Report) -> None:
    seen = {code: in_common_notation(revealed) for code, revealed in report.types.items()}
    assert seen == expected_types()


@pytest.mark.typing
def test_deliberate_errors_are_caught_and_nothing_else(report: typecheck.Report) -> None:
    column = 0 if report.checker.startswith("mypy") else 1
    expected = {line: text.split()[column] for line, text in remarks("# error: ").items()}
    rules: dict[int, set[str]] = {}
    for error in report.errors:
        rules.setdefault(error.line, set()).add(error.rule)
    assert rules.keys() == expected.keys()
    assert all(expected[line] in found for line, found in rules.items())
