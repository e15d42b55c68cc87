"""Readers' own results on pages: chosen or dropped, judged by the site's rules, and taken off again."""

from __future__ import annotations

import re
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from axe_playwright_python.sync_playwright import Axe
from bs4 import BeautifulSoup
from docutils.core import publish_from_doctree
from docutils.utils import new_document
from fakes import CPU, ENVIRONMENT, GPU, make_result, make_run
from jaxcap_docs.finish import rules
from jaxcap_docs.read.links import claim_id
from jaxcap_docs.read.results.experiments import explorer
from jaxcap_docs.read.rows import of_side_by_side, rows_of, with_rows
from playwright.sync_api import Browser, BrowserContext, Locator, Page, expect
from sites import ROOT

from jaxcap.report.claims import LARGEST, claim, speedup_of
from jaxcap.report.exports import side_by_side, with_other_machines
from jaxcap.report.statements import TutorialClaim
from jaxcap.results import Device, ResultSet
from jaxcap.results.recordings import Recording, matching_results

TUTORIAL, EXPERIMENT, CLAIMS = "section/tutorial", "experiment", "claims"
SIZES = [10, 1000]
MINE = Device(platform="cpu", name="My CPU")
PAGE = """<!doctype html>
<html lang="en"><head><meta charset="utf-8"><title>A page</title>
<meta name="viewport" content="width=device-width"><link rel="stylesheet" href="{root}_static/jaxcap.css">
<style>
:root {{ color-scheme: light dark; --color-background-primary: light-dark(#fff, #131416);
  --color-background-secondary: light-dark(#f8f9fb, #1a1c1e); --color-foreground-primary: light-dark(#000, #cfd0d0);
  --color-background-border: light-dark(#eeebee, #303335); --color-brand-content: light-dark(#0a4bff, #5ca5ff);
  --color-foreground-secondary: light-dark(#5a5c63, #9ca0a5); --color-brand-primary: var(--color-brand-content);
  --color-foreground-muted: light-dark(#6b6f76, #81868d); }}
body {{ max-width: 46rem; margin: 1rem auto; padding: 0 1rem; font-family: sans-serif;
  background: var(--color-background-primary); color: var(--color-foreground-primary); }}
a {{ color: var(--color-brand-content); }}
.table-wrapper {{ overflow-x: auto; }}
</style>
{scripts}</head><body><main><h1>A page</h1><div class="jaxcap-reader"></div>
{content}</main></body></html>
"""


def measured(
    *,
    factor: float = 1.0,
    jit: float = 0.5,
    device: Device = CPU,
    processes: int = 3,
    **changes: Any,
) -> ResultSet:
    """Make up results of an experiment: two variants at two sizes, slower by a factor."""
    results = [
        make_result(
            variant,
            *(
                make_run([factor * share * size * 1e-6 * noise] * 6)
                for noise in (1, 1.01, 1.02)[:processes]
            ),
            parameters={"size": size, "mode": "plain"},
            experiment=changes.get("experiment", "jit"),
            device=device,
        )
        for size in changes.get("sizes", SIZES)
        for variant, share in (("op by op", 1.0), ("jit", jit))
    ]
    environment = ENVIRONMENT.model_copy(update={"device": device, "cpu": device.name})
    return ResultSet(environment=environment, results=tuple(results))


SITE = measured()
OTHER = measured(device=GPU, jit=0.1)
STATEMENTS = [
    claim("jit is faster", SITE, speedup_of("jit", over="op by op", size=LARGEST)),
    claim(
        "jit is <b>much</b> faster", SITE, speedup_of("jit", over="op by op", size=10), above=100
    ),
    claim(
        "jit is slower at 7",
        measured(sizes=[7]),
        speedup_of("jit", over="op by op", size=7),
        below=1,
    ),
    claim(
        "keys are faster", measured(experiment="keys"), speedup_of("jit", over="op by op", size=10)
    ),
]
IDS = [claim_id(TUTORIAL, made.statement) for made in STATEMENTS]


def tutorial() -> str:
    """Return what a tutorial shows: tables with another machine beside, and three claims."""
    others = matching_results(SITE, [Recording({"jit": OTHER})])
    times, ratios = SITE.table(), SITE.speedups(over="op by op")
    parts = [
        with_rows(with_other_machines(times, others)._repr_html_(), rows_of(SITE, None, others)),
        with_rows(ratios._repr_html_(), rows_of(SITE, "op by op", {})),
    ]
    for made, anchor in list(zip(STATEMENTS, IDS, strict=True))[:3]:
        parts.append(
            f'<span id="{anchor}"></span><div>{made._repr_html_()}</div><p>On all machines</p>'
        )
    return "\n".join(parts)


def experiment() -> str:
    """Return what the page of an experiment shows: a chart, a table, and a list of claims."""
    sets = {"GPU, recorded": OTHER, "CPU, this site": SITE}
    document = new_document("chart")
    document.extend(explorer(sets, []))
    options = {"stylesheet_path": "", "embed_stylesheet": False}
    html = publish_from_doctree(document, writer="html5", settings_overrides=options).decode()
    chart = BeautifulSoup(html, "html.parser").select_one(".jaxcap-explore")
    (table,) = side_by_side(sets, ratios=False)
    items = "".join(
        f'<li><p><a href="claims.html#{anchor}">that {made.statement.text[:3]}</a></p></li>'
        for made, anchor in zip(STATEMENTS, IDS, strict=True)
    )
    return f"""<script src="_static/explore.js" defer></script>{chart}
    {with_rows(table._repr_html_(), of_side_by_side(sets))}<ul class="jaxcap-claimed">{items}</ul>"""


def all_claims() -> str:
    """Return the table of all claims."""
    rows = "".join(
        f'<tr><th scope="row"><p><span id="{anchor}"></span><a href="">that</a></p></th><td>holds</td></tr>'
        for anchor in IDS
    )
    return f"""<div class="table-wrapper"><table class="jaxcap-claims docutils"><thead><tr>
    <th scope="col">It is claimed</th><th scope="col">CPU</th></tr></thead><tbody>{rows}</tbody></table></div>"""


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Folder of a tutorial, the page of an experiment, and the table of all claims."""
    folder = tmp_path_factory.mktemp("reader")
    shutil.copytree(ROOT / "docs" / "_static", folder / "_static")
    claims = (TutorialClaim(page=TUTORIAL, statement=made.statement) for made in STATEMENTS)
    (folder / "_static/reader/rules.js").write_text(rules.as_script(claims), encoding="utf-8")
    (folder / "section").mkdir()
    for name, content in {
        TUTORIAL: tutorial(),
        EXPERIMENT: experiment(),
        CLAIMS: all_claims(),
        "without": "",
    }.items():
        root = "../" * name.count("/")
        scripts = f'<script src="{root}_static/reader.js" defer></script>'
        html = PAGE.format(root=root, scripts=scripts, content=content)
        (folder / f"{name}.html").write_text(html, encoding="utf-8")
    return folder


@pytest.fixture
def context(browser: Browser) -> Iterator[BrowserContext]:
    """A browser on a phone that has kept no files."""
    made = browser.new_context(viewport={"width": 390, "height": 844})
    yield made
    made.close()


@pytest.fixture
def reader(context: BrowserContext) -> Iterator[Page]:
    """A page that must not raise, log errors, or ask anything."""
    page = context.new_page()
    said: list[str] = []
    page.on("pageerror", lambda error: said.append(error.message))
    page.on("console", lambda message: said.append(message.text))
    page.on("dialog", lambda dialog: said.append(dialog.message))
    yield page
    assert said == []


Choose = Callable[..., Locator]


def as_file(content: ResultSet | bytes, name: str = "jit.json") -> dict[str, Any]:
    buffer = content if isinstance(content, bytes) else content.model_dump_json(indent=1).encode()
    return {"name": name, "mimeType": "application/json", "buffer": buffer}


def choose(page: Page, *contents: ResultSet | bytes | dict[str, Any]) -> Locator:
    """Choose files, and return what the control says when they have been read."""
    details = page.locator(".jaxcap-reader details")
    if details.get_attribute("open") is None:
        details.locator("summary").click()
    files = [content if isinstance(content, dict) else as_file(content) for content in contents]
    page.get_by_label("Files of results").set_input_files(files)  # type: ignore[arg-type]
    return settled(page)


def settled(page: Page) -> Locator:
    box = page.locator(".jaxcap-reader")
    expect(box).not_to_have_attribute("aria-busy", "true")
    status = page.locator(".jaxcap-reader-status")
    expect(status.get_by_text("Reading")).to_have_count(0)
    return status


def columns(page: Page, number: int = 0) -> dict[str, list[str]]:
    """Return the cells of a table by the head of their column."""
    table = page.locator(".jaxcap-table table").nth(number)
    heads = table.locator("thead tr > *").all_inner_texts()
    rows = [row.locator("th, td").all_inner_texts() for row in table.locator("tbody tr").all()]
    assert {len(row) for row in rows} == {len(heads)}
    return {head: [row[place] for row in rows] for place, head in enumerate(heads)}


def test_column_says_what_python_says_of_another_machine(reader: Page, site: Path) -> None:
    """The reader's file, read by the build, would have made the same column."""
    mine = measured(device=MINE, factor=3.0, sizes=[1000, 7])
    reader.goto((site / f"{TUTORIAL}.html").as_uri())
    status = choose(reader, mine)
    expect(status).to_contain_text("Your numbers are in 2 of 2 tables of results on this page.")
    label = "My CPU (CPU)"
    for number, (table, over) in enumerate(
        ((SITE.table(), None), (SITE.speedups(over="op by op"), "op by op"))
    ):
        expected = with_other_machines(table, {label: mine})
        place = expected.headers.index(label)
        theirs = {row[:2]: row[place] for row in expected.rows}
        shown = columns(reader, number)
        names = list(shown)
        assert names[:3] == ["size", "variant", f"{label}, yours"], over
        ours = zip(shown["size"], shown["variant"], shown[names[2]], strict=True)
        assert {(size, variant): text for size, variant, text in ours} == theirs


def test_claims_are_judged_anew(reader: Page, site: Path) -> None:
    reader.goto((site / f"{TUTORIAL}.html").as_uri())
    mine = measured(device=MINE, jit=2.0)
    status = choose(reader, mine)
    expect(status).to_contain_text(
        "On this page, 0 of 3 claims hold on your machine; 2 do not hold, 1 was not measured."
    )
    expect(status).to_contain_text(
        "On all pages, 0 of 4 claims hold on your machine; 2 do not hold, 2 were not measured."
    )
    boxes = reader.locator(".jaxcap-claim.jaxcap-yours")
    expect(boxes).to_have_count(2)
    for box, made in zip(boxes.all(), STATEMENTS, strict=False):
        there = made.statement.check(mine)
        expect(box).to_contain_text(
            f"Does not hold on your machine{there.sentence}{there._measured}"
        )
        assert box.evaluate("(box) => box.previousElementSibling.textContent").startswith(
            ("✓ Holds here", "✗ Does not hold here")
        )
    expect(reader.locator(".jaxcap-reader summary")).to_have_text(
        "Your machine: 0 of 3 claims hold; 2 do not hold, 1 was not measured"
    )


def test_experiment_shows_columns_lines_and_claims(reader: Page, site: Path) -> None:
    reader.goto((site / f"{EXPERIMENT}.html").as_uri())
    reader.get_by_role("button", name="Explore the numbers").click()
    expect(reader.locator("canvas")).to_be_visible()
    status = choose(reader, measured(device=MINE))
    expect(status).to_contain_text("1 of 1 table")
    assert columns(reader, 1)["My CPU (CPU), yours"][1] == columns(reader, 1)["CPU, this site"][1]
    expect(reader.locator("li .jaxcap-claim")).to_have_count(2)
    device = reader.get_by_role("combobox", name="Device")
    device.select_option("My CPU (CPU), yours")
    rows = reader.locator(".jaxcap-explore tbody tr")
    expect(rows.first).to_contain_text("op by op1.01 ms1.00 ms to 1.02 ms")
    device.select_option("all devices")
    expect(rows).to_have_count(6)
    reader.get_by_role("button", name="Remove my numbers").click()
    expect(rows).to_have_count(4)


def test_all_claims_get_a_column(reader: Page, site: Path) -> None:
    reader.goto((site / f"{CLAIMS}.html").as_uri())
    status = choose(
        reader, measured(device=MINE), as_file(measured(experiment="keys", device=MINE), "keys")
    )
    expect(status).to_have_text(
        "On all pages, 2 of 4 claims hold on your machine; 1 does not hold, 1 was not measured."
        "Your files: jit.json, keys."
    )
    cells = reader.locator("tbody td.jaxcap-yours")
    outcomes = [text.split("\n")[0] for text in cells.all_inner_texts()]
    assert outcomes == ["✓ holds", "✗ does not hold", "not measured", "✓ holds"]
    expect(cells.first).to_contain_text("2.00 times faster (95% interval")


def test_one_button_takes_everything_off(reader: Page, site: Path) -> None:
    address = (site / f"{TUTORIAL}.html").as_uri()
    reader.goto(address)
    before = reader.locator("main").inner_html()
    choose(reader, measured(device=MINE, sizes=[1000, 7]))
    assert reader.locator(".jaxcap-yours").count() > 0
    reader.get_by_role("button", name="Remove my numbers").click()
    status = settled(reader)
    expect(status).to_have_text(
        "Your numbers are off this page, and this browser keeps none of your files."
    )
    expect(reader.get_by_label("Files of results")).to_be_focused()
    reader.goto(address)
    settled(reader)
    assert reader.locator("main").inner_html() == before
    assert reader.evaluate("localStorage.length") == 0


def test_files_are_kept_for_other_pages(reader: Page, site: Path) -> None:
    reader.goto((site / f"{TUTORIAL}.html").as_uri())
    choose(reader, measured(device=MINE))
    reader.goto((site / f"{CLAIMS}.html").as_uri())
    summary = reader.locator(".jaxcap-reader summary")
    expect(summary).to_have_text(
        "Your machine: 1 of 4 claims holds; 1 does not hold, 2 were not measured"
    )
    choose(reader, as_file(measured(experiment="keys", device=MINE), "keys.json"))
    expect(summary).to_have_text(
        "Your machine: 2 of 4 claims hold; 1 does not hold, 1 was not measured"
    )
    reader.reload()
    expect(summary).to_contain_text("2 of 4 claims hold")


def test_files_that_another_page_left_are_validated_as_well(reader: Page, site: Path) -> None:
    reader.goto((site / f"{TUTORIAL}.html").as_uri())
    choose(reader, measured(device=MINE))
    reader.evaluate("() => readerKept.save([{ name: 'x', text: '{}' }, { name: 1 }])")
    reader.reload()
    expect(reader.locator(".jaxcap-reader-status p").first).to_contain_text(
        "x is not a file of results"
    )
    assert reader.locator(".jaxcap-yours").count() == 0


def test_newer_file_of_a_machine_replaces_the_older_one(reader: Page, site: Path) -> None:
    reader.goto((site / f"{TUTORIAL}.html").as_uri())
    choose(reader, measured(device=MINE, factor=9.0))
    first = columns(reader)["My CPU (CPU), yours"]
    choose(reader, measured(device=MINE))
    assert columns(reader)["My CPU (CPU), yours"] != first
    assert reader.evaluate("async () => (await readerKept.load()).length") == 1


def test_two_machines_have_columns_and_claims_of_their_own(reader: Page, site: Path) -> None:
    reader.goto((site / f"{TUTORIAL}.html").as_uri())
    twin = measured(device=MINE, jit=2.0)
    twin = twin.model_copy(
        update={"environment": twin.environment.model_copy(update={"cores": 99})}
    )
    status = choose(reader, measured(device=MINE), as_file(twin, "twin.json"))
    assert {"My CPU (CPU), yours", "My CPU (CPU) no. 2, yours"} <= columns(reader).keys()
    expect(status).to_contain_text("1 of 3 claims holds on My CPU (CPU);")
    expect(status).to_contain_text("0 of 3 claims hold on My CPU (CPU) no. 2;")
    expect(reader.locator(".jaxcap-claim.jaxcap-yours")).to_have_count(4)


def test_experiment_that_the_page_has_not_adds_nothing(reader: Page, site: Path) -> None:
    reader.goto((site / f"{TUTORIAL}.html").as_uri())
    status = choose(reader, measured(device=MINE, experiment="another"))
    expect(status).to_contain_text("in 0 of 2 tables")
    expect(status).to_contain_text("0 of 3 claims hold on your machine; 3 were not measured.")
    assert reader.locator(".jaxcap-yours").count() == 0


def test_description_of_the_machine_beside_recordings_is_passed_over(
    reader: Page, site: Path
) -> None:
    reader.goto((site / f"{TUTORIAL}.html").as_uri())
    beside = as_file(ENVIRONMENT.model_dump_json().encode(), "environment.json")
    status = choose(reader, beside, measured(device=MINE))
    expect(status).not_to_contain_text("environment.json")
    expect(status).to_contain_text("in 2 of 2 tables")


def test_other_code_is_told(reader: Page, site: Path) -> None:
    reader.goto((site / f"{TUTORIAL}.html").as_uri())
    mine = measured(device=MINE)
    choose(reader, mine)
    note = reader.locator("p.jaxcap-note.jaxcap-yours", has_text="My CPU").first
    expect(note).to_have_text(
        "My CPU (CPU), yours: measured on 2026-11-21 with JAX 0.10.0. In brackets: range of 3 processes."
    )
    choose(reader, mine.subset(r.model_copy(update={"code": "other"}) for r in mine))
    expect(note).to_contain_text("by other code than this page's.")
    choose(reader, mine.subset(r.model_copy(update={"code": None}) for r in mine))
    expect(note).not_to_contain_text("other code")


DROP = """([name, text]) => {
  const dataTransfer = new DataTransfer();
  if (name) dataTransfer.items.add(new File([text], name));
  else dataTransfer.setData("text/plain", text);
  const drop = new DragEvent("drop", { dataTransfer, bubbles: true, cancelable: true });
  document.querySelector(".jaxcap-reader summary").dispatchEvent(drop);
  if (!drop.defaultPrevented) throw new Error("the browser would open the file");
}"""


def test_dropped_files_are_read(reader: Page, site: Path) -> None:
    reader.goto((site / f"{TUTORIAL}.html").as_uri())
    reader.evaluate(DROP, ["jit.json", measured(device=MINE).model_dump_json()])
    expect(settled(reader)).to_contain_text("Your numbers are in 2 of 2 tables")


def test_what_is_no_file_is_told_when_dropped(reader: Page, site: Path) -> None:
    reader.goto((site / f"{TUTORIAL}.html").as_uri())
    reader.evaluate(DROP, [None, "a text"])
    expect(settled(reader)).to_have_text("That was no file: drop files of results here.")


def test_nothing_is_sent_and_scripts_come_only_when_files_are_chosen(
    reader: Page, site: Path
) -> None:
    asked: list[str] = []
    reader.on("request", lambda request: asked.append(f"{request.method} {request.url}"))
    reader.goto((site / f"{TUTORIAL}.html").as_uri())
    scripts = [url for url in asked if url.endswith(".js")]
    assert scripts == [f"GET {(site / '_static/reader.js').as_uri()}"]
    asked.clear()
    choose(reader, measured(device=MINE))
    folder = (site / "_static").as_uri()
    own = ("rules", "statistics", "results", "claims", "tables", "kept", "page")
    names = ("vendor/json-schema", *(f"reader/{name}" for name in own))
    assert asked == [f"GET {folder}/{name}.js" for name in names]
    asked.clear()
    choose(reader, measured(device=MINE, factor=2.0), as_file(b"{}", "no"))
    reader.get_by_role("button", name="Remove my numbers").click()
    settled(reader)
    reader.wait_for_timeout(300)
    assert asked == []


def test_links_lead_to_the_guide_and_to_the_form(reader: Page, site: Path) -> None:
    reader.goto((site / f"{TUTORIAL}.html").as_uri())
    reader.locator(".jaxcap-reader summary").click()
    guide = reader.get_by_role("link", name="How to record them")
    assert guide.evaluate("(a) => a.href") == (site / "results/recording.html").as_uri()
    form = reader.get_by_role("link", name="Contribute recordings").get_attribute("href") or ""
    template = re.search(r"template=(.*)", form)
    assert template
    assert (ROOT / ".github/ISSUE_TEMPLATE" / template[1]).exists()
    assert form in (ROOT / "docs/results/recording.md").read_text(encoding="utf-8")


def test_control_is_used_with_keys_alone(reader: Page, site: Path, tmp_path: Path) -> None:
    file = tmp_path / "mine.json"
    measured(device=MINE).save(file)
    # Listening keeps the system from opening a window, if it begins before the key is pressed.
    reader.on("filechooser", lambda _: None)
    reader.goto((site / f"{TUTORIAL}.html").as_uri())
    for key in ("Tab", "Enter", "Tab"):
        reader.keyboard.press(key)
    expect(reader.get_by_label("Files of results")).to_be_focused()
    with reader.expect_file_chooser() as chooser:
        reader.keyboard.press("Enter")
    chooser.value.set_files(file)
    settled(reader)
    reader.keyboard.press("Tab")
    expect(reader.get_by_role("button", name="Remove my numbers")).to_be_focused()
    reader.keyboard.press("Enter")
    expect(settled(reader)).to_contain_text("off this page")


LONG = Device(platform="gpu", name="Long " + "x" * 900)


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("name", [TUTORIAL, EXPERIMENT, CLAIMS])
def test_page_with_files_is_accessible_and_fits(
    context: BrowserContext, site: Path, name: str, scheme: Any
) -> None:
    reader = context.new_page()  # on which axe logs that it can't read the style sheet
    reader.emulate_media(color_scheme=scheme)
    reader.goto((site / f"{name}.html").as_uri())
    choose(
        reader,
        measured(device=MINE),
        as_file(measured(device=LONG), "long"),
        as_file(b"[]", "x" * 300),
    )
    for width in (390, 1300):
        reader.set_viewport_size({"width": width, "height": 844})
        assert [found["id"] for found in Axe().run(reader).response["violations"]] == []
        assert reader.evaluate("document.documentElement.scrollWidth") <= width


def test_nothing_is_offered_without_scripts(browser: Browser, site: Path) -> None:
    context = browser.new_context(java_script_enabled=False)
    page = context.new_page()
    page.goto((site / f"{TUTORIAL}.html").as_uri())
    expect(page.locator(".jaxcap-reader")).to_be_hidden()
    context.close()


def test_files_are_shown_where_the_browser_keeps_nothing(
    context: BrowserContext, site: Path
) -> None:
    context.add_init_script(
        "for (const name of ['localStorage', 'indexedDB'])"
        "  Object.defineProperty(window, name, { get() { throw new Error('no') } })"
    )
    page = context.new_page()
    page.goto((site / f"{TUTORIAL}.html").as_uri())
    status = choose(page, measured(device=MINE))
    expect(status).to_contain_text("Your numbers are in 2 of 2 tables")
    expect(status).to_contain_text("This browser keeps no files")


def test_missing_scripts_are_told(browser: Browser, site: Path) -> None:
    context = browser.new_context()
    page = context.new_page()
    page.route("**/tables.js", lambda route: route.abort())
    page.goto((site / f"{TUTORIAL}.html").as_uri())
    expect(choose(page, measured(device=MINE))).to_contain_text(
        "scripts that read files can't be loaded"
    )
    context.close()
