"""audit/findings.json, read back into what was found."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import Any

from rrpolicy.canonical import parse_number
from rrpolicy.errors import Place
from rrpolicy.finding import Basis, Companion, Finding, Measure, Profile, Standing, Verdict
from rrpolicy.releasing.plan.assess import Assessment, UtilityFinding


def read_assessment(document: Mapping[str, Any], places: Sequence[Place | None]) -> Assessment:
    """Read what `audit.findings_document` wrote; it fits its schema.

    Args:
        document: findings.json.
        places: where the policy asks for each finding; the document tells the line and no file.

    Raises:
        ValueError: if a number or a word cannot be read.
    """
    pairs = zip(document["findings"], places, strict=True)
    findings = tuple(_finding(finding, place) for finding, place in pairs)
    attained = tuple(_finding(finding, None) for finding in document["attained"])
    return Assessment(findings, tuple(map(_utility, document["utility"])), attained)


def measure_from_json(document: Mapping[str, Any] | None) -> Measure | None:
    """Read `{value, standing, error}`; None stays None."""
    return None if document is None else _measure(document)


def _measure(document: Mapping[str, Any]) -> Measure:
    error = document.get("error")
    return Measure(
        parse_number(document["value"]), Standing(document["standing"]), parse_number(0 if error is None else error)
    )


def _finding(document: Mapping[str, Any], place: Place | None) -> Finding:
    return Finding(
        code=document["code"],
        model=document["model"],
        requirement=document["requirement"],
        place=place,
        reached=measure_from_json(document["reached"]),
        limit=_fraction(document["limit_exact"]),
        verdict=None if document["verdict"] is None else Verdict(document["verdict"]),
        basis=Basis[document["basis"].upper()],
        adversary=document["adversary"],
        assumptions=tuple(document["assumptions"]),
        beside=tuple(_companion(c) for c in document["beside"]),
        profile=None if document["profile"] is None else _profile(document["profile"]),
        groups_over=document["groups_over"],
        people_over=document["people_over"],
        reference=document["reference"],
        assessor=document["assessor"],
        given=tuple(document["given"]),
    )


def _companion(document: Mapping[str, Any]) -> Companion:
    basis = Basis[document["basis"].upper()]
    measure, given = _measure(document["measure"]), tuple(document["given"])
    return Companion(document["name"], measure, basis, document["meaning"], document["of"], given=given)


def _profile(document: Mapping[str, Any]) -> Profile:
    before = document["before"]
    return Profile(
        document["quantity"],
        tuple(map(parse_number, document["edges"])),
        tuple(document["people"]),
        None if before is None else tuple(before),
        tuple((row["group"], parse_number(row["value"]), row["people"]) for row in document["top"]),
    )


def _utility(document: Mapping[str, Any]) -> UtilityFinding:
    limit = _fraction(document["limit_exact"])
    if limit is None:
        raise ValueError("a utility limit is missing")
    return UtilityFinding(
        document["metric"],
        document["options"],
        None if document["value"] is None else _measure(document),
        limit,
        Verdict(document["verdict"]),
        document["meaning"],
        None,
    )


def _fraction(text: str | None) -> Fraction | None:
    return None if text is None else Fraction(text)
