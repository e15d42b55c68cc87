"""Send readers no more than their page needs: of styles, scripts, markup of code, and thumbnails."""

from __future__ import annotations

import re
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
    "sg-tags.js": "sg-tag",
    "sg_gallery.css": "sphx-glr-",
    "sg_gallery-binder.css": "binder-badge",
    "sg_gallery-dataframe.css": "dataframe",
    "sg_gallery-rendered-html.css": "rendered_html",
    "sphinx-design.min.css": 'class="sd-',
}
# sphinx-gallery's links in code name what they lead to in a class, too.
BACKREFERENCE = re.compile(r"sphx-glr-backref-\S+ ")
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


def keep_rules_in_use(app: Sphinx, exception: Exception | None) -> None:
    """Remove rules for classes and ids that no page and no script mentions, and minify the rest."""
    if exception is not None or app.builder.format != "html":
        return
    files = (*app.outdir.rglob("*.html"), *Path(app.outdir, "_static").rglob("*.js"))
    words = {word for file in files for word in WORD.findall(file.read_text(encoding="utf-8"))}
    for sheet in Path(app.outdir, "_static").rglob("*.css"):
        rules = sheet.read_text(encoding="utf-8")
        unused = set(CLASS_OR_ID.findall(rules)) - words
        kept = lightningcss.process_stylesheet(rules, unused_symbols=unused, error_recovery=True)
        sheet.write_text(kept, encoding="utf-8")
