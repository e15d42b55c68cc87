"""The page on the command, and what the site serves for it."""

from __future__ import annotations

import json
from importlib.resources import files
from itertools import chain
from pathlib import Path

import pytest
from docutils.core import publish_doctree
from docutils.parsers.rst import directives
from jaxcap_docs.read.commands import NotRun
from jaxcap_docs.run import outputs
from sites import Read

from jaxcap.cli import cli

# A recording, a report or a search takes minutes, and the others need files.
COMMANDS = sorted(
    set(cli.commands)
    - {"bisect", "completion", "record", "releases", "report", "results", "store", "time"}
)

SUBCOMMANDS = (getattr(command, "commands", {}).values() for command in cli.commands.values())
EPILOGS = [command.epilog or "" for command in chain(cli.commands.values(), *SUBCOMMANDS)]
EXAMPLES = sorted({epilog.partition("Example: ")[2] for epilog in EPILOGS} - {""})


@pytest.mark.parametrize("command", sorted(cli.commands))
def test_every_command_is_described(read: Read, command: str) -> None:
    sections = read("command_line").select(f"section#jaxcap-{command}")
    assert sections
    assert cli.commands[command].get_short_help_str(200).rstrip(".") in sections[0].get_text()


def test_options_are_folded_below_what_a_command_does(read: Read) -> None:
    page = read("command_line")
    options = page.select("dl.option")
    assert len(options) > 2 * len(cli.commands)
    assert [option for option in options if not option.find_parent("details")] == []
    for command in cli.commands:
        (usage,) = page.select(f"section#jaxcap-{command} > p.rubric")
        assert usage.get_text() == "Usage"


@pytest.mark.parametrize("command", COMMANDS)
def test_a_run_of_every_command_is_shown(read: Read, command: str) -> None:
    runs = [run.get_text() for run in read("command_line").select("pre")]
    shown = [run for run in runs if run.startswith(f"$ jaxcap {command}")]
    assert shown
    assert all(len(run.splitlines()) > 2 for run in shown)
    assert not any("Error" in run or "Traceback" in run or "Warning" in run for run in shown)


def test_outputs_fit_their_boxes(read: Read) -> None:
    runs = [run.get_text() for run in read("command_line").select("pre")]
    shown = [run for run in runs if run.startswith("$ jaxcap")]
    assert max(len(line) for run in shown for line in run.splitlines()) <= int(outputs.COLUMNS)
    assert max(len(run.splitlines()) for run in shown) < 80


def test_a_command_that_is_not_run_shows_none_of_its_options() -> None:
    directives.register_directive("command-output", NotRun)
    page = publish_doctree(
        ".. command-output:: jaxcap jit --quiet\n   :nostderr:\n   :ellipsis: 3,-2\n"
    )
    assert page.astext() == "$ jaxcap jit --quiet\n(not run in this build)"


@pytest.mark.parametrize("example", EXAMPLES)
def test_examples_can_be_copied(read: Read, example: str) -> None:
    assert example in [code.get_text() for code in read("command_line").select("code")]


def test_options_of_a_training_are_those_of_the_settings(read: Read) -> None:
    text = read("command_line").select_one("section#jaxcap-mnist").get_text()
    assert "--learning-rate" in text
    assert "Size of a step against the gradient." in text


def test_served_schema_is_that_of_the_package(html: Path) -> None:
    served = json.loads((html / "results" / "schema.json").read_text(encoding="utf-8"))
    assert served == json.loads((files("jaxcap.results") / "schema.json").read_text("utf-8"))
