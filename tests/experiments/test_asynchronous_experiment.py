"""The experiment on asynchronous dispatch prepares what it says, at all of its questions."""

from __future__ import annotations

import time

import jax
import numpy as np
import pytest

from jaxcap.experiments import asynchronous
from jaxcap.experiments.asynchronous import INSIDE, MEANWHILE, OVERLAP, USES, WAIT, prepare

SIZE = 16


def test_each_use_gets_the_product() -> None:
    values = {name: call() for name, call in prepare(USES, SIZE).items()}
    products = [np.asarray(product) for product, _ in values.values()]
    assert len(products) == 5
    for product in products:
        np.testing.assert_array_equal(product, products[0])
    uses = {name: use for name, (_, use) in values.items()}
    assert uses["its shape"] == (SIZE, SIZE)
    assert uses["its first number"] == products[0][0, 0]
    np.testing.assert_allclose(uses["another product"], products[0] @ products[0], atol=1e-4)
    np.testing.assert_array_equal(uses["to NumPy"], products[0])


def test_both_read_once_and_return_the_product(monkeypatch: pytest.MonkeyPatch) -> None:
    naps: list[float] = []
    variants = prepare(OVERLAP, SIZE)
    monkeypatch.setattr(time, "sleep", naps.append)
    waited, meanwhile = (variants[name]() for name in (WAIT, MEANWHILE))
    np.testing.assert_array_equal(waited, meanwhile)
    assert naps[0] == naps[1] > 0


def test_only_one_of_them_waits_before_it_reads(monkeypatch: pytest.MonkeyPatch) -> None:
    happened: list[str] = []

    class Promise:
        def block_until_ready(self) -> Promise:
            happened.append("wait")
            return self

    monkeypatch.setattr(asynchronous, "multiply", lambda *_: Promise())
    variants = prepare(OVERLAP, SIZE)
    monkeypatch.setattr(time, "sleep", lambda _: happened.append("read"))
    for name, expected in ((WAIT, ["wait", "read"]), (MEANWHILE, ["read"])):
        happened.clear()
        variants[name]()
        assert happened == expected


def test_what_a_cpu_may_compute_inside_the_call_is_compiled() -> None:
    variants = prepare(INSIDE, SIZE)
    assert list(variants) == ["product", "cosine"]
    for call in variants.values():
        compiled = call.func.lower(*call.args)  # type: ignore[attr-defined]
        assert isinstance(compiled, jax.stages.Lowered)
        assert call().shape == (SIZE, SIZE)
