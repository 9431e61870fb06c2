"""Writes docs/reference/plugins.md from the docstrings, and the files of plugins into the tutorials.

python -m tests.docs.make_plugins_pages
"""

from __future__ import annotations

import inspect
import re
import tempfile
import textwrap
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from enum import Enum
from functools import cached_property
from pathlib import Path
from types import MappingProxyType

import rrpolicy.plugin
import rrpolicy.plugin.engines
import rrpolicy.plugin.solve
import rrpolicy.plugin.text
import rrpolicy.plugin.types
import rrpolicy.testing
from rrpolicy import hookspecs
from rrpolicy.drafting.scaffold.generator import write_scaffold
from rrpolicy.frozen import has_fields

DOCS = Path(__file__).resolve().parents[2] / "docs"
REFERENCE = DOCS / "reference" / "plugins.md"


@dataclass(frozen=True)
class Guide:
    """A tutorial, the distribution that it goes through, and the kinds that this offers."""

    path: Path
    name: str
    kinds: tuple[str, ...]


GUIDE = Guide(
    DOCS / "tutorials" / "plugins.md", "acme-survey", ("mechanism", "privacy-model", "metric", "source", "renderer")
)
FILES = Guide(DOCS / "tutorials" / "formats.md", "acme-files", ("format", "sink", "estimator"))
BLOCK = re.compile(r"<!-- file: (\S+) -->\n(?:```[a-z]+\n(.*?)^```$)?", re.DOTALL | re.MULTILINE)
"""A file that the guide shows."""
WRITTEN = (
    *("Offer", "Mechanism", "Outline", "Task", "Proposal", "Remark", "Origin", "Derived"),
    *("Product", "Identity", "Retention", "Matrix", "Recode", "Sets", "SuppressionChannel", "AnatomyChannel"),
    *("Stream", "Streams"),
    *("Axis", "Transition", "Posterior", "Readable", "Single", "Several", "Channel", "Sink", "Column", "TableSpec"),
    *("MatrixDecoder", "RetentionDecoder", "IdentityDecoder", "RecodeDecoder", "AdditionDecoder", "AnatomyDecoder"),
    *("PrivacyModel", "Order", "Requirement", "Assessor", "PerClass", "Smooth", "ClassModel", "Written"),
    *("ModelWording", "Classes", "Histograms", "Finding", "Measure", "Companion", "Basis", "Standing", "Verdict"),
    *("UtilityMetric", "Release", "Source", "Snapshot", "Distributed", "Original", "Counts", "Units"),
    *("Format", "TableWriter", "FileSink", "FileParts", "Estimator", "Inversion"),
    *("Renderer", "Report", "FindingRow", "CompanionRow", "UtilityRow", "AttributePanel", "Section", "Fact"),
    *("Policy", "Attribute", "Role", "Problem"),
)
"""What authors write, fill or are handed, told with its members."""
MODULES = (rrpolicy.plugin, rrpolicy.plugin.engines, rrpolicy.plugin.solve, rrpolicy.plugin.text, rrpolicy.plugin.types)
SECTION = re.compile(r"^(Args|Returns|Raises|Attributes|Yields|References):$")


def reference() -> str:
    """Return the page."""
    lines = [
        "# Reference of plugins",
        "",
        "Written from the docstrings by `python -m tests.docs.make_plugins_pages`.",
        "",
    ]
    lines += ["## Hooks", ""]
    for name, hook in vars(hookspecs).items():
        if name.startswith("rrpolicy_"):
            lines += [f"### `{name}{shown(hook)}`", "", *told(hook), ""]
    lines += ["## What is written, filled and handed over", ""]
    for name in WRITTEN:
        lines += [*of_class(name, next(getattr(m, name) for m in MODULES if name in m.__all__))]
    lines += ["## Functions", ""]
    for module in MODULES:
        for name in module.__all__:
            thing = getattr(module, name)
            if inspect.isfunction(thing):
                lines += [f"### `{name}{shown(thing)}`", "", *told(thing), ""]
    lines += ["## The kit: `rrpolicy.testing`", ""]
    for name in rrpolicy.testing.__all__:
        thing = getattr(rrpolicy.testing, name)
        lines += [f"### `{name}{'' if isinstance(thing, type) else shown(thing)}`", "", *told(thing), ""]
    for module in MODULES:
        lines += [f"## Everything in `{module.__name__}`", "", "| name | |", "|---|---|"]
        for name in module.__all__:
            lines.append(f"| `{name}` | {summary(getattr(module, name))} |")
        lines.append("")
    return "\n".join(lines)


def of_class(name: str, of: type) -> Iterator[str]:
    """Yield a class with its public members."""
    types = of.__annotations__ if has_fields(of) else {}
    yield from (f"### `{name}`", "", *told(of, types), "")
    if has_fields(of):
        parameters = [p for p in inspect.signature(of).parameters.values() if not p.name.startswith("_")]
        for said, by_name in (("Fields, in order", False), ("By name alone", True)):
            shape = ", ".join(
                f"{p.name}: {types.get(p.name, p.annotation)}"
                for p in parameters
                if (p.kind is p.KEYWORD_ONLY) is by_name
            )
            yield from ((f"{said}: `{shape}`.", "") if shape else ())
    if issubclass(of, Enum):
        yield from (*(f"- `{member.name}`" for member in of), "")
    for member, value in vars(of).items():
        kept = isinstance(value, (property, cached_property))
        function = getattr(value, "fget", None) or getattr(value, "func", None) or getattr(value, "__func__", value)
        if member.startswith("_") or not inspect.isfunction(function) or function.__doc__ is None:
            continue
        heading = f"`{member}`" if kept else f"`{member}{shown(function)}`"
        yield from (f"#### {heading}", "", *told(function), "")


def shown(function: object) -> str:
    """Return a signature as it is written, without `self`."""
    text = str(inspect.signature(function))  # type: ignore[arg-type]
    return re.sub(r"\((self|cls)(, )?", "(", text).replace("'", "")


def told(thing: object, types: Mapping[str, str] = MappingProxyType({})) -> Iterator[str]:
    """Yield a docstring as Markdown: sections are lists, of fields with their types, and examples are code."""
    text, _, example = (inspect.getdoc(thing) or "").partition("Examples:\n")
    yield from told_text(text, types)
    if example:
        yield from ("**Examples**", "", "```pycon", *textwrap.dedent(example).rstrip().splitlines(), "```")


def told_text(text: str, types: Mapping[str, str]) -> Iterator[str]:
    """Yield a docstring without its examples as Markdown."""
    for line in text.splitlines():
        entry = re.match(r"^ {4}([\w, `*]+): (.*)$", line)
        if SECTION.match(line):
            yield from (f"**{line[:-1]}**", "")
        elif entry:
            kind = f": {types[entry[1]]}" if entry[1] in types else ""
            yield f"- `{entry[1]}{kind}`: {entry[2]}"
        else:
            yield f"  {line.strip()}" if line.startswith("        ") else line.strip()


def summary(thing: object) -> str:
    """Return the first sentence; of what has no docstring of its own, what it is."""
    own = isinstance(thing, type) or inspect.isfunction(thing)
    text = (inspect.getdoc(thing) or "").partition("\n\n")[0].replace("\n", " ").replace("|", "\\|") if own else ""
    return text or "an alias or a constant"


def filled_in(guide: Guide) -> str:
    """Return a tutorial with the files of the skeleton as they are; those that it has not stay."""
    with tempfile.TemporaryDirectory() as folder:
        written = {
            str(p.relative_to(folder)): p.read_text() for p in write_scaffold(Path(folder), guide.name, guide.kinds)
        }

    def filled(block: re.Match[str]) -> str:
        name = block[1]
        language = {".toml": "toml", ".py": "python"}[Path(name).suffix]
        return f"<!-- file: {name} -->\n```{language}\n{written[name]}```" if name in written else block[0]

    return BLOCK.sub(filled, guide.path.read_text(encoding="utf-8"))


if __name__ == "__main__":
    REFERENCE.write_text(reference(), encoding="utf-8")
    for each in (GUIDE, FILES):
        each.path.write_text(filled_in(each), encoding="utf-8")
