from __future__ import annotations

import pytest

from rrpolicy.declarations import Role
from rrpolicy.errors import PolicyError, Problem, RefusedError
from rrpolicy.policy.load import load_policy

POLICY = """\
schema = 1

[policy]
name = "survey"
version = "1.0.0"
owner = "the registrar"

[source]
uri = "survey.csv"
min_rows = 100

[attributes]
person = { role = "identifier" }
sex = { role = "quasi-identifier", domain = ["F", "M"], release_as = "gender" }
age = { role = "quasi-identifier", bins = [0, 20, 40.5, inf], nulls = "Unknown", scale = "ordinal" }
disease = { role = "sensitive", domain = ["none", "flu"], outside = "other" }
size = { role = "sensitive", domain = [1, 2.5] }
hours = { role = "insensitive", assume_unlinkable = "drawn at random" }

[[privacy]]
model = "k"
k = 5
where = { sex = "F" }

[mechanism]
name = "flip"
keep = { sex = 0.8, age = "2/3" }

[[utility]]
metric = "error"
max = 0.020

[release]
format = "csv"
"""


def refusal(load, path, **named):
    with pytest.raises(PolicyError) as caught:
        load(path, **named)
    return caught.value.problems


def test_defaults_are_filled_in(load, write):
    policy = load(write(POLICY))

    assert (policy.name, policy.version, policy.owner, policy.purpose) == ("survey", "1.0.0", "the registrar", "")
    assert [a.name for a in policy.released] == ["sex", "age", "disease", "size", "hours"]
    assert policy.attributes["person"].role is Role.IDENTIFIER
    assert policy.attributes["sex"].release_as == "gender"
    assert policy.attributes["age"].domain == ("[0, 20)", "[20, 40.5)", "[40.5, inf)", "Unknown")
    assert policy.attributes["age"].bins.edges == (0.0, 20.0, 40.5, float("inf"))
    assert policy.attributes["disease"].domain == ("none", "flu", "other")
    assert policy.attributes["size"].domain == (1.0, 2.5)
    assert not policy.attributes["hours"].categorical
    assert policy.requirements[0].where == {"sex": "F"}
    assert policy.gates[0].max == "1/50"
    assert {k: str(v) for k, v in policy.mechanism.options.keep.items()} == {"sex": "4/5", "age": "2/3"}
    assert policy.release.format == "csv"
    assert not policy.release.audit_counts


def test_places_lead_back_to_the_file(load, write):
    policy = load(write(POLICY))

    assert (
        policy.place("attributes.age.bins.2")
        .text[policy.place("attributes.age.bins.2").column - 1 :]
        .startswith("40.5")
    )
    assert policy.place("mechanism.keep.sex.anything").line == policy.place("mechanism.keep.sex").line == 27
    assert policy.requirements[0].place.line == 21
    assert policy.attributes["disease"].place.line == 16


def test_the_callers_source_takes_the_place_of_the_policys(load, write):
    path = write(POLICY)

    assert load(path, source="other.csv").source.uri == "other.csv"
    assert load(path, source="demo:survey").source.uri == "demo:survey"
    assert load(path, source="other.csv").digest() == load(path).digest()
    assert (
        load(write(POLICY.replace('uri = "survey.csv"\n', ""), "bare.toml"), source="demo:survey").source.min_rows
        == 100
    )


def test_a_baseline_is_folded_in(load, cases):
    policy = load(cases / "extends_ok.toml")

    assert policy.name == "child"
    assert policy.owner == "the data protection officer"
    assert [r.options.k for r in policy.requirements] == [3, 7]
    assert [r.place.file.rpartition("/")[2] for r in policy.requirements] == ["base.toml", "extends_ok.toml"]
    assert list(policy.attributes) == ["sex", "age", "disease", "hours"]
    assert policy.attributes["age"].role is Role.EXCLUDED
    assert policy.attributes["hours"].role is Role.QUASI_IDENTIFIER
    assert policy.mechanism.options.digits == 4
    assert set(policy.mechanism.options.keep) == {"sex"}
    assert policy.source.uri == "baselines/data/survey.csv"
    assert policy.release.accept == ("marginal:sex",)


def test_another_mechanism_takes_no_options_from_the_baseline(load, cases, tmp_path):
    for name in ("base.toml",):
        (tmp_path / name).write_text(
            (cases / "baselines" / name).read_text().replace('"flip"\nkeep = { sex = 0.8 }', '"other"\nother = 1')
        )
    (tmp_path / "child.toml").write_text('schema = 1\npolicy.extends = "base.toml"\nmechanism.name = "flip"\n')

    assert load(tmp_path / "child.toml").mechanism.options.keep == {}


def test_plugins_append_each_once(tmp_path, catalogue):
    (tmp_path / "base.toml").write_text(POLICY.replace('owner = "the registrar"', 'plugins = ["acme-oue>=1.2", "b"]'))
    (tmp_path / "child.toml").write_text('schema = 1\n\n[policy]\nextends = "base.toml"\nplugins = ["b", "c"]\n')
    asked = []

    def find(plugins, place):
        asked.append([(p, place(i).file.rpartition("/")[2], place(i).line) for i, p in enumerate(plugins)])
        return catalogue

    policy = load_policy(tmp_path / "child.toml", find)

    assert policy.plugins == ("acme-oue>=1.2", "b", "c")
    assert asked[0] == [("acme-oue>=1.2", "base.toml", 6), ("b", "child.toml", 5), ("c", "child.toml", 5)]


@pytest.mark.parametrize("mark", [b"\xef\xbb\xbf", b"\xff\xfe", b"\xfe\xff"])
def test_a_byte_order_mark_is_refused(load, tmp_path, mark):
    (tmp_path / "p.toml").write_bytes(mark + POLICY.encode())

    assert [p.code for p in refusal(load, tmp_path / "p.toml")] == ["RR201"]


def test_another_encoding_is_refused_with_its_place(load, tmp_path):
    (tmp_path / "p.toml").write_bytes(POLICY.replace("the registrar", "der Schüler").encode("latin-1"))

    (problem,) = refusal(load, tmp_path / "p.toml")
    assert (problem.code, problem.place.line, problem.place.column) == ("RR201", 6, 17)


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("", "RR209"),
        ("  \n\t\n", "RR209"),
        ("a" * 10, "RR202"),
        ("a = " + "[" * 5000, "RR287"),
        ("a = " + "9" * 5000, "RR202"),
        ("\0", "RR202"),
    ],
)
def test_what_is_no_policy(load, write, text, code):
    assert [p.code for p in refusal(load, write(text))] == [code]


def test_what_is_no_file(load, tmp_path):
    for path in (tmp_path, tmp_path / "nowhere.toml", tmp_path / ("x" * 300), tmp_path / "a\0b"):
        (problem,) = refusal(load, path)
        assert problem.code == "RR200"


def test_windows_line_ends_and_tabs_keep_their_places(load, tmp_path):
    (tmp_path / "p.toml").write_bytes(POLICY.replace("\n", "\r\n").replace("k = 5", "\tk = 1").encode())

    (problem,) = refusal(load, tmp_path / "p.toml")
    assert (problem.code, problem.place.line, problem.place.column, problem.place.text) == ("RR208", 22, 6, "\tk = 1")


def test_columns_count_characters(load, write):
    (problem,) = refusal(load, write(POLICY.replace('["F", "M"]', '["Ä", "ß", "Ä"]')))

    assert problem.place.text[problem.place.column - 1 :][: problem.place.width] == '"Ä"'


def test_credentials_are_not_repeated(load, write):
    from rrpolicy.policy.diagnostics import render
    from rrpolicy.serialization import plain

    for uri in ("postgres://me:swordfish@host/db", "s3://b/k?s3_secret_access_key=swordfish"):
        problems = refusal(load, write(POLICY.replace("survey.csv", uri)))
        assert [p.code for p in problems] == ["RR221"]
        assert "swordfish" not in render(problems)
        assert "swordfish" not in str(plain(problems))


def test_a_missing_key_is_listed_with_the_values_it_takes(write):
    import rrpolicy

    text = POLICY.replace('model = "k"\nk = 5', 'model = "l-diversity"\nl = 2')
    text = text.replace('role = "sensitive", domain = ["none", "flu"], ', 'domain = ["none", "flu"], ', 1)

    with pytest.raises(PolicyError) as caught:
        rrpolicy.check(write(text))
    found = {p.message: p.expected for p in caught.value.problems if p.code == "RR206"}

    assert found["the key 'kind' is missing in [[privacy]] 1"] == "one of: distinct, frequency, entropy, recursive"
    roles = "one of: identifier, excluded, quasi-identifier, sensitive, insensitive"
    assert found["the key 'role' is missing in [attributes.disease]"] == roles


def test_a_refused_plugin_stands_among_the_other_problems(write):
    def find(plugins, place):
        raise RefusedError(Problem("RR404", "not installed"))

    with pytest.raises(RefusedError):
        load_policy(write(POLICY), find)
    with pytest.raises(PolicyError) as caught:
        load_policy(write(POLICY.replace("role", "rule", 1)), find)
    assert {"RR205", "RR206", "RR404"} == {p.code for p in caught.value.problems}


def test_options_that_fail_in_a_way_of_their_own_are_the_plugins_fault(write, catalogue):
    from pydantic import BaseModel, field_validator

    from rrpolicy.registry import NameCatalogue

    class Broken(BaseModel):
        k: int

        @field_validator("k")
        @classmethod
        def check(cls, value):
            return {}[value]

    names = NameCatalogue(catalogue.mechanisms, {"k": Broken}, catalogue.utility_metrics, catalogue.formats)
    with pytest.raises(RefusedError) as caught:
        load_policy(write(POLICY), lambda plugins, place: names)
    assert [p.code for p in caught.value.problems] == ["RR406"]


def test_unknown_keys_are_refused_where_a_plugin_forgets_to(load, write):
    text = POLICY.replace('model = "k"\nk = 5', 'model = "epsilon"\nepsilon = 3\nscop = "record"')

    (problem,) = refusal(load, write(text))
    assert (problem.code, problem.hint) == ("RR205", "did you mean 'scope'?")


def test_a_vast_exponent_is_refused_at_once(load, write):
    (problem,) = refusal(load, write(POLICY.replace("0.020", "1e999999999")))
    assert problem.code == "RR208"
    (problem,) = refusal(load, write(POLICY.replace("0.020", '"1e999999999"')))
    assert problem.code == "RR208"


def test_an_error_of_a_whole_table_is_placed_at_the_key_it_names(write, catalogue):
    from pydantic import BaseModel, model_validator

    from rrpolicy.registry import NameCatalogue

    class Paired(BaseModel):
        k: int
        l: int = 2

        @model_validator(mode="after")
        def _pair(self):
            if self.k > 4:
                raise ValueError("k must be below 4, got 5")
            if self.l == 1:
                raise ValueError("of the two one is too many")
            return self

    names = NameCatalogue(catalogue.mechanisms, {"k": Paired}, catalogue.utility_metrics, catalogue.formats)
    for text, line, message in (
        (POLICY, 22, "k must be below 4, got 5"),
        (POLICY.replace("k = 5", "k = 2\nl = 1"), 20, "[[privacy]] 1: of the two one is too many"),
    ):
        with pytest.raises(PolicyError) as caught:
            load_policy(write(text), lambda plugins, place: names)
        (problem,) = caught.value.problems
        assert (problem.code, problem.place.line, problem.message) == ("RR208", line, message)
