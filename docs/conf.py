"""The settings of Sphinx for the documentation: ./dev docs."""

import os
import re

from pygments.lexer import Lexer, do_insertions
from pygments.lexers.scripting import LuaLexer
from pygments.token import Error, Generic, Punctuation

project = "strided"
author = "the authors of strided"
version = release = os.environ.get("STRIDED_VERSION", "")
extensions = ["myst_parser"]
source_suffix = {".md": "markdown"}
# What html_extra_path gives is excluded by these, too: not files/.
exclude_patterns = ["include/**", "extra/**"]
myst_enable_extensions = ["colon_fence"]
myst_heading_anchors = 3
suppress_warnings = ["myst.header"]  # comments of modules begin at level 4
smartquotes = False
primary_domain = "c"
highlight_language = "text"
# Macros of the headers, which declare nothing.
c_id_attributes = ["ST_API"]

html_theme = "furo"
html_title = "strided"
html_static_path = ["static"]
html_css_files = ["strided.css"]
html_js_files = ["strided.js"]
html_copy_source = False
html_show_copyright = False
# Without a server a page cannot read another one for its summary.
html_show_search_summary = False
html_extra_path = ["extra"]
pygments_dark_style = "monokai"

man_pages = [
    ("man/strided-1", "strided", "runs scripts and sessions with tensors",
     [], "1"),
    ("man/strided-3", "strided", "a tensor engine for Lua and C", [], "3"),
]
man_show_urls = False


class SignatureLexer(LuaLexer):
    """A signature: Lua, but for "?" and "!"."""

    name = "strided signature"
    aliases = ["signature"]

    def get_tokens_unprocessed(self, text):
        for at, kind, value in super().get_tokens_unprocessed(text):
            yield at, Punctuation if kind is Error else kind, value


class SessionLexer(Lexer):
    """What one types at the prompt, and what is printed."""

    name = "strided session"
    aliases = ["session"]

    def get_tokens_unprocessed(self, text):
        at = 0
        lua = SignatureLexer(**self.options)
        for line in text.splitlines(keepends=True):
            if re.match(r"> ", line):
                yield at, Generic.Prompt, line[:2]
                yield from do_insertions(
                    [], ((at + 2 + i, kind, value) for i, kind, value
                         in lua.get_tokens_unprocessed(line[2:])))
            else:
                yield at, Generic.Output, line
            at += len(line)


def complete(app, page, template, context, doctree):
    """Captions of the list of pages are headings of a level."""
    tree = context.get("furo_navigation_tree")
    if tree:
        context["furo_navigation_tree"] = tree.replace(
            'role="heading"', 'role="heading" aria-level="2"')


def setup(app):
    app.connect("html-page-context", complete, priority=900)
    app.add_lexer("session", SessionLexer)
    app.add_lexer("signature", SignatureLexer)
