"""Tables must read well in a terminal and be accessible and harmless on a page."""

import re

import pytest

from jaxcap.results.tables import Link, Table

TABLE = Table(
    "On <Test CPU>",
    ("variant", "time"),
    [("<script>", "1.2 ms"), ("a & b", "3 µs")],
    ["<b> has 2 modes"],
)


def test_html_has_caption_and_scoped_headers() -> None:
    html = TABLE._repr_html_()
    assert "<caption>On &lt;Test CPU&gt;</caption>" in html
    assert re.findall(r'<th scope="col">(.*?)</th>', html) == ["variant", "time"]
    assert re.findall(r'<th scope="row">(.*?)</th>', html) == ["&lt;script&gt;", "a &amp; b"]
    assert re.findall(r"<td>(.*?)</td>", html) == ["1.2 ms", "3 µs"]


def test_columns_of_text_start_at_the_left() -> None:
    text = "a function of an array and a number"
    table = Table("", ("", "type", "ms"), [("f", text, "1.2"), ("g", "Any", "3.4")])
    html = table._repr_html_()
    assert re.findall(r'class="jaxcap-text">([^<]*)<', html) == ["type", text, "Any"]
    assert re.findall(r"<td>(.*?)</td>", html) == ["", "1.2", "3.4"], "the first heads nothing"
    *_, first, second = repr(table).splitlines()
    assert first.index(text) == second.index("Any")


def test_columns_of_numbers_end_at_the_right_however_long_a_cell_is() -> None:
    long = "310.4 µs (15.522388 s for 50,000 calls)"
    table = Table(
        "", ("", "by", "then"), [("f", "JAX", long)], text_columns=[1], number_columns=[2]
    )
    html = table._repr_html_()
    assert re.findall(r'class="jaxcap-text">([^<]*)<', html) == ["by", "JAX"]
    assert f"<td>{long}</td>" in html


def test_a_link_leads_somewhere_on_a_page_and_is_text_elsewhere() -> None:
    table = Table("", ("name", "n"), [(Link("<b>", "a.html?x=1&y=2"), "1")])
    assert '<a href="a.html?x=1&amp;y=2">&lt;b&gt;</a>' in table._repr_html_()
    assert "a.html" not in repr(table) + table.markdown()


def test_columns_can_be_said_to_hold_text() -> None:
    html = Table("", ("a", "b", "c"), [("1", "2", "3")], text_columns=[0, 2])._repr_html_()
    assert re.findall(r'class="jaxcap-text">([^<]*)<', html) == ["a", "c", "1", "3"]


def test_html_can_be_scrolled_from_the_keyboard() -> None:
    group = 'role="group" tabindex="0" aria-label="On &lt;Test CPU&gt;"'
    assert group in TABLE._repr_html_()


def test_html_escapes_everything() -> None:
    quoted = Table('"><script>', ("<script>",), [("<script>",)], ["<script>"])._repr_html_()
    assert "<script>" not in quoted
    assert 'aria-label="&quot;&gt;&lt;script&gt;"' in quoted


def test_html_puts_notes_below_the_table() -> None:
    assert TABLE._repr_html_().endswith('</div><p class="jaxcap-note">&lt;b&gt; has 2 modes</p>')


def test_terminal_shows_all_texts_as_they_are() -> None:
    lines = repr(TABLE).splitlines()
    assert lines[0] == "On <Test CPU>"
    assert [line.split() for line in lines if "ms" in line] == [["<script>", "1.2", "ms"]]
    assert lines[-1] == "<b> has 2 modes"


def test_terminal_takes_no_text_for_markup() -> None:
    text = repr(Table("[b]caption", ("[b]header",), [("[b]cell",)], ["[b]note"]))
    assert re.findall(r"\[b\]\w+", text) == ["[b]caption", "[b]header", "[b]cell", "[b]note"]


@pytest.mark.parametrize("variable", ["FORCE_COLOR", "TTY_COMPATIBLE"])
def test_terminal_text_is_plain(variable: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(variable, "1")
    text = repr(TABLE)
    assert "\x1b" not in text
    assert all(line == line.rstrip() for line in text.splitlines())


def test_repr_shows_nothing_in_a_notebook_by_itself(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    plain = repr(TABLE)
    monkeypatch.setattr("rich.console._is_jupyter", lambda: True)
    assert repr(TABLE) == plain
    assert capsys.readouterr().out == ""


def test_cells_that_head_a_row_are_marked_for_narrow_pages() -> None:
    table = Table("", ("size", "variant", "time"), [("10", "op by op", "1.2 ms")], heads=2)
    html = table._repr_html_()
    assert re.findall(r'class="jaxcap-head jaxcap-name">([^<]*)<', html) == ["variant", "op by op"]
    assert "<td>1.2 ms</td>" in html


def test_names_that_head_a_row_start_at_the_left_and_numbers_end_at_the_right() -> None:
    rows = [("dot", "10", "jit"), ("dot", "1,000", "op by op")]
    table = Table("", ("task", "size", "variant"), rows, heads=3)
    assert "10   jit\n" in f"{table.text()}\n"
    heads = re.findall(r'<th scope="col" class="([^"]*)">', table._repr_html_())
    assert heads == ["jaxcap-head", "jaxcap-head jaxcap-name"]


def test_long_words_are_broken_rather_than_cut_off() -> None:
    word = "transformations/asynchronous_dispatch"
    text = Table("Pages", ("claim", "page"), [("that it holds " * 9, word)]).text(60)
    assert "…" not in text
    column = (line[text.splitlines()[2].index("page") :].strip() for line in text.splitlines()[4:])
    assert "".join(column) == word
