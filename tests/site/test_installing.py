"""What the sessions of nox install: PyTorch without CUDA's libraries, where that can be had."""

from __future__ import annotations

import socket
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from importlib.util import module_from_spec, spec_from_file_location
from threading import Event, Thread
from types import ModuleType
from typing import Any

import pytest
from nox import project
from sites import ROOT

PATIENT_S = 60.0  # no test waits as long


@pytest.fixture(scope="module")
def noxfile() -> Iterator[ModuleType]:
    """The sessions' own functions."""
    spec = spec_from_file_location("noxfile", ROOT / "noxfile.py")
    assert spec is not None
    assert spec.loader is not None
    module = module_from_spec(spec)
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(ROOT)
        spec.loader.exec_module(module)
        yield module


def requirements(group: str) -> list[str]:
    return list(project.dependency_groups(project.load_toml(ROOT / "pyproject.toml"), group))


@pytest.mark.parametrize(
    ("group", "extra", "wanted"),
    [
        ("docs", "all", True),
        ("site", "mnist", False),
        ("tests", "mnist", True),
        ("tests-without-pytorch", "mnist", False),
        ("typing", "mnist", True),
        ("lint", None, False),
    ],
)
def test_sessions_with_pytorch_spare_cuda(
    group: str, extra: str | None, wanted: bool, noxfile: ModuleType, monkeypatch: Any
) -> None:
    monkeypatch.setattr(noxfile, "has_nvidia_driver", lambda: False)
    monkeypatch.setattr(sys, "platform", "linux")
    assert noxfile.may_spare_cuda(requirements(group), extra) is wanted


@pytest.mark.parametrize(("system", "driver"), [("linux", True), ("darwin", False)])
def test_cuda_is_not_spared_where_it_is_of_use_or_does_not_come(
    system: str, driver: bool, noxfile: ModuleType, monkeypatch: Any
) -> None:
    monkeypatch.setattr(noxfile, "has_nvidia_driver", lambda: driver)
    monkeypatch.setattr(sys, "platform", system)
    assert not noxfile.may_spare_cuda(["torch>=2.6"], "all")


@pytest.mark.parametrize(
    "settings",
    [
        "global.index-url='https://mirror.example.org/simple'",
        "install.extra-index-url='https://mirror.example.org/simple'",
        ":env:.extra-index-url='https://mirror.example.org/simple'",
        ":env:.no-index='1'",
        "global.timeout='60'\nglobal.find-links='/opt/wheels'\n",
    ],
)
def test_an_index_that_the_user_chose_is_left_alone(settings: str, noxfile: ModuleType) -> None:
    def ask(address: str) -> bool:
        pytest.fail(f"asked {address}")

    assert noxfile.index_for_cpu(settings, ask) is None


@pytest.mark.parametrize("settings", ["", "global.timeout='60'\nglobal.cert='/etc/index-url.pem'"])
def test_the_index_is_used_where_it_has_pytorch(settings: str, noxfile: ModuleType) -> None:
    asked: list[str] = []
    assert noxfile.index_for_cpu(settings, asked.append) is None
    assert asked == [f"{noxfile.PYTORCH_FOR_CPU}torch/"]
    assert noxfile.index_for_cpu(settings, lambda _: True) == noxfile.PYTORCH_FOR_CPU


class Handler(BaseHTTPRequestHandler):
    """Answers with a status, when it is let go."""

    def __init__(self, go: Event, status: int, *arguments: Any) -> None:
        self.go, self.status = go, status
        super().__init__(*arguments)

    def do_HEAD(self) -> None:
        self.go.wait(PATIENT_S)
        self.send_response(self.status)
        self.end_headers()

    def log_message(self, *_: object) -> None: ...


@contextmanager
def server(status: int = 200, *, hangs: bool = False) -> Iterator[str]:
    """Return the address of a server."""
    go = Event()
    if not hangs:
        go.set()
    with ThreadingHTTPServer(("127.0.0.1", 0), partial(Handler, go, status)) as running:
        running.handle_error = lambda *_: None  # type: ignore[method-assign]  # nobody listens now
        Thread(target=running.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{running.server_port}/"
        go.set()
        running.shutdown()


@pytest.fixture(autouse=True)
def _without_proxy(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("no_proxy", "*")


@pytest.mark.parametrize(("status", "answers"), [(200, True), (403, False), (404, False)])
def test_only_a_page_that_is_there_is_an_answer(
    status: int, answers: bool, noxfile: ModuleType
) -> None:
    with server(status) as address:
        assert noxfile.answers_at_once(address, PATIENT_S) is answers


def test_a_server_that_does_not_listen_is_no_answer(noxfile: ModuleType) -> None:
    with server() as address:
        pass
    assert not noxfile.answers_at_once(address, PATIENT_S)


def test_a_server_is_not_waited_for(noxfile: ModuleType) -> None:
    with server(hangs=True) as address:
        assert not noxfile.answers_at_once(address, 0.01)


def test_nor_is_the_look_up_of_its_name(
    noxfile: ModuleType, monkeypatch: pytest.MonkeyPatch
) -> None:
    go = Event()

    def look_up(*_: object, **__: object) -> None:
        go.wait(PATIENT_S)
        raise socket.gaierror

    monkeypatch.setattr(socket, "getaddrinfo", look_up)
    assert not noxfile.answers_at_once("http://nowhere.example.org/", 0.01)
    assert not go.is_set()
    go.set()


def test_a_server_is_asked_once(noxfile: ModuleType) -> None:
    with server() as address:
        assert noxfile.answers_at_once(address, PATIENT_S)
    assert noxfile.answers_at_once(address, PATIENT_S)  # though it is gone
