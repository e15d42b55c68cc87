"""Links from pages about the releases: to topics and benchmarks, to tutorials, and to files."""

from __future__ import annotations

from html import escape

from docutils import nodes
from sphinx.environment import BuildEnvironment

from jaxcap.releases.changes.comparison import Releases
from jaxcap.releases.changes.series import Series
from jaxcap.results.files import slug
from jaxcap.results.tables import Link
from jaxcap_docs.lessons import TUTORIALS_FOLDER
from jaxcap_docs.read.elements import raw_html
from jaxcap_docs.release_records import served_folder

SECTION = "releases"


def link_to_topic(topic: str, env: BuildEnvironment) -> Link:
    """Link to the page of a topic."""
    return Link(topic, f"{root(env)}{SECTION}/topics/{slug(topic)}.html")


def link_to_benchmark(benchmark: str, topic: str, env: BuildEnvironment) -> Link:
    """Link to a benchmark on the page of its topic."""
    return Link(benchmark, f"{link_to_topic(topic, env).href}#{slug(benchmark)}")


def link_to_series(series: Series, env: BuildEnvironment) -> Link:
    """Link to the benchmark of a series."""
    return link_to_benchmark(series.benchmark, series.topic, env)


def link_to_tutorial(tutorial: str, text: str, env: BuildEnvironment) -> Link:
    """Link to a tutorial by a text."""
    return Link(text, f"{root(env)}{TUTORIALS_FOLDER}{tutorial}.html")


def link_to_files(env: BuildEnvironment) -> nodes.raw:
    """Link to where all files of the releases are listed."""
    address = f"{root(env)}{SECTION}/noise.html#files"
    return raw_html(
        f'<p>All numbers come from <a href="{address}">a file for each release</a>.</p>'
    )


def links_to_files(releases: Releases, env: BuildEnvironment) -> nodes.raw:
    """Link to the files that numbers of a machine come from."""
    folder = f"{root(env)}results/{served_folder(releases.files)}"
    links = ", ".join(
        f'<a download href="{folder}{releases.files.path(name).name}">{escape(name)}</a>'
        for name in releases.sets
    )
    return raw_html(f"<p>The numbers, by release, as JSON: {links}.</p>")


def root(env: BuildEnvironment) -> str:
    """Return the way from the page that is being read to the site's folder."""
    return "../" * env.docname.count("/")
