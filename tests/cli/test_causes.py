"""Refusals name the cause that is there and no other, and what to type."""

from __future__ import annotations

import re
import shutil

import pytest

from rrpolicy.cli.main import main
from rrpolicy.testing import policy_text
from tests.survey import waived

POLICY = policy_text("""\
[attributes]
sex = { role = "quasi-identifier", domain = ["F", "M"] }
ill = { role = "sensitive", domain = ["no", "yes"] }
band = { role = "sensitive", domain = ["a", "b", "c"] }
[[privacy]]
model = "attribute-disclosure"
threshold = "1/2"
[mechanism]
name = "rr-s"
""")


@pytest.fixture
def folder(tmp_path):
    rows = [f"{'FM'[i % 2]},{'yes' if i % 9 == 0 else 'no'},{'abc'[i % 3]}" for i in range(360)]
    (tmp_path / "people.csv").write_text("\n".join(["sex,ill,band", *rows, ""]))
    (tmp_path / "policy.toml").write_text(POLICY)
    return tmp_path


def test_an_unreachable_limit_names_the_attribute_and_what_to_type(folder, capsys):
    policy = folder / "policy.toml"
    assert main(["plan", str(policy)]) == 1
    told = capsys.readouterr().err
    assert "RR102" in told
    assert "risk of ill: the smallest reachable is 0.790" in told
    assert "risk of band" not in told
    threshold, named = re.search(r"`threshold = ([0-9.]+)` in an entry with `(sensitive = [^`]+)`", told).groups()
    assert named == 'sensitive = ["ill"]'
    policy.write_text(
        POLICY.replace(
            'threshold = "1/2"\n',
            f'threshold = "1/2"\nsensitive = ["band"]\n[[privacy]]\nmodel = "attribute-disclosure"\n'
            f"threshold = {threshold}\n{named}\n",
        )
        + waived("association/band/ill")
    )
    assert main(["plan", str(policy)]) == 0, capsys.readouterr().err


@pytest.fixture
def planned(folder, capsys):
    policy = folder / "policy.toml"
    policy.write_text(POLICY.replace('"1/2"', '"9/10"'))
    for name in ("one", "two"):
        assert main(["plan", str(policy), "--out", str(folder / f"{name}.json")]) == 0
    capsys.readouterr()

    def release(key):
        arguments = ["--key", str(folder / f"{key}.json.key"), "--out", str(folder / "out")]
        status = main(["release", str(folder / "one.json"), *arguments])
        return status, capsys.readouterr().err

    return folder, release


@pytest.mark.parametrize("rows", [359, 360])
def test_a_changed_table_is_named_as_that(planned, rows):
    folder, release = planned
    lines = (folder / "people.csv").read_text().splitlines()[: rows + 1]
    (folder / "people.csv").write_text("\n".join([*lines[:-1], "F,yes,a", ""]))
    status, told = release("one")

    assert status == 4
    assert "RR401 the plan is stale: the table has changed" in told
    assert "key is not" not in told


def test_another_plans_key_is_named_as_that(planned):
    folder, release = planned
    status, told = release("two")

    assert status == 4
    assert "RR403" in told
    assert "was made with another plan of the same policy and table" in told
    assert "table has changed" not in told
    shutil.copy(folder / "one.json.key", folder / "kept")
    assert release("one")[0] == 0
