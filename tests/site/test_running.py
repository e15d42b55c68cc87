"""From a page to a running program: what is copied, and what opens in Colab."""

from __future__ import annotations

import json
import re
import runpy
import shlex
from collections.abc import Iterator
from importlib import metadata
from pathlib import Path
from types import SimpleNamespace
from typing import NoReturn
from urllib.parse import urljoin

import pytest
from IPython.core.inputtransformer2 import TransformerManager
from jaxcap_docs.downloads import colab_address
from playwright.sync_api import Browser, Page
from sites import ROOT, SMALL_URL, Read

TUTORIAL, EXERCISE = "tutorials/basics/introduction", "exercises/1_arrays"
COLAB = "https://colab.research.google.com/github/owner/project/blob/gh-pages/v1.2.3/"


@pytest.fixture(scope="module")
def page(browser: Browser) -> Iterator[Page]:
    """Where the clipboard may be read."""
    context = browser.new_context(permissions=["clipboard-read", "clipboard-write"])
    yield context.new_page()
    context.close()


def copy(page: Page, file: Path, beginning: str) -> str:
    """Press the button of the block that begins like this, and return what is then copied."""
    page.goto(file.as_uri())
    pattern = re.compile(rf"^\s*{re.escape(beginning)}")
    page.locator("div.highlight", has_text=pattern).first.get_by_role("button").click()
    copied: str = page.evaluate("navigator.clipboard.readText()")
    return copied


def test_commands_are_copied_without_prompts_and_in_all_their_lines(html: Path, page: Page) -> None:
    text = (ROOT / "docs" / "rebuilding.md").read_text("utf-8")
    beginning = "$ python -m venv .venv"
    block = beginning + text.partition(beginning)[2].partition("\n```")[0]
    assert [line[:2] for line in block.splitlines()] == ["$ ", "$ ", "$ ", "  "]
    typed = block.replace("\n$ ", "\n").removeprefix("$ ")
    assert copy(page, html / "rebuilding.html", beginning) == typed


def test_cell_is_copied_as_it_is(html: Path, page: Page) -> None:
    source = (ROOT / "gallery" / "transformations" / "jit.py").read_text("utf-8")
    beginning = "x = jnp.linspace"
    cell = beginning + source.partition(beginning)[2].partition("\n# %%")[0].rstrip()
    assert "\n\n\n" in cell, "empty lines count too"
    assert copy(page, html / "tutorials/transformations/jit.html", beginning) == cell


@pytest.mark.parametrize(
    ("name", "beginning", "typed"),
    [
        ("command_line", "$ jaxcap doctor", ["jaxcap doctor"]),
        (
            "reference/prng",
            ">>> stream",
            [
                "stream = KeyStream(0)",
                "noise = jax.random.normal(next(stream), (3,))",
                "stream(5).shape",
                "stream",
            ],
        ),
    ],
)
def test_session_is_copied_without_its_answers(
    html: Path, page: Page, name: str, beginning: str, typed: list[str]
) -> None:
    assert copy(page, html / f"{name}.html", beginning).splitlines() == typed


@pytest.mark.parametrize(
    ("name", "code", "output"),
    [
        (TUTORIAL, ".highlight-Python", ".sphx-glr-script-out"),
        (EXERCISE, ".cell_input .highlight", ".cell_output .highlight"),
        ("command_line", ".highlight-text", ".highlight-shell"),
    ],
)
def test_code_has_a_button_and_output_has_none(
    html: Path, page: Page, name: str, code: str, output: str
) -> None:
    page.goto((html / f"{name}.html").as_uri())
    page.wait_for_selector("button.copybtn")
    assert page.locator(f"{code} button.copybtn").count() == page.locator(code).count() > 0
    assert page.locator(output).count() > 0
    assert page.locator(f"{output} button.copybtn").count() == 0


@pytest.mark.parametrize("name", [TUTORIAL, EXERCISE])
def test_link_to_colab_leads_to_a_notebook_of_the_site(
    small_site: Path, read_small: Read, name: str
) -> None:
    (link,) = read_small(name).select('a[href*="colab"]')
    assert "open in colab" in link.get_text().lower()
    notebook = small_site / link["href"].removeprefix(COLAB)
    offered = [a["href"] for a in read_small(name).select("a[download]")]
    assert notebook in {(small_site / name).parent.joinpath(a).resolve() for a in offered}


@pytest.mark.parametrize(
    "site",
    [
        "",
        "https://owner.github.io/",  # of which repository is not known
        "https://jax.example/project/",
        "https://owner.github.io.example/project/",
        "http://127.0.0.1:8000/project/",
    ],
)
def test_sites_elsewhere_have_no_link_to_colab(site: str) -> None:
    assert colab_address(site, "a.ipynb") is None


@pytest.mark.parametrize(
    ("site", "opened"),
    [
        ("https://owner.github.io/project", "project/blob/gh-pages/a.ipynb"),
        ("https://owner.github.io/project/1.0/", "project/blob/gh-pages/1.0/a.ipynb"),
    ],
)
def test_colab_opens_the_version_that_is_read(site: str, opened: str) -> None:
    assert (
        colab_address(site, "a.ipynb") == f"https://colab.research.google.com/github/owner/{opened}"
    )


def not_found(name: str) -> NoReturn:
    raise metadata.PackageNotFoundError(name)


@pytest.mark.parametrize("name", [TUTORIAL, EXERCISE])
@pytest.mark.parametrize("is_installed", [True, False])
def test_first_cell_installs_the_wheel_of_the_site_where_it_is_missing(
    small_site: Path,
    read_small: Read,
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
    name: str,
    is_installed: bool,
) -> None:
    (file,) = {
        a["href"] for a in read_small(name).select("a[download]") if a["href"].endswith(".ipynb")
    } - {"1_arrays_solved.ipynb"}
    notebook = json.loads((small_site / name).parent.joinpath(file).read_text("utf-8"))
    source = "".join(notebook["cells"][0]["source"])
    asked: list[tuple[str, str]] = []
    shell = SimpleNamespace(run_line_magic=lambda *magic: asked.append(magic))
    if not is_installed:
        monkeypatch.setattr(metadata.Distribution, "from_name", not_found)
    cell = tmp_path / "cell.py"
    cell.write_text(TransformerManager().transform_cell(source), encoding="utf-8")  # type: ignore[no-untyped-call]
    runpy.run_path(str(cell), {"get_ipython": lambda: shell})
    if is_installed:
        assert asked == []
    else:
        ((magic, arguments),) = asked
        *_, wanted = shlex.split(arguments)
        package, _, url = wanted.partition(" @ ")
        assert (magic, package) == ("pip", "jaxcap[tutorials]")
        assert (small_site / url.removeprefix(SMALL_URL)).is_file()
        assert urljoin(SMALL_URL, url) == url
