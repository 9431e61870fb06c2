"""The templates' environment: every written value has passed the filter of its output language."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import cache, wraps
from statistics import NormalDist
from typing import ParamSpec

from jinja2 import Environment
from markupsafe import Markup

from rrpolicy.channels.decoders import Block
from rrpolicy.engine import quoting
from rrpolicy.escaping import formulas
from rrpolicy.escaping.printable import markdown_cell, markdown_code, markdown_fence, markdown_prose, visible
from rrpolicy.escaping.templates import template_environment
from rrpolicy.estimate.default_level import LEVEL
from rrpolicy.estimate.weights.base import AxisWeights, RetentionWeights
from rrpolicy.estimate.weights.recode import RecodeWeights
from rrpolicy.estimate.weights.sets import SetWeights
from rrpolicy.exports import weights
from rrpolicy.exports.weights import typed_headings
from rrpolicy.numbers import fixed_number, level_percent, plain_number


def treatment_markdown(axis: AxisWeights | None) -> str:
    """Return the treatment of an axis's columns as Markdown; None is an axis that needs no weights."""
    if axis is None or not axis.randomised:
        return "unchanged"
    together = f", together with {', '.join(map(markdown_code, axis.columns))}" if len(axis.columns) > 1 else ""
    match axis:
        case RecodeWeights(released=labels, original=values, groups=groups):
            several = sum(1 for group in groups if len(group) > 1)
            return f"generalised: {len(labels)} labels for {len(values)} categories, {several} of them for several"
        case RetentionWeights(blocks=blocks):
            as_one = f"{', '.join(map(markdown_code, axis.columns))} as one: " if together else ""
            return as_one + _replacement_text(blocks, "combinations" if together else "categories")
        case SetWeights(set_size=l, original=values):
            what = "combinations" if together else "categories"
            drawn = f"the original one and {l - 1} drawn at random"
            return f"as a set of {l} of the {len(values)} {what}: {drawn}{together}"
        case _:
            return f"by an explicit transition matrix{together}"


def _replacement_text(blocks: Sequence[Block], what: str) -> str:
    kept = sorted(map(_keep_probability_text, blocks))
    if len(blocks) == 1:
        return f"{kept[0]}, otherwise replaced by one of the other {what} of {blocks[0].size}, equally likely"
    return f"exchanged inside {len(blocks)} blocks of {what} only: {'; '.join(dict.fromkeys(kept))}"


def _keep_probability_text(block: Block) -> str:
    return "kept" if block.size == 1 else f"kept with probability {plain_number(float(block.keep))}"


P = ParamSpec("P")


@cache
def export_environment() -> Environment:
    """Return the templates' environment: undefined values are errors, and only filtered text is written.

    Filters return `Markup`, which marks text as written for its place; `finalize` refuses any other. So autoescape has
    nothing to escape; it is on so that macros and blocks keep the mark.
    """
    made = template_environment("rrpolicy.exports", _filtered_only, keep_trailing_newline=True)
    filters: dict[str, Callable[..., str]] = {
        "prose": markdown_prose,
        "code": lambda value: markdown_code(str(value)),
        "cell": lambda value: markdown_cell(str(value)),
        "fenced": markdown_fence,
        "thousands": lambda number: f"{number:,}",
        "treatment": treatment_markdown,
        "identifier": quoting.identifier,
        "literal": quoting.literal,
        "kind": quoting.type_name,
        "unescaped": lambda name: formulas.unescape_formula_sql(quoting.identifier(name)),
        "scan": lambda columns, path, data, form: form.sql(path, columns, data.csv_formulas),
        "comment": visible,
        "r": weights.r_string,
        "r_column": weights.r_column_class,
        "python": repr,
    }
    made.filters |= {name: _markup_filter(write) for name, write in filters.items()}
    made.filters |= {
        "join": _join_markup,
        "r_classes": _markup_list_filter(weights.r_column_classes),
        "typed": typed_headings,
    }
    quantile = NormalDist().inv_cdf((1 + LEVEL) / 2)
    made.globals |= {
        "free": _unused_names,
        "formula_begins": Markup(formulas.TOLD),  # noqa: S704 - a constant
        "formula_convention": Markup(formulas.ESCAPE_CONVENTION),  # noqa: S704 - likewise
        "level": Markup(level_percent(LEVEL)),  # noqa: S704 - likewise
        "quantile": Markup(plain_number(quantile, 16)),  # noqa: S704 - likewise
        "quantile_rounded": Markup(fixed_number(quantile, 2)),  # noqa: S704 - likewise
    }
    return made


def _filtered_only(value: object) -> object:
    """Return a value to write: a number, or text that passed a filter.

    Raises:
        TypeError: for anything else.
    """
    if isinstance(value, (int, float, Markup)) and not isinstance(value, bool):
        return value
    raise TypeError(f"a template writes {value!r}, which passed no filter")


def _markup_filter(write: Callable[P, str]) -> Callable[P, Markup]:
    @wraps(write)
    def filtered(*args: P.args, **kwargs: P.kwargs) -> Markup:
        return Markup(write(*args, **kwargs))  # noqa: S704 - Markup marks the output of this filter

    return filtered


def _markup_list_filter(write: Callable[P, Iterable[str]]) -> Callable[P, list[Markup]]:
    @wraps(write)
    def filtered(*args: P.args, **kwargs: P.kwargs) -> list[Markup]:
        return [Markup(text) for text in write(*args, **kwargs)]  # noqa: S704 - likewise

    return filtered


def _join_markup(texts: Iterable[object], by: str) -> Markup:
    """Join the output of filters; Jinja's filter would escape it for HTML."""
    return Markup(by).join(map(_filtered_only, texts))  # type: ignore[arg-type]  # noqa: S704 - a template's own text


def _unused_names(columns: Iterable[str], *names: str) -> list[Markup]:
    """Return names for a view's columns, with underscores appended if a released column has the name."""
    taken = {column.casefold() for column in columns}
    found = []
    for name in names:
        free = name
        while free in taken:
            free += "_"
        found.append(Markup(free))  # noqa: S704 - a template's own name
    return found
