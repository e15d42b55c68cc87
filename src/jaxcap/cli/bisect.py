"""The command that finds the release of JAX in which a function changed."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING, Any, NamedTuple

import click

from jaxcap.cli.options import (
    DASH,
    FILE_TO_WRITE,
    Function,
    InputError,
    environments_folder,
    environments_option,
    python_option,
    quiet_option,
    require_function,
    require_writable,
)
from jaxcap.cli.output import write
from jaxcap.cli.run import CommandRun
from jaxcap.measure.machine.lock import measuring_alone
from jaxcap.measure.progress import progress_bar
from jaxcap.results.tables import Table

if TYPE_CHECKING:
    from jaxcap.releases.search.bisection import Ratio, SearchResult
    from jaxcap.releases.search.trials import FunctionTrials


class Words(NamedTuple):
    """How a sentence says that a quantity is larger or smaller, as in "is 2.1 times slower"."""

    verb: str
    more: str
    less: str


CHANGELOG = "https://docs.jax.dev/en/latest/changelog.html#:~:text=jax%20{release}"
ISSUES = "https://github.com/jax-ml/jax/issues?q=is%3Aissue+%22{release}%22+slow"

# By name of a quantity on the command line: its name in a benchmark, and how sentences compare it.
QUANTITIES = {
    "time": ("time", Words("is", "slower", "faster")),
    "first-call": ("first call", Words("is", "slower to call first", "faster to call first")),
    "temporary-memory": (
        "temporary memory",
        Words("needs", "more temporary memory", "less temporary memory"),
    ),
}


def _file_option(name: str, description: str) -> Callable[[Function], Function]:
    return click.option(
        name,
        metavar="FILE",
        type=FILE_TO_WRITE,
        help=f"{description}; - means standard output.",
    )


def _require_factor(_: click.Context, __: click.Parameter, factor: float) -> float:
    if not 1 < factor < float("inf"):
        raise click.BadParameter(f"{factor} is not a factor above 1, such as 1.1.")
    return factor


@click.command(
    epilog="\b\nExample: jaxcap bisect script.py:step --setup script.py:make_inputs --good 0.4.31"
)
@click.argument("function", metavar="SCRIPT.PY:FUNCTION")
@click.option("--setup", default="", help="Function that returns the arguments, as a tuple.")
@click.option(
    "--good",
    metavar="RELEASE",
    help="Release with which the function does well; by default, the oldest.",
)
@click.option(
    "--bad", metavar="RELEASE", help="Release with which it doesn't; by default, the newest."
)
@click.option(
    "--quantity",
    type=click.Choice(tuple(QUANTITIES)),
    default="time",
    show_default=True,
    help="What to compare. Temporary memory needs a function that jax.jit returned.",
)
@click.option(
    "--threshold",
    metavar="FACTOR",
    type=float,
    default=1.1,
    show_default=True,
    callback=_require_factor,
    help="Ignore changes by a smaller factor.",
)
@click.option(
    "--with",
    "packages",
    metavar="PACKAGE",
    multiple=True,
    help="Package that the function needs besides JAX, NumPy and SciPy. Can be repeated.",
)
@python_option
@environments_option
@click.option(
    "--limit",
    "limit_s",
    metavar="SECONDS",
    type=click.FloatRange(min=0, min_open=True),
    default=300.0,
    show_default=True,
    help="Stop a process that takes longer than this to answer, because it seems to hang.",
)
@click.option(
    "--recorded",
    type=click.Path(exists=True, file_okay=False, path_type=Path),
    help="Folder of recorded releases in which to look for benchmarks that changed as well; by "
    "default, the recordings that come with jaxcap.",
)
@_file_option("--json", "Save the verdict and every comparison that led to it")
@_file_option("--csv", "Save what each process measured, in seconds or bytes")
@quiet_option
def bisect(
    function: str,
    setup: str,
    good: str | None,
    bad: str | None,
    quantity: str,
    threshold: float,
    packages: Sequence[str],
    python: str,
    environments: Path | None,
    limit_s: float,
    recorded: Path | None,
    json: Path | None,
    csv: Path | None,
    quiet: bool,
) -> None:
    """Find the release of JAX that made your function slower or faster.

    Name a function in a script, or in a module, as in package.module:function. It is called as it
    is, so apply jax.jit yourself if you want to. uv installs each release when it is needed. Fresh
    processes of the releases under comparison take turns, until it is certain whether they differ.
    """
    run = CommandRun(json=DASH if DASH in (json, csv) else None, quiet=quiet)
    for path, option in (json, "--json"), (csv, "--csv"):
        if path:
            require_writable(path, option)
    require_function(function, "SCRIPT.PY:FUNCTION")
    if setup:
        require_function(setup, "--setup")
    from jaxcap.releases.recorded import packaged_folder
    from jaxcap.releases.search.bisection import ReleaseError, most_comparisons
    from jaxcap.releases.search.bisection import bisect as search
    from jaxcap.releases.search.trials import FunctionTrials

    name, words = QUANTITIES[quantity]
    with progress_bar(hidden=quiet) as bar, measuring_alone():
        task = bar.add_task("looking for releases", total=None)

        def on_comparison(_: Sequence[str]) -> None:
            bar.advance(task)

        def on_progress(doing: str) -> None:
            bar.update(task, description=doing, refresh=True)

        trials = FunctionTrials(
            function=function,
            setup=setup,
            quantity=name,  # type: ignore[arg-type]
            environments=environments_folder(environments),
            python=python,
            packages=packages,
            limit_s=limit_s,
            on_progress=on_progress,
        )
        releases = _choose(run, trials, good, bad)
        bar.update(task, total=most_comparisons(len(releases)), completed=-1)
        try:
            outcome = search(releases, trials, threshold=threshold, on_comparison=on_comparison)
        except ReleaseError as error:
            end = "--bad" if error.release == (bad or releases[-1]) else "--good"
            raise InputError(
                f"JAX {error.release} can't be compared with other releases: {error}. Correct the "
                f"function, or choose another release with {end}"
            ) from error
    run.show(_table(outcome, trials, quantity))
    run.show(*_sentences(outcome, trials, function, threshold, words))
    same: Mapping[str, Ratio] | None = None
    folder = recorded or packaged_folder()
    if folder and outcome.verdict == "found":
        same = _same_changes(folder, outcome, name, threshold)
        run.show(_words_of_benchmarks(same, words))
    if json:
        write(json, _as_json(outcome, trials, threshold, same))
    if csv:
        write(csv, _as_csv(outcome))


def _choose(
    run: CommandRun, trials: FunctionTrials, good: str | None, bad: str | None
) -> Sequence[str]:
    """List the releases from one end to the other, oldest first."""
    from jaxcap.releases.recording.environments import InstallationError, available_releases
    from jaxcap.releases.recording.files import version_key

    installed: Sequence[str] | None = None
    where = f"on the package index for Python {trials.python}"
    try:
        installed = trials.installed()
        known: Sequence[str] = available_releases(trials.python)
    except InstallationError as error:
        if installed is None:
            raise InputError(f"--python {trials.python}: {error}") from error
        known, where = installed, f"installed in {trials.environments}"
        run.show(f"Comparing only releases that are {where}, because {error}.")
    known = sorted(known, key=version_key)
    for release in filter(None, (good, bad)):
        if release not in known:
            raise InputError(f"JAX {release} is not {where}: choose from {', '.join(known) or '-'}")
    if len(known) < 2:
        raise InputError(f"a comparison needs two releases of JAX, but fewer are {where}")
    first, last = sorted((good or known[0], bad or known[-1]), key=version_key)
    if first == last:
        raise InputError(f"--good and --bad are both JAX {first}: name two releases")
    return known[known.index(first) : known.index(last) + 1]


def _table(outcome: SearchResult, trials: FunctionTrials, quantity: str) -> Table:
    rows = []
    for step in outcome.steps:
        medians = [_median(values, quantity) for values in step.values.values()]
        processes = len(next(iter(step.values.values())))
        rows.append((", ".join(step.values), ", ".join(medians), str(processes)))
    headers = ("compared releases", quantity.replace("-", " "), "processes of each")
    return Table(f"Measured on {trials.device}", headers, rows)


def _median(values: Sequence[float], quantity: str) -> str:
    from rich.filesize import decimal

    from jaxcap.results.statistics import CONFIDENCE, Estimate

    if quantity == "temporary-memory":
        return decimal(round(median(values)))  # which is at least one byte
    return Estimate(median(values), min(values), max(values), CONFIDENCE, "s", "").short


def _sentences(
    outcome: SearchResult,
    trials: FunctionTrials,
    function: str,
    threshold: float,
    words: Words,
) -> Iterator[str]:
    """Yield the verdict, and what a reader needs to judge it."""
    older, newer, ratio = outcome.older, outcome.newer, outcome.ratio
    between = f"between JAX {older} and {newer}"
    match outcome.verdict:
        case "found":
            yield (
                f"{function} {words.verb} {_factor(ratio, words)} under JAX {newer} than under {older}."
            )
        case "no change":
            yield (
                f"No change was found {between}: they differ by a factor of {ratio.value:.3g} "
                f"({ratio.low:.3g} to {ratio.high:.3g}), and less than {threshold:g} doesn't count."
            )
        case "gradual":
            yield (
                f"It changed in small steps. The largest of them seems to be {between}, and that is "
                f"only a factor of {ratio.value:.3g} ({ratio.low:.3g} to {ratio.high:.3g})."
            )
        case "undecided":
            yield (
                f"It is undecided whether there is a change {between}: a factor of {ratio.value:.3g} "
                f"({ratio.low:.3g} to {ratio.high:.3g}). Stop everything else that runs and repeat the "
                "command, or choose a larger --threshold."
            )
    if outcome.verdict == "undecided":
        yield f"This took {outcome.processes} fresh processes."
    else:
        yield (
            f"This verdict has a confidence of {outcome.confidence:.0%}. It took {outcome.processes} "
            "fresh processes."
        )
    for step in outcome.steps:
        if step.has_several_changes:
            first, middle, last = step.values
            yield (
                f"It changed more than once: JAX {middle} is like neither {first} nor {last}. The search "
                "followed the larger change."
            )
    for release, reason in outcome.skipped.items():
        yield f"JAX {release} was skipped: {reason}"
    if outcome.verdict == "found":
        yield from _leads(outcome, trials)


def _leads(outcome: SearchResult, trials: FunctionTrials) -> Iterator[str]:
    """Yield hints at the cause."""
    from jaxcap.releases.changes.causes import causes

    if changes := _other_changes(
        *(trials.made[r].requirements for r in (outcome.older, outcome.newer))
    ):
        yield f"Other packages changed along with JAX and may be the cause: {', '.join(changes)}."
    for cause in causes():
        if cause.lies_between(outcome.older, outcome.newer):
            about = cause.topic or cause.benchmark
            yield f"A known cause of changes in {about}, in JAX {cause.release}: {cause.cause} {cause.link}"
    yield f"What the changelog of JAX says about {outcome.newer}: {CHANGELOG.format(release=outcome.newer)}"
    yield f"Reports of slowness that mention it: {ISSUES.format(release=outcome.newer)}"


def _other_changes(older: str, newer: str) -> list[str]:
    """List the packages, other than JAX, whose versions differ between two environments."""
    before, after = (
        dict(line.split("==", 1) for line in text.splitlines() if "==" in line)
        for text in (older, newer)
    )
    return [
        f"{name} {before.get(name, '(none)')} to {after.get(name, '(none)')}"
        for name in sorted(before.keys() | after.keys())
        if name not in ("jax", "jaxlib") and before.get(name) != after.get(name)
    ]


def _factor(ratio: Ratio, words: Words) -> str:
    """Return a ratio in its direction, such as ``"2.1 times slower (2.0 to 2.2)"``."""
    from jaxcap.results.statistics import CONFIDENCE, Estimate

    more = words.more
    estimate = Estimate(ratio.value, ratio.low, ratio.high, CONFIDENCE, "", "")
    if ratio.value < 1:
        estimate, more = estimate.ratio_of(1), words.less
    if estimate.low == estimate.high:  # memory doesn't scatter
        return f"{estimate.value:.3g} times {more}"
    return f"{estimate.short} times {more} ({estimate.range})"


def _same_changes(
    folder: Path, outcome: SearchResult, quantity: Any, threshold: float
) -> Mapping[str, Ratio] | None:
    """Find the recorded benchmarks that changed between the same releases; None without recordings."""
    from jaxcap.releases.recording.files import EXPERIMENT, ReleaseFiles
    from jaxcap.releases.search.bisection import changed_benchmarks
    from jaxcap.results import ResultsError

    changes: dict[str, Ratio] | None = None
    try:
        for releases in sorted(folder.rglob(EXPERIMENT)):
            older, newer = map(ReleaseFiles(releases).load, (outcome.older, outcome.newer))
            if older and newer:
                changed = changed_benchmarks(older, newer, quantity=quantity, threshold=threshold)
                changes = (changes or {}) | changed
    except ResultsError as error:
        raise InputError(f"--recorded {folder}: {error}") from error
    return changes


def _words_of_benchmarks(changes: Mapping[str, Ratio] | None, words: Words) -> str:
    if changes is None:
        return "The recordings don't include both of these releases."
    if not changes:
        return "No recorded benchmark changed between these two releases."
    listed = (f"{name}, {_factor(ratio, words)}" for name, ratio in changes.items())
    return f"Recorded benchmarks that changed as well: {'; '.join(listed)}."


def _as_json(
    outcome: SearchResult,
    trials: FunctionTrials,
    threshold: float,
    same: Mapping[str, Ratio] | None,
) -> str:
    content = {
        "function": trials.function,
        "setup": trials.setup,
        "quantity": trials.quantity,
        "threshold": threshold,
        "python": trials.python,
        "device": str(trials.device),
        "processes": outcome.processes,
        **outcome.model_dump(),
        "requirements": {
            release: environment.requirements.split()
            for release, environment in trials.made.items()
        },
        "changed_benchmarks": (
            None if same is None else {name: ratio.model_dump() for name, ratio in same.items()}
        ),
    }
    return json.dumps(content, indent=1) + "\n"


def _as_csv(outcome: SearchResult) -> str:
    text = io.StringIO()
    table = csv.writer(text, lineterminator="\n")
    table.writerow(("comparison", "release", "process", "value"))
    for number, step in enumerate(outcome.steps, start=1):
        for release, values in step.values.items():
            table.writerows((number, release, i, value) for i, value in enumerate(values, start=1))
    return text.getvalue()
