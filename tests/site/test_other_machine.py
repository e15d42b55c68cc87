"""A site whose numbers another machine measured: a GPU that isn't here, from its files alone.

On that machine, whatever is fast here is slow, so that prose that takes sides contradicts its page.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
import releases_made_up
from bs4 import BeautifulSoup
from fakes import ENVIRONMENT
from jaxcap_docs.lessons import lacks_torch
from sites import TUTORIALS, build, copy_without_interface

from jaxcap.experiments import catalogue
from jaxcap.measure.experiment import Experiment
from jaxcap.measure.machine.description import cpu_name
from jaxcap.measure.store import Store
from jaxcap.results import Device, Result, ResultSet
from jaxcap.results.models import ProcessSamples

GPU = Device(platform="gpu", name="Made-up GPU")
CPU = Device(platform="cpu", name="Made-up CPU")
MACHINE = ENVIRONMENT.model_copy(update={"device": GPU, "cpu": CPU.name})
# Benchmarks whose course over the releases tutorials show.
TAUGHT = (
    "scan of 1,000 small steps",
    "fori_loop of 1,000 updates of an element",
    "memory of a gradient of attention",
    "import of JAX, and a first result",
    "while_loop of 10,000 maxima",
)
# Their arrays are on the CPU, on whatever machine.
ON_CPU = ("NumPy", "SciPy", "autograd", "Python")
# The folders of the tutorials: exercises and commands run on the machine that builds, and say so.
FOLDERS = sorted({f"{name.partition('/')[0]}/" for name in TUTORIALS})
# One page says which machine built it, and one shows an audit that comes with the package and names
# the machine that it was made on.
NAMING = {"tutorials/basics/introduction.html", "tutorials/performance/precision.html"}

COMPARISON = re.compile(
    r"\b(faster|slower|quicker|cheaper|fastest|slowest|quickest|cheapest|wins|won(?!'t)|loses|beats|beaten"
    r"|outperforms|overtakes|ahead of|speeds? up)\b",
    re.IGNORECASE,
)
# Questions, conditions and expectations take no side.
OPEN = re.compile(
    r"\?|\b(if|where|when|whether|unless|until|how|what|which|can|could|may|might|must|should|would"
    r"|expect|guess|perhaps)\b",
    re.IGNORECASE,
)
# Whatever results, files and programs say on a page: it changes with them.
MADE_FROM_RESULTS = (
    "pre, table, figure, details, script, svg, .math, .jaxcap-claim, .jaxcap-provenance, "
    ".jaxcap-measured, .sphx-glr-footer, .sphx-glr-thumbcontainer"
)


def made_up(experiment: Experiment, measured: ResultSet) -> ResultSet:
    """Pretend that the machine ran all that an experiment asks of a GPU, with inverted speed-ups."""
    results = [
        result.model_copy(
            update={
                "parameters": dict(point),
                "device": device_of(result, point),
                "comparison": str(point),
                "allocator": experiment.allocator,
            }
        )
        for point in experiment.full or experiment.quick
        for result in inverted(most_alike(measured, point))
    ]
    return ResultSet(environment=MACHINE, results=tuple(results))


def most_alike(measured: ResultSet, point: Mapping[str, Any]) -> list[Result]:
    """Return the results of the comparison that is most like a point, as a GPU would have them."""
    alike = max(measured, key=lambda result: likeness(result.parameters, point))
    together = [r for r in measured if r.comparison == alike.comparison]
    if point.get("device") == "gpu":
        return [result for result in together if not result.variant.startswith(ON_CPU)]
    return together


def likeness(parameters: Mapping[str, Any], point: Mapping[str, Any]) -> tuple[int, float]:
    """Rank by the parameters that are equal, then by how close the numbers are.

    A loop of a thousand steps has gradients, and so has one of three hundred, but not one of ten.
    """
    distances = [
        abs(value - point[name])
        for name, value in parameters.items()
        if isinstance(value, (int, float)) and isinstance(point.get(name), (int, float))
    ]
    return len(parameters.items() & point.items()), -sum(distances)


def inverted(together: list[Result]) -> list[Result]:
    """Make the fastest variant of a comparison the slowest, by as much as it was faster."""
    samples = [s for result in together for run in result.runs for s in run.samples_s]
    product = min(samples) * max(samples)
    return [
        result.model_copy(update={"runs": tuple(inverted_run(run, product) for run in result.runs)})
        for result in together
    ]


def inverted_run(run: ProcessSamples, product: float) -> ProcessSamples:
    """Keep the share of each sample after which the call returned."""
    dispatch = zip(run.dispatch_s, run.samples_s, strict=True)
    return run.model_copy(
        update={
            "samples_s": tuple(product / sample for sample in run.samples_s),
            "dispatch_s": tuple(product * before / sample**2 for before, sample in dispatch),
        }
    )


def device_of(result: Result, point: Mapping[str, Any]) -> Device:
    on_cpu = point.get("device") == "cpu" or result.variant.startswith(ON_CPU)
    return CPU if on_cpu else GPU


def measured_by_build(html: Path) -> Iterator[ResultSet]:
    """Load what the tutorials of the built site measured."""
    for entry in json.loads((html / "results" / "index.json").read_bytes()):
        if entry["page"]:
            yield ResultSet.load(html / "results" / entry["file"])


@pytest.fixture(scope="module")
def site(html: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Folder of the site, with all of the tutorials."""
    project = tmp_path_factory.mktemp("machine") / "project"
    copy_without_interface(project)
    experiments = catalogue()
    folder = Store(project / "docs" / "recorded")
    releases = project / "docs" / "recorded" / "made-up-gpu" / "releases"
    releases_made_up.record(releases, unchanged=TAUGHT)
    for measured in measured_by_build(html):
        experiment = experiments.get(measured[0].experiment)
        if experiment is None:  # it needs PyTorch, without which its page isn't run
            continue
        plan = experiment.plan(experiment.points)
        folder.save(made_up(experiment, measured), plan)
    options = ("--machine", "made-up-gpu", "--quick")
    done = build(project, *options, *FOLDERS, PYTHONPATH=str(project / "src"))
    assert done.returncode == 0, done.stdout + done.stderr
    assert "Measured for" not in done.stdout + done.stderr
    return project / "docs" / "_build" / "html"


def test_no_page_says_that_this_machine_measured_it(site: Path) -> None:
    pages = {path.relative_to(site).as_posix(): path for path in site.rglob("*.html")}
    texts = {page: path.read_text(encoding="utf-8") for page, path in pages.items()}
    assert {page for page, text in texts.items() if cpu_name() in text} <= NAMING


@pytest.mark.parametrize("page", [page for page in TUTORIALS if not lacks_torch(page)])
def test_each_tutorial_names_the_machine(page: str, site: Path) -> None:
    text = (site / "tutorials" / f"{page}.html").read_text(encoding="utf-8")
    stamp = BeautifulSoup(text, "html.parser").select_one(".jaxcap-provenance")
    assert stamp is not None
    summary = stamp.select_one("summary")
    assert summary is not None
    assert summary.get_text().startswith("Measured on Made-up GPU (GPU)")
    assert not re.search("(?<!not) in this build", stamp.get_text())


def test_speedups_are_inverted(html: Path, site: Path) -> None:
    """Otherwise the next test would read pages that say what they always say."""
    here, there = (claims_of(folder) for folder in (html, site))
    decided = {
        text: (outcome, there[text])
        for text, outcome in here.items()
        if text in there and not re.search("undecided|about as fast", outcome + there[text])
    }
    turned = [text for text, (before, after) in decided.items() if before != after]
    assert len(turned) > len(decided) / 2


@pytest.mark.parametrize("page", [page for page in TUTORIALS if not lacks_torch(page)])
def test_prose_takes_no_side(page: str, site: Path) -> None:
    """A sentence compares by what was measured, or asks, or says on what the answer depends."""
    text = (site / "tutorials" / f"{page}.html").read_text(encoding="utf-8")
    assert [s for s in sentences(text) if takes_a_side(s)] == []


@pytest.mark.parametrize(
    ("sentence", "expected"),
    [
        ("The compiled function is faster.", True),
        ("Compiled, it came out faster.", True),
        ("Where memory decides, the compiled function is faster.", False),
        ("Compiled, it came out as measured.", False),
        ("Which of them is faster?", False),
        ("They still won't be equal.", False),
        ("The loop won by a factor of two.", True),
    ],
)
def test_sentences_that_take_a_side_are_recognised(sentence: str, expected: bool) -> None:
    assert takes_a_side(sentence) == expected


def claims_of(html: Path) -> dict[str, str]:
    """Return the outcome of each claim on the machine of a site."""
    page = BeautifulSoup((html / "results" / "claims.html").read_text("utf-8"), "html.parser")
    _, *tables = page.select("table.jaxcap-claims")
    return {
        row.select("p")[0].get_text(): " ".join(row.select(".jaxcap-outcome")[0]["class"])
        for table in tables
        for row in table.select("tbody tr")
        if row.select(".jaxcap-outcome")
    }


def takes_a_side(sentence: str) -> bool:
    return bool(COMPARISON.search(sentence)) and not OPEN.search(sentence)


def sentences(page: str) -> list[str]:
    """Split the prose of a page, without what was measured."""
    article = BeautifulSoup(page, "html.parser").select_one("article")
    assert article is not None
    for element in article.select(MADE_FROM_RESULTS):
        element.decompose()
    texts = (
        p.get_text().replace("\N{RIGHT SINGLE QUOTATION MARK}", "'") for p in article.select("p")
    )
    paragraphs = (" ".join(text.split()) for text in texts)
    return [s for text in paragraphs for s in re.split(r"(?<=[.?!])\s+", text)]
