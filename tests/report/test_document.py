"""Documents: what pages, texts and JSON make of the same sections, hostile ones included."""

from __future__ import annotations

import json
import re
from html.parser import HTMLParser

import matplotlib.pyplot as plt
import pytest
from matplotlib.figure import Figure

from jaxcap.report import figures
from jaxcap.report.document import Document, Section
from jaxcap.results.tables import Link, Table

HOSTILE = '<script>alert(1)</script><img src="https://example.org/x">"\'&```\x1b[31m\u202eab\nc'
# Elements and attributes by which a page could run a script or ask a server.
FORBIDDEN = {"script", "img", "iframe", "link", "object", "embed", "base", "form", "video", "audio"}


class Parsed(HTMLParser):
    """The elements of a page, the texts between them, and ids."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.texts: list[str] = []
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))

    def handle_data(self, data: str) -> None:
        self.texts.append(data)


def figure() -> Figure:
    drawn, axes = plt.subplots()
    axes.plot([1, 2], [3, 4], color=figures.INK)
    axes.set_title("a title")
    drawn.set_label(HOSTILE)
    return drawn


@pytest.fixture
def document() -> Document:
    rows = [(HOSTILE, HOSTILE, Link("a tutorial", "https://example.org/a?b=1&c"))]
    table = Table(HOSTILE, ("", "found", "where"), rows, notes=[HOSTILE])
    return Document(
        HOSTILE,
        [
            Section(
                name="first",
                heading=HOSTILE,
                sentences=[HOSTILE],
                tables=[table],
                details=[table],
                figures=[figure(), figure()],
                data={"text": HOSTILE},
            ),
            Section(name="second", heading="The second", sentences=["Nothing."], data=None),
        ],
    )


def test_a_page_shows_hostile_text_and_does_what_it_says_to_none_of_it(document: Document) -> None:
    page = document.html()
    parsed = Parsed(page)
    assert not FORBIDDEN & {tag for tag, _ in parsed.elements}
    assert not any(name.startswith("on") for _, attrs in parsed.elements for name in attrs)
    asked = [
        attrs[name] or ""
        for _, attrs in parsed.elements
        for name in ("src", "href")
        if name in attrs
    ]
    links = [address for address in asked if not address.startswith("#")]
    assert set(links) == {"https://example.org/a?b=1&c"}  # which nothing follows by itself
    assert "url(http" not in page
    assert "<script>alert(1)</script>" in "".join(parsed.texts)
    assert not re.search("[\x1b\u202e]", page)


def test_a_page_forbids_scripts_and_requests(document: Document) -> None:
    (policy,) = (
        attrs["content"]
        for tag, attrs in Parsed(document.html()).elements
        if tag == "meta" and attrs.get("http-equiv") == "Content-Security-Policy"
    )
    assert policy == "default-src 'none'; style-src 'unsafe-inline'"


def test_figures_take_the_ink_of_the_page_and_share_no_id(document: Document) -> None:
    page = document.html()
    ids = re.findall(r'\bid="([^"]+)"', page)
    assert len(ids) == len(set(ids))
    assert set(re.findall(r"url\(#([^)]+)\)", page)) <= set(ids)
    assert figures.INK not in page.partition("</style>")[2]
    assert page.count('role="img"') == 2


def test_cells_that_head_a_column_or_a_row_say_so(document: Document) -> None:
    scopes = [attrs.get("scope") for tag, attrs in Parsed(document.html()).elements if tag == "th"]
    assert scopes == ["col", "col", "row"] * 2


def test_a_text_is_fenced_and_nothing_in_it_ends_the_fence(document: Document) -> None:
    text = document.text()
    assert text.startswith("```text\n")
    assert text.endswith("\n```\n")
    assert text.count("```") == 2
    assert not re.search("[\x1b\u202e]", text)
    assert max(map(len, text.splitlines())) <= 200


def test_a_text_leaves_out_what_a_page_folds_away() -> None:
    table = Table("Details", ("", "found"), [("a", "b")])
    section = Section(name="first", heading="The first", details=[table])
    assert "Details" not in Document("A title", [section]).text()
    assert "<details><summary>Details</summary>" in Document("A title", [section]).html()


def test_json_has_the_data_of_each_section(document: Document) -> None:
    data = json.loads(document.json())
    assert data == {"title": HOSTILE, "first": {"text": HOSTILE}, "second": None}
