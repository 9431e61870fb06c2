"""Names and categories that are SQL, Markdown, R, Python or a template to whoever does not quote them: they stay names."""

from __future__ import annotations

import csv
import json
import random
from pathlib import Path
from typing import Any

import duckdb
import pytest
from jinja2 import UndefinedError, nodes
from jinja2.defaults import DEFAULT_FILTERS
from markdown_it import MarkdownIt

import rrpolicy
from rrpolicy.cli.main import main
from rrpolicy.engine.quoting import identifier
from rrpolicy.escaping.printable import visible
from rrpolicy.exports import jinja_environment

KNOWN = '"; DROP TABLE released; --'
TOLD = "`{{ 7 * 7 }}` | {% raw %} ``` <b>'\\"
LABELS = ["'; DROP VIEW release; --", "{{ 7 * 7 }}|`<b>`\n- [x](y)", 'x" # {# a #}', "\\', \"\u202eq"]
SENTENCE = "{{ 7 * 7 }} <script> [x](http://example.invalid/) `|`"
HEAD = f"""
schema = 1
[policy]
name = {json.dumps("{{ 7 * 7 }} `<b>`")}
version = "1.0.0"
owner = {json.dumps(SENTENCE)}
purpose = {json.dumps(SENTENCE)}
[source]
uri = "t.csv"
[attributes.{json.dumps(KNOWN)}]
role = "quasi-identifier"
domain = {json.dumps(LABELS[:3])}
[attributes.{json.dumps(TOLD)}]
role = "sensitive"
domain = {json.dumps(LABELS)}
"""
DIVERSE = '[[privacy]]\nmodel = "l-diversity"\nkind = "frequency"\nl = 2\n'
MECHANISMS = {
    "pram": '[[privacy]]\nmodel = "local-dp"\nepsilon = 20\nscope = "attribute"\n[mechanism]\nname = "pram"\n'
    f'allocation = "fixed"\nkeep_probability = {{ {json.dumps(KNOWN)} = "3/4", {json.dumps(TOLD)} = "3/4" }}\n',
    "sets": DIVERSE + '[mechanism]\nname = "sensitive-addition"\n',
    "anatomy": DIVERSE + '[mechanism]\nname = "anatomy"\n',
    "spread": '[[privacy]]\nmodel = "k-anonymity"\nk = 100\n[mechanism]\nname = "l-diversity"\nalgorithm = "mondrian"\n',
}
PLAIN = {"inline", "text", "softbreak", "code_inline", "fence", "strong_open", "strong_close", "em_open", "em_close"}
PLAIN |= {f"{part}_{end}" for part in ("heading", "paragraph", "bullet_list", "list_item") for end in ("open", "close")}
PLAIN |= {f"{part}_{end}" for part in ("table", "thead", "tbody", "tr", "th", "td") for end in ("open", "close")}


@pytest.fixture(params=[(m, f) for m in MECHANISMS for f in ("csv", "parquet", "duckdb")], ids="-".join)
def public(request: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    mechanism, form = request.param
    rng = random.Random(5)
    with (tmp_path / "t.csv").open("w", newline="", encoding="utf-8") as out:
        writer = csv.writer(out, quoting=csv.QUOTE_ALL)
        writer.writerow([KNOWN, TOLD])
        writer.writerows([rng.choice(LABELS[:3]), LABELS[i % 4]] for i in range(240))
    text = f'{HEAD}{MECHANISMS[mechanism]}[release]\nformat = "{form}"\n'
    (tmp_path / "policy.toml").write_text(text, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    assert main(["release", "policy.toml", "--out", "out"]) == 0
    return tmp_path / "out" / "public"


def test_the_sql_and_the_readme_hold_names_and_nothing_else(public: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(public)
    readme = Path("README.md").read_text(encoding="utf-8")
    release = rrpolicy.open_release(".")
    decoders = json.loads(Path("release.json").read_text(encoding="utf-8"))["decoders"]
    found = [t for b in MarkdownIt("commonmark").enable("table").parse(readme) for t in (b, *(b.children or ()))]
    fences = [t for t in found if t.type == "fence"]

    assert {t.type for t in found} <= PLAIN
    shown = {t.content for t in found if t.type == "code_inline"}
    assert {visible(text) for text in (KNOWN, TOLD, *LABELS)} <= shown
    assert visible(SENTENCE) in " ".join(t.content for t in found if t.type == "text")
    with duckdb.connect() as connection:
        connection.execute(Path("estimate.sql").read_text(encoding="utf-8")).fetchall()
        views = [
            name for (name,) in connection.sql("SELECT view_name FROM duckdb_views() WHERE NOT internal").fetchall()
        ]
        both = next(v for v in views if v.startswith("estimate_") and KNOWN in v and TOLD in v)
        rows = connection.sql(f"FROM {identifier(both)}").fetchall()
        table = release.crosstab([KNOWN, TOLD], spread=any(d["form"] == "recode" for d in decoders))
        assert sorted(r[2] for r in rows) == pytest.approx(sorted(table.estimate.ravel().tolist()))
        for fence in fences:
            if fence.info == "sql":
                assert connection.sql(fence.content.rstrip().rstrip(";")).fetchall()
    for fence in fences:
        if fence.info == "python":
            exec(fence.content, {})
    assert {fence.info for fence in fences} <= {"sh", "sql", "r", "python"}


def test_a_template_writes_nothing_that_passed_no_filter() -> None:
    made = jinja_environment.export_environment()
    for source in ("{{ x }}", "{{ x ~ x }}", "{% macro m() %}{{ x }}{% endmacro %}{{ m() }}", "{{ [x]|join(', ') }}"):
        with pytest.raises(TypeError, match="passed no filter"):
            made.from_string(source).render(x="a")
    with pytest.raises(UndefinedError):
        made.from_string("{{ missing|identifier }}").render()
    assert made.from_string("{{ x|identifier }}, {{ n }}").render(x='a"&<', n=3) == '"a""&<", 3'


def test_the_templates_quote_by_their_own_filters_alone() -> None:
    """Concatenation, and some of Jinja's own filters, would escape for HTML or mark text that nobody quoted."""
    made = jinja_environment.export_environment()
    assert made.loader is not None
    names = [name for name in made.loader.list_templates() if not name.startswith("__pycache__")]
    own = set(made.filters) - (set(DEFAULT_FILTERS) - {"join"})
    assert {"table.md", "table.sql", "anatomy.md", "anatomy.sql"} <= set(names)
    for name in names:
        tree = made.parse(made.loader.get_source(made, name)[0])
        assert not list(tree.find_all(nodes.Concat)), name
        assert {node.name for node in tree.find_all(nodes.Filter)} <= own | {"map", "length"}, name
