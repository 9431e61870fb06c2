"""Arguments of another type than their annotation: a `TypeError` that names the argument, before anything is done."""

from __future__ import annotations

import inspect
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import date
from fractions import Fraction
from pathlib import Path
from typing import Literal

import numpy as np
import pytest

import rrpolicy
from rrpolicy.annotations import check_arguments
from rrpolicy.api import __all__ as public
from rrpolicy.estimate.release import Release
from rrpolicy.plugin_errors.type_checks import check_return_type
from rrpolicy.verb_options import Threshold

METHODS = [name for name, member in vars(Release).items() if inspect.isfunction(member) and not name.startswith("_")]


@pytest.fixture(scope="module")
def release(tmp_path_factory: pytest.TempPathFactory) -> Release:
    folder = tmp_path_factory.mktemp("arguments")
    policy = Path(__file__).resolve().parents[2] / "policies" / "pram.toml"
    rrpolicy.release(policy, folder / "bundle")
    return rrpolicy.open_release(folder / "bundle")


@pytest.mark.parametrize(
    ("name", "args", "options", "told"),
    [
        ("mean", (["hours"],), {}, "expected str as `value`, got list of str"),
        ("crosstab", (5,), {}, "expected Sequence[str] | str as `by`, got int"),
        ("crosstab", ([1],), {}, "as `by`, got list of int"),
        ("crosstab", ("sex",), {"level": "0.9"}, "expected float as `level`, got str"),
        ("crosstab", ("sex",), {"level": True}, "expected float as `level`, got bool"),
        ("crosstab", ("sex",), {"where": 1}, "expected str | None as `where`, got int"),
        ("crosstab", ("sex",), {"target": 1}, "expected str | None as `target`, got int"),
        ("cube", ("sex",), {}, "expected Sequence[str] as `by`, got str"),
        ("association", ("sex", None), {}, "expected str as `column`, got None"),
        ("rules", ("0.1", 0.1), {}, "expected float as `min_support`, got str"),
        ("rules", (0.1, 0.1, "sex"), {}, "as `columns`, got str"),
        ("query", (5,), {}, "expected str as `sql`, got int"),
        ("query", ("SELECT count(*) FROM release",), {"tables": ["labels.csv"]}, "as `tables`, got list of str"),
        ("crosstab", ("sex",), {"spread": "no"}, "expected bool as `spread`, got str"),
        ("bootstrap", ("sex",), {}, "as `question`, got str"),
        ("with_design", (), {"totals": ["sex"]}, "as `totals`, got list of str"),
        ("change_since", ("earlier",), {}, "expected Release as `earlier`, got str"),
    ],
)
def test_a_question_says_what_it_expected(release, name, args, options, told):
    with pytest.raises(TypeError, match=rf"^Release\.{name}\(\): ") as caught:
        getattr(release, name)(*args, **options)
    assert told in str(caught.value)


@pytest.mark.parametrize(
    ("name", "args", "options", "told"),
    [
        ("open_release", (None,), {}, "expected str | os.PathLike as `path`, got None"),
        ("open_release", ("bundle",), {"plugins": "acme"}, "expected Sequence[str] as `plugins`, got str"),
        ("check", (["p.toml"],), {}, "expected str | os.PathLike | Policy as `policy`, got list of str"),
        ("plan", ("p.toml",), {"today": "2027-01-01"}, "expected date | None as `today`, got str"),
        ("plan", ("p.toml",), {"expected_rows": "100"}, "expected int | None as `expected_rows`, got str"),
        ("release", ("p.toml", None), {}, "as `out`, got None"),
        ("verify", ("bundle",), {"signed_by": "key.pub"}, "as `signed_by`, got str"),
        ("verify", ("bundle",), {"level": 5}, "as `level`, got int"),
        ("inventory", ("policies",), {}, "as `policies`, got str"),
        ("compare", ("p.toml",), {"mechanisms": "pram"}, "as `mechanisms`, got str"),
        ("run_tests", ("p.toml", None), {}, "as `policies`, got None"),
        ("check_table", ("t.csv",), {"qi": "sex"}, "as `qi`, got str"),
        ("randomize", ("q.json", 5), {}, "as `records`, got int"),
        (
            "check_table",
            ("t.csv",),
            {"t": [0.1]},
            "expected int | float | str | Fraction | None as `t`, got list of float",
        ),
    ],
)
def test_a_function_says_what_it_expected(name, args, options, told):
    with pytest.raises(TypeError, match=rf"^{name}\(\): ") as caught:
        getattr(rrpolicy, name)(*args, **options)
    assert told in str(caught.value)


@pytest.mark.parametrize(
    ("call", "told"),
    [
        (lambda: rrpolicy.attack("bundle"), "missing a required keyword-only argument: 'source'"),
        (lambda: rrpolicy.check("p.toml", sources="t.csv"), "unexpected keyword argument 'sources'"),
        (lambda: rrpolicy.check("p.toml", "t.csv"), "takes 1 positional argument but 2 were given"),
        (rrpolicy.check, "missing 1 required positional argument: 'policy'"),
    ],
)
def test_a_call_with_other_arguments_is_refused_as_python_does(call, told):
    with pytest.raises(TypeError, match=told):
        call()


def annotations() -> Iterator[tuple[str, str, str]]:
    """Yield function, parameter and annotation of every public argument that is not a table."""
    named = [(name, getattr(rrpolicy, name)) for name in public] + [
        (f"Release.{n}", getattr(Release, n)) for n in METHODS
    ]
    for name, function in named:
        for parameter in inspect.signature(function).parameters.values():
            if parameter.annotation is not parameter.empty and "Table" not in parameter.annotation:
                yield name, parameter.name, parameter.annotation


@pytest.mark.parametrize(("function", "parameter", "annotation"), [*annotations()])
def test_no_argument_may_be_anything(function, parameter, annotation):
    """What is neither text, a number nor a list is refused for every argument."""

    def taken(argument: object) -> None:
        raise AssertionError(argument)

    taken.__annotations__["argument"] = annotation
    with pytest.raises(TypeError, match=r"as `argument`, got object$"):
        check_arguments(taken)(object())


def test_what_does_for_a_type_is_taken():
    @check_arguments
    def taken(
        share: float, times: int, names: Sequence[str], limit: Threshold, day: date | None = None, *, sure: bool = False
    ) -> tuple[object, ...]:
        return share, times, names, limit, day, sure

    for share in (1, 0.5, Fraction(1, 2), np.float32(0.5)):
        assert taken(share, np.int64(3), ["a"], "1/2")
    for names in (("a",), {"a"}, (name for name in "ab"), np.array(["a"]), {"a": 1}.keys()):
        assert taken(0.5, 3, names, Fraction(1, 2), date(2027, 1, 1), sure=np.bool_(1))
    with pytest.raises(TypeError, match="missing 3 required positional arguments"):
        taken(0.5)


@dataclass
class Painted:
    colour: Literal["red", "blue"]


def test_the_words_of_a_field_are_told():
    def paint(colour: str) -> Painted:
        return Painted(colour)  # type: ignore[arg-type]

    assert check_return_type(Painted, paint)("red") == Painted("red")
    with pytest.raises(rrpolicy.RefusedError, match="RR413.*`colour` is a str, expected one of red, blue"):
        check_return_type(Painted, paint)("green")
