"""Experiments that fresh processes can import: a small one that works, and some that fail."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from jaxcap.measure.experiment import Experiment, grid


def prepare_sums(size: int, log: str = os.devnull) -> Mapping[str, Callable[[], Any]]:
    print("printed by a variant", flush=True)
    with Path(log).open("a", encoding="ascii") as file:
        print(os.getpid(), file=file)
    return {"NumPy": partial(np.sum, np.ones(size)), "JAX": partial(jnp.sum, jnp.ones(size))}


def prepare_and_raise(size: int) -> Mapping[str, Callable[[], Any]]:
    raise ValueError(f"no size {size} here")


def prepare_and_raise_in_jax(size: int) -> Mapping[str, Callable[[], Any]]:
    return {"JAX": partial(jnp.dot, jnp.ones(size), jnp.dot(jnp.ones(size), jnp.ones(size + 1)))}


def prepare_and_name_the_point(number: int, **_: object) -> Mapping[str, Callable[[], Any]]:
    raise ValueError(f"number {number} of the points")


def prepare_nothing(size: int) -> Mapping[str, Callable[[], Any]]:
    return {}


def prepare_and_name_badly(size: int) -> Mapping[str, Callable[[], Any]]:
    return {"a\n": partial(np.sum, np.ones(size))}


def prepare_and_hang(size: int) -> Mapping[str, Callable[[], Any]]:
    time.sleep(1000)
    return {}


def prepare_and_exit(size: int) -> Mapping[str, Callable[[], Any]]:
    os._exit(size)


class Sums:
    @staticmethod
    def prepare(size: int) -> Mapping[str, Callable[[], Any]]:
        return prepare_sums(size)


SUMS = Experiment(
    name="sums", prepare=prepare_sums, quick=grid(size=(10, 20)), full=grid(size=(10, 20, 30))
)


def prepare_and_choose_devices(size: int) -> Mapping[str, Callable[[], Any]]:
    jax.config.update("jax_num_cpu_devices", size)  # type: ignore[no-untyped-call]
    return {f"{len(jax.devices('cpu'))} devices": partial(jnp.sum, jnp.ones(size))}
