"""All claims and what became of them on each machine, in a file for programs."""

from __future__ import annotations

import json
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

from pydantic import AwareDatetime
from sphinx.application import Sphinx

from jaxcap.measure.machine.description import capture
from jaxcap.report.claims import Outcome
from jaxcap.results import Environment
from jaxcap.results.atomic import write_atomically
from jaxcap.results.base import FrozenModel, PrintableText
from jaxcap_docs import page_records
from jaxcap_docs.lessons import TUTORIALS_FOLDER
from jaxcap_docs.page_records import Interval
from jaxcap_docs.read.links import claim_id
from jaxcap_docs.read.results.claims import claims_everywhere
from jaxcap_docs.sources import make_if_changed, package_files

FILE, SCHEMA = "claims.json", "claims.schema.json"


class CheckedClaim(FrozenModel):
    """A claim, and what became of it on one machine.

    Attributes
    ----------
    claim
        What is claimed, as it follows "it is claimed that".
    outcome
        Whether it holds there.
    sentence
        What the measurements say there, which is the claim itself only where it holds.
    needs
        Of which ratio the claim says it: such as ``"more than 2 times faster"``.
    speedup
        That ratio and its interval; None if one of the numbers is not finite.
    devices
        Where the work ran.
    experiment
        Whose results decide it.
    page
        Where a tutorial makes the claim: an address, from the folder of this file if the site has none.
    in_this_build
        Whether the machine is the one whose numbers the site shows as its own.
    environment
        The machine with its versions, the commit that was measured, and when.
    """

    claim: str
    outcome: Outcome
    sentence: str
    needs: str
    speedup: Interval | None
    devices: tuple[PrintableText, ...]
    experiment: PrintableText
    page: str
    in_this_build: bool
    environment: Environment


class ClaimsFile(FrozenModel):
    """All claims of a build.

    Attributes
    ----------
    schema_version
        Of this format.
    built_at
        When the site was built.
    commit
        What it was built from; None outside a checkout.
    claims
        In reading order, each on all machines that measured what it is about.
    """

    schema_version: int = 1
    built_at: AwareDatetime
    commit: PrintableText | None
    claims: tuple[CheckedClaim, ...]


def write(app: Sphinx) -> None:
    """Write all claims and their schema, unless nothing that they are made from has changed."""
    records = (page_records.RECORDS.rglob("*.json"), page_records.RECORDED.glob("*/*.json"))
    sources = (*(path for folder in records for path in folder), *package_files())
    make = partial(_write, app.outdir, app.config.ogp_site_url)
    make_if_changed(app, app.outdir / FILE, sources, make)


def _write(folder: Path, site: str) -> None:
    now = capture()
    claims = ClaimsFile(
        built_at=now.measured_at, commit=now.commit, claims=tuple(checked_claims(site))
    )
    write_atomically(folder / FILE, f"{claims.model_dump_json(indent=1)}\n")
    write_atomically(folder / SCHEMA, f"{json.dumps(json_schema(), indent=1)}\n")


def checked_claims(site: str) -> Iterator[CheckedClaim]:
    """Yield all claims on all machines, with addresses below that of the site."""
    for page, statement, checked in claims_everywhere():
        address = f"{site}{TUTORIALS_FOLDER}{page}.html#{claim_id(page, statement)}"
        for position, claim in enumerate(checked.values()):
            yield CheckedClaim(
                claim=statement.text,
                outcome=claim.outcome,
                sentence=claim.sentence,
                needs=statement.needs,
                speedup=Interval.of(claim.estimate),
                devices=tuple(map(str, claim.estimate.devices)),
                experiment=statement.experiment,
                page=address,
                in_this_build=position == 0,
                environment=claim.results.environment,
            )


def json_schema() -> dict[str, Any]:
    """Describe the file by JSON Schema, draft 2020-12."""
    schema = {"$schema": "https://json-schema.org/draft/2020-12/schema"}
    described = ClaimsFile.model_json_schema(mode="serialization")
    return schema | described | {"title": "Claims of a build of jaxcap's site"}
