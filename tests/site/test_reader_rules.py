"""A reader's files, judged in the browser by the rules that Python has."""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Callable, Iterator
from contextlib import suppress
from typing import Any

import pytest
from fakes import CPU, ENVIRONMENT, GPU, make_result, make_run, make_set
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from jaxcap_docs.finish import rules
from playwright.sync_api import Browser
from sites import ROOT

from jaxcap.report import exports
from jaxcap.report.claims import BEST, LARGEST, SIGNS, Evidence, Statement
from jaxcap.results import ProcessSamples, Result, ResultsError, ResultSet

SCRIPTS = (
    "vendor/json-schema",
    *(f"reader/{n}" for n in ("rules", "statistics", "results", "claims", "tables")),
)
PAGE = """<!doctype html>
<html lang="en"><head><meta charset="utf-8"><title>Rules</title>{}</head><body></body></html>
"""
# What the browser makes of a file and of statements, as `by_python` does.
BY_BROWSER = """([text, statements]) => {
  const set = readerResults.parse(text, "a file");
  const estimate = (e) => e && [e.short, e.range, e.inFull, e.intervalName, e.spread];
  const speedup = (s) => s && [...estimate(s), s.verdict, s.verdictInWords, s.words];
  const column = ({ cells, brackets }) => [cells.map(([, text]) => text), brackets];
  const variants = [...new Set(set.results.map((result) => result.variant))];
  const judged = statements.map((statement) => readerClaims.judge(statement, set));
  return [
    set.device,
    set.results.map((result) => estimate(result.time)),
    set.results.flatMap((a) => set.results.map((b) => speedup(a.speedup(b)))),
    column(readerTables.times(set.results)),
    variants.map((over) => column(readerTables.speedups(set.results, over))),
    judged.map((claim) => claim && [claim.words, claim.sign, claim.sentence, claim.measured]),
  ];
}"""

Judge = Callable[[str, list[Any]], Any]


@pytest.fixture(scope="module")
def judge(browser: Browser, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Judge]:
    """Let a page read the text of a file and judge statements."""
    folder = tmp_path_factory.mktemp("rules")
    shutil.copytree(ROOT / "docs" / "_static", folder / "_static")
    (folder / "_static/reader/rules.js").write_text(rules.as_script(), encoding="utf-8")
    tags = "".join(f'<script src="_static/{name}.js"></script>' for name in SCRIPTS)
    (folder / "page.html").write_text(PAGE.format(tags), encoding="utf-8")
    page = browser.new_page()
    page.goto((folder / "page.html").as_uri())
    yield lambda text, statements: page.evaluate(BY_BROWSER, [text, statements])
    page.close()


VARIANTS = ("NumPy", "JAX", "jit <b>")
SIZES = (1, 10, 1000, 2.5)


@st.composite
def samples(draw: st.DrawFn, count: int, seconds: float) -> ProcessSamples:
    """Samples of one process, around some seconds, some of them disturbed."""
    factors = st.one_of(st.just(1.0), st.floats(0.5, 2.0), st.floats(0.01, 100.0))
    lists = st.lists(factors, min_size=count, max_size=count)
    times = tuple(seconds * factor for factor in draw(lists))
    shares = st.lists(st.sampled_from([0.0, 0.04, 0.05, 0.06, 0.5]), min_size=count, max_size=count)
    slowness = st.lists(st.sampled_from([1.0, 1.35, 1.36]), min_size=count, max_size=count)
    return ProcessSamples(
        first_call_s=seconds,
        calls_per_sample=1,
        samples_s=times,
        dispatch_s=times,
        minor_faults=(),
        other_work=tuple(draw(st.one_of(st.just([]), shares))),
        slowness=tuple(draw(st.one_of(st.just([]), slowness))),
    )


@st.composite
def result_sets(draw: st.DrawFn) -> ResultSet:
    """Results of one experiment: variants that took turns at several sizes, on one or two devices."""
    results = []
    for device in draw(st.sampled_from([(CPU,), (CPU, GPU)])):
        for size in draw(st.lists(st.sampled_from(SIZES), min_size=1, max_size=2, unique=True)):
            processes, count = draw(st.integers(1, 7)), draw(st.integers(1, 9))
            seconds = 10 ** draw(st.floats(-9, 3))
            for variant in draw(st.sampled_from([VARIANTS, VARIANTS[:2]])):
                scale = draw(st.sampled_from([0.0, 0.3, 0.99, 1.0, 1.02, 3.0])) or draw(
                    st.floats(0.1, 10)
                )
                runs = [draw(samples(count, seconds * scale)) for _ in range(processes)]
                results.append(
                    Result(
                        experiment="trial",
                        variant=variant,
                        parameters={"size": size},
                        device=device,
                        comparison=f"{size} on {device}",
                        allocator="steady",
                        working_set_bytes=1,
                        runs=tuple(runs),
                    )
                )
    return ResultSet(environment=ENVIRONMENT, results=tuple(results))


@st.composite
def statements(draw: st.DrawFn) -> Statement:
    """Claims about such results, or about what they lack."""
    criteria: dict[str, Any] = {"size": draw(st.sampled_from([*SIZES, True, LARGEST]))}
    device = draw(st.sampled_from([None, BEST, "cpu", "gpu", "tpu"]))
    evidence = Evidence(
        variant=draw(st.sampled_from([None, *VARIANTS])),
        over=draw(st.sampled_from(VARIANTS)),
        criteria=criteria | ({"device": device} if device else {}),
    )
    bounds = st.sampled_from([None, 0.5, 1.0, 2.0])
    return Statement(
        text="it is", experiment="trial", evidence=evidence, above=draw(bounds), below=draw(bounds)
    )


def by_python(results: ResultSet, claims: list[Statement]) -> list[Any]:
    """Return the words for all that a set and statements have, or None for what they lack."""

    def words(estimate: Any) -> list[str]:
        return [
            estimate.short,
            estimate.range,
            str(estimate),
            estimate.interval_name,
            estimate.spread,
        ]

    def speedup(a: Result, b: Result) -> list[str] | None:
        with suppress(ResultsError):
            ratio = a.speedup(b)
            return [*words(ratio), ratio.verdict, ratio.verdict_in_words, ratio.words]
        return None

    def judged(statement: Statement) -> list[str] | None:
        with suppress(ResultsError):
            claim = statement.check(results)
            return [claim.words, SIGNS[claim.words], claim.sentence, claim._measured]
        return None

    def column(column: Any) -> list[Any]:
        return [[text for _, text in column.texts], column.brackets]

    return [
        str(results.environment.device),
        [words(result.time) for result in results],
        [speedup(a, b) for a in results for b in results],
        column(exports._times(results.results)),
        [column(exports._speedups(results, over)) for over in results.variants],
        [judged(statement) for statement in claims],
    ]


@given(results=result_sets(), claims=st.lists(statements(), min_size=3, max_size=3))
@settings(
    max_examples=200, deadline=None, derandomize=True, suppress_health_check=list(HealthCheck)
)
def test_browser_says_what_python_says(
    judge: Judge, results: ResultSet, claims: list[Statement]
) -> None:
    text = results.model_dump_json()
    again = ResultSet.model_validate_json(text)
    data = [claim.model_dump(mode="json") | {"needs": claim.needs} for claim in claims]
    assert _shortened(judge(text, data)) == _shortened(by_python(again, claims))


def test_browser_rounds_as_python_does(judge: Judge) -> None:
    """Otherwise a disturbed sample would count in one of them, and medians would differ."""
    run = make_run([1e-3, 2e-3, 3e-3, 4e-3], other_work=(0.0, 0.05, 0.0, 0.06), slowness=(1.0,) * 4)
    content = json.loads(make_set(make_result("jit", run)).model_dump_json())
    content["results"][0]["runs"][0] |= {
        "samples_s": [0.00112345678, 0.00212345678, 0.00312345678, 0.00412345678],
        "other_work": [0.0, 0.0549, 0.001, 0.0551],
        "slowness": [1.0, 1.3549, 1.0, 1.3551],
    }
    text = json.dumps(content)
    assert judge(text, []) == by_python(ResultSet.model_validate_json(text), [])


def _shortened(words: list[Any]) -> str:
    """Leave the last digits of absurdly long numbers out, in which two logarithms may differ."""
    return re.sub(
        r"((?:\d,?){12})[\d,]+(?:\.\d+)?", r"\1…", json.dumps(words, ensure_ascii=False, indent=1)
    )
