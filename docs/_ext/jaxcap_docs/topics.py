"""The topics of tutorials, exercises and guides: a page of them all, and tags on each page."""

from __future__ import annotations

from typing import Any

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective

from jaxcap_docs.pages import link_to

# Under each topic its pages, in the order in which to read them.
TOPICS = {
    "Arrays and NumPy": (
        "tutorials/basics/introduction",
        "tutorials/basics/jnp_and_numpy",
        "exercises/1_arrays",
        "tutorials/performance/linear_algebra",
    ),
    "Batches": (
        "tutorials/transformations/vmap",
        "tutorials/transformations/grad",
        "tutorials/applications/calibration",
        "tutorials/applications/scaling_out",
    ),
    "Compilation": (
        "tutorials/basics/introduction",
        "tutorials/transformations/jit",
        "exercises/4_jit",
        "tutorials/transformations/static_arguments",
        "exercises/5_static_arguments",
        "tutorials/performance/dispatch_overhead",
    ),
    "Dispatch": (
        "tutorials/transformations/asynchronous_dispatch",
        "tutorials/performance/dispatch_overhead",
    ),
    "Gradients": (
        "tutorials/basics/introduction",
        "tutorials/transformations/grad",
        "exercises/3_gradient",
        "tutorials/transformations/vmap",
        "tutorials/applications/calibration",
    ),
    "Precision": (
        "tutorials/basics/jnp_and_numpy",
        "tutorials/performance/linear_algebra",
        "tutorials/applications/calibration",
    ),
    "PyTorch": (
        "tutorials/transformations/grad",
        "tutorials/performance/linear_algebra",
        "tutorials/applications/mnist",
    ),
    "Random numbers": (
        "tutorials/basics/random_numbers",
        "exercises/2_random_numbers",
    ),
    "Several devices": ("tutorials/applications/scaling_out",),
    "Timing": (
        "tutorials/performance/timing",
        "tutorials/transformations/asynchronous_dispatch",
        "exercises/4_jit",
        "measuring",
    ),
    "Training": (
        "tutorials/applications/calibration",
        "tutorials/applications/mnist",
        "tutorials/applications/scaling_out",
    ),
    "Types": ("tutorials/transformations/typed_transformations",),
}


class Topics(SphinxDirective):
    """List the pages under each topic."""

    def run(self) -> list[nodes.Node]:
        """Return a section for each topic."""
        return [self._section(topic) for topic in TOPICS]

    def _section(self, topic: str) -> nodes.section:
        links = (nodes.paragraph("", "", link_to(page, self.env)) for page in TOPICS[topic])
        items = (nodes.list_item("", link) for link in links)
        title, pages = nodes.title(text=topic), nodes.bullet_list("", *items)
        return nodes.section("", title, pages, ids=[_anchor(topic)], names=[_anchor(topic)])


def tag(_: Sphinx, page: str, __: str, context: dict[str, Any], ___: object) -> None:
    """Tell the template the topics of a page, and where they are on the page of all topics."""
    context["topics"] = {topic: _anchor(topic) for topic, pages in TOPICS.items() if page in pages}


def _anchor(topic: str) -> str:
    return nodes.make_id(topic)
