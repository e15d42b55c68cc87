"""Files that nobody should choose, dropped on a page: a sentence for each, and nothing else happens."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from made_up import HOSTILE
from playwright.sync_api import Browser, Page, expect
from test_reader import MINE, TUTORIAL, as_file, choose, columns, measured, settled, site

from jaxcap.results import Device, ResultsError, ResultSet

__all__ = ["site"]  # the fixture

SOUND: dict[str, Any] = json.loads(measured(device=MINE).model_dump_json())
RUN = ("results", 0, "runs", 0)
NAME = ("environment", "device", "name")
TOO_DEEP = 100_000
MARKUP = "<img src=x onerror=\"document.title='ran'\"><script>document.title='ran'</script>"
RTL = "\N{RIGHT-TO-LEFT OVERRIDE}"


def setting(*place: Any, value: Any) -> bytes:
    """Return a sound file in which one thing is something else."""
    content = json.loads(json.dumps(SOUND))
    target = content
    for part in place[:-1]:
        target = target[part]
    target[place[-1]] = value
    return json.dumps(content).encode()


def replacing(old: str, new: str) -> bytes:
    """Return a sound file with another text in one place."""
    text = json.dumps(SOUND)
    assert old in text
    return text.replace(old, new, 1).encode()


NO_JSON = "is not valid JSON, perhaps because it was cut short"
NO_RESULTS = "is not a file of results: choose one that “jaxcap record”"
NO_TEXT = "is not text in UTF-8"
INVALID = "is not a valid result file: "
OTHER_VERSION = "has schema version {}, but this page reads version 2"
PNG = b"\x89PNG\r\n\x1a\n" + bytes(range(256))

REFUSED: dict[str, tuple[bytes, str]] = {
    "empty": (b"", NO_JSON),
    "prose": (b"hello", NO_RESULTS),
    "cut short": (json.dumps(SOUND).encode()[:-50], NO_JSON),
    "two files in one": (json.dumps(SOUND).encode() * 2, NO_JSON),
    "page": (b"<!doctype html><script>document.title='ran'</script>", NO_RESULTS),
    "null": (b"null", NO_RESULTS),
    "list": (b"[]", NO_RESULTS),
    "list of results": (json.dumps(SOUND["results"]).encode(), NO_RESULTS),
    "report without results": (b'{"title": "This machine", "sections": []}', NO_RESULTS),
    "number": (b"1e999", NO_RESULTS),
    "text": (b'"<script>"', NO_RESULTS),
    "environment": (json.dumps(SOUND["environment"]).encode(), NO_RESULTS),
    "deep lists": (b"[" * TOO_DEEP + b"]" * TOO_DEEP, f"{NO_JSON}|{NO_RESULTS}"),
    "deep objects": (b'{"a":' * TOO_DEEP + b"1" + b"}" * TOO_DEEP, f"{NO_JSON}|{NO_RESULTS}"),
    "deep version": (
        setting("schema_version", value=0).replace(b"0", b"[" * TOO_DEEP + b"]" * TOO_DEEP, 1),
        NO_RESULTS,
    ),
    "deep field": (
        replacing('"cpu": "My', '"deep": ' + "[" * TOO_DEEP + "]" * TOO_DEEP + ', "cpu": "My'),
        INVALID,
    ),
    "NaN": (setting(*RUN, "first_call_s", value=float("nan")), NO_JSON),
    "infinite": (
        replacing('"first_call_s": 0.01', '"first_call_s": 1e999'),
        f"{INVALID}results.0.runs.0.first_call_s: ",
    ),
    "negative": (
        setting(*RUN, "first_call_s", value=-1),
        f"{INVALID}results.0.runs.0.first_call_s: ",
    ),
    "number as text": (
        setting(*RUN, "first_call_s", value="0.005"),
        f"{INVALID}results.0.runs.0.first_call_s: ",
    ),
    "too long a time": (
        setting(*RUN, "first_call_s", value=5e7),
        f"{INVALID}results.0.runs.0.first_call_s: ",
    ),
    "no samples": (setting(*RUN, "samples_s", value=[]), f"{INVALID}results.0.runs.0.samples_s: "),
    "lists of unequal length": (
        setting(*RUN, "dispatch_s", value=[1]),
        "lists of samples differ in length",
    ),
    "too large a parameter": (
        setting("results", 0, "parameters", "size", value=1e30),
        f"{INVALID}results.0.parameters.size: ",
    ),
    "list as parameter": (
        setting("results", 0, "parameters", "size", value=[1]),
        f"{INVALID}results.0.parameters.size: ",
    ),
    "no results": (setting("results", value=[]), f"{INVALID}results: "),
    "a million results": (
        setting("results", value=[0] * 10**6),
        f"{INVALID}results.0: expected object, not number: measure again",
    ),
    "other platform": (
        setting("environment", "device", "platform", value="abacus"),
        f"{INVALID}environment.device.platform: ",
    ),
    "other version": (setting("schema_version", value=3), OTHER_VERSION.format(3)),
    "old version": (setting("schema_version", value=1), OTHER_VERSION.format(1)),
    "version as text": (setting("schema_version", value="2"), NO_RESULTS),
    "field with markup": (setting(MARKUP, value=1), INVALID),
    "field of a result": (
        setting("results", 0, "onload", value=MARKUP),
        f"{INVALID}results.0.onload: ",
    ),
    "prototype": (setting("__proto__", value={"polluted": 1}), f"{INVALID}__proto__: "),
    "prototype of a result": (
        setting("results", 0, "__proto__", value={"polluted": 1}),
        f"{INVALID}results.0.__proto__: ",
    ),
    "constructor": (
        setting("constructor", value={"prototype": {"polluted": 1}}),
        f"{INVALID}constructor: ",
    ),
    "right to left": (setting(*NAME, value=f"GPU {RTL}01X"), "contains the character U+202E"),
    "escape sequence": (setting(*NAME, value="\x1b[2J"), "contains the character U+001B"),
    "unprintable field": (
        setting("environment", "versions", RTL, value="1"),
        "contains the character U+202E",
    ),
    "unknown field that can't be printed": (setting(RTL, value=1), INVALID),
    "half a character": (setting(*NAME, value="\ud800"), "contains the character U+D800"),
    "half a character as field": (setting("\ud800", value=1), INVALID),
    "huge text": (setting(*NAME, value="x" * 10**7), f"{INVALID}environment.device.name: "),
    "path as experiment": (
        setting("results", 0, "experiment", value="../../index"),
        "must not contain a slash",
    ),
    "same result twice": (
        setting("results", value=SOUND["results"][:1] * 2),
        "two results for the same variant and parameters",
    ),
    "same field twice": (
        replacing('"cores": 2', '"cores": 2, "cores": 3'),
        "two entries of the same name",
    ),
    "too many processes": (
        setting("results", 0, "runs", value=SOUND["results"][0]["runs"] * 40),
        "at most 100 processes",
    ),
    "Latin-1": ('{"schema_version": 2, "a": "é"}'.encode("latin-1"), NO_TEXT),
    "UTF-16": (json.dumps(SOUND).encode("utf-16"), NO_TEXT),
    "image": (PNG, NO_TEXT),
    "zeros": (bytes(1000), NO_RESULTS),
}
# What Python reads all the same: version 1, any number of processes, and UTF-16.
READ_BY_PYTHON = {"old version", "too many processes", "UTF-16"}


@dataclass
class Victim:
    """A page, and what happened to it."""

    page: Page
    said: list[str] = field(default_factory=list)
    asked: list[str] = field(default_factory=list)

    def state(self) -> dict[str, Any]:
        """Return what no file may change: the page but for what the control says, and the globals."""
        state: dict[str, Any] = self.page.evaluate("""() => {
          const page = document.documentElement.cloneNode(true);
          page.querySelector(".jaxcap-reader-status").remove();
          const prototypes = [Object, Array, String, Function].flatMap(({ prototype }) =>
            Object.getOwnPropertyNames(prototype));
          return { html: page.outerHTML, title: document.title, names: Object.keys(window), prototypes,
            polluted: {}.polluted ?? null, address: location.href, kept: localStorage.length };
        }""")
        return state


@pytest.fixture(scope="module")
def victim(browser: Browser, site: Path) -> Iterator[Victim]:
    """A page on which files are dropped one after another, after one that is empty."""
    context = browser.new_context()
    shown = Victim(context.new_page())
    shown.page.on("pageerror", lambda error: shown.said.append(error.message))
    shown.page.on("console", lambda message: shown.said.append(message.text))
    shown.page.on("dialog", lambda dialog: shown.said.append(dialog.message))
    shown.page.goto((site / f"{TUTORIAL}.html").as_uri())
    choose(shown.page, b"")  # loads the scripts
    shown.page.on("request", lambda request: shown.asked.append(request.url))
    yield shown
    context.close()


def require_one_sentence(victim: Victim, before: dict[str, Any], expected: str) -> None:
    """Check that a file was refused in a sentence, and that nothing else happened."""
    paragraphs = victim.page.locator(".jaxcap-reader-status p")
    expect(paragraphs).to_have_count(1)
    sentence = paragraphs.inner_text()
    assert any(part in sentence for part in expected.split("|")), sentence
    assert sentence.endswith(".")
    assert sentence.isprintable()
    assert len(sentence) < 500
    assert victim.state() == before
    assert victim.asked == victim.said == []


@pytest.mark.parametrize("name", REFUSED)
def test_file_is_refused_in_one_sentence(victim: Victim, name: str) -> None:
    content, expected = REFUSED[name]
    before = victim.state()
    choose(victim.page, as_file(content, f"{name}.json"))
    require_one_sentence(victim, before, expected)
    expect(victim.page.locator(".jaxcap-reader-status")).to_contain_text(f"{name}.json")


@pytest.mark.parametrize("name", [name for name in REFUSED if name not in READ_BY_PYTHON])
def test_python_refuses_the_same_files(name: str, tmp_path: Path) -> None:
    file = tmp_path / "file.json"
    file.write_bytes(REFUSED[name][0])
    with pytest.raises(ResultsError):
        ResultSet.load(file)


def test_file_of_100_megabytes_is_not_even_read(victim: Victim, tmp_path: Path) -> None:
    file = tmp_path / "large.json"
    with file.open("wb") as empty:
        empty.truncate(100 * 10**6)
    before = victim.state()
    victim.page.get_by_label("Files of results").set_input_files(file)
    settled(victim.page)
    require_one_sentence(
        victim,
        before,
        "large.json is too large, because files of results may have at most 67,108,864 bytes",
    )


def test_folder_and_file_that_are_really_dropped(victim: Victim, tmp_path: Path) -> None:
    """By the browser's own debugging protocol, as a person drops them."""
    folder, file = tmp_path / "folder", tmp_path / "none.json"
    folder.mkdir()
    file.write_text("{}", encoding="utf-8")
    protocol = victim.page.context.new_cdp_session(victim.page)
    box = victim.page.locator(".jaxcap-reader summary").bounding_box()
    assert box
    before = victim.state()
    for path, expected in (
        (folder, "folder can't be read: choose a file, not a folder."),
        (file, f"none.json {NO_RESULTS}"),
    ):
        for kind in ("dragEnter", "dragOver", "drop"):
            data = {"items": [], "files": [str(path)], "dragOperationsMask": 1}
            place = {"x": box["x"] + 5, "y": box["y"] + 5}
            protocol.send("Input.dispatchDragEvent", {"type": kind, **place, "data": data})
        status = settled(victim.page)
        expect(status).to_contain_text(path.name)
        victim.page.wait_for_function("!document.querySelector('.jaxcap-dragged')")
        require_one_sentence(victim, before, expected)


def test_name_of_a_file_is_only_text(victim: Victim) -> None:
    before = victim.state()
    choose(victim.page, as_file(b"{}", f"{MARKUP.replace('/', '')}{RTL}{'x' * 90}.json"))
    require_one_sentence(victim, before, NO_RESULTS)
    assert victim.page.locator("img[src=x]").count() == 0


def test_too_many_files_are_refused(victim: Victim) -> None:
    before = victim.state()
    choose(victim.page, *(as_file(b"{}", f"{number}.json") for number in range(201)))
    require_one_sentence(victim, before, "At most 200 files can be read at a time")


def test_one_bad_file_among_good_ones_is_named(victim: Victim) -> None:
    status = choose(victim.page, measured(device=MINE), as_file(b"{}", "bad.json"))
    expect(status.locator("p").first).to_contain_text("bad.json is not a file of results")
    expect(status).to_contain_text("Your numbers are in 2 of 2 tables")
    victim.page.get_by_role("button", name="Remove my numbers").click()
    settled(victim.page)
    assert victim.asked == victim.said == []


def hostile(text: str) -> ResultSet:
    """Make up a file with a text in every field that takes one."""
    device = Device(platform="gpu", name=text)
    mine = measured(device=device)
    environment = mine.environment.model_copy(
        update=dict.fromkeys(("platform_version", "driver", "cpu", "python", "os", "commit"), text)
        | {"versions": {text: text, "jax": text}, "flags": {text: text}}
    )
    results = [
        result.model_copy(
            update={
                "code": text,
                "comparison": text + str(result.parameters["size"]),
                "variant": f"{text}{result.variant}" if result.variant == "jit" else "op by op",
            }
        )
        for result in mine
    ]
    stranger = results[0].model_copy(update={"experiment": text.replace("/", "").replace("\\", "")})
    return ResultSet(environment=environment, results=(*results, stranger))


@pytest.mark.parametrize("text", [HOSTILE, "__proto__", "constructor", MARKUP])
def test_text_in_every_field_is_only_text(victim: Victim, text: str) -> None:
    before = victim.state()
    status = choose(victim.page, hostile(text))
    expect(status).to_contain_text("Your numbers are in 2 of 2 tables")
    shown = columns(victim.page)
    assert f"{text} (GPU), yours" in {" ".join(head.split()) for head in shown} or re.search(
        r"\s\s", text
    )
    assert any(text in head for head in shown["variant"])
    assert victim.page.locator("img[src=x], main script:not([type])").count() == 0
    victim.page.get_by_role("button", name="Remove my numbers").click()
    settled(victim.page)
    assert victim.state() == before
    assert victim.asked == victim.said == []
