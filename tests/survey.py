"""A small policy on the demo table that releases at once, for tests of what stands around a release."""

from __future__ import annotations

WAIVED = """
[[waivers]]
finding = "protection"
reason = "a test: nobody is in the table"
approver = "survey office"
until = 2099-12-31
"""
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
