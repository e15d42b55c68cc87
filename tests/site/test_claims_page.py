"""Claims on a site: what doesn't hold is shown as failing, and all are listed by device."""

from __future__ import annotations

import re
from copy import copy
from urllib.parse import urlsplit

from made_up import CLAIMING_PAGE, OTHER_PAGES, SCRIPT
from sites import Read


def test_a_claim_that_fails_is_shown_as_failing_and_not_asserted(read_small: Read) -> None:
    page = copy(read_small(f"tutorials/{CLAIMING_PAGE}"))  # its code is taken out below
    untrue, true = page.select(".jaxcap-claim")
    assert "jaxcap-fails" in untrue["class"]
    assert untrue.select_one(".jaxcap-outcome").get_text() == "✗ Does not hold here"
    contradicted = "These measurements contradict the claim that lists are made <i>much</i> faster."
    assert contradicted in untrue.get_text()
    assert "The claim needs it to be more than 1e+09 times faster" in untrue.get_text()
    assert "Lists & dictionaries are made." in true.get_text()
    for cell in page.select("div.highlight-Python"):
        cell.extract()
    assert page.select_one("article").get_text().lower().count("lists are made") == 1


def test_all_claims_are_listed_by_device(read_small: Read) -> None:
    _, table = read_small("results/claims").select("table.jaxcap-claims")
    claimed, here, elsewhere = (cell.get_text() for cell in table.select("thead th"))
    assert claimed == "It is claimed that"
    assert here.endswith(", this site")
    assert elsewhere == f"{SCRIPT}, recorded 2026-11-21"
    first, second = table.select("tbody tr")
    assert "lists are made <i>much</i> faster (more than 1e+09 times faster)" in first.get_text()
    assert urlsplit(first.select_one("a")["href"]).path.endswith(f"tutorials/{CLAIMING_PAGE}.html")
    assert first.select_one("a").get_text() == "Claims"
    outcomes = [
        [cell.select_one(".jaxcap-outcome").get_text() for cell in row.select("td")]
        for row in (first, second)
    ]
    assert outcomes == [["✗ does not hold", "✓ holds"], ["✓ holds", "✓ holds"]]
    assert all("interval" in cell.get_text() for cell in table.select("td"))


def test_a_plot_stands_above_the_claims_and_says_how_many_hold(read_small: Read) -> None:
    _, table = read_small("results/claims").select("table.jaxcap-claims")
    plot = table.find_previous("img", class_="only-light")
    assert plot["alt"].startswith("1 of 2 claims hold")


def test_claims_that_do_not_hold_come_first_and_lead_to_their_rows(read_small: Read) -> None:
    page = read_small("results/claims")
    (introduction,) = [p for p in page.select("p") if p.get_text().startswith("These claims don")]
    items = introduction.find_next("ul").select("li")
    rows = [page.find(id=item.a["href"].removeprefix("#")).find_parent("tr") for item in items]
    assert rows
    assert all("jaxcap-fails" in str(row) for row in rows)
    assert len(rows) == len([r for r in page.select("tr") if r.select(".jaxcap-fails")])


def test_outcomes_are_counted_by_device(read_small: Read) -> None:
    counts, _ = read_small("results/claims").select("table.jaxcap-claims")
    rows = [[cell.get_text() for cell in row.find_all(["th", "td"])] for row in counts("tr")]
    assert rows[0] == [
        "Device",
        "holds",
        "does not hold",
        "about as fast",
        "undecided",
        "not measured",
    ]
    assert [row[1:] for row in rows[1:]] == [["1", "1", "0", "0", "0"], ["2", "0", "0", "0", "0"]]


def test_pages_that_did_not_run_are_named(read_small: Read) -> None:
    (introduction,) = read_small("results/claims").find_all("p", string=re.compile("^Not run"))
    links = [a["href"] for a in introduction.find_next("ul").select("a")]
    assert sorted(links) == [f"../tutorials/{page}.html" for page in OTHER_PAGES]


def test_names_from_elsewhere_are_no_markup(read_small: Read) -> None:
    page = read_small("results/claims")
    # What is data for search engines never runs.
    scripts = [script for script in page("script") if script.get("type") != "application/ld+json"]
    assert not [script for script in scripts if "alert(1)" in script.get_text()]
    assert not page.select("table i")


def test_agreement_of_machines_of_one_kind_comes_with_a_caution(
    read: Read, read_small: Read
) -> None:
    caution = "All machines so far call their device"
    page = read("results/index")
    text = page.get_text()
    names = {row.th.get_text() for row in page.table.select("tbody tr")}
    assert (caution in text) == (len(names) == 1 and "came out alike" in text)
    small = read_small("results/index").get_text()
    assert "came out alike" in small
    assert caution not in small
