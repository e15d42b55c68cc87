"""Each page in Markdown, for programs that read.

It is made from the page's HTML, because an extension that writes Markdown from Sphinx's own form of a
page leaves out raw HTML, and so would leave out all tables, claims and stamps.
"""

from __future__ import annotations

import re
from hashlib import sha256
from importlib.metadata import version
from pathlib import Path
from typing import Any

from bs4 import BeautifulSoup, Tag
from markdownify import ATX, MarkdownConverter
from sphinx.application import Sphinx

from jaxcap.results.atomic import write_atomically
from jaxcap_docs.page_records import BUILD

# What builds made of each page, because converting all pages takes a tenth of a build that measures
# nothing. Sphinx's own folders are removed before a build.
KEPT = BUILD / "twins"
CODE = (
    Path(__file__).read_text(encoding="utf-8"),
    version("beautifulsoup4"),
    version("markdownify"),
)

# Signs to click on, data for scripts, plots that are there again for light pages, and the empty lines
# that sphinx-gallery puts between cells.
LEFT_OUT = "a.headerlink, br, button, img.only-dark, script, style, .jaxcap-verdicts"
HEADINGS = "caption, p.admonition-title, p.rubric, summary"  # of what is no section
LANGUAGE = "highlight-"  # how the class of a block of code begins
# In a text, what would be markup or HTML. An underscore inside of a word is neither.
MARKUP = re.compile(r"[\\`*\[\]<|]|\b_|_\b|&(?=[#\w]+;)")
INTERVAL = re.compile(r"\([^()]* interval (?P<ends>[^()]+?)(, [^()]*process[^()]*)?\)")


def write(app: Sphinx, page: str, context: dict[str, Any]) -> None:
    """Write the twin of a page beside it, and let the page's head name it."""
    path = Path(app.outdir, twin_of(app, page))
    path.parent.mkdir(parents=True, exist_ok=True)
    markdown = convert_unless_kept(context["body"], KEPT / f"{page}.md")
    path.write_text(markdown, encoding="utf-8")
    context["twin"] = path.name


def twin_of(app: Sphinx, page: str) -> str:
    """Return the address of a page's twin, as https://llmstxt.org asks for: the page's, with ``.md``."""
    return f"{app.builder.get_target_uri(page)}.md"


def convert_unless_kept(html: str, kept: Path) -> str:
    """Return the HTML of a page as Markdown, from a file if an earlier build made it from the same HTML."""
    source = sha256("\0".join((html, *CODE)).encode()).hexdigest()
    if kept.exists():
        made_from, _, markdown = kept.read_text(encoding="utf-8").partition("\n")
        if made_from == source:
            return markdown
    markdown = as_markdown(html)
    write_atomically(kept, f"{source}\n{markdown}")
    return markdown


def as_markdown(html: str) -> str:
    """Return the HTML of a page as Markdown, in which names from files stay text."""
    soup = BeautifulSoup(html, "html.parser")
    for element in soup.select(LEFT_OUT):
        element.decompose()
    for image in soup.select("a.image-reference"):  # which leads to the image itself
        image.unwrap()
    for image in soup.select("img[alt]"):
        image["alt"] = escaped(str(image["alt"]))
    for link in soup.select("a[title]"):  # which repeats its target
        del link["title"]
    for element in soup.select(HEADINGS):
        strong = soup.new_tag("strong")
        strong.extend(list(element.contents))
        element.append(strong)
    for signature in soup.select("dt.sig"):
        code = soup.new_tag("code", string=" ".join(signature.get_text().split()))
        signature.clear()
        signature.append(code)
    for number in soup.select(".jaxcap-measured"):  # whose interval readers see in a tooltip
        interval = INTERVAL.search(str(number.get("title")))
        if interval and interval["ends"] not in str(number.next_sibling):  # which may say it
            number.append(f" {interval[0]}")
    converter = _Converter(heading_style=ATX, bullets="-", code_language_callback=_language)
    return f"{converter.convert_soup(soup).strip()}\n"


def escaped(text: str) -> str:
    """Return a text in Markdown, with what would be markup or HTML escaped."""
    return MARKUP.sub(r"\\\g<0>", text)


def _language(block: Tag) -> str:
    """Return the language of a block of code, which Sphinx says around it."""
    for parent in block.find_parents("div", limit=2):
        for name in parent.get_attribute_list("class"):
            if str(name).startswith(LANGUAGE):
                return str(name).removeprefix(LANGUAGE).lower()
    return ""


class _Converter(MarkdownConverter):
    """Converts what pages of this site have, formulas included."""

    def escape(self, text: str, parent_tags: set[str]) -> str:  # noqa: ARG002
        """Escape what would be markup."""
        return escaped(text)

    def convert_math(self, el: Tag, text: str, parent_tags: set[str]) -> str:  # noqa: ARG002
        """Return a formula in TeX."""
        sign = "$$" if el.get("display") == "block" else "$"
        return f"{sign}{el.get('alttext', text)}{sign}"
