"""What programs read: pages in Markdown, and a list of them all."""

from __future__ import annotations

import re
from html import escape
from pathlib import Path

import pytest
from bs4 import BeautifulSoup
from jaxcap_docs.finish import llms
from jaxcap_docs.write import twins
from jaxcap_docs.write.twins import as_markdown
from made_up import CLAIMING_PAGE, HOSTILE
from markdown_it import MarkdownIt
from sites import PAGES, SMALL_URL, Read

LISTS = {"genindex", "py-modindex", "search"}  # which have no source
WITH_TWINS = sorted(set(PAGES) - LISTS)
LINK = re.compile(r"- \[(?P<title>(?:\\.|[^]\\])+)\]\((?P<address>[^) ]+)\)(?:: (?P<about>.+))?")


def rendered(markdown: str) -> BeautifulSoup:
    """Show Markdown as careless programs do, with the HTML that is in it."""
    parser = MarkdownIt("commonmark", {"html": True}).enable("table")
    return BeautifulSoup(parser.render(markdown), "html.parser")


def of_page(html: str) -> str:
    return as_markdown(f"<section><h1>Page</h1>{html}</section>").removeprefix("# Page\n\n")


def test_a_page_is_converted_again_only_if_its_html_has_changed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    kept, converted = tmp_path / "basics" / "page.md", []

    def convert(html: str) -> str:
        converted.append(html)
        return as_markdown(html)

    monkeypatch.setattr(twins, "as_markdown", convert)
    for html in ("<p>é</p>", "<p>é</p>", "<p>b</p>"):
        assert twins.convert_unless_kept(html, kept) == as_markdown(html)
    monkeypatch.setattr(twins, "CODE", ("other code",))
    twins.convert_unless_kept("<p>b</p>", kept)
    assert converted == ["<p>é</p>", "<p>b</p>", "<p>b</p>"]


@pytest.mark.parametrize(
    ("html", "markdown"),
    [
        ("<h2>Part<a class='headerlink' href='#p'>¶</a></h2><p>Text.</p>", "## Part\n\nText.\n"),
        ("<ul><li>one</li><li>two</li></ul>", "- one\n- two\n"),
        ("<details><summary>More</summary><p>Text.</p></details>", "**More**\n\nText.\n"),
        ("<p class='rubric'>Files</p><p>Text.</p>", "**Files**\n\nText.\n"),
        ("<p>a_name, and _this</p>", "a_name, and \\_this\n"),
        (
            (
                "<div class='highlight-Python notranslate'><div class='highlight'><pre>"
                "<span>f</span>(x) * 2\n</pre></div></div>"
            ),
            "```python\nf(x) * 2\n```\n",
        ),
        (
            (
                "<p><span class='jaxcap-measured' title='2 times as fast (95% interval 1.5 to 3, "
                "4 processes), measured today'>2 times faster</span> than by default</p>"
            ),
            "2 times faster (95% interval 1.5 to 3, 4 processes) than by default\n",
        ),
        (
            (
                "<p><span class='jaxcap-measured' title='about as fast (95% interval 0.9 to 1.1, "
                "4 processes), measured today'>about as fast</span> as by default (0.9 to 1.1 times)</p>"
            ),
            "about as fast as by default (0.9 to 1.1 times)\n",
        ),
        ("<p>as <math alttext='x^2'><msup>x2</msup></math></p>", "as $x^2$\n"),
        ("<math display='block' alttext='\\frac{a}{b}'>ab</math>", "$$\\frac{a}{b}$$\n"),
        (
            (
                "<dl><dt class='sig'><em>f</em>(<em>*x: int</em>)<a class='headerlink'>¶</a></dt>"
                "<dd><p>Text.</p></dd></dl>"
            ),
            "`f(*x: int)`\n:   Text.\n",
        ),
        (
            (
                "<a class='image-reference' href='a.svg'><img class='only-light' src='a.svg' alt='Up'></a>"
                "<a class='image-reference' href='b.svg'><img class='only-dark' src='b.svg' alt='Up'></a>"
            ),
            "![Up](a.svg)\n",
        ),
        (
            (
                "<p>It was <span class='jaxcap-measured' title='2 times faster (95% interval 1 to 3, 6 "
                "processes), measured 2026-11-23'>2 times faster</span>.</p>"
            ),
            "It was 2 times faster (95% interval 1 to 3, 6 processes).\n",
        ),
        (
            "<p><span class='jaxcap-measured' title='counted, measured 2026-11-23'>7</span></p>",
            "7\n",
        ),
        ("<p>Text.</p><script>1</script><button>Explore</button><br>", "Text.\n"),
    ],
)
def test_html_becomes_markdown(html: str, markdown: str) -> None:
    assert of_page(html) == markdown


@pytest.mark.parametrize(
    "form",
    [
        "<p>{}</p>",
        "<table><tr><th>{}</th></tr><tr><td>{}</td></tr></table>",
        "<p><img src='a.svg' alt='{}'></p>",
        "<dl><dt>{}</dt><dd>{}</dd></dl>",
        "<p><a href='page.html' title='{}'>{}</a></p>",
    ],
)
def test_names_from_files_stay_text(form: str) -> None:
    page = rendered(of_page(form.replace("{}", escape(HOSTILE))))
    assert not page.select("script, i, details, [onerror], [href^=javascript]")
    assert len(page.select("img")) == form.count("<img")
    shown = page.img["alt"] if page.img else page.get_text()
    assert HOSTILE.split()[0] in str(shown)


@pytest.mark.parametrize("name", WITH_TWINS)
def test_page_has_a_twin_with_its_title_tables_and_plots(html: Path, read: Read, name: str) -> None:
    page = read(name)
    (link,) = page.select("link[rel=alternate][type='text/markdown']")
    twin = html / Path(name).parent / link["href"]
    assert twin == html / f"{name}.html.md"
    text = twin.read_text(encoding="utf-8")
    article, shown = page.select_one("article"), rendered(text)
    heading = article.h1.get_text().removesuffix("¶")
    (title,) = shown.select("h1")
    assert " ".join(title.get_text().split()) == " ".join(heading.split())
    assert len(shown.select("table")) == len(article.select("table"))
    pictures = [image for image in article.select("img") if "only-dark" not in image["class"]]
    assert len(shown.select("img")) == len(pictures)
    assert "¶" not in text


@pytest.mark.parametrize("name", sorted(LISTS & set(PAGES)))
def test_lists_have_no_twin(html: Path, read: Read, name: str) -> None:
    assert not read(name).select("link[type='text/markdown']")
    assert not (html / f"{name}.html.md").exists()


def test_list_for_programs_is_as_they_expect_it_and_complete(html: Path) -> None:
    lines = (html / llms.FILE).read_text(encoding="utf-8").splitlines()
    title, _, summary, _, *rest = lines
    assert title.startswith("# jaxcap: ")
    assert summary.startswith("> ")
    sections = [line.removeprefix("## ") for line in rest if line.startswith("## ")]
    assert sections[:3] == ["Tutorials", "Exercises", "Results"]
    assert sections[-2:] == ["Data", llms.OPTIONAL]
    items = [LINK.fullmatch(line) for line in rest if line.startswith("- ")]
    assert all(items)
    addresses = [item["address"] for item in items if item]
    assert sorted(set(addresses) - llms.DATA.keys()) == sorted(
        f"{name}.html.md" for name in WITH_TWINS
    )
    assert all((html / address).exists() for address in addresses)
    described = {item["address"] for item in items if item and item["about"]}
    taught = {a for a in addresses if a.startswith(("tutorials/", "exercises/", "results/"))}
    assert taught <= described
    assert "[[" not in "\n".join(lines)


def test_list_of_a_site_with_an_address_has_full_ones(small_site: Path) -> None:
    text = (small_site / llms.FILE).read_text(encoding="utf-8")
    assert f"]({SMALL_URL}tutorials/{CLAIMING_PAGE}.html.md)" in text
    assert f"]({SMALL_URL}claims.json)" in text
    assert not rendered(text).select("script, img")
