"""Answers that are checked on the page itself, in the words of Python's check."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from itertools import product
from pathlib import Path

import pytest
from axe_playwright_python.sync_playwright import Axe
from jaxcap_docs.read.elements import json_script
from playwright.sync_api import Browser, Page, expect
from sites import ROOT

from jaxcap.exercises.check import by_value, check

PAGE = """<!doctype html>
<html lang="en"><head><title>Exercise</title><meta name="viewport" content="width=device-width">
<link rel="stylesheet" href="_static/jaxcap.css"><script src="_static/answers.js" defer></script></head>
<body><main><h1>An exercise</h1><div class="jaxcap-answer">{data}</div></main></body></html>
"""
NUMBERS = {
    "5.2": ("1.9726022", "3.6371897", "1.97", "-3"),
    "9.1": ("3", "4", " 5 ", "6", "7.25", "0", "1e3", "4.0000001"),
    "14.4": ("768", "7_68", "3072", "384", "769", "123456.789012"),
    "10.1": ("512", "20_000", "0.1", "many", "5_"),
}
CHOICES = ("4.3", "13.2")


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Folder of a page for each part."""
    folder = tmp_path_factory.mktemp("answers")
    shutil.copytree(ROOT / "docs" / "_static", folder / "_static")
    for part in (*NUMBERS, *CHOICES):
        page = PAGE.format(data=json_script(by_value(part)))
        (folder / f"{part}.html").write_text(page, encoding="utf-8")
    return folder


@pytest.fixture
def reader(browser: Browser) -> Iterator[Page]:
    """A phone's page."""
    context = browser.new_context(viewport={"width": 390, "height": 844})
    yield context.new_page()
    context.close()


def expected(part: str, text: str) -> str:
    try:
        return check(part, float(text)).message
    except ValueError:
        return check(part, text).message


@pytest.mark.parametrize(("part", "texts"), NUMBERS.items())
def test_numbers_get_the_words_of_the_check(
    reader: Page, site: Path, part: str, texts: tuple[str, ...]
) -> None:
    reader.goto((site / f"{part}.html").as_uri())
    for text in texts:
        reader.get_by_role("textbox", name="Your answer").fill(text)
        reader.keyboard.press("Enter")
        expect(reader.get_by_role("status")).to_have_text(expected(part, text))


@pytest.mark.parametrize("part", CHOICES)
def test_choices_get_the_words_of_the_check(reader: Page, site: Path, part: str) -> None:
    reader.goto((site / f"{part}.html").as_uri())
    groups = reader.get_by_role("group").all()
    for chosen in list(product((True, False), repeat=len(groups)))[::5]:
        for group, value in zip(groups, chosen, strict=True):
            group.get_by_role("radio", name=str(value)).check()
        reader.get_by_role("button", name="Check").click()
        expect(reader.get_by_role("status")).to_have_text(check(part, chosen).message)


def test_answer_without_a_choice_is_not_checked(reader: Page, site: Path) -> None:
    reader.goto((site / "4.3.html").as_uri())
    reader.get_by_role("group").first.get_by_role("radio", name="True").check()
    reader.get_by_role("button", name="Check").click()
    expect(reader.locator(".jaxcap-check")).to_be_empty()


@pytest.mark.parametrize("part", ["9.1", "13.2"])
def test_answer_is_accessible_and_fits_a_phone(reader: Page, site: Path, part: str) -> None:
    reader.goto((site / f"{part}.html").as_uri())
    assert [found["id"] for found in Axe().run(reader).response["violations"]] == []
    assert reader.evaluate("document.documentElement.scrollWidth") <= 390


def test_nothing_is_asked_without_scripts(browser: Browser, site: Path) -> None:
    context = browser.new_context(java_script_enabled=False)
    page = context.new_page()
    page.goto((site / "9.1.html").as_uri())
    expect(page.locator(".jaxcap-answer")).to_be_hidden()
    context.close()


def test_only_plain_values_are_checked_on_the_page() -> None:
    assert by_value("3.2") is None  # a function
    assert by_value("1.1") is None  # an array
