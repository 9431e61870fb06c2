"""Jinja for templates, compiled once for an installation as Python compiles modules.

The compiled code is in the `__pycache__` next to the templates, where Python keeps that of the package itself: an
attacker who can write there can change the package. It is found by the digest of a template, the versions of Python and
Jinja, and the time of change of this file. Nothing else matters, as filters are not applied to constants while
compiling.
"""

from __future__ import annotations

import base64
import hashlib
import marshal
import os
import sys
import tempfile
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from importlib.metadata import version
from importlib.resources import files
from importlib.util import cache_from_source
from pathlib import Path
from typing import Any

from jinja2 import BytecodeCache, ChoiceLoader, Environment, PackageLoader, StrictUndefined
from jinja2.bccache import Bucket
from jinja2.compiler import CodeGenerator, Frame
from jinja2.nodes import Expr, Impossible, TemplateData
from markupsafe import Markup


@dataclass(frozen=True, slots=True)
class InlineStyle:
    """A stylesheet for the only style element of a page, and the source that its content security policy allows."""

    text: Markup
    source: str


def inline_style(package: str, *names: str) -> InlineStyle:
    """Return stylesheets of a package's folder `templates` as one."""
    folder = files(package) / "templates"
    text = "\n" + "".join((folder / name).read_text(encoding="utf-8") for name in names)
    digest = base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
    return InlineStyle(Markup(text), f"sha256-{digest}")  # noqa: S704 - the package's own files, no value is in them


def template_environment(
    package: str, finalize: Callable[[Any], Any], *, keep_trailing_newline: bool = False
) -> Environment:
    """Return the environment of a package's templates: everything is escaped, nothing may be undefined.

    Args:
        package: the package whose folder `templates` contains them; `document.html`, the frame of a page, is
            available to all.
        finalize: called with every value that is written.
        keep_trailing_newline: whether a template's last line ends as the file's does.
    """
    made = Environment(
        loader=ChoiceLoader([PackageLoader(package), PackageLoader("rrpolicy.escaping", "pages")]),
        autoescape=True,
        undefined=StrictUndefined,
        finalize=finalize,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=keep_trailing_newline,
        optimized=False,
        bytecode_cache=_TemplateCache(Path(str(files(package) / "templates"))),
    )
    made.code_generator_class = _RuntimeCodeGenerator
    return made


class _RuntimeCodeGenerator(CodeGenerator):
    """A code generator that computes everything but the templates' own text on output."""

    def _output_child_to_const(self, node: Expr, frame: Frame, finalize: Any) -> str:
        if isinstance(node, TemplateData):
            return super()._output_child_to_const(node, frame, finalize)
        raise Impossible


class _TemplateCache(BytecodeCache):
    """Code objects of templates, kept next to those of modules, and written under the same conditions."""

    def __init__(self, templates: Path) -> None:
        self._folder = Path(cache_from_source(str(templates / "template.py"))).parent
        made_by = sys.implementation.cache_tag, version("jinja2"), str(Path(__file__).stat().st_mtime_ns)
        self._suffix = "-".join(made_by)

    def _path(self, bucket: Bucket) -> Path:
        return self._folder / f"{bucket.key}.{self._suffix}"

    def load_bytecode(self, bucket: Bucket) -> None:
        with suppress(OSError, EOFError, ValueError, TypeError):
            digest, code = self._path(bucket).read_bytes().split(b"\n", 1)
            if digest.decode() == bucket.checksum:
                bucket.code = marshal.loads(code)  # noqa: S302 - where the package's own code lies

    def dump_bytecode(self, bucket: Bucket) -> None:
        if sys.dont_write_bytecode:
            return
        with suppress(OSError):
            self._folder.mkdir(parents=True, exist_ok=True)
            handle, name = tempfile.mkstemp(dir=self._folder)
            with os.fdopen(handle, "wb") as file:
                file.write(bucket.checksum.encode() + b"\n" + marshal.dumps(bucket.code))
            Path(name).replace(self._path(bucket))
