"""What sphinx-gallery calls around each script: a clean start, its figures, its record."""

from __future__ import annotations

import hashlib
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import jax
import matplotlib.pyplot as plt
from matplotlib.figure import Figure
from sphinx.application import Sphinx
from sphinx.config import Config

import jaxcap
from jaxcap import figures
from jaxcap.environment import capture
from jaxcap_docs import records


@dataclass
class _Running:
    """The script that runs, and its variables as they were after its last code block."""

    started_s: float = 0.0
    script: Path | None = None
    variables: dict[str, Any] = field(default_factory=dict)


# sphinx-gallery gives its hooks no object to keep state in.
_running = _Running()


def forget_stale(app: Sphinx, _: Config) -> None:
    """Run all scripts again if the package, the libraries, the device or recordings have changed.

    sphinx-gallery by itself looks at the script only.
    """
    fingerprint = hashlib.sha256()
    sources = Path(jaxcap.__file__).parent.rglob("*.py")
    for path in sorted((*sources, *records.RECORDED.rglob("*.json"))):
        fingerprint.update(path.read_bytes())
    machine = capture()
    fingerprint.update(repr((machine.device, machine.versions, machine.flags)).encode())
    seen = records.BUILD / "fingerprint.txt"
    if seen.exists() and seen.read_text(encoding="ascii") == fingerprint.hexdigest():
        return
    for checksum in Path(app.srcdir, "tutorials").rglob("*.md5"):
        checksum.unlink()
    seen.parent.mkdir(exist_ok=True)
    seen.write_text(fingerprint.hexdigest(), encoding="ascii")


def reset(_: dict[str, Any], __: str | None, when: str) -> None:
    """Start each script in the same state, and keep its record when it ends."""
    if when == "after" and _running.script:
        duration_s = time.perf_counter() - _running.started_s
        run = records.Run(environment=capture(), duration_s=duration_s)
        records.write(records.page_of_script(_running.script), run, _running.variables)
    jax.config.update("jax_enable_x64", False)  # type: ignore[no-untyped-call]
    jax.clear_caches()  # type: ignore[no-untyped-call]
    figures.use_style()
    _running.started_s, _running.script, _running.variables = time.perf_counter(), None, {}


def scrape(_: Any, block_vars: dict[str, Any], gallery_conf: dict[str, Any]) -> str:
    """Save open figures for light and for dark pages, and note the script's variables."""
    _running.script = Path(block_vars["src_file"])
    names = block_vars["example_globals"].items()
    _running.variables = {name: value for name, value in names if not name.startswith("_")}
    return "".join(
        _save(plt.figure(number), Path(next(block_vars["image_path_iterator"])), gallery_conf)
        for number in plt.get_fignums()
    )


def _save(figure: Figure, path: Path, gallery_conf: dict[str, Any]) -> str:
    dark = path.with_stem(f"{path.stem}_dark")
    figure.savefig(path)
    figure.set_layout_engine("none")  # all is in its place, and colours need no other
    with figures.on_dark(figure):
        figure.savefig(dark)
    plt.close(figure)
    width = round(figure.get_figwidth() * 100)
    alt = describe(figure)
    return "".join(
        f"\n.. image:: /{file.relative_to(gallery_conf['src_dir']).as_posix()}\n"
        f"   :alt: {alt}\n   :class: only-{theme} jaxcap-plot\n   :width: {width}px\n\n"
        for file, theme in ((path, "light"), (dark, "dark"))
    )


def describe(figure: Figure) -> str:
    """Say in words what a figure shows: its titles, axes and lines."""
    parts: list[str] = []
    for axes in figure.axes:
        labels = " against ".join(filter(None, (axes.get_ylabel(), axes.get_xlabel())))
        names = ", ".join(axes.get_legend_handles_labels()[1])
        parts += filter(None, (axes.get_title(loc="left") or axes.get_title(), labels, names))
    return "; ".join(parts).replace("\n", " ") or "Plot"
