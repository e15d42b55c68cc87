"""Functions shown where they are taught."""

from __future__ import annotations

import jax

from jaxcap.report.source import Source


def double(x: float) -> float:
    """Twice <x>."""
    return 2 * x


@jax.jit
def half(x: float) -> float:
    return x / 2


def test_plain_source_is_as_written() -> None:
    assert repr(Source(double)) == (
        'def double(x: float) -> float:\n    """Twice <x>."""\n    return 2 * x'
    )


def test_decorators_are_part_of_it() -> None:
    assert repr(Source(half)).startswith("@jax.jit\ndef half")


def test_several_are_shown_one_after_the_other() -> None:
    assert repr(Source(double, half)) == f"{Source(double)}\n\n\n{Source(half)}"


def test_a_page_gets_colours_and_no_markup_of_the_source() -> None:
    html = Source(double)._repr_html_()
    assert html.startswith('<div class="highlight-python notranslate"><div class="highlight">')
    assert '<span class="k">def</span>' in html
    assert "&lt;x&gt;" in html
