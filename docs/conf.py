"""How Sphinx builds the site; everything that runs or measures is in ``_ext/jaxcap_docs``."""

import gc
import os
import re
import sys
import sysconfig
from importlib.util import find_spec
from pathlib import Path
from urllib.parse import urlsplit

from sphinx_gallery.sorting import ExplicitOrder

import jaxcap

gc.disable()  # it would look through all that is imported, again and again, and find no garbage

sys.path.insert(0, str(Path(__file__).parent / "_ext"))

from jaxcap_docs.downloads import ARCHIVE, WHEEL, colab_address, install_cell
from jaxcap_docs.lessons import GALLERY, MOVED, SECTIONS, core, reading_minutes, runnable

from jaxcap.measure.settings import quick_is_on

# What is imported stays, and Sphinx keeps most of what it makes: a fifth of a build that changes nothing
# was spent on looking through it.
gc.freeze()
gc.set_threshold(200_000, 20, 20)
gc.enable()

# The pages run the commands of this Python, whose environment need not be active.
os.environ["PATH"] = os.pathsep.join(
    (sysconfig.get_path("scripts"), os.environ.get("PATH", os.defpath))
)

TUTORIALS = os.environ.get("JAXCAP_TUTORIALS", "")  # a pattern of those to run


def address(variable: str) -> str:
    url = os.environ.get(variable, "").rstrip("/")
    return url and f"{url}/"


SITE = address("JAXCAP_SITE_URL")
VERSIONS = address("JAXCAP_VERSIONS_URL")  # of the folder with the builds of all versions

project = "jaxcap"
author = "The jaxcap developers"
project_copyright = f"2026, {author}"
version = release = jaxcap.__version__

extensions = [
    "jaxcap_docs",
    "myst_nb",
    "notfound.extension",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx.ext.intersphinx",
    "sphinx.ext.napoleon",
    "sphinx_click",
    "sphinx_copybutton",
    "sphinx_design",
    "sphinx_gallery.gen_gallery",
    "sphinxcontrib.programoutput",
    "sphinxext.opengraph",
]
# Explicit, because MyST-NB would otherwise claim the notebooks that sphinx-gallery writes.
source_suffix = {".rst": "restructuredtext", ".md": "myst-nb"}
exclude_patterns = ["_build", "tutorials/**/*.ipynb", "tutorials/sg_execution_times.rst"]
nitpicky = True
# sphinx-gallery checks whole paths, but the names of the folders above are not ours to choose.
suppress_warnings = ["sphinx_gallery.space_in_filename"]

html_theme = "furo"
html_title = "jaxcap"
if quick_is_on():
    html_theme_options = {
        "announcement": "This build was a quick trial of the site: its numbers are worth nothing."
    }
html_static_path = ["_static"]
templates_path = ["_templates"]
html_css_files = ["jaxcap.css"]
html_js_files = ["scrollable.js"]
html_favicon = "_static/favicon.svg"
html_show_sourcelink = False
html_math_renderer = "mathml"
pygments_style, pygments_dark_style = "a11y-high-contrast-light", "a11y-high-contrast-dark"

myst_enable_extensions = ["colon_fence", "deflist", "substitution"]
smartquotes_action = "qe"  # quotes and ellipses: two dashes begin an option, such as --json
CORE_MINUTES = sum(reading_minutes(GALLERY / f"{page}.py") for page in core())
# Where to begin, how to run a notebook, and links to files that are written at the end of a build,
# which Sphinx does not know of.
myst_substitutions = {
    "core": f"{len(core())} tutorials marked *core*, which take {CORE_MINUTES} minutes in all",
    "notebooks": (
        "Below its title, each tutorial has a link that opens it in Colab, where it installs what it "
        "needs, and links to its notebook and its script."
        if colab_address(SITE, "")
        else "Below its title, each tutorial has links to its notebook and its script."
    ),
    "archive": f'<a download href="{ARCHIVE}">jaxcap-tutorials.zip</a>',
    "wheel": f'<a download href="wheels/{WHEEL}">{WHEEL}</a>',
}
# As with tutorials, `nox -s docs -- exercises` or `-- command_line` runs nothing else.
nb_execution_mode = "force" if re.search(TUTORIALS, "exercises") else "off"
nb_execution_raise_on_error = True
nb_merge_streams = True  # or a loop's output would fall into parts by chance
# Copy what readers would type, without prompts and output. Blocks that show only output or a command's
# usage have no button.
copybutton_selector = "div:not(.sphx-glr-script-out, .output, .highlight-shell) > .highlight > pre"
copybutton_prompt_text, copybutton_prompt_is_regexp = r"\$ |>>> |\.\.\. ?", True
copybutton_line_continuation_character = "\\"
copybutton_copy_empty_lines = False

# Search engines are sent to the newest version.
html_baseurl = ogp_canonical_url = f"{VERSIONS}latest/" if VERSIONS else SITE
ogp_site_url = SITE
html_context = {"versions_url": VERSIONS and f"{VERSIONS}versions.html", "moved": MOVED}
html_additional_pages = dict.fromkeys(MOVED, "moved.html")
# Served in place of any page that doesn't exist, in any folder.
notfound_template = "404.html"
notfound_context = {"title": "Page not found"}
notfound_urls_prefix = urlsplit(SITE).path or "/"
ogp_enable_meta_description = True
ogp_social_cards = {"enable": bool(SITE)}  # without an address, no page could name its card

# Servers that are slow or limit requests are reported after a second try, without waiting for them.
linkcheck_timeout, linkcheck_rate_limit_timeout, linkcheck_retries = 15, 30, 2
linkcheck_anchors_ignore_for_url = [r"https://github\.com/"]  # scripts make these

# The reference can be built where only the tutorials' own libraries are missing.
autodoc_mock_imports = [] if find_spec("torch") else ["torch"]
autodoc_member_order = "bysource"
autodoc_typehints = "signature"
autodoc_preserve_defaults = True  # a function shows its name in the code, not its address
autodoc_default_options = {"exclude-members": "model_config"}
napoleon_numpy_docstring, napoleon_google_docstring = True, False
napoleon_use_ivar = True
napoleon_preprocess_types = False
add_module_names = False
default_role = "py:obj"

sphinx_gallery_conf = {
    "examples_dirs": ["../gallery"],
    "gallery_dirs": ["tutorials"],
    "subsection_order": ExplicitOrder([f"../gallery/{section}" for section in SECTIONS]),
    "within_subsection_order": "jaxcap_docs.lessons.reading_position",
    "minigallery_sort_order": "jaxcap_docs.lessons.reading_position",
    "filename_pattern": runnable(TUTORIALS),
    "thumbnail_size": (320, 224),  # shown half as wide
    "image_scrapers": ("jaxcap_docs.run.scripts.scrape",),
    "reset_modules": ("matplotlib", "jaxcap_docs.run.scripts.reset"),
    "reset_modules_order": "both",
    "backreferences_dir": "reference/_backreferences",
    "doc_module": ("jaxcap",),
    "remove_config_comments": True,
    "first_notebook_cell": install_cell(SITE),
    "show_memory": False,
    "show_signature": False,
    "download_all_examples": False,
    "write_computation_times": False,
    "min_reported_time": 10**6,  # the provenance stamp says how long a page took
}

# Where other documentation can't be reached, an empty inventory takes its place, and what would be
# links into it are plain text: `jaxcap_docs.run.inventories` says so, and ends a build that is
# published.
intersphinx_mapping = {
    name: (url, (None, "offline.inv"))
    for name, url in {
        "jax": "https://docs.jax.dev/en/latest/",
        "matplotlib": "https://matplotlib.org/stable/",
        "numpy": "https://numpy.org/doc/stable/",
        "python": "https://docs.python.org/3/",
    }.items()
}
intersphinx_timeout = 30 if os.environ.get("JAXCAP_REQUIRE_INVENTORIES") else 5
nitpick_ignore_regex = [
    (
        "py:.*",
        r"(annotated_types|flax|jax|jaxlib|matplotlib|nnx|nn|np|npt|numpy|pydantic|torch)(\..*)?",
    ),
    ("py:.*", r"(collections|contextlib|datetime|functools|os|pathlib|typing)\..*"),
    (
        "py:class",
        r"(Allocator|Bytes|Clock|Load|Measure|Points?|Prepare|Quantity|Ratio|ReplayOutcome|Seconds|Share|Slowness|Tree|Variants|Verdict|optional)",
    ),  # aliases
    ("py:class", r"((NonNegative|Positive)(Int|Float)|[\d.e-]+)"),  # from Pydantic, and its limits
    ("py:class", r"(jaxcap\..*\.)?(Parameter|PrintableText)"),  # aliases
    ("py:class", r"(Array|Figure|Cost)"),  # imported by name
]
