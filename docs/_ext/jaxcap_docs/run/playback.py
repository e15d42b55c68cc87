"""What scripts printed and drew, kept and shown again as long as nothing has changed behind it.

sphinx-gallery runs a script whenever its text or its page has changed. Here it is run only if its code
has, or something that its outputs depend on: the modules of jaxcap that it imports, libraries, the
device, or files of results. A changed sentence then costs no run.
"""

from __future__ import annotations

import ast
import gc
import json
import logging
import os
import re
import shutil
from collections.abc import Sequence
from contextlib import suppress
from filecmp import cmp
from functools import cache
from hashlib import sha256
from pathlib import Path
from typing import Any

import sphinx_gallery
from pydantic import ValidationError
from sphinx_gallery import gen_rst
from sphinx_gallery.py_source_parser import Block
from sphinx_gallery.utils import get_md5sum

from jaxcap.measure import digest, store
from jaxcap.measure.settings import quick_is_on, reuse_is_on
from jaxcap.releases import recorded
from jaxcap.releases.recording.files import EXPERIMENT
from jaxcap.report import figures
from jaxcap.results.base import FrozenModel
from jaxcap_docs import image_files, page_records
from jaxcap_docs.lessons import tutorial_of
from jaxcap_docs.page_records import BUILD, record_path
from jaxcap_docs.sources import package_files, surroundings

PAGES = BUILD / "store" / "pages"
# Parts of this extension that shape what is kept.
SHAPING = (
    Path(__file__),
    Path(__file__).with_name("scripts.py"),
    Path(image_files.__file__),
    Path(page_records.__file__),
)

# The files of a kept page, beside its images.
PAGE, RECORD = "page.json", "record.json"
NUMBERED = re.compile(r"_\d{3}\.png$")


class KeptPage(FrozenModel):
    """What a script left, apart from its record and its images, which lie beside it.

    Attributes
    ----------
    key
        Digest of the code of its cells and of all that they depend on.
    outputs
        What follows each cell of code on the page, as reStructuredText.
    results
        Digests of the files of results that it was made from, by path below ``BUILD``.
    names
        The objects that its code names, as sphinx-gallery lists them.
    images
        The names of its images.
    """

    key: str
    outputs: tuple[str, ...]
    results: dict[str, str]
    names: dict[str, list[dict[str, Any]]]
    images: tuple[str, ...]

    @property
    def results_are_unchanged(self) -> bool:
        """Whether the files of results are still what they were."""
        return all(_digest_of(BUILD / path) == digest for path, digest in self.results.items())


class _UsedResults(logging.Handler):
    """Hears from which files scripts take their results, or to which they are saved."""

    def __init__(self) -> None:
        super().__init__()
        self.paths: list[Path] = []

    def emit(self, record: logging.LogRecord) -> None:
        if path := getattr(record, "results_file", None):
            self.paths.append(path)


_used = _UsedResults()
_execute_script, _get_backreferences = gen_rst.execute_script, gen_rst._get_backreferences
_backrefs_from_codeobj = gen_rst._backrefs_from_codeobj
_GALLERY_OF = re.compile(r"^\.\. minigallery:: (.+)$", re.MULTILINE)
# By page: what was shown again, and what ran, with the path of its script beside the page.
_played: dict[str, KeptPage] = {}
_ran: dict[str, tuple[Path, KeptPage]] = {}


def install() -> None:
    """Stand between sphinx-gallery and its scripts: it has no hook for that."""
    logging.getLogger(store.__name__).addHandler(_used)
    gen_rst.execute_script = _play_or_execute
    gen_rst._get_backreferences = _with_kept_names
    gen_rst._backrefs_from_codeobj = _shown_names


@cache
def dependencies(script: Path) -> str:
    """Digest all that the outputs of a script depend on, except for its own code."""
    source = script.read_text(encoding="utf-8")
    sources = digest.sources_of_script(source)
    facts = sorted(sources.items()), surroundings(), sphinx_gallery.__version__
    # Figures of results are drawn when pages are read, and others by the script itself.
    style = _digest_of(figures.STYLE_FILE) if "matplotlib" in source else ""
    # The files of recorded releases are known when a script has used them, but not those to come.
    releases = _names_of_releases() if recorded.__name__ in sources else []
    return sha256(repr((facts, style, releases, _digest_of_data())).encode()).hexdigest()


def state_of_package() -> str:
    """Digest what `dependencies` reads besides a script, by the dates and sizes of files."""
    files = ((str(path), path.stat()) for path in (*package_files(digest.ROOT), *SHAPING))
    stats = [(path, stat.st_mtime_ns, stat.st_size) for path, stat in files]
    facts = stats, surroundings(), sphinx_gallery.__version__, _names_of_releases()
    return sha256(repr(facts).encode()).hexdigest()


def _names_of_releases() -> list[str]:
    """List the recordings of releases on all machines, with second ones."""
    files = page_records.RECORDED.glob(f"*/{EXPERIMENT}/**/*.json")
    return sorted(file.relative_to(page_records.RECORDED).as_posix() for file in files)


@cache
def _digest_of_data() -> str:
    """Digest the package's data, and the parts of this extension that shape what is kept."""
    data = {path for path in package_files() if path.suffix != ".py"} - {figures.STYLE_FILE}
    return sha256(b"".join(path.read_bytes() for path in (*sorted(data), *SHAPING))).hexdigest()


def keep(page: str) -> None:
    """Keep what the script of a page has just left, if it ran to its end."""
    ran = _ran.pop(page, None)
    if ran is None or quick_is_on():
        return
    target, kept = ran
    names = target.with_suffix(".codeobj.json")
    facts = {
        "names": json.loads(names.read_bytes()) if names.exists() else {},
        "images": tuple(image.name for image in _images(target)),
    }
    new, old = _folder(f"{page}.new"), _folder(f"{page}.old")
    with suppress(OSError):  # then the script runs again in the next build
        for left in (new, old):  # by a build that was killed
            shutil.rmtree(left, ignore_errors=True)
        new.mkdir(parents=True)
        (new / PAGE).write_text(kept.model_copy(update=facts).model_dump_json(), encoding="utf-8")
        shutil.copyfile(record_path(page), new / RECORD)
        for image in _images(target):
            shutil.copyfile(image, new / image.name)
        if _folder(page).exists():
            _folder(page).rename(old)
        new.rename(_folder(page))
        shutil.rmtree(old, ignore_errors=True)


def results_have_changed(page: str) -> bool:
    """Whether files of results have changed or gone from which a kept page was made."""
    try:
        kept = KeptPage.model_validate_json((_folder(page) / PAGE).read_bytes())
    except (OSError, ValidationError):
        return False
    return not kept.results_are_unchanged


def was_played(page: str) -> bool:
    """Whether a page shows what an earlier build kept."""
    return page in _played


def _play_or_execute(
    script_blocks: list[Block],
    script_vars: dict[str, Any],
    gallery_conf: dict[str, Any],
    file_conf: dict[str, Any],
) -> tuple[list[str], float]:
    """Return a script's outputs, block by block, and how long it ran."""
    is_run, target = script_vars["execute_script"], Path(script_vars["target_file"])
    page, key = tutorial_of(target.name), _key(Path(script_vars["src_file"]), script_blocks)
    kept = _load(page, key) if reuse_is_on() else None
    if kept:
        script_vars["execute_script"] = False
    elif is_run:  # there may be more of an earlier run
        for image in _images(target):
            image.unlink()
    else:
        record_path(page).unlink(missing_ok=True)
    used_before = len(_used.paths)
    _spare_garbage_collection()
    blocks, duration_s = _execute_script(script_blocks, script_vars, gallery_conf, file_conf)
    script_vars["execute_script"] = is_run
    if kept:
        _restore(page, target, script_vars)
        outputs = iter(kept.outputs)
        blocks = [next(outputs) if block.type == "code" else "" for block in script_blocks]
        _played[page] = kept
    elif is_run and script_vars.get("passing"):
        outputs_of_code = (
            o for b, o in zip(script_blocks, blocks, strict=True) if b.type == "code"
        )
        used = _used.paths[used_before:]
        results = {os.path.relpath(path, BUILD): _digest_of(path) for path in used}
        _ran[page] = (
            target,
            KeptPage(key=key, outputs=tuple(outputs_of_code), results=results, names={}, images=()),
        )
    return blocks, duration_s


@cache  # once a build
def _spare_garbage_collection() -> None:
    """Keep the garbage collector from looking through Sphinx and JAX after each script."""
    gc.freeze()


def _key(script: Path, blocks: Sequence[Block]) -> str:
    """Digest the code of a script, without comments, and all that it depends on."""
    code = [ast.dump(ast.parse(block.content)) for block in blocks if block.type == "code"]
    return sha256(repr((code, dependencies(script))).encode()).hexdigest()


def _load(page: str, key: str) -> KeptPage | None:
    """Return what was kept of a page, unless something has changed since or it is damaged."""
    try:
        kept = KeptPage.model_validate_json((_folder(page) / PAGE).read_bytes())
        if kept.key == key and kept.results_are_unchanged:
            page_records.PageRecord.model_validate_json((_folder(page) / RECORD).read_bytes())
            return kept if all((_folder(page) / name).exists() for name in kept.images) else None
    except (OSError, ValidationError):
        pass
    return None


def _restore(page: str, target: Path, script_vars: dict[str, Any]) -> None:
    """Put the record and the images of a page where its script would have."""
    record_path(page).parent.mkdir(parents=True, exist_ok=True)
    for kept in _folder(page).iterdir():
        if kept.name == PAGE:
            continue
        if kept.name == RECORD:
            place = record_path(page)
        else:
            place = target.parent / "images" / kept.name
            if NUMBERED.search(kept.name):  # for a thumbnail that is counted from the last image
                next(script_vars["image_path_iterator"])
        # The date of an unchanged file stays, by which pages are read again.
        if not place.exists() or not cmp(kept, place, shallow=False):
            shutil.copyfile(kept, place)
    script_vars["passing"] = True
    Path(f"{target}.md5").write_text(get_md5sum(str(target), mode="t"), encoding="ascii")


def _with_kept_names(
    gallery_conf: dict[str, Any],
    script_vars: dict[str, Any],
    script_blocks: list[Block],
    node: ast.Module | None,
    target_file: Path,
) -> set[str]:
    """Return the objects that a page names: those of its prose, and those of its code as kept."""
    # With a default role, sphinx-gallery takes the end of a literal for the beginning of a name, and
    # misses the roles that follow it. The prose of tutorials names the role each time.
    without_default_role = gallery_conf | {"default_role": ""}
    names: set[str] = _get_backreferences(
        without_default_role, script_vars, script_blocks, node, target_file
    )
    kept = _played.get(tutorial_of(target_file.name))
    if kept is None:
        return names
    path = target_file.with_suffix(".codeobj.json")
    found = json.loads(path.read_bytes()) if path.exists() else {}
    path.write_text(json.dumps(found | kept.names), encoding="utf-8")
    names |= _shown_names(gallery_conf, kept.names)
    return names


def _shown_names(gallery_conf: dict[str, Any], objects: dict[str, Any]) -> set[str]:
    """Keep, of the objects that a page names, those whose tutorials the reference lists.

    sphinx-gallery writes a file for each name in each build, which takes a good part of a preview.
    """
    names: set[str] = _backrefs_from_codeobj(gallery_conf, objects)
    return names & _names_in_reference(Path(gallery_conf["src_dir"], "reference"))


@cache
def _names_in_reference(folder: Path) -> frozenset[str]:
    texts = (path.read_text(encoding="utf-8") for path in folder.glob("*.rst"))
    return frozenset(
        name for text in texts for names in _GALLERY_OF.findall(text) for name in names.split()
    )


def _images(target: Path) -> list[Path]:
    return sorted((target.parent / "images").glob(f"sphx_glr_{target.stem}_*"))


def _folder(page: str) -> Path:
    return PAGES / page.replace("/", ".")


def _digest_of(path: Path) -> str:
    """Digest a file; one that isn't there is like no other."""
    try:
        return sha256(path.read_bytes()).hexdigest()
    except OSError:
        return ""
