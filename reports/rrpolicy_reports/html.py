"""The report as one HTML page, self-contained and without scripts."""

from __future__ import annotations

from functools import cache

from jinja2 import Environment

from rrpolicy.plugin import Report, figure, percent, template_environment
from rrpolicy.plugin.text import (
    LEVEL,
    NOT_FIT,
    UNDECIDED_NOTE,
    inline_style,
    level_percent,
    matrix_probability,
    requirements_met,
    sentence,
    unmet_and,
    used_share,
    verdict_word,
)
from rrpolicy_reports import measure_groups, plot_layout, text_filters

_OF = {"audit": "audit", "plan": "audit", "public": "public"}


@cache
def environment() -> Environment:
    """Return the templates' environment: everything is escaped, and undefined values are errors."""
    made = template_environment("rrpolicy_reports", text_filters.printable)
    made.filters |= {
        "beside": text_filters.relative_link,
        "code": text_filters.code_line,
        "label": text_filters.escaped_label,
        "sentence": sentence,
        "prose": text_filters.prose_text,
        "names": text_filters.name_text,
        "numeric": text_filters.numeric_columns,
        "level": level_percent,
        "percent": percent,
        "probability": matrix_probability,
        "word": verdict_word,
        "whole": "{:,}".format,
        "number": figure,
        "basis": text_filters.basis_text,
        "shade": plot_layout.shade_step,
        "spot": plot_layout.percent_across,
        "across": plot_layout.map_left,
        "up": plot_layout.map_bottom,
        "anchor": plot_layout.text_anchor,
        "forest": plot_layout.forest_plot,
        "kind": plot_layout.interval_kind,
        "bars": plot_layout.histogram_plot,
        "spread": plot_layout.spread_plot,
        "parameters": measure_groups.group_parameters,
        "related": measure_groups.related_measures,
        "shared": measure_groups.shared_measures,
        "used": used_share,
        "lines": text_filters.escaped_lines,
        "cited": text_filters.cited_numbers,
        "limits": text_filters.not_covered,
        "shaded": plot_layout.shaded_cells,
    }
    made.tests["constant"] = plot_layout.is_constant
    made.globals |= {
        "default_level": LEVEL,
        "level": level_percent(LEVEL),
        "not_fit": NOT_FIT,
        "undecided": UNDECIDED_NOTE,
        "requirements_met": requirements_met,
        "unmet_and": unmet_and,
    }
    made.globals["styles"] = {
        page: inline_style("rrpolicy_reports", "report.css", f"{kind}.css") for page, kind in _OF.items()
    }
    return made


class HtmlRenderer:
    """Renderer of the HTML page."""

    @property
    def name(self) -> str:
        """Return `html`."""
        return "html"

    @property
    def suffix(self) -> str:
        """Return `.html`."""
        return ".html"

    def render(self, report: Report) -> bytes:
        """Return the page as UTF-8; characters that cannot be encoded become question marks."""
        shown = {name: getattr(report, name) for name in report.__struct_fields__}
        return environment().get_template(f"{_OF[report.page]}.html").render(shown).encode("utf-8", "replace")
