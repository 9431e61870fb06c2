"""The line that accepts what a plan derives from the table can be pasted, whatever the mechanism."""

from __future__ import annotations

import re

import pytest

from rrpolicy.cli.main import main
from rrpolicy.testing import policy_text

POLICY = policy_text("""\
[attributes]
sex = {{ role = "quasi-identifier", domain = ["F", "M"], unchanged = "a test" }}
"the town, or none" = {{ role = "quasi-identifier", domain = ["A", "B", "C"], unchanged = "a test" }}
ill = {{ role = "sensitive", domain = {domain}, unchanged = "a test" }}
{privacy}
[[privacy]]
model = "local-dp"
epsilon = 60
scope = "attribute"
[mechanism]
name = "{mechanism}"
[release]
format = "csv"
{accept}
""")
READS = '[[privacy]]\nmodel = "attribute-disclosure"\nthreshold = 0.9'


@pytest.mark.slow
@pytest.mark.parametrize("accepted", ["", 'accept = ["released"]'], ids=["none", "some"])
@pytest.mark.parametrize("domain", ['["no", "yes"]', '"observed"'], ids=["declared", "observed"])
@pytest.mark.parametrize("mechanism", ["pram", "rr-both", "rr-qi", "rr-s"])
def test_the_printed_line_is_all_that_is_needed(mechanism, domain, accepted, tmp_path, capsys):
    rows = [f"{'FM'[i % 2]},{'ABC'[i // 2 % 3]},{'yes' if i % 5 == 0 else 'no'}" for i in range(600)]
    (tmp_path / "people.csv").write_text("\n".join(['sex,"the town, or none",ill', *rows, ""]))
    policy, bundle = tmp_path / "policy.toml", tmp_path / "bundle"

    def write(accept: str) -> None:
        policy.write_text(POLICY.format(mechanism=mechanism, domain=domain, privacy=READS, accept=accept))

    write(accepted)
    status = main(["plan", str(policy)])
    printed = capsys.readouterr()
    assert status == 1, printed.err
    line = re.search(r"under \[release\]: (accept = .*)", printed.out)[1]
    assert main(["release", str(policy), "--out", str(bundle)]) == 1
    assert line in capsys.readouterr().err
    write(line)
    for command in (["check"], ["plan"], ["release", "--out", str(bundle)]):
        assert main([command[0], str(policy), *command[1:]]) == 0, capsys.readouterr().err
