"""Malloc is made steady where that works, and results learn what is in effect."""

from __future__ import annotations

import ctypes
import subprocess
import sys
from types import SimpleNamespace

import pytest

from jaxcap.measure.machine import allocator
from jaxcap.measure.machine.allocator import use_allocator


@pytest.fixture
def options(monkeypatch: pytest.MonkeyPatch) -> list[tuple[int, int]]:
    """Options that a C library was given which understands them, in a process that is new."""
    given: list[tuple[int, int]] = []

    def mallopt(option: int, value: int) -> int:
        given.append((option, value))
        return 1

    pretend_library(SimpleNamespace(mallopt=mallopt), monkeypatch)
    return given


def pretend_library(library: object, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "platform", "linux")
    monkeypatch.setattr(ctypes, "CDLL", lambda _: library)
    monkeypatch.setattr(allocator, "_in_effect", "default")
    monkeypatch.setattr(allocator, "_make_steady", allocator._make_steady.__wrapped__)


def test_maps_nothing_keeps_everything_in_one_arena(options: list[tuple[int, int]]) -> None:
    assert use_allocator("steady") == "steady"
    assert options == [(-4, 0), (-1, -1), (-8, 1)]


def test_leaves_malloc_alone_unless_asked(options: list[tuple[int, int]]) -> None:
    assert use_allocator("default") == "default"
    assert options == []


@pytest.mark.usefixtures("options")
def test_once_steady_always_steady() -> None:
    use_allocator("steady")
    assert use_allocator("default") == "steady"


def test_a_library_without_options_stays_as_it_is(monkeypatch: pytest.MonkeyPatch) -> None:
    pretend_library(object(), monkeypatch)  # musl
    assert use_allocator("steady") == "default"


def test_an_option_that_is_refused_is_the_only_one_tried(monkeypatch: pytest.MonkeyPatch) -> None:
    tried: list[int] = []

    def mallopt(option: int, _: int) -> int:
        tried.append(option)
        return 0

    pretend_library(SimpleNamespace(mallopt=mallopt), monkeypatch)
    assert use_allocator("steady") == "default"
    assert len(tried) == 1


@pytest.mark.parametrize("platform", ["darwin", "win32"])
def test_other_systems_stay_as_they_are(
    platform: str, options: list[tuple[int, int]], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "platform", platform)
    assert use_allocator("steady") == "default"
    assert options == []


FAULTS = """
import sys, numpy as np
from resource import RUSAGE_SELF, getrusage
from jaxcap.measure.machine.allocator import use_allocator

print(use_allocator(sys.argv[1]))
for mebibytes in 1, 33, 100, 33:
    x = np.ones(mebibytes * 2**17)
    for _ in range(2):
        x + 1
    before = getrusage(RUSAGE_SELF).ru_minflt
    x + 1
    print(getrusage(RUSAGE_SELF).ru_minflt - before)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="malloc cannot be made steady")
def test_no_page_is_mapped_again_for_large_temporaries() -> None:
    def faults(wanted: str) -> tuple[str, list[int]]:
        command = [sys.executable, "-c", FAULTS, wanted]
        output = subprocess.run(command, capture_output=True, text=True, check=True).stdout
        in_effect, *numbers = output.split()
        return in_effect, list(map(int, numbers))

    in_effect, numbers = faults("steady")
    if in_effect == "default":
        pytest.skip("this C library cannot be made steady")
    assert max(numbers) < 10
    assert max(faults("default")[1]) > 100
