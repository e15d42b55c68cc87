"""Publish a built site beside its other versions, on a branch that a web server serves.

The branch holds a folder for each version and, at its root, a redirect to the newest release, a list
of versions, and the page for missing addresses. It has a single commit, which each publication
replaces: sites are large, and nobody needs their history.
"""

from __future__ import annotations

import argparse
import re
import shutil
import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path
from tempfile import TemporaryDirectory

LATEST = "latest"  # the state of main
RELEASE = re.compile(r"v(\d+)\.(\d+)\.(\d+)")
NAME, EMAIL = "github-actions[bot]", "41898282+github-actions[bot]@users.noreply.github.com"
TRIES = 3  # another publication may push at the same time

PAGE = """<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>{title}</title>
<style>a {{ color: inherit }}</style>
{head}<main>
<h1>{title}</h1>
{body}
</main>
</html>
"""


def main() -> None:
    """Publish the site that the command line names."""
    parser = argparse.ArgumentParser(description="Publish a built site beside its other versions.")
    parser.add_argument("site", type=Path, help="folder of the built site")
    parser.add_argument("version", help=f"{LATEST}, or a release such as v1.2.3")
    parser.add_argument("remote", help="repository to push to")
    parser.add_argument("--branch", default="gh-pages", help="branch to publish on (%(default)s)")
    arguments = parser.parse_args()
    if arguments.version != LATEST and not RELEASE.fullmatch(arguments.version):
        parser.error(f"version {arguments.version!r} is neither {LATEST!r} nor like 'v1.2.3'")
    if not (arguments.site / "index.html").is_file():
        parser.error(f"there is no site in {arguments.site}: build it with `nox -s docs`")
    try:
        accepted = any(
            publish(arguments.site, arguments.version, arguments.remote, arguments.branch)
            for _ in range(TRIES)
        )
    except subprocess.CalledProcessError as error:
        sys.exit(f"this failed, see above: {' '.join(error.cmd)}")
    if not accepted:
        sys.exit(f"{arguments.remote} did not take the site in {TRIES} tries, see above")


def publish(site: Path, version: str, remote: str, branch: str) -> bool:
    """Replace one version on the branch; return whether the remote accepted it."""
    with TemporaryDirectory() as name:
        root = Path(name)
        git(root, "init", "--quiet", "--initial-branch", branch)
        tip = git(root, "ls-remote", remote, f"refs/heads/{branch}").partition("\t")[0]
        if tip:
            git(root, "fetch", "--quiet", "--depth=1", remote, tip)
            git(root, "checkout", "--quiet", tip, "--", ".")
        shutil.rmtree(root / version, ignore_errors=True)
        shutil.copytree(site, root / version)
        write_root(root)
        git(root, "add", "--all", "--force")
        git(root, "commit", "--quiet", "--message", f"Publish {version}")
        lease = f"--force-with-lease=refs/heads/{branch}:{tip}"
        push = ("git", "push", "--quiet", lease, remote, f"HEAD:refs/heads/{branch}")
        return subprocess.run(push, cwd=root, check=False).returncode == 0


def write_root(root: Path) -> None:
    """Write the files beside the versions."""
    releases = sorted((p.name for p in root.iterdir() if RELEASE.fullmatch(p.name)), key=numbers)
    versions = [*([LATEST] if (root / LATEST).exists() else []), *reversed(releases)]
    newest = releases[-1] if releases else LATEST
    refresh = f'<meta http-equiv="refresh" content="0; url={newest}/">\n'
    link = f'<p>It is <a href="{newest}/">here</a>.</p>'
    pages = {
        "index.html": PAGE.format(title="jaxcap", head=refresh, body=link),
        "versions.html": PAGE.format(title="Versions of jaxcap", head="", body=listed(versions)),
    }
    for name, text in pages.items():
        (root / name).write_text(text, encoding="utf-8")
    (root / ".nojekyll").touch()  # without it, folders that begin with an underscore aren't served
    missing = root / versions[0] / "404.html"  # its links are absolute
    if missing.exists():
        shutil.copy(missing, root)


def listed(versions: Iterable[str]) -> str:
    """Return an HTML list of links to versions."""
    items = (f'<li><a href="{version}/">{version}</a></li>' for version in versions)
    return "\n".join(("<ul>", *items, "</ul>"))


def numbers(release: str) -> list[int]:
    """Return the numbers of a release, a sort key that puts v1.10.0 after v1.9.0."""
    return [int(number) for number in release.removeprefix("v").split(".")]


def git(folder: Path, *arguments: str) -> str:
    """Run git, which reports its own errors, and return its output."""
    command = ("git", "-c", f"user.name={NAME}", "-c", f"user.email={EMAIL}", *arguments)
    return subprocess.run(command, cwd=folder, check=True, stdout=subprocess.PIPE, text=True).stdout


if __name__ == "__main__":
    main()
