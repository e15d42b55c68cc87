"""The review of recordings: what it says of new, changed and missing files, whatever is in them."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from click.testing import CliRunner
from fakes import ENVIRONMENT, GPU, make_result, make_run, make_set
from markdown_it import MarkdownIt

from jaxcap.cli import cli
from jaxcap.report import reviews
from jaxcap.results import Device, Environment, ResultSet
from jaxcap.results.files import ENVIRONMENT_FILE, recording_path

SLOW, FAST, WIDE = (2e-3,) * 6, (1e-3,) * 6, (1e-3, 9e-3) * 3
OTHER = ENVIRONMENT.model_copy(update={"cores": 64})


@pytest.fixture
def before(tmp_path: Path) -> Path:
    """Hold two experiments of a machine."""
    folder = tmp_path / "before"
    record(folder, "sums", FAST)
    record(folder, "products", FAST)
    return folder


def record(
    folder: Path,
    experiment: str,
    samples_s: tuple[float, ...],
    environment: Environment = ENVIRONMENT,
) -> Path:
    path = recording_path(folder, environment, experiment)
    runs = [make_run((sample_s,) * 6) for sample_s in samples_s]  # one for each process
    result = make_result("jit", *runs, experiment=experiment, device=environment.device)
    made = make_set(result).model_copy(update={"environment": environment})
    made.save(path)
    path.with_name(ENVIRONMENT_FILE).write_text(environment.model_dump_json(), "utf-8")
    return path


def review(before: Path, now: Path, *, status: int = 0) -> str:
    done = CliRunner().invoke(cli, ["results", "review", str(before), str(now)])
    assert done.exit_code == status, done.output
    return done.stdout


def test_nothing_new_is_said_to_be_nothing(before: Path) -> None:
    assert review(before, before) == "No recording differs from those that there are.\n"


def test_a_new_machine_is_described_and_has_nothing_to_compare_with(
    before: Path, tmp_path: Path
) -> None:
    now = tmp_path / "now"
    record(now, "sums", FAST)
    record(now, "products", FAST)
    record(now, "sums", SLOW, ENVIRONMENT.model_copy(update={"device": GPU}))
    said = review(before, now)
    assert "### New: `Test GPU (GPU)`" in said
    assert (
        "In `test-gpu`: CPU `Test CPU`, 2 cores in use, JAX `0.10.0`, measured 2026-11-21." in said
    )
    assert "- New or changed experiments (1): `sums`" in said
    assert "- No earlier times of this model" in said
    assert "Test CPU (CPU)" not in said
    assert "<details>" not in said


@pytest.mark.parametrize(
    ("samples_s", "environment", "counts", "title"),
    [
        (SLOW, ENVIRONMENT, (0, 1), "More of"),
        ((5e-4,) * 6, ENVIRONMENT, (1, 0), "More of"),
        (WIDE, ENVIRONMENT, (0, 0), "More of"),
        (SLOW, OTHER, (0, 1), "New:"),
    ],
)
def test_times_are_compared_with_earlier_ones_of_the_same_model(
    before: Path,
    tmp_path: Path,
    samples_s: tuple[float, ...],
    environment: Environment,
    counts: tuple[int, int],
    title: str,
) -> None:
    now = tmp_path / "now"
    record(now, "products", FAST)
    record(now, "sums", FAST)
    record(now, "sums", samples_s, environment)
    said = review(before, now)
    faster, slower = counts
    assert f"### {title} `Test CPU (CPU)" in said
    assert f"have as well: 1, of which {faster} became certainly faster and {slower} " in said
    assert said.count("<details>") == faster + slower
    if faster + slower:
        assert "<code>sums</code>: 1 of 1 times differ from <code>test-cpu, 2026-11-21<" in said


def test_what_is_gone_is_named(before: Path, tmp_path: Path) -> None:
    now = tmp_path / "now"
    record(now, "sums", FAST)
    assert review(before, now) == "No longer there: `test-cpu: products`.\n"


def test_a_file_that_is_not_valid_is_named_and_makes_the_review_fail(
    before: Path, tmp_path: Path
) -> None:
    now = tmp_path / "now"
    record(now, "sums", FAST).with_name("products.json").write_text("{", "utf-8")
    said = review(before, now, status=2)
    assert "products.json is not valid JSON" in said
    assert "Not valid, and so left out:" in said


def test_files_on_releases_are_counted(before: Path, tmp_path: Path) -> None:
    now = tmp_path / "now"
    for folder, texts in (before, "aa"), (now, "abc"):
        releases = folder / "test-cpu" / reviews.RELEASES
        releases.mkdir(parents=True)
        for number, text in enumerate(texts):
            (releases / f"{number}.json").write_text(text, "utf-8")
    assert reviews.changed_releases(before, now) == {"test-cpu": 2}
    record(now, "sums", FAST)
    record(now, "products", FAST)
    assert "`test-cpu` has 2 new or changed files of releases of JAX." in review(before, now)


HOSTILE = "@everyone <script>alert(1)</script> [l](https://example.org) `` ``` ````` #1 *b* |"


def test_names_in_files_stay_text(before: Path, tmp_path: Path) -> None:
    environment = ENVIRONMENT.model_copy(
        update={
            "device": Device(platform="gpu", name=HOSTILE),
            "cpu": HOSTILE,
            "versions": {"jax": HOSTILE},
        }
    )
    now = tmp_path / "now"
    experiment = HOSTILE.replace("/", "")  # which no name of an experiment may have
    record(before, experiment, FAST, environment)
    record(now, experiment, SLOW, environment)
    said = review(before, now)
    assert "1 certainly slower" in said
    html = MarkdownIt("commonmark", {"html": True}).render(said)
    # What is in code becomes neither a mention nor a link.
    outside = re.sub(r"<code.*?</code>", "", html, flags=re.DOTALL)
    assert "everyone" in html
    for part in ("everyone", "script", "example.org", "#1", "<em>"):
        assert part not in outside
    assert html.count("<details>") == html.count("</details>") == 1


def test_tables_that_do_not_fit_are_counted(
    before: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    now = tmp_path / "now"
    record(now, "sums", SLOW)
    record(now, "products", SLOW)
    assert review(before, now).count("<details>") == 2
    monkeypatch.setattr(reviews, "MOST_LETTERS", 1000)
    said = review(before, now)
    assert said.count("<details>") == 1
    assert "There is no room for 1 more tables." in said


def test_colours_that_ci_asks_for_stay_out(
    before: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FORCE_COLOR", "1")
    now = tmp_path / "now"
    record(now, "sums", SLOW)
    assert "\x1b" not in review(before, now)


def test_results_without_a_common_time_are_not_compared(before: Path, tmp_path: Path) -> None:
    now = tmp_path / "now"
    path = record(now, "sums", FAST)
    other = make_result("other", make_run(FAST), experiment="sums")
    ResultSet.load(path).subset([other]).save(path)
    record(now, "products", FAST)
    assert "- No earlier times of this model" in review(before, now)
