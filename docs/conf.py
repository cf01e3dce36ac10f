"""How Sphinx builds this site; `make docs` runs it, without a network."""

import os
import re
import sys
from pathlib import Path

from docutils.nodes import SkipNode
from docutils.parsers.rst import directives
from docutils.utils.math.latex2mathml import tex2mathml
from numpydoc.docscrape_sphinx import SphinxDocString
from sphinx.errors import ExtensionError
from sphinx.util.docutils import SphinxDirective

import narrows

FETCHED = re.compile(r'<(?:script|img|iframe|link)\b[^>]*(?:src|href)="((?:https?:)?//[^"]+)')
ELSEWHERE = re.compile(r":ref:`([^<`]+?) <[^>`]+>`")

ROOT = Path(__file__).parent.parent
sys.path[:0] = [str(ROOT / "examples" / "gallery"), str(ROOT)]

from benchmarks.tables import RESULTS, Table  # noqa: E402

project = "narrows"
author = "The narrows developers"
release = version = narrows.__version__
extensions = [
    "myst_parser",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "numpydoc",
    "sphinx_click",
    "sphinx_gallery.gen_gallery",
]
exclude_patterns = ["_build"]
templates_path = ["_templates"]
highlight_language = "none"
default_role = "code"
smartquotes = False  # a prime is a transpose

myst_enable_extensions = ["dollarmath"]
myst_heading_anchors = 3

autodoc_mock_imports = ["pyspark"]  # half a gigabyte
autodoc_typehints = "none"  # the docstrings say it, with shapes
numpydoc_show_class_members = False
# what a class says of an attribute says more than the first line of its property
SphinxDocString._process_param = lambda self, name, text, summary: (f"**{name.strip()}**", text)

sphinx_gallery_conf = {
    "examples_dirs": str(ROOT / "examples" / "gallery"),
    "gallery_dirs": "gallery",
    "within_subsection_order": "FileNameSortKey",
    "abort_on_example_error": True,
    "capture_repr": (),
    "download_all_examples": False,
    "ignore_pattern": r"data_sets\.py",
    "image_scrapers": ("matplotlib",),
    "show_memory": False,
    "show_signature": False,
    "write_computation_times": False,
    "nested_sections": False,
}

html_theme = "pydata_sphinx_theme"
html_title = "narrows"
html_static_path = ["_static"]
html_css_files = ["narrows.css"]
html_show_sourcelink = False
html_show_sphinx = False
html_copy_source = False
# pages without others below them
html_sidebars = {
    page: [] for page in ("index", "get_started", "limits", "compared", "cite", "changelog")
}
html_theme_options = {
    "header_links_before_dropdown": 7,
    "navbar_align": "left",
    "navigation_with_keys": False,
    "secondary_sidebar_items": ["page-toc"],
    "show_prev_next": False,
    "footer_start": [],
    "footer_end": [],
    "pygments_light_style": "a11y-high-contrast-light",
    "pygments_dark_style": "a11y-high-contrast-dark",
}


class Rows(SphinxDirective):
    """The table of a CSV file beside the page, and a link to it.

    With `only`, these are the rows with this first cell.
    """

    required_arguments = 1
    option_spec = {"only": directives.unchanged_required}  # noqa: RUF012

    def folder(self):
        """Return the folder of the page."""
        return Path(self.env.doc2path(self.env.docname)).parent

    def run(self):
        """Return the table as nodes."""
        name, folder = self.arguments[0], self.folder()
        path = folder / f"{name}.csv"
        if not path.exists():
            raise self.error(f"expected the name of a CSV file in {folder}, got {name!r}")
        self.env.note_dependency(str(path))
        table = Table.read(name, folder)
        if "only" in self.options:
            table = table.only(self.options["only"])
        relative = Path(os.path.relpath(path, Rows.folder(self))).as_posix()
        link = f"Data: [{path.name}]({relative})."
        return self.parse_text_to_nodes(f"{table.markdown()}\n\n{link}")


class Study(Rows):
    """The table of a file in docs/results, and a link to it."""

    def folder(self):
        """Return docs/results."""
        return RESULTS


def setup(app):
    """Set formulas as MathML, and refuse a page that fetches anything."""

    def formula(self, node):
        block = node.tagname == "math_block"
        text = tex2mathml(node.astext(), as_block=block)
        self.body.append(f'<div class="formula">{text}</div>' if block else text)
        raise SkipNode

    def stars_as_they_are(app, context, lines):
        lines[:] = [line.replace("*", "\\*") for line in lines]

    def links_to_others_as_text(app, what, name, obj, options, lines):
        # docstrings that come from scikit-learn refer to pages of its own guide
        lines[:] = [ELSEWHERE.sub(r"\1", line) for line in lines]

    def nothing_fetched(app, error):
        for page in Path(app.outdir).rglob("*.html"):
            fetched = FETCHED.findall(page.read_text(encoding="utf-8"))
            if fetched:
                raise ExtensionError(f"{page} fetches {fetched[0]}; pages bring all they show.")

    app.add_directive("rows", Rows)
    app.add_directive("study", Study)
    app.connect("sphinx-click-process-description", stars_as_they_are)
    app.connect("autodoc-process-docstring", links_to_others_as_text)
    app.connect("build-finished", nothing_fetched)
    app.add_html_math_renderer("mathml", (formula, None), (formula, None))


html_math_renderer = "mathml"
