"""Parts of the extension by themselves: which scripts run, formulas, keyboards on wide code."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from operator import itemgetter
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from bs4 import BeautifulSoup
from fakes import CPU, GPU, make_result, make_run, make_set
from jaxcap_docs import finish, page_records
from jaxcap_docs.lessons import is_chosen, lacks_torch, runnable
from jaxcap_docs.read import commands
from jaxcap_docs.read.elements import Folded
from jaxcap_docs.read.quotes import comparative
from jaxcap_docs.read.releases import replays
from jaxcap_docs.read.results import experiments, rooflines
from jaxcap_docs.read.results.trust import published_values
from jaxcap_docs.read.tutorials import pages
from jaxcap_docs.run import gallery, playback, session_time, start
from matplotlib.figure import Figure
from playwright.sync_api import Browser
from sites import ROOT, TUTORIALS

from jaxcap import published
from jaxcap.experiments import catalogue
from jaxcap.measure import digest
from jaxcap.report import figures
from jaxcap.report.claims import BEST, LARGEST, Statement, speedup_of
from jaxcap.report.findings import in_powers
from jaxcap.results import Result, ResultsError
from jaxcap.results.ceilings import Ceilings
from jaxcap.results.files import slug
from jaxcap.results.recordings import DeviceResults, Recording
from jaxcap.results.statistics import Estimate
from jaxcap.results.tables import Table

SCRIPTS = [f"/home/me/gallery/performance/jaxcap/docs/../gallery/{name}.py" for name in TUTORIALS]
EQUATIONS = r"""
Equations
=========

.. math:: e^{i \pi} = -1
   :label: euler

See :eq:`euler`, not :math:`\nonsense`.
"""
IMAGES = """
Images
======

.. image:: wide.svg
   :alt: With a width
   :class: only-light
   :width: 700

.. image:: wide.svg
   :class: only-dark
   :width: 700

.. image:: wide.svg
   :target: https://jax.example

.. image:: https://jax.example/far.png

.. image:: wide.svg
   :width: 50%

.. image:: wide.svg
"""
CONFIGURATION = f"""
import sys
sys.path.insert(0, {str(ROOT / "docs" / "_ext")!r})
extensions = ["jaxcap_docs.write"]
html_math_renderer = "mathml"
"""
# One inventory is there, and one can't be reached, in whose place comes an empty one.
LINKING = f"""
import sys
sys.path.insert(0, {str(ROOT / "docs" / "_ext")!r})
extensions = ["jaxcap_docs.run.inventories"]
intersphinx_timeout = 1
intersphinx_mapping = {{
    "near": ("https://near.example/", "near.inv"),
    "far": ("http://127.0.0.1:9/", (None, {str(ROOT / "docs" / "offline.inv")!r})),
}}
"""
NEAR = """\
# Sphinx inventory version 1
# Project: near
# Version: 1
near mod near.html
"""
# Some browsers give what is folded away a size; here, as in others, it has none.
FOLDED = """
<style>details:not([open]) > pre { display: none }</style>
<details><summary>More</summary>
<pre style="width: 5em; overflow: auto">a line that is longer than its box</pre></details>
"""


@pytest.mark.parametrize(
    ("pattern", "chosen"),
    [
        ("", set(TUTORIALS)),
        ("^$", set()),
        ("performance", {name for name in TUTORIALS if name.startswith("performance/")}),
        ("jit|basics/intro", {"transformations/jit", "basics/introduction"}),
        ("gallery|jaxcap|docs", set()),
    ],
)
def test_pattern_chooses_tutorials_by_their_path_below_the_gallery(
    pattern: str, chosen: set[str]
) -> None:
    matching = {script for script in SCRIPTS if re.search(runnable(pattern), script)}
    assert {script.partition("/../gallery/")[2].removesuffix(".py") for script in matching} == {
        name for name in chosen if not lacks_torch(name)
    }


@pytest.mark.parametrize(
    ("pattern", "chosen"), [("", True), ("command", True), ("jit", False), ("^$", False)]
)
def test_pattern_chooses_commands_too(pattern: str, chosen: bool) -> None:
    assert is_chosen("command_line", runnable(pattern)) is chosen


def build_page(folder: Path, text: str) -> tuple[str, list[str]]:
    """Build a site of one page, and return that with the warnings."""
    (folder / "conf.py").write_text(CONFIGURATION, encoding="utf-8")
    (folder / "index.rst").write_text(text, encoding="utf-8")
    command = [sys.executable, "-m", "sphinx", "--no-color", ".", "out"]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    page = (folder / "out" / "index.html").read_text(encoding="utf-8")
    return page, re.findall("WARNING: .*", done.stderr)


def test_formulas_can_be_linked_and_a_wrong_one_is_named(tmp_path: Path) -> None:
    page, (warning,) = build_page(tmp_path, EQUATIONS)
    assert "cannot show the formula '\\\\nonsense'" in warning
    assert 'href="#equation-euler"' in page
    assert re.search(r'id="equation-euler">.*<math', page, re.DOTALL)
    assert "<code>\\nonsense</code>" in page


@pytest.mark.parametrize("required", ["", "1"])
def test_missing_inventories_are_named_once_and_end_a_build_that_is_published(
    required: str, tmp_path: Path
) -> None:
    (tmp_path / "conf.py").write_text(LINKING, encoding="utf-8")
    (tmp_path / "near.inv").write_text(NEAR, encoding="utf-8")
    (tmp_path / "index.rst").write_text("Page\n====\n", encoding="utf-8")
    command = [sys.executable, "-m", "sphinx", "--no-color", "--fail-on-warning", ".", "out"]
    variables = os.environ | {"JAXCAP_REQUIRE_INVENTORIES": required}
    done = subprocess.run(
        command, cwd=tmp_path, env=variables, capture_output=True, text=True, check=False
    )
    lost = "pages have no links to the documentation of far, which can't be reached"
    assert (done.stdout + done.stderr).count(lost) == 1
    assert (done.returncode, (tmp_path / "out" / "index.html").exists()) == (
        (1, False) if required else (0, True)
    )
    assert done.stderr.endswith("to build without these links\n" if required else "")


def test_images_have_sizes_and_all_but_the_first_are_loaded_late(tmp_path: Path) -> None:
    Figure(figsize=(7, 3.5)).savefig(tmp_path / "wide.svg")
    page, warnings = build_page(tmp_path, IMAGES)
    assert warnings == []
    images = BeautifulSoup(page, "html.parser").select("[role=main] img")
    names = ("width", "height", "loading")
    assert [[image.get(name) for name in names] for image in images] == [
        ["700", "350", None],
        ["700", "350", "lazy"],
        ["672", "336", "lazy"],
        [None, None, None],
        [None, None, "lazy"],
        ["672", "336", "lazy"],
    ]
    assert images[-1].find_parent("a") is None


@pytest.fixture
def made_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[], bool]]:
    """Whether a tutorial is made again, after another build has made it."""
    package = shutil.copytree(
        digest.ROOT, tmp_path / "package", ignore=shutil.ignore_patterns("__pycache__", "subset")
    )
    monkeypatch.setattr(digest, "ROOT", package)
    monkeypatch.setattr(figures, "STYLE_FILE", package / "report" / "figures" / "jaxcap.mplstyle")
    monkeypatch.setattr(start, "OUTPUTS", tmp_path / "outputs.json")
    monkeypatch.setattr(start, "TUTORIALS", ("basics/sums",))
    checksum = tmp_path / "tutorials" / "basics" / "sums.py.md5"
    for folder in (checksum.parent, tmp_path / "basics"):
        folder.mkdir(parents=True)
    script = tmp_path / "basics" / "sums.py"
    script.write_text("from jaxcap.kernels import loops\nimport matplotlib\n", encoding="utf-8")

    def build() -> bool:
        playback.dependencies.cache_clear()
        start._forget_stale_outputs(tmp_path, tmp_path / "tutorials")
        is_made = not checksum.exists()
        checksum.touch()
        start.remember_outputs()
        return is_made

    assert build()
    yield build
    playback.dependencies.cache_clear()


@pytest.mark.parametrize(
    ("file", "matters"),
    [
        ("package/kernels/loops.py", True),
        ("package/kernels/keys.py", False),
        ("package/report/figures/jaxcap.mplstyle", True),
        ("basics/sums.py", True),
    ],
)
def test_a_tutorial_is_made_again_if_what_it_shows_has_changed(
    file: str, matters: bool, made_again: Callable[[], bool], tmp_path: Path
) -> None:
    assert not made_again()
    with (tmp_path / file).open("a", encoding="utf-8") as changed:
        changed.write("\n# changed\n")
    assert made_again() == matters
    assert not made_again()


def test_a_build_that_was_killed_makes_its_pages_again(
    made_again: Callable[[], bool], tmp_path: Path
) -> None:
    with (tmp_path / "basics/sums.py").open("a", encoding="utf-8") as changed:
        changed.write("x = 1\n")
    # sphinx-gallery keeps the checksum of a script before it writes the page.
    start._forget_stale_outputs(tmp_path, tmp_path / "tutorials")
    (tmp_path / "tutorials" / "basics" / "sums.py.md5").touch()
    assert made_again()


def test_pages_are_those_of_the_experiments_that_there_are(tmp_path: Path) -> None:
    folder = tmp_path / "results" / "experiments"
    folder.mkdir(parents=True)
    (folder / "removed.md").touch()
    app: Any = SimpleNamespace(srcdir=tmp_path, doctreedir=tmp_path)
    experiments.on_builder_inited(app)
    assert len(list(folder.iterdir())) == len(catalogue())
    assert not (folder / "removed.md").exists()
    for path in folder.iterdir():
        os.utime(path, ns=(0, 0))
    (folder / "jit.md").write_text("changed", encoding="utf-8")
    experiments.on_builder_inited(app)
    written = [path.name for path in folder.iterdir() if path.stat().st_mtime_ns]
    assert written == ["jit.md"], "a page that is written is read again"


def test_wide_code_can_be_reached_by_keyboard_once_it_is_unfolded(browser: Browser) -> None:
    page = browser.new_page()
    page.set_content(FOLDED)
    page.add_script_tag(path=ROOT / "docs" / "_static" / "scrollable.js")
    code = page.locator("pre")
    assert code.get_attribute("tabindex") is None
    page.locator("summary").click()
    page.wait_for_function("document.querySelector('pre').tabIndex === 0", timeout=10_000)
    page.close()


def test_defaults_of_options_are_shown_without_quotes() -> None:
    lines = [":default: ``'10'``", ":default: ``5000``", "'10'"]
    commands.on_process_options(None, None, lines)  # type: ignore[arg-type]
    assert lines == [":default: ``10``", ":default: ``5000``", "'10'"]


def test_rows_of_replayed_issues_share_the_axis_of_all_releases() -> None:
    verdict: Any = SimpleNamespace(outcome="smaller")
    marks, ends = BeautifulSoup(
        replays._row({"0.5": verdict}, ["0.4", "0.5", "0.6"]), "html.parser"
    )("p")
    assert [mark.get("title") for mark in marks("span")] == [None, "0.5: smaller", None]
    assert [end.get_text() for end in ends("span")] == ["0.4", "0.6"]
    assert replays._row({}, ["0.4"]) == ""


def test_each_mark_of_a_replayed_issue_has_a_shape() -> None:
    css = (ROOT / "docs" / "_static" / "jaxcap.css").read_text("utf-8")
    # An empty square is what all are without a background.
    filled = [
        outcome for outcome in replays.MARKS if f".jaxcap-mark-{slug(outcome)} {{ background" in css
    ]
    assert filled == ["reproduced", "smaller", "undecided"]


def test_variants_are_compared_with_one_that_was_measured_as_they_were() -> None:
    def measured(variant: str, question: str, *, alone: bool = False) -> Result:
        own = {"comparison": variant} if alone else {}
        return make_result(variant, parameters={"question": question}, **own)

    both = make_set(*(measured(v, q) for q, vs in (("x", "ab"), ("y", "cd")) for v in vs))
    tables = experiments._comparisons(DeviceResults(CPU, "CPU", "today", both))
    assert [table.caption for table in tables] == [
        f"Compared with {variant} on {CPU}, {question}, today"
        for variant, question in (("a", "x"), ("c", "y"))
    ]
    one = make_set(*(measured(v, q) for q in "xy" for v in "ab"))
    (table,) = experiments._comparisons(DeviceResults(CPU, "CPU", "today", one))
    assert len(table.rows) == 2
    apart = make_set(*(measured(v, "x", alone=True) for v in "ab"))
    assert not list(experiments._comparisons(DeviceResults(CPU, "CPU", "today", apart)))


def test_a_figure_is_named_after_the_first_comparison_that_is_claimed() -> None:
    sizes = {10: 3.0, 20: 4.0}
    results = make_set(
        *(
            make_result(variant, make_run([seconds] * 6), parameters={"size": size, "work": "dot"})
            for size, factor in sizes.items()
            for variant, seconds in (("jit", 1e-3), ("NumPy", 1e-3 * factor))
        )
    )
    asked = speedup_of("jit", over="NumPy", work="dot", size=10, device=BEST)
    largest = speedup_of("jit", over="NumPy", size=LARGEST)
    elsewhere = speedup_of("jit", over="autograd")
    statements = [
        Statement(text="it is so", experiment="test", evidence=evidence, above=1, below=None)
        for evidence in (elsewhere, asked, largest)
    ]
    named = experiments._claimed(statements, results)
    assert named == "jit (dot, size 10) is 3.000 times faster than NumPy (one process)"
    named = experiments._claimed(statements[2:], results)
    assert named == "jit (largest size) is 4.000 times faster than NumPy (one process)"
    assert experiments._claimed(statements[:1], results) is None


def test_long_tables_are_folded() -> None:
    for rows, is_folded in ((15, False), (16, True)):
        table = Table("Times", ("size",), [(str(size),) for size in range(rows)])
        shown = experiments._table(table, {})
        assert isinstance(shown, Folded) is is_folded
        assert "<caption>Times</caption>" in shown.astext()


def test_a_roofline_says_how_many_calls_come_near_their_limit() -> None:
    shares = [Estimate.from_runs([[share]]) for share in (0.49, 0.5, 1.1, 0.02)]
    assert rooflines._finding(shares).startswith("2 of 4 calls reach at least half of their limit")


def test_each_bottleneck_has_a_title() -> None:
    assert rooflines.TITLES.keys() == rooflines.REASONS.keys()


def test_shares_beyond_a_roof_are_counted_and_explained() -> None:
    assert rooflines._beyond([0.2, 1.0]) == []
    (note,) = rooflines._beyond([0.2, 1.1, 1.18])
    assert note.startswith("2 of 3 go beyond the roof, by up to 18%.")


def test_a_roofline_shows_the_kernels_of_its_device_by_one_allocator() -> None:
    known: dict[str, Any] = {"flops": 10.0, "bytes_moved": 10.0}
    kernels = make_set(
        make_result("GPU's", device=GPU, allocator="default", **known),
        make_result("steady", **known),
        make_result("again", allocator="default", **known),
        make_result("of unknown cost"),
    )
    sets = {"ceilings": make_set(make_result(experiment="ceilings", **known)), "test": kernels}
    ceilings = Ceilings(CPU, bytes_per_s=1.0, flops_per_s={"float32": 1.0})
    costed = rooflines._costed_results(Recording(sets), ceilings)
    assert [kernel.result.variant for kernel in costed] == ["steady"]


def test_a_roofline_leaves_out_what_lapack_computes() -> None:
    known: dict[str, Any] = {"flops": 10.0, "bytes_moved": 10.0}
    calls = [make_result(name, parameters={"operation": name}, **known) for name in ("dot", "eig")]
    sets = {"ceilings": make_set(make_result(experiment="ceilings", **known))}
    ceilings = Ceilings(CPU, bytes_per_s=1.0, flops_per_s={"float32": 1.0})
    costed = rooflines._costed_results(Recording(sets | {"test": make_set(*calls)}), ceilings)
    assert [kernel.result.variant for kernel in costed] == ["dot"]


@pytest.mark.parametrize(
    ("experiment", "parameters", "sines"),
    [
        ("jit", {"function": "wave", "size": 10}, 20),
        ("jit", {"function": "selu", "size": 10}, 0),
        ("mistakes", {"question": "compiling", "size": 10}, 20),
        ("mistakes", {"question": "sending", "size": 10}, 0),
    ],
)
def test_the_wave_takes_two_sines_of_each_number(
    experiment: str, parameters: dict[str, Any], sines: int
) -> None:
    result = make_result(experiment=experiment, parameters=parameters, flops=1.0, bytes_moved=1.0)
    ceilings = Ceilings(CPU, bytes_per_s=1.0, flops_per_s={"float32": 1.0})
    assert rooflines._costed(result, ceilings).sines == sines


def test_a_roofline_finds_rivals_and_calls_with_less_to_do_among_the_results() -> None:
    def call(variant: str, size: int, time_s: float, **known: Any) -> Result:
        run = make_run([time_s] * 6)
        return make_result(variant, run, experiment="test", parameters={"size": size}, **known)

    def limits(*others: Result, experiment: str = "test") -> str:
        kernel = call("jit", 100, 1000.0, flops=100.0, bytes_moved=1.0)
        results = [r.model_copy(update={"experiment": experiment}) for r in (kernel, *others)]
        sets = {"ceilings": ceiling_results, experiment: make_set(*results)}
        kernels = list(rooflines._costed_results(Recording(sets), ceilings))
        return rooflines._limit(kernels[0], ceilings, kernels)

    known: dict[str, Any] = {"flops": 10.0, "bytes_moved": 10.0}
    ceiling_results = make_set(make_result(experiment="ceilings", **known))
    ceilings = Ceilings(CPU, bytes_per_s=1.0, flops_per_s={"float32": 1.0})
    rival = call("NumPy", 100, 400.0)  # its cost is unknown
    assert limits() == "neither"
    assert limits(rival) == "way"
    assert limits(rival, experiment="asynchronous dispatch") == "neither"
    assert limits(call("NumPy", 10, 400.0)) == "neither"
    assert limits(call("jit", 10, 900.0, flops=10.0, bytes_moved=1.0)) == "fixed"
    assert limits(call("another", 10, 900.0, flops=10.0, bytes_moved=1.0)) == "neither"


def test_a_share_is_that_of_a_roof_of_its_own_number_type() -> None:
    ceilings = Ceilings(CPU, bytes_per_s=1.0, flops_per_s={"float32": 1.0, "bfloat16": 2.0})
    formats = "float32", "float16", "bfloat16", "bfloat16 and float32"
    kernels = [
        make_result(name, experiment="bits", flops=10.0, bytes_moved=1.0) for name in formats
    ]
    costed = [rooflines._costed(kernel, ceilings) for kernel in kernels]
    assert tuple(kernel.dtype for kernel in costed) == formats
    (note,) = rooflines._without_roof(ceilings, costed)
    assert note.endswith("are left out: 1 in float16, 1 in bfloat16 and float32.")
    assert rooflines._without_roof(ceilings, costed[:1]) == []


def test_a_call_that_may_have_used_tf32_has_no_share_unless_memory_limits_it() -> None:
    ceilings = Ceilings(CPU, bytes_per_s=1.0, flops_per_s={"float32": 1.0, "tf32": 2.0})
    for flops, expected in (3.0, "float32"), (5.0, "float32 or TF32"):
        kernel = make_result(flops=flops, bytes_moved=4.0)
        assert rooflines._costed(kernel, ceilings).dtype == expected


def test_files_that_are_written_again_keep_their_dates(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(gallery, "DATES", tmp_path / "dates.json")
    same, changed = tmp_path / "same.ipynb", tmp_path / "changed.ipynb"
    for text in ("first", "second"):
        same.write_text("same", encoding="utf-8")
        changed.write_text(text, encoding="utf-8")
        for path in (same, changed):
            os.utime(path, ns=(len(text), len(text)))
        gallery.restore_dates([same, changed])
    assert same.stat().st_mtime_ns == len("first")
    assert changed.stat().st_mtime_ns == len("second")


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        ("1.9 times slower", "1.9 times slower than NumPy"),
        ("somewhere from 1.4 to 9 times faster", "somewhere from 1.4 to 9 times faster than NumPy"),
        ("about as fast (0.9 to 1.2)", "about as fast as NumPy (0.9 to 1.2 times as fast)"),
        (
            "undecided (0.5 to 3.1)",
            "not measurably faster or slower than NumPy (0.5 to 3.1 times as fast)",
        ),
    ],
)
def test_comparison_reads_on_whatever_was_measured(words: str, expected: str) -> None:
    assert "".join(comparative(words, "NumPy")) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("9.24e-05", "9.24 × 10⁻⁵"),
        ("3e+12 (1e+09 to 2e-10)", "3 × 10¹² (1 × 10⁹ to 2 × 10⁻¹⁰)"),
        ("float8_e5m2", "float8_e5m2"),
        ("2.0 times faster", "2.0 times faster"),
    ],
)
def test_quoted_powers_of_ten_are_written_as_in_a_sentence(text: str, expected: str) -> None:
    assert in_powers(text) == expected


@pytest.mark.parametrize(
    ("error", "told"),
    [
        (ResultsError("not measured"), []),
        (ValueError("a bug"), ["plot is left out: ValueError('a bug')"]),
    ],
)
def test_a_figure_is_left_out_without_a_word_only_where_results_lack_it(
    error: ValueError, told: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def draw() -> None:
        raise error

    said: list[str] = []
    monkeypatch.setattr(
        pages, "logger", SimpleNamespace(info=lambda text, *parts: said.append(text % parts))
    )
    with pages.left_out_if_lacking("plot"):
        draw()
    assert said == told


def test_a_script_about_releases_depends_on_which_were_recorded(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(page_records, "RECORDED", tmp_path)
    about, other = tmp_path / "about.py", tmp_path / "other.py"
    about.write_text("from jaxcap.releases.recorded import recorded\n", encoding="utf-8")
    other.write_text("import numpy\n", encoding="utf-8")
    before = [playback.dependencies.__wrapped__(script) for script in (about, other)]
    new = tmp_path / "cpu" / "releases" / "0.13.0.json"
    new.parent.mkdir(parents=True)
    new.touch()
    after = [playback.dependencies.__wrapped__(script) for script in (about, other)]
    assert before[0] != after[0]
    assert before[1] == after[1]


def test_the_end_of_a_build_is_in_one_place() -> None:
    connected: list[tuple[int, Callable[..., None]]] = []

    def connect(event: str, handler: Callable[..., None], priority: int) -> None:
        assert event == "build-finished"
        connected.append((priority, handler))

    app: Any = SimpleNamespace(connect=connect)
    finish.setup(app)
    assert [handler for _, handler in sorted(connected, key=itemgetter(0))] == [
        finish.on_build_finished,
        session_time.on_build_finished,
    ]


def test_values_that_nobody_measured_again_are_not_counted_as_such() -> None:
    assessments = published.assess_all([])
    refuted = [
        a
        for a in assessments
        if a.conclusion is published.Conclusion.MISTAKE and not a.recomputation
    ]
    checked, outcome = published_values(assessments)
    computed = sum(
        a.recomputation is not None and a.conclusion is not published.Conclusion.NOT_COMPARABLE
        for a in assessments
    )
    assert checked == f"{computed} of {len(assessments)} published figures checked"
    mistakes = sum(a.conclusion is published.Conclusion.MISTAKE for a in assessments)
    assert f", {mistakes - len(refuted)} with a mistake" in outcome  # a wrong network is one
    assert refuted
    assert sum(map(int, re.findall(r"\d+", outcome))) == computed
