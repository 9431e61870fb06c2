"""Calls that people begin with, one command after the other; `rrpolicy COMMAND --help` ends with them."""

from __future__ import annotations

from collections.abc import Mapping

EXAMPLES: Mapping[str, tuple[str, ...]] = {
    "init": ("rrpolicy init people.csv > policy.toml", "rrpolicy init demo:survey"),
    "init packs": ("rrpolicy init packs",),
    "check": ("rrpolicy check policy.toml", "rrpolicy check policies/ --source"),
    "plan": (
        "rrpolicy plan policy.toml",
        "rrpolicy plan policy.toml --out plan.json --key plan.key",
        "rrpolicy plan policy.toml --report plan.html",
        "rrpolicy plan policy.toml --expected-rows 10000",
    ),
    "compare": (
        "rrpolicy compare policy.toml --mechanism pram,rr-both --html map.html",
        "rrpolicy compare policy.toml --vary privacy.0.threshold=1/2,1/3,1/5",
    ),
    "diff": ("rrpolicy diff main:policy.toml policy.toml", "rrpolicy diff old.toml new.toml --source people.csv"),
    "test": ("rrpolicy test policies/",),
    "check-table": ("rrpolicy check-table people.csv --qi sex,age --sensitive disease --k 5",),
    "release": (
        "rrpolicy release policy.toml --out release",
        "rrpolicy release plan.json --key plan.key --out release",
    ),
    "collect": ("rrpolicy collect plan.json answers.csv --out release",),
    "collect randomize": ("rrpolicy collect randomize plan.questionnaire.json --questions",),
    "verify": (
        "rrpolicy verify release",
        "rrpolicy verify release --source people.csv --key release.key --strict",
        "rrpolicy verify release/public",
    ),
    "attack": ("rrpolicy attack release --source people.csv", "rrpolicy attack release --source people.csv --write"),
    "sign": ("rrpolicy sign release --key steward.pem",),
    "keys new": ("rrpolicy keys new steward.pem",),
    "ledger init": ("rrpolicy ledger init releases.ledger",),
    "ledger add": ("rrpolicy ledger add releases.ledger release",),
    "ledger show": ("rrpolicy ledger show releases.ledger",),
    "ledger verify": ("rrpolicy ledger verify releases.ledger",),
    "ledger inventory": (
        "rrpolicy ledger inventory policies --bundles releases",
        "rrpolicy ledger inventory policies --bundles releases --out inventory.html",
    ),
    "estimate": (
        "rrpolicy estimate release --by sex,education",
        "rrpolicy estimate release --by disease --where \"age = '65+'\" --population",
    ),
    "estimate query": (
        'rrpolicy estimate query release "SELECT sex, count(*) FROM release GROUP BY sex"',
        'rrpolicy estimate query release "SELECT region, avg(hours) FROM release GROUP BY region" --pairwise',
    ),
    "estimate compare": (
        "rrpolicy estimate compare survey-2025 survey-2026 --query 'SELECT sex, count(*) FROM release GROUP BY sex'",
    ),
    "estimate association": (
        "rrpolicy estimate association release disease sex",
        (
            "rrpolicy estimate association release disease sex --measure odds_ratio --row-present asthma "
            "--column-present female"
        ),
    ),
    "estimate independence": ("rrpolicy estimate independence release disease sex",),
    "estimate glm": (
        "rrpolicy estimate glm release 'disease ~ sex + region' --family binomial --success asthma --population",
    ),
    "estimate loglinear": ("rrpolicy estimate loglinear release 'sex*region + disease'",),
    "estimate rules": (
        "rrpolicy estimate rules release --min-support 0.02 --min-confidence 0.3 --plot rules.svg",
        "rrpolicy estimate rules release --rule 'sex = female -> disease = asthma'",
    ),
    "estimate replicates": ("rrpolicy estimate replicates release --by sex,disease --out weights.parquet",),
    "estimate what-holds": ("rrpolicy estimate what-holds people.csv sex disease",),
    "report": ("rrpolicy report release --out report.html", "rrpolicy report plan.json --out plan.html"),
    "report evidence": ("rrpolicy report evidence release --for dpia --out dpia.html",),
    "export": (
        "rrpolicy export release --for r --out rrpolicy.R",
        "rrpolicy export release --for postgres --out release.sql",
    ),
    "export archive": ("rrpolicy export archive release --ledger releases.jsonl --out release-2027-01.zip",),
    "export schema": ("rrpolicy export schema > policy.schema.json",),
    "export sql": (
        "rrpolicy export sql policy.toml --dialect postgres --table survey.people > counts.sql",
        "rrpolicy export sql policy.toml --dialect postgres --statement units",
    ),
    "demo": ("rrpolicy demo demo",),
    "explain": ("rrpolicy explain RR203", "rrpolicy explain identity-disclosure"),
    "plugins": ("rrpolicy plugins",),
    "plugins new": ("rrpolicy plugins new acme-noise --kind mechanism",),
}
