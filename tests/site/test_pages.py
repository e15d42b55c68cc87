"""What readers of the built site must find on it."""

from __future__ import annotations

import ast
import json
import re
from pathlib import Path
from urllib.parse import unquote, urlsplit
from zipfile import ZipFile

import pytest
from bs4 import BeautifulSoup
from sites import PAGES, ROOT, TUTORIALS, Read

from jaxcap import published
from jaxcap.measure.machine.description import capture
from jaxcap.results import ResultSet

# One page shows a recording of JAX's releases, one times starts of processes, which aren't kept as
# results, one reads a profile, one counts what devices hold, one draws random numbers, and four ask
# for digits or accuracies. One shows more of what the page before it measures.
MEASURING = sorted(
    set(TUTORIALS)
    - {
        "applications/attenuation",
        "applications/convergence",
        "applications/mnist",
        "applications/sharding",
        "basics/random_numbers",
        "performance/profiling",
        "performance/releases",
        "performance/second_process",
        "transformations/example_gradients",
        "transformations/grad",
    }
)
# The first page is too early for it, and the one on timing compares ways to measure.
# All results that they show are indexed under a page before them.
SHARING = {"applications/convolutions", "applications/winograd", "performance/geometry"}
HEADLINES = sorted(set(MEASURING) - {"basics/introduction", "performance/timing"})
# The first page, and those that Sphinx makes.
NOT_IN_NAVIGATION = {"index", "genindex", "py-modindex", "search"}


def test_site_was_built_from_this_commit(read: Read) -> None:
    stamp = read("index").select_one(".jaxcap-provenance")
    facts = zip(stamp.select("dt"), stamp.select("dd"), strict=True)
    built_from = {term.get_text(): fact.get_text() for term, fact in facts}.get("Commit")
    assert built_from == capture().commit, "build the site again with `nox -s docs`"


def test_landing_page_says_where_it_was_built_and_shows_all_tutorials(
    html: Path, read: Read
) -> None:
    page = read("index")
    index = json.loads((html / "results" / "index.json").read_text(encoding="utf-8"))
    assert index[0]["device"] in page.select_one(".jaxcap-provenance summary").get_text()
    shown = {urlsplit(link["href"]).path for link in page.select(".jaxcap-path a")}
    assert shown == {f"tutorials/{name}.html" for name in TUTORIALS}


@pytest.mark.parametrize("name", TUTORIALS)
def test_tutorial_is_in_the_navigation(read: Read, name: str) -> None:
    assert read(f"tutorials/{name}").select_one(".sidebar-tree .current-page > a")
    assert read("index").select(f'.sidebar-tree a[href="tutorials/{name}.html"]')


@pytest.mark.parametrize("page", PAGES)
def test_navigation_unfolds_at_the_page(read: Read, page: str) -> None:
    tree = read(page).select_one(".sidebar-tree")
    current = tree.select("li.current-page")
    if page in NOT_IN_NAVIGATION:
        assert current == tree.select(".current, [checked]") == []
        return
    (item,) = current
    assert item.a["href"] == "#"
    way = [*item.find_parents("li"), item]
    assert {id(entry) for entry in tree.select("li.current")} == {id(entry) for entry in way}
    unfolded = [box.find_parent("li") for box in tree.select("[checked]")]
    assert {id(entry) for entry in unfolded} == {id(entry) for entry in way if entry.ul}


@pytest.mark.parametrize("name", TUTORIALS)
def test_tutorial_has_its_provenance(read: Read, name: str) -> None:
    stamp = read(f"tutorials/{name}").select_one(".jaxcap-provenance")
    facts = {term.get_text() for term in stamp.select("dt")}
    assert {"Device", "CPU", "Versions", "Python", "Flags", "Measured", "Took"} <= facts


@pytest.mark.parametrize("name", MEASURING)
def test_measured_numbers_are_in_the_prose_with_their_interval(read: Read, name: str) -> None:
    numbers = read(f"tutorials/{name}").select(".jaxcap-measured")
    assert numbers
    for number in numbers:
        assert number.get_text()
        assert number["title"]
    assert any("interval" in number["title"] for number in numbers)


@pytest.mark.parametrize("name", MEASURING)
def test_claims_are_shown_and_listed(read: Read, name: str) -> None:
    shown = read(f"tutorials/{name}").select(".jaxcap-claim")
    listed = f'table.jaxcap-claims a[href*="tutorials/{name}.html#"]'
    assert shown
    assert len(shown) == len(read("results/claims").select(listed))


@pytest.mark.parametrize("name", TUTORIALS)
def test_downloads_are_the_script_and_a_notebook(html: Path, read: Read, name: str) -> None:
    page = html / f"tutorials/{name}.html"
    links = [a["href"] for a in read(f"tutorials/{name}").select("a.download")]
    files = {Path(link).suffix: page.parent / unquote(link) for link in links}
    source = (ROOT / "gallery" / f"{name}.py").read_text(encoding="utf-8")
    downloaded = files[".py"].read_text(encoding="utf-8")
    assert ast.dump(ast.parse(downloaded)) == ast.dump(ast.parse(source))
    cells = json.loads(files[".ipynb"].read_text(encoding="utf-8"))["cells"]
    text = {
        kind: "\n".join("".join(cell["source"]) for cell in cells if cell["cell_type"] == kind)
        for kind in ("code", "markdown")
    }
    assert re.search("^(import|from) jax", text["code"], re.MULTILINE)
    assert not re.findall(r":\w+:`", text["markdown"]), "only Sphinx understands roles"
    with ZipFile(files[".zip"]) as archive:
        packed = {Path(name).suffix: archive.read(name) for name in archive.namelist()}
    assert packed == {suffix: files[suffix].read_bytes() for suffix in (".py", ".ipynb")}


@pytest.mark.parametrize("name", TUTORIALS)
def test_plots_come_for_light_and_for_dark_with_words(read: Read, name: str) -> None:
    plots = read(f"tutorials/{name}").select("img.jaxcap-plot")
    light = [plot for plot in plots if "only-light" in plot["class"]]
    dark = [plot for plot in plots if "only-dark" in plot["class"]]
    assert light
    assert len(light) == len(dark)
    assert all(len(plot["alt"]) > 10 for plot in plots)


@pytest.mark.parametrize("name", TUTORIALS)
def test_phones_get_plots_of_their_own_in_both_themes(html: Path, read: Read, name: str) -> None:
    pictures = read(f"tutorials/{name}").select("picture")
    assert pictures
    for picture in pictures:
        narrow, plot = picture.find_all(recursive=False)
        dark = "_dark" * ("only-dark" in plot["class"])
        stem = Path(plot["src"]).stem.removesuffix(dark)
        assert Path(narrow["srcset"]).stem == f"{stem}_phone{dark}"
        assert (html / f"tutorials/{name}.html").parent.joinpath(narrow["srcset"]).exists()
        assert int(narrow["width"]) < int(plot["width"])


def test_thumbnails_are_plots_of_their_own(html: Path, read: Read) -> None:
    cards = read("tutorials/index").select(".sphx-glr-thumbcontainer img")
    images = [(html / "tutorials" / card["src"]).resolve() for card in cards]
    assert len({image.read_bytes() for image in images}) == len(TUTORIALS)
    assert all("no_image" not in image.name for image in images)


def test_results_are_served_and_indexed(html: Path) -> None:
    folder = html / "results"
    index = json.loads((folder / "index.json").read_text(encoding="utf-8"))
    pages = {entry["page"] for entry in index if entry["page"]}
    assert pages == {f"tutorials/{name}.html" for name in MEASURING if name not in SHARING}
    served = {path.relative_to(folder).as_posix() for path in folder.rglob("*.json")}
    assert {entry["file"] for entry in index} == served - {"index.json", "schema.json"}
    for entry in index:
        results = ResultSet.load(folder / entry["file"])
        assert len(results) == entry["results"]
        assert (folder / entry["file"]).with_suffix(".csv").exists()
    for page in pages:
        assert (html / page).exists()


@pytest.mark.parametrize("name", HEADLINES)
def test_headline_was_measured_in_fresh_processes(html: Path, read: Read, name: str) -> None:
    index = json.loads((html / "results" / "index.json").read_text(encoding="utf-8"))
    files = [entry["file"] for entry in index if entry["page"] == f"tutorials/{name}.html"]
    if name in SHARING:
        stamp = read(f"tutorials/{name}").select_one(".jaxcap-provenance").get_text()
        files = [entry["file"] for entry in index if f"{entry['experiment']} 20" in stamp]
    sets = [ResultSet.load(html / "results" / file) for file in files]
    processes = [{len(result.runs) for result in results.results} for results in sets]
    is_trial = "quick trial" in (html / "index.html").read_text(encoding="utf-8")
    assert is_trial or any(min(counts) >= 3 for counts in processes), processes


def test_reference_pages_list_tutorials_that_use_them(read: Read) -> None:
    for page in ("timing", "experiment", "figures"):
        assert read(f"reference/{page}").select(".sphx-glr-thumbcontainer"), page


def test_typed_transformations_are_documented_without_their_overloads(read: Read) -> None:
    documented = read("reference/transforms").select("dl.function")
    assert documented
    for definition in documented:
        assert len(definition.find_all("dt", class_="sig", recursive=False)) == 1


@pytest.mark.parametrize("page", [page for page in PAGES if page.startswith("reference/")])
def test_signatures_show_what_one_would_write(read: Read, page: str) -> None:
    shown = [signature.get_text() for signature in read(page).select("dt.sig")]
    assert [
        text for text in shown if re.search(r"~|<(built-in|class|factory|function)", text)
    ] == []
    assert all(len(text) < 1000 for text in shown)


def test_every_published_figure_is_on_its_page_with_a_conclusion(read: Read) -> None:
    page = read("results/then_and_now")
    rows = page.select(".then-and-now tbody tr")
    assert len(rows) == len(published.load())
    for table in page.select(".then-and-now table"):
        column = [head.get_text() for head in table.select("thead th")].index("conclusion")
        for row in table.select("tbody tr"):
            cells = row.find_all(["th", "td"])
            assert any(
                cells[column].get_text().startswith(conclusion)
                for conclusion in published.Conclusion
            )
    chart = page.select("img.jaxcap-plot")
    assert ["only-light" in image["class"] for image in chart] == [True, False]


@pytest.mark.parametrize("page", PAGES)
def test_links_within_the_site_lead_somewhere(html: Path, read: Read, page: str) -> None:
    source = html / f"{page}.html"
    for tag, attribute in (("a", "href"), ("img", "src"), ("link", "href"), ("script", "src")):
        for element in read(page).find_all(tag, attrs={attribute: True}):
            link = urlsplit(element[attribute])
            if link.scheme or link.netloc:
                continue
            target = (source.parent / unquote(link.path)).resolve() if link.path else source
            assert target.exists(), element[attribute]
            if link.fragment and target.suffix == ".html":
                linked = read(target.relative_to(html).with_suffix("").as_posix())
                assert linked.find(id=unquote(link.fragment)), element[attribute]


@pytest.mark.parametrize("page", PAGES)
def test_page_tells_nothing_of_who_built_it(html: Path, page: str) -> None:
    text = (html / f"{page}.html").read_text(encoding="utf-8")
    assert str(ROOT) not in text
    assert str(Path.home()) not in BeautifulSoup(text, "html.parser").get_text()


@pytest.mark.parametrize("page", PAGES)
def test_page_has_one_title_and_a_language(read: Read, page: str) -> None:
    assert len(read(page).find_all("h1")) == 1
    assert read(page).html["lang"] == "en"
