"""Claims and results as data: a file of all claims, and what search engines are told of files."""

from __future__ import annotations

import json
import re
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest
from jaxcap_docs.finish import claims
from jsonschema import Draft202012Validator
from made_up import CLAIMING_PAGE, DEVICE, SCRIPT
from sites import PAGES, SMALL_URL, VERSIONS_URL, Read

RESULTS_PAGE = re.compile(r"results/(index|claims|experiments/.*)")


def served_claims(folder: Path) -> list[dict[str, Any]]:
    schema = json.loads((folder / claims.SCHEMA).read_text(encoding="utf-8"))
    served = json.loads((folder / claims.FILE).read_text(encoding="utf-8"))
    Draft202012Validator.check_schema(schema)
    Draft202012Validator(schema).validate(served)
    claims.ClaimsFile.model_validate(served)
    listed: list[dict[str, Any]] = served["claims"]
    return listed


def test_all_claims_are_served_with_their_outcome_and_machine(html: Path, read: Read) -> None:
    listed = served_claims(html)
    counts, *tables = read("results/claims").select("table.jaxcap-claims")
    rows = [row for table in tables for row in table.select("tbody tr")]
    assert len({(claim["page"], claim["claim"]) for claim in listed}) == len(rows)
    outcomes = [cell for row in rows for cell in row.select("td .jaxcap-outcome")]
    assert len(listed) == len(outcomes)
    holding = sum(int(row.select("td")[0].get_text()) for row in counts.select("tbody tr"))
    assert [claim["outcome"] for claim in listed].count("holds") == holding
    for claim in listed:
        page, _, anchor = claim["page"].partition("#")
        assert read(page.removesuffix(".html")).find(id=anchor)
        assert claim["environment"]["versions"]["jax"]
        assert datetime.fromisoformat(claim["environment"]["measured_at"]).tzinfo


def test_claims_of_other_machines_have_theirs(small_site: Path) -> None:
    listed = served_claims(small_site)
    assert [claim["outcome"] for claim in listed] == ["fails", "holds", "holds", "holds"]
    assert [claim["in_this_build"] for claim in listed] == [True, False, True, False]
    assert {claim["page"].partition("#")[0] for claim in listed} == {
        f"{SMALL_URL}tutorials/{CLAIMING_PAGE}.html"
    }
    _, elsewhere, *_ = listed
    assert elsewhere["environment"]["device"]["name"] == SCRIPT.name
    assert elsewhere["sentence"] == "Lists are made <i>much</i> faster."
    assert elsewhere["speedup"]["low"] > 1e9
    assert elsewhere["needs"] == "more than 1e+09 times faster"


def datasets(page: Any) -> list[dict[str, Any]]:
    return [json.loads(script.string) for script in page.select("script[type$='ld+json']")]


def check_dataset(dataset: dict[str, Any]) -> None:
    """Check what Google's search for datasets requires, and what it recommends that we have."""
    assert dataset["@context"] == "https://schema.org/"
    assert dataset["@type"] == "Dataset"
    assert dataset["name"]
    assert 50 <= len(dataset["description"]) <= 5000
    assert dataset["license"].startswith("https://")
    assert dataset["creator"]["@type"] == "Organization"
    assert dataset["creator"]["name"]
    assert datetime.fromisoformat(dataset["dateModified"]).tzinfo
    assert dataset["measurementTechnique"]
    assert all(variable["name"] for variable in dataset["variableMeasured"])
    assert dataset["distribution"]
    for download in dataset["distribution"]:
        assert download["@type"] == "DataDownload"
        assert download["encodingFormat"] in {"application/json", "text/csv"}


@pytest.mark.parametrize("name", [name for name in PAGES if RESULTS_PAGE.fullmatch(name)])
def test_pages_of_results_describe_their_files(html: Path, read: Read, name: str) -> None:
    page = read(name)
    described = datasets(page)
    assert len(described) == int("No machine has measured this" not in page.get_text())
    for dataset in described:
        check_dataset(dataset)
        files = [download["contentUrl"] for download in dataset["distribution"]]
        paths = [(html / Path(name).parent / file).resolve() for file in files]
        assert all(path.is_file() for path in paths)
        links = {link["href"] for link in page.select("a[download]")} - {"../schema.json"}
        served = {(html / Path(name).parent / link).resolve() for link in links}
        assert not name.startswith("results/experiments/") or set(paths) == served


def test_other_pages_describe_no_files(read: Read) -> None:
    for name in ("index", "tutorials/basics/introduction", "measuring", "genindex"):
        assert not datasets(read(name))


def test_datasets_are_where_search_engines_are_sent(read_small: Read) -> None:
    (dataset,) = datasets(read_small("results/experiments/jit"))
    check_dataset(dataset)
    newest = f"{VERSIONS_URL}/latest/"
    assert dataset["url"] == f"{newest}results/experiments/jit.html"
    assert all(
        file["contentUrl"].startswith(f"{newest}results/") for file in dataset["distribution"]
    )
    assert DEVICE.name in dataset["description"]  # read as JSON, it has not become markup
