"""The pages that mkdocs does not find in docs/: mkdocs calls `on_files` with those that it found."""

from __future__ import annotations

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files

from handbook.codes import code_pages
from handbook.commands import commands_page
from handbook.functions import functions_page
from handbook.keys import keys_page
from handbook.measures import measures_page


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Return the files with the pages of reference that are made here."""
    pages = {
        "reference/policy.md": keys_page(),
        "reference/commands.md": commands_page(),
        "reference/python.md": functions_page(),
        "reference/measures.md": measures_page(),
        **code_pages(),
    }
    for path, text in pages.items():
        files.append(File.generated(config, path, content=text))
    return files
