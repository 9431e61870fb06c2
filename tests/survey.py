"""A small policy on the demo table that releases at once, for tests of what stands around a release."""

from __future__ import annotations


def waived(*findings: str) -> str:
    """Return entries that let findings be, such as `association/hiv_code/hiv`."""
    return "".join(
        f"""
[[waivers]]
finding = "{finding}"
reason = "a test: nobody is in the table"
approver = "survey office"
until = 2099-12-31
"""
        for finding in findings
    )


WAIVED = waived("protection")
"""Lets a release be of any grade of protection."""
SURVEY = """\
schema = 1

[policy]
name = "survey"
version = "1.0.0"
owner = "survey office"

[source]
uri = "demo:survey"
other_columns = "excluded"
population = "residents of the city"

[attributes]
person_id = { role = "identifier" }
sex = { role = "quasi-identifier", domain = ["female", "male"] }
disease = { role = "sensitive", domain = "observed" }

[[privacy]]
model = "local-dp"
epsilon = 2

[mechanism]
name = "pram"

[release]
accept = ["domain:disease", "parameters:sex", "parameters:disease", "released"]
"""
