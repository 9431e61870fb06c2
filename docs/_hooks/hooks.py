"""The pages that mkdocs does not find in docs/, and links to them: mkdocs calls `on_files` and `on_page_markdown`."""

from __future__ import annotations

import re
from typing import Any

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files

from docs._hooks.codes import code_pages
from docs._hooks.commands import commands_page
from docs._hooks.functions import functions_page
from docs._hooks.keys import keys_page
from docs._hooks.measures import measures_page
from docs._hooks.terms import terms_page


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Return the files with the pages of reference that are made here."""
    pages = {
        "reference/policy.md": keys_page(),
        "reference/commands.md": commands_page(),
        "reference/python.md": functions_page(),
        "reference/measures.md": measures_page(),
        "reference/terms.md": terms_page(),
        **code_pages(),
    }
    for path, text in pages.items():
        files.append(File.generated(config, path, content=text))
    return files


BUILT = {
    r"reference/README\.md#keys-of-a-policy": "reference/policy.md",
    r"reference/README\.md#python": "reference/python.md",
    r"reference/README\.md#measures": "reference/measures.md",
    r"\.\./rrpolicy/error_codes/(RR\d)(\d\d)\.md": r"reference/codes/\1xx.md#\1\2",
    r"\.\./rrpolicy/schemas/": "schemas/",
}
"""Where a link leads in the repository -> where on the site."""


def on_page_markdown(markdown: str, **_: Any) -> str:
    """Return a page whose links lead to what the site has in place of files of the repository."""
    for there, here in BUILT.items():
        markdown = re.sub(rf"(\]\([^)\s]*?){there}", rf"\1{here}", markdown)
    return markdown
