"""What search engines are told of files of results: datasets in the vocabulary of https://schema.org.

Google's guide says which properties it wants, and how much text:
https://developers.google.com/search/docs/appearance/structured-data/dataset.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any, NamedTuple

from sphinx.application import Sphinx

from jaxcap.experiments import catalogue
from jaxcap.results.files import slug
from jaxcap_docs import page_records
from jaxcap_docs.downloads import results_folder
from jaxcap_docs.read.elements import SECTION, json_script
from jaxcap_docs.read.summaries import summary_of

LICENCE = "https://opensource.org/license/bsd-3-clause"
KEYWORDS = ("JAX", "NumPy", "benchmark", "measurement", "performance")
EXPERIMENTS = f"{SECTION}/experiments/"
KINDS = {"json": "application/json", "csv": "text/csv"}


class Subject(NamedTuple):
    """What the files of a page are about.

    Attributes
    ----------
    name, description
        What they are called, and what is in them.
    variables
        What was measured, with the unit.
    files
        Their addresses, from the site's folder.
    measured
        The machines, and when each measured.
    """

    name: str
    description: str
    variables: Mapping[str, str]
    files: Sequence[str]
    measured: Sequence[tuple[str, datetime]]


TIMES = {"time of a call": "s", "time until a call returns": "s", "time of the first call": "s"}
# Pages about all results: what their file is called and has, what was measured, and the file.
ABOUT_ALL = {
    f"{SECTION}/index": (
        "Times of JAX, NumPy and PyTorch with intervals",
        "How long calls of JAX, NumPy and PyTorch take, in several fresh processes that took turns.",
        TIMES,
        [f"{SECTION}/index.json"],
    ),
    f"{SECTION}/claims": (
        "Claims about the speed of JAX, checked by measurement",
        "What is claimed of the speed of JAX, and whether it holds, with the interval that decides it.",
        {"ratio of two times": "1"},
        ["claims.json"],
    ),
}


def describe(app: Sphinx, page: str, context: dict[str, Any]) -> None:
    """Add the dataset of a page to its head, if it has one."""
    if dataset := dataset_of(app, page):
        context["metatags"] += json_script(dataset, "application/ld+json")


def dataset_of(app: Sphinx, page: str) -> dict[str, Any] | None:
    """Describe the files of a page, or return None if it has none.

    Addresses are those that search engines are sent to. A site without any has relative ones.
    """
    subject = _subject(app, page)
    if subject is None or not subject.measured:
        return None
    root = app.config.html_baseurl or "../" * page.count("/")
    machines = ", ".join(dict.fromkeys(machine for machine, _ in subject.measured))
    creator = {"@type": "Organization", "name": app.config.author, "url": root or "./"}
    variables = [
        {"@type": "PropertyValue", "name": variable, "unitText": unit}
        for variable, unit in subject.variables.items()
    ]
    distribution = [
        {
            "@type": "DataDownload",
            "encodingFormat": KINDS[file.rpartition(".")[2]],
            "contentUrl": f"{root}{file}",
        }
        for file in subject.files
    ]
    return {
        "@context": "https://schema.org/",
        "@type": "Dataset",
        "name": subject.name,
        "description": f"{subject.description} Measured on {machines}.",
        "url": f"{root}{app.builder.get_target_uri(page)}",
        "license": LICENCE,
        "creator": creator,
        "version": app.config.version,
        "dateModified": max(moment for _, moment in subject.measured).isoformat(),
        "isAccessibleForFree": True,
        "keywords": list(KEYWORDS),
        "measurementTechnique": f"{root}{app.builder.get_target_uri('measuring')}",
        "variableMeasured": variables,
        "distribution": distribution,
    }


def _subject(app: Sphinx, page: str) -> Subject | None:
    if page in ABOUT_ALL:
        machines = page_records.recordings()
        measured = [(machine.name, machine.environment.measured_at) for machine in machines]
        return Subject(*ABOUT_ALL[page], measured)
    if not page.startswith(EXPERIMENTS):  # other pages need none of the libraries of experiments
        return None
    slugs = {f"{EXPERIMENTS}{slug(name)}": name for name in catalogue()}
    if page not in slugs:
        return None
    experiment = slugs[page]
    machines = [machine for machine in page_records.recordings() if experiment in machine.sets]
    files = [
        f"{SECTION}/{results_folder(machine)}{slug(experiment)}.{kind}"
        for machine in machines
        for kind in KINDS
    ]
    moments = [machine.sets[experiment].environment.measured_at for machine in machines]
    measured = [(machine.name, moment) for machine, moment in zip(machines, moments, strict=True)]
    name, description = app.env.titles[page].astext(), summary_of(page, app.env)
    return Subject(name, description, TIMES, files, measured)
