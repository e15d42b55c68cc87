"""Which code of a tutorial is folded away on its page, and where its takeaway stands."""

from __future__ import annotations

import pytest
from docutils import nodes
from docutils.utils import new_document
from jaxcap_docs.read.elements import Folded, raw_html
from jaxcap_docs.read.tutorials.cells import fold_cells
from jaxcap_docs.read.tutorials.takeaways import show_first

TABLE = raw_html('<div class="jaxcap-table"><table></table></div>')
CLAIM = raw_html('<div class="jaxcap-claim jaxcap-holds">It holds.</div>')
SOURCE = raw_html('<div class="highlight"><pre>def wave(x):</pre></div>')
PRINTED = nodes.literal_block("", "1.5", language="none")
PLOT = nodes.image(uri="plot.svg")
OTHER_MACHINES = nodes.container("", nodes.image(uri="others.svg"))

DRAWING = "def draw(axes, x):\n    axes.plot(x)"
LAST_LINE = "if gpu:\n    figures.bars(results)\nelse:\n    print(1.5)"


def cell(code: str) -> nodes.literal_block:
    return nodes.literal_block(code, code, language="Python")


def section(title: str, *content: nodes.Node) -> nodes.section:
    return nodes.section("", nodes.title(text=title), *content, ids=[nodes.make_id(title)])


def document(*content: nodes.Node) -> nodes.document:
    made = new_document("page")
    made += section("Page", nodes.paragraph(text="Introduction."), *content)
    return made


def next_part() -> nodes.comment:
    return nodes.comment(text="GENERATED FROM PYTHON SOURCE LINES 1-2")


@pytest.mark.parametrize(
    ("code", "output", "summary"),
    [
        ("results.speedups(over='NumPy')", [TABLE], "table"),
        ("elsewhere = experiment.run()\nelsewhere", [TABLE], None),
        ("from jaxcap import elsewhere\nTable(elsewhere)", [TABLE], "table"),
        ("elsewhere = 3\nshow(elsewhere)", [PLOT], "plot"),
        ("pays = claim(text, results, evidence)\npays", [CLAIM], "claim"),
        ("show(images)", [PLOT], "plot"),
        ("draw(results)", [PRINTED, OTHER_MACHINES], "plot"),
        (LAST_LINE, [PRINTED], "plot"),
        (DRAWING, [], "plot"),
        ("axes = [0, 1]\nfigures_of = jax.vmap(f, axes)", [], None),
        ("first, (second) = 1, 2", [], "numbers"),
        ("# a comment alone", [], None),
        ("first = 1\nelsewhere = 3", [], None),
        ("third = 3", [], None),
        ("tabulated = 3", [], "numbers"),
        ("def tabulated(x):\n    'Help.'\n    return x", [], "numbers"),
        ("def tabulated(x):\n    return x", [], None),
        ("tabulated = experiment.run()", [], None),
        ("for n in [1]:\n    tabulated = n\n    print(n)", [PRINTED], None),
        ("tabulated = elsewhere = 3", [], None),
        ("third = {}\nfor n in [1]:\n    third[n] = n\nfirst = third[1]", [], "numbers"),
        ("for n in [1]:\n    print(n)", [], None),
        ("first = 1\nprint(first)", [PRINTED], None),
        ("fast = jax.jit(wave)\nfast(x)", [PRINTED], None),
        ("Source(wave)", [SOURCE], None),
    ],
)
def test_code_is_folded_by_what_it_shows_or_does(
    code: str, output: list[nodes.Node], summary: str | None
) -> None:
    shown = [node.deepcopy() for node in output]
    lesson, table = cell("print(elsewhere)"), cell("Table(tabulated)")
    rest = next_part(), lesson, next_part(), table, TABLE.deepcopy()
    page = document(cell(code), *shown, *rest)
    fold_cells(page, {"first", "second"})
    first, *_ = page.findall(nodes.literal_block)
    assert first.astext() == code
    if summary is None:
        assert isinstance(first.parent, nodes.section)
    else:
        assert isinstance(first.parent, Folded)
        assert first.parent["summary"] == f"Code of the {summary}"
    assert all(isinstance(node.parent, nodes.section) for node in shown), "output stays visible"


def test_cells_that_prepare_are_folded_with_the_one_that_shows_what_they_prepared() -> None:
    codes = ["rows = [1]", "rows = rows + [2]", "Table(rows)", "second = 2"]
    first, second, table, last = (cell(code) for code in codes)
    prepared = first, next_part(), second, next_part()
    page = document(*prepared, table, TABLE.deepcopy(), next_part(), last)
    fold_cells(page, {"second"})
    folded = list(page.findall(Folded))
    assert [fold["summary"] for fold in folded] == ["Code of the table", "Code of the numbers"]
    assert [[block.astext() for block in fold.children] for fold in folded] == [
        codes[:3],
        codes[3:],
    ]


def test_cells_for_the_same_plot_are_folded_together() -> None:
    codes = [DRAWING, "draw(axes, results)", "draw(axes, others)"]
    helper, first, second = (cell(code) for code in codes)
    page = document(
        helper, next_part(), first, PLOT.deepcopy(), next_part(), second, PLOT.deepcopy()
    )
    fold_cells(page, set())
    folded = [[block.astext() for block in fold.children] for fold in page.findall(Folded)]
    assert folded == [codes[:2], codes[2:]], "a plot between them keeps two cells apart"


def number() -> nodes.raw:
    return raw_html('<span class="jaxcap-measured">2 times faster</span>')


def link() -> nodes.reference:
    return nodes.reference("", "the next page", refuri="next.html")


def test_takeaway_stands_first_and_ways_on_stay_last() -> None:
    takeaway = nodes.paragraph("", "It came out ", number(), nodes.Text(", see "), link())
    points = nodes.bullet_list("", nodes.list_item("", nodes.paragraph(text="A rule.")))
    more = nodes.paragraph("", "See also ", link())
    after = nodes.paragraph("", "Next: ", link())
    code, downloads = cell("best = 1"), nodes.container()
    parts = next_part(), code, PRINTED.deepcopy(), next_part(), takeaway, points, more, after
    page = document(section("Lesson"), section("Takeaway", *parts, downloads))
    show_first(page)
    _, introduction, box, lesson, last = next(page.findall(nodes.section)).children
    assert introduction.astext() == "Introduction."
    assert lesson.astext() == "Lesson"
    assert isinstance(box, nodes.admonition)
    assert tuple(box.children[1:]) == (takeaway, points)
    assert box["ids"] == ["takeaway"], "links to it lead to its text"
    folded = code.parent
    assert isinstance(folded, Folded)
    assert folded.astext() == "best = 1\n\n1.5"
    title, *_, before_last, at_last, code_at_end, end = last.children
    assert title.astext() == "What next?"
    assert (before_last, at_last, code_at_end, end) == (more, after, folded, downloads)


def test_page_without_a_takeaway_stays_as_it_is() -> None:
    page = document(section("Lesson", nodes.paragraph("", "", link())))
    before = page.pformat()
    show_first(page)
    assert page.pformat() == before
