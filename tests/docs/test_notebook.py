"""The example notebook: kept without outputs, and run cell by cell as its reader runs it."""

from __future__ import annotations

import ast
import json
from pathlib import Path

import nbformat
import pytest

import rrpolicy

NOTEBOOK = Path(__file__).resolve().parents[2] / "docs" / "notebooks" / "questions.ipynb"


@pytest.fixture(scope="module")
def notebook():
    return json.loads(NOTEBOOK.read_text("utf-8"))


def test_it_is_a_notebook_without_outputs(notebook):
    nbformat.validate(nbformat.read(NOTEBOOK, as_version=4))
    assert (notebook["nbformat"], notebook["nbformat_minor"]) == (4, 5)
    cells = notebook["cells"]
    assert len({cell["id"] for cell in cells}) == len(cells)
    assert all(isinstance(line, str) for cell in cells for line in cell["source"])
    code = [cell for cell in cells if cell["cell_type"] == "code"]
    assert len(code) > 6
    assert all((cell["outputs"], cell["execution_count"]) == ([], None) for cell in code)


def shown(source, names):
    """Run a cell; return what a notebook shows of its last expression."""
    body = ast.parse(source).body
    last = body.pop() if isinstance(body[-1], ast.Expr) else None
    exec(compile(ast.Module(body, []), "cell", "exec"), names)
    if last is None:
        return ""
    value = eval(compile(ast.Expression(last.value), "cell", "eval"), names)
    return value._repr_html_() if hasattr(value, "_repr_html_") else repr(value)


def test_its_cells_run_one_after_the_other(notebook, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    names = {"__name__": "__main__"}
    outputs = [shown("".join(c["source"]), names) for c in notebook["cells"] if c["cell_type"] == "code"]

    assert "50,000" in outputs[0] or "Release" in outputs[0]
    assert outputs[1].count("<tr") > 7
    assert "heart" in names["heart"].query
    assert names["difference"].se()[0] < 0.2
    assert len(names["regions"].to_frame()) == 28
    assert names["regions"].largest[0].quantity == "depression"
    assert len(names["hours"].estimate) == 9
    assert 0 <= names["test"].p_value <= 1
    assert (tmp_path / "weights.parquet").exists()
    assert (tmp_path / "rrpolicy.R").read_text("utf-8") == rrpolicy.export("survey", "r")
