"""Publish a built site beside its other versions, on a branch that a web server serves.

The branch holds a folder for each version and, at its root, a redirect to the newest release, lists
of versions for readers and for the pages' script, and the page for missing addresses. The folder
``history`` has a small file for each publication, with what that measured. The branch has a single
commit, which each publication replaces: sites are large, and nobody needs their history.

Of releases that differ only in the last number, the newest stays, and of those the last twenty. All of
them together take about half of the gigabyte that GitHub Pages serves.
"""

from __future__ import annotations

import argparse
import json
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
KEPT_RELEASES, KEPT_ENTRIES = 20, 1000
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
        remove_old_releases(root)
        keep_history(root, site)
        write_root(root)
        git(root, "add", "--all", "--force")
        git(root, "commit", "--quiet", "--message", f"Publish {version}")
        lease = f"--force-with-lease=refs/heads/{branch}:{tip}"
        push = ("git", "push", "--quiet", lease, remote, f"HEAD:refs/heads/{branch}")
        return subprocess.run(push, cwd=root, check=False).returncode == 0


def remove_old_releases(root: Path) -> None:
    """Keep the last release of each of the newest minor versions."""
    last_of = {tuple(numbers(release)[:2]): release for release in releases_in(root)}
    kept = [*last_of.values()][-KEPT_RELEASES:]
    for release in releases_in(root):
        if release not in kept:
            print(f"{release} is no longer served: {kept[-1]} is the newest")
            shutil.rmtree(root / release)


def keep_history(root: Path, site: Path) -> None:
    """Add what this site measured to the history, and list its files from the oldest to the newest."""
    folder, entry = root / "history", site / "history.json"
    folder.mkdir(exist_ok=True)
    if entry.exists():
        facts = json.loads(entry.read_text(encoding="utf-8"))
        when = re.sub(r"\D", "", facts["built_at"])
        commit = re.sub(r"[^\w-]", "", facts["commit"] or "unknown")
        shutil.copy(entry, folder / f"{when}-{commit}.json")
    names = sorted(path.name for path in folder.glob("*.json") if path.name != "index.json")
    for name in names[:-KEPT_ENTRIES]:
        (folder / name).unlink()
    write_json(folder / "index.json", names[-KEPT_ENTRIES:])


def write_root(root: Path) -> None:
    """Write the files beside the versions."""
    releases = releases_in(root)
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
    write_json(root / "versions.json", {"newest": newest, "versions": versions})
    (root / ".nojekyll").touch()  # without it, folders that begin with an underscore aren't served
    missing = root / versions[0] / "404.html"  # its links are absolute
    if missing.exists():
        shutil.copy(missing, root)


def listed(versions: Iterable[str]) -> str:
    """Return an HTML list of links to versions."""
    items = (f'<li><a href="{version}/">{version}</a></li>' for version in versions)
    return "\n".join(("<ul>", *items, "</ul>"))


def releases_in(root: Path) -> list[str]:
    """Return the releases that have a folder, the newest last."""
    return sorted((p.name for p in root.iterdir() if RELEASE.fullmatch(p.name)), key=numbers)


def write_json(path: Path, content: object) -> None:
    """Write data for the scripts of pages."""
    path.write_text(f"{json.dumps(content, indent=1)}\n", encoding="utf-8")


def numbers(release: str) -> list[int]:
    """Return the numbers of a release, a sort key that puts v1.10.0 after v1.9.0."""
    return [int(number) for number in release.removeprefix("v").split(".")]


def git(folder: Path, *arguments: str) -> str:
    """Run git, which reports its own errors, and return its output."""
    command = ("git", "-c", f"user.name={NAME}", "-c", f"user.email={EMAIL}", *arguments)
    return subprocess.run(command, cwd=folder, check=True, stdout=subprocess.PIPE, text=True).stdout


if __name__ == "__main__":
    main()
