"""Whatever is done to a policy, it is a policy or a PolicyError; its digest covers the meaning and nothing else."""

from __future__ import annotations

import random
import tempfile
import tomllib
from decimal import Decimal
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from rrpolicy.errors import PolicyError
from rrpolicy.policy.diagnostics import render
from rrpolicy.policy.model import Policy
from rrpolicy.serialization import plain

WHOLE = (Path(__file__).resolve().parent / "cases" / "ok_whole.toml").read_text()
SCALARS = st.one_of(
    st.booleans(),
    st.integers(-3, 10),
    st.floats(),
    st.sampled_from(["", "F", "observed", "reject", "1/3", "x\0y", "sex", "identifier", "k"]),
    st.just([]),
    st.just([1, "a"]),
    st.just({}),
    st.just({"role": "sensitive"}),
)
settings.register_profile("policy", deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
quick = settings(settings.get_profile("policy"), max_examples=150)


def dump(value):
    """Write a value as TOML."""
    if isinstance(value, dict):
        return "{ " + ", ".join(f"{quoted(k)} = {dump(v)}" for k, v in value.items()) + " }"
    if isinstance(value, list):
        return "[" + ", ".join(map(dump, value)) + "]"
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, (float, Decimal)):
        text = str(value).lower().replace("infinity", "inf").replace("snan", "nan")
        return text if any(c in text for c in ".en") else text + ".0"
    return quoted(value) if isinstance(value, str) else str(value)


def quoted(text):
    return '"' + "".join(c if c.isprintable() and c not in '"\\' else f"\\u{ord(c):04x}" for c in text) + '"'


def document(values):
    return "".join(f"{quoted(k)} = {dump(v)}\n" for k, v in values.items())


def places(value, path=()):
    yield path
    children = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, child in children:
        yield from places(child, (*path, key))


def parsed():
    return tomllib.loads(WHOLE, parse_float=Decimal)


PATHS = [p for p in places(parsed()) if p]


def attempt(load, text):
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "policy.toml"
        path.write_bytes(text if isinstance(text, bytes) else text.encode())
        try:
            return load(path)
        except PolicyError as error:
            problems = error.problems
    assert problems
    assert render(problems)
    assert len(plain(problems)) == len(problems)
    return None


@quick
@given(path=st.sampled_from(PATHS), value=SCALARS, kind=st.sampled_from(["replace", "delete", "rename", "append"]))
def test_a_changed_value_gives_a_policy_or_its_problems(load, path, value, kind):
    values = parsed()
    above = values
    for part in path[:-1]:
        above = above[part]
    if kind == "replace":
        above[path[-1]] = value
    elif kind == "append" and isinstance(above[path[-1]], list):
        above[path[-1]].append(value)
    elif kind == "rename" and isinstance(above, dict):
        above[f"{path[-1]}x"] = above.pop(path[-1])
    else:
        del above[path[-1]]

    policy = attempt(load, document(values))

    assert policy is None or isinstance(policy, Policy)


@pytest.mark.slow
@quick
@given(
    start=st.integers(0, len(WHOLE)),
    length=st.integers(0, 40),
    text=st.one_of(st.text(max_size=5), st.sampled_from(['"', "[", "]", "{", "'", '"""', "\n", "=", "#", "\\"])),
)
def test_a_spoilt_file_gives_a_policy_or_its_problems(load, start, length, text):
    spoilt = WHOLE[:start] + text + WHOLE[start + length :]

    policy = attempt(load, spoilt.encode(errors="surrogatepass"))

    assert policy is None or policy.digest().startswith("sha256:")


@settings(quick, max_examples=60)
@given(seed=st.integers(0, 2**32))
def test_the_digest_ignores_spelling(load, seed):
    drawn = random.Random(seed)

    def shuffled(value, key=""):
        if isinstance(value, list):
            return [shuffled(v) for v in value]
        if not isinstance(value, dict):
            return value
        keys = list(value)
        if key != "attributes":  # their order is the order of the released columns
            drawn.shuffle(keys)
        return {k: shuffled(value[k], k) for k in keys}

    values = shuffled(parsed())
    values["source"]["uri"] = "elsewhere.parquet"
    values["mechanism"]["keep"]["sex"] = drawn.choice(["4/5", "0.80", Decimal("0.8000"), "8/10"])
    text = f"# {seed}\n" + document(values).replace("\n", "  # a comment\n\n")

    assert attempt(load, text).digest() == attempt(load, WHOLE).digest()


CHANGES = [
    ('name = "survey"', 'name = "other"'),
    ('version = "1.0.0"', 'version = "1.0.1"'),
    ('"F", "M"', '"F", "M", "X"'),
    ('"F", "M"', '"M", "F"'),
    ("20, 40", "20, 41"),
    ('"middle"', '"mid"'),
    (', nulls = "Unknown"', ', outside = "Unknown"'),
    ('outside = "other"', 'nulls = "other"'),
    ('role = "sensitive"', 'role = "insensitive"'),
    ('role = "identifier"', 'role = "excluded"'),
    ("person =", "persons ="),
    ('{ role = "insensitive" }', '{ role = "insensitive", release_as = "h" }'),
    ('{ role = "insensitive" }', '{ role = "insensitive", assume_unlinkable = "because" }'),
    ('{ role = "insensitive" }', '{ role = "insensitive", unchanged = "because" }'),
    ('"M"] }', '"M"], scale = "ordinal" }'),
    ('"M"] }', '"M"], hierarchy = [{ "*" = ["F", "M"] }] }'),
    ("k = 5", "k = 6"),
    ('sex = "F"', 'sex = "M"'),
    ("0.8", "0.81"),
    ('name = "flip"', 'name = "flip"\ndigits = 4'),
    ("max = 0.02", "max = 0.03"),
    ('format = "csv"', 'format = "parquet"'),
    ('"marginal:sex"', '"marginal:age"'),
    ('format = "csv"', 'format = "csv"\naudit_counts = true'),
    ('uri = "survey.csv"', 'uri = "survey.csv"\nmin_rows = 10'),
    ('uri = "survey.csv"', 'uri = "survey.csv"\ntable = "t"'),
    ('uri = "survey.csv"', 'uri = "survey.csv"\npopulation = "all"'),
]


@pytest.mark.parametrize(("old", "new"), CHANGES)
def test_the_digest_changes_with_the_meaning(load, old, new):
    assert WHOLE.count(old) >= 1
    changed = attempt(load, WHOLE.replace(old, new, 1))

    assert changed is not None
    assert changed.digest() != attempt(load, WHOLE).digest()
