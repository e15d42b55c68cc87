"""Send readers what their page needs: of styles, scripts, markup of code, and thumbnails."""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Iterable
from fnmatch import fnmatch
from os import PathLike
from pathlib import Path
from typing import Any

import lightningcss
from PIL import Image
from pygments.styles import get_style_by_name
from pygments.token import STANDARD_TYPES, Text
from sphinx.application import Sphinx

# Files that extensions put on every page, and the HTML without which a page doesn't need them.
NEEDED_FOR = {
    "clipboard.min.js": '<div class="highlight',
    "copybutton.*": '<div class="highlight',
    "design-tabs.js": "sd-tab-label",
    "mystnb.*.css": 'class="cell',
    "pygments.css": '<div class="highlight',
    "scrollable.js": "<pre",
    "sg_gallery.css": "sphx-glr-",
    "sphinx-design.min.css": 'class="sd-',
}
# For data frames, Binder, tags and plain tables of sphinx-gallery; ours have styles of their own.
UNUSED = ("sg_gallery-*.css", "sg-tags.js")
# sphinx-gallery's links in code name what they lead to in a class, too.
BACKREFERENCE = re.compile(r"sphx-glr-backref-\S+ ")
STYLESHEET = re.compile(r'\s*<link rel="stylesheet"[^>]* href="([^"?]+)[^>]*>')
NAMES = re.compile(r'(?:class|id)="([^"]*)"')
WORD = re.compile(r"[\w-]+")
# Of what may be one; nothing is lost where a colour is taken for a name.
CLASS_OR_ID = re.compile(r"[.#](-?[A-Za-z_][\w-]*)")


def load_what_is_used(_: Sphinx, page: str, __: str, context: dict[str, Any], ___: object) -> None:
    """Take styles and scripts off a page that has nothing which they are for.

    The others' scripts run when the page is there, but for those that search builds upon.
    """
    body = context.get("body", "")
    for kind in ("css_files", "script_files"):
        context[kind] = [file for file in context[kind] if _is_used(file.filename, body)]
    if page != "search":
        context["script_files"] = list(map(_deferred, context["script_files"]))


def _is_used(file: str | PathLike[str], body: str) -> bool:
    name = Path(file).name
    if any(fnmatch(name, pattern) for pattern in UNUSED):
        return False
    return all(mark in body for pattern, mark in NEEDED_FOR.items() if fnmatch(name, pattern))


def _deferred(script: Any) -> Any:
    """Copy one of Sphinx's scripts, whose class is private."""
    attributes = script.attributes | {"defer": "defer"}
    return type(script)(script.filename, priority=script.priority, **attributes)


def shrink_thumbnails(app: Sphinx) -> None:
    """Save thumbnails with few colours, which is all that a small plot needs."""
    for path in Path(app.srcdir, "tutorials").rglob("thumb/*.png"):
        with Image.open(path) as image:
            if image.mode == "P":  # from an earlier build
                continue
            small = image.convert("RGBA").quantize(32, method=Image.Quantize.FASTOCTREE)
        small.save(path, optimize=True)


def shorten_code(app: Sphinx, exception: Exception | None) -> None:
    """Take markup out of code that changes nothing, which is a quarter of a long tutorial."""
    if exception is not None or app.builder.format != "html":
        return
    names = [app.config.pygments_style, app.config.pygments_dark_style]
    plain = "|".join(sorted(set.intersection(*map(_unstyled, names))))
    spans = re.compile(rf'<span class="(?:{plain})">([^<]*)</span>')
    for page in Path(app.outdir, "tutorials").rglob("*.html"):
        text = page.read_text(encoding="utf-8")
        text = spans.sub(r"\1", BACKREFERENCE.sub("", text))
        page.write_text(text, encoding="utf-8")


def _unstyled(style: str) -> set[str]:
    """Classes of code that look like plain text in a style of Pygments."""
    looks = get_style_by_name(style)
    plain = looks.style_for_token(Text)
    return {
        name
        for kind, name in STANDARD_TYPES.items()
        if name and looks.style_for_token(kind) == plain
    }


def bundle_styles(app: Sphinx, exception: Exception | None) -> None:
    """Join the styles of each page to one file, without rules for what no page has.

    One file comes sooner than several, because a browser shows nothing before it has all of them.
    """
    if exception is not None or app.builder.format != "html":
        return
    pages = {page: page.read_text(encoding="utf-8") for page in app.outdir.rglob("*.html")}
    scripts = (s.read_text(encoding="utf-8") for s in Path(app.outdir, "_static").rglob("*.js"))
    names = (name for text in pages.values() for name in NAMES.findall(text))
    words = {word for text in (*names, *scripts) for word in WORD.findall(text)}
    for page, text in pages.items():
        first = STYLESHEET.search(text)
        sheets = [page.parent / href for href in STYLESHEET.findall(text)]
        if first and all(sheet.is_file() for sheet in sheets):
            bundle = _bundle(sheets, words, Path(app.outdir, "_static"))
            href = Path(os.path.relpath(bundle, page.parent)).as_posix()
            link = f'\n    <link rel="stylesheet" href="{href}">'
            before, _, _ = text.partition(first[0])
            rest = STYLESHEET.sub("", text)[len(before) :]
            page.write_text(before + link + rest, encoding="utf-8")


def _bundle(sheets: Iterable[Path], words: set[str], folder: Path) -> Path:
    """Write styles to one file, which is named by what is in it."""
    rules = "\n".join(sheet.read_text(encoding="utf-8") for sheet in sheets)
    unused = set(CLASS_OR_ID.findall(rules)) - words
    kept = lightningcss.process_stylesheet(rules, unused_symbols=unused, error_recovery=True)
    path = folder / f"page.{hashlib.sha256(kept.encode()).hexdigest()[:12]}.css"
    path.write_text(kept, encoding="utf-8")
    return path
