"""Publish a built site beside its other versions, on a branch that a web server serves.

The branch holds a folder for each version, the root's redirect to the newest release, a list of
versions, and the page for addresses that aren't there. It has one commit only, which each
publication replaces, because the sites of many days are large and nobody needs their history.
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

LATEST = "latest"  # what is on main, released or not
RELEASE = re.compile(r"v(\d+)\.(\d+)\.(\d+)")
NAME, EMAIL = "github-actions[bot]", "41898282+github-actions[bot]@users.noreply.github.com"
TRIES = 3  # somebody else may publish at the same time

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
    """Publish what the command line says."""
    parser = argparse.ArgumentParser(description="Publish a built site beside its other versions.")
    parser.add_argument("site", type=Path, help="folder of the built site")
    parser.add_argument("version", help=f"{LATEST}, or a release such as v1.2.3")
    parser.add_argument("remote", help="repository to push to")
    parser.add_argument("--branch", default="gh-pages", help="branch to publish on (%(default)s)")
    wanted = parser.parse_args()
    if wanted.version != LATEST and not RELEASE.fullmatch(wanted.version):
        parser.error(f"version {wanted.version!r} is neither {LATEST!r} nor like 'v1.2.3'")
    if not (wanted.site / "index.html").is_file():
        parser.error(f"there is no site in {wanted.site}: build it with `nox -s docs`")
    try:
        taken = any(
            publish(wanted.site, wanted.version, wanted.remote, wanted.branch) for _ in range(TRIES)
        )
    except subprocess.CalledProcessError as error:
        sys.exit(f"this failed, see above: {' '.join(error.cmd)}")
    if not taken:
        sys.exit(f"{wanted.remote} did not take the site in {TRIES} tries, see above")


def publish(site: Path, version: str, remote: str, branch: str) -> bool:
    """Replace one version on the branch; return whether the remote took it."""
    with TemporaryDirectory() as name:
        root = Path(name)
        git(root, "init", "--quiet", "--initial-branch", branch)
        seen = git(root, "ls-remote", remote, f"refs/heads/{branch}").partition("\t")[0]
        if seen:
            git(root, "fetch", "--quiet", "--depth=1", remote, seen)
            git(root, "checkout", "--quiet", seen, "--", ".")
        shutil.rmtree(root / version, ignore_errors=True)
        shutil.copytree(site, root / version)
        write_root(root)
        git(root, "add", "--all", "--force")
        git(root, "commit", "--quiet", "--message", f"Publish {version}")
        lease = f"--force-with-lease=refs/heads/{branch}:{seen}"
        pushed = ("git", "push", "--quiet", lease, remote, f"HEAD:refs/heads/{branch}")
        return subprocess.run(pushed, cwd=root, check=False).returncode == 0


def write_root(root: Path) -> None:
    """Write what lies beside the versions."""
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
    (root / ".nojekyll").touch()  # or folders that begin with an underscore aren't served
    lost = root / versions[0] / "404.html"  # its links are absolute
    if lost.exists():
        shutil.copy(lost, root)


def listed(versions: Iterable[str]) -> str:
    """List links to versions."""
    items = (f'<li><a href="{version}/">{version}</a></li>' for version in versions)
    return "\n".join(("<ul>", *items, "</ul>"))


def numbers(release: str) -> list[int]:
    """Sort releases by their numbers: v1.10.0 comes after v1.9.0."""
    return [int(number) for number in release.removeprefix("v").split(".")]


def git(folder: Path, *arguments: str) -> str:
    """Run git, which says itself what went wrong."""
    command = ("git", "-c", f"user.name={NAME}", "-c", f"user.email={EMAIL}", *arguments)
    return subprocess.run(command, cwd=folder, check=True, stdout=subprocess.PIPE, text=True).stdout


if __name__ == "__main__":
    main()
