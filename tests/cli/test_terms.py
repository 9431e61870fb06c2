"""`explain` of terms of other programs: each leads somewhere, however it is spelled; only near spellings are proposed."""

from __future__ import annotations

import re

import pytest

from docs._hooks.terms import terms_page
from rrpolicy.cli.main import COMMANDS, main
from rrpolicy.cli.text.name_descriptions import describe_name, known_names
from rrpolicy.cli.text.terms import all_terms, normalise_spelling, terms_by_name
from rrpolicy.discovery import load_registry

SDCMICRO = (
    *("freqCalc", "localSuppression", "localSupp", "kAnon", "globalRecode", "groupAndRename", "topBotCoding"),
    *(
        "microaggregation",
        "mdav",
        "addNoise",
        "pram",
        "rankSwap",
        "shuffle",
        "suda2",
        "ldiversity",
        "modRisk",
        "indivRisk",
    ),
    *("dRisk", "dUtility", "IL1", "keyVars", "numVars", "weightVar", "hhId", "strataVar", "ghostVars"),
)
ARX = (
    *("hierarchies", "generalization", "full-domain generalization", "cell suppression", "record suppression"),
    *("suppression limit", "local transformation", "attribute weights", "top-coding", "bottom coding", "aggregation"),
    *(
        "micro-aggregation",
        "sampling",
        "masking",
        "prosecutor risk",
        "journalist risk",
        "marketer risk",
        "average risk",
    ),
    *("population uniqueness", "sample uniqueness", "k-map", "delta-presence", "δ-disclosure privacy", "beta-likeness"),
    *("entropy-l-diversity", "recursive-(c,l)-diversity", "t-closeness", "equal-distance t-closeness", "precision"),
    *("hierarchical distance", "differential privacy", "(e,d)-DP", "Safe Harbor", "HIPAA identifiers", "loss"),
    *("discernibility", "non-uniform entropy", "AECS", "solution space", "lattice", "quasi-identifying attribute"),
)
OTHERS = (
    *("key variables", "numerical key variables", "household risk", "strata", "DIS score", "k-anonymity", "recoding"),
    *(
        "local suppression",
        "top coding",
        "Global Recoding",
        "post-randomization",
        "privacy budget",
        "Laplace mechanism",
    ),
)
RISKS = {"individual-risk", "journalist-risk", "marketer-risk", "prosecutor-risk", "sample-uniques"}


@pytest.mark.parametrize("term", [*SDCMICRO, *ARX, *OTHERS])
def test_every_term_of_other_programs_leads_somewhere(capsys, term):
    assert main(["explain", term]) == 0

    assert capsys.readouterr().out.strip()


def test_a_term_says_what_it_is_and_what_does_it_here_or_comes_nearest(capsys):
    assert main(["explain", "Micro-Aggregation"]) == 0

    text = " ".join(capsys.readouterr().out.split())
    assert "replaced by its group's mean" in text
    assert 'rrpolicy does not do this. Nearest: `algorithm = "mondrian"`' in text


@pytest.mark.parametrize(
    ("spelled", "first"),
    [
        ("K Anonymity", "k-anonymity: a privacy model"),
        ("Generalization", "generalization: a mechanism, another name of generalisation"),
        ("hierarchies", "hierarchy: a term of statistical disclosure control"),
        ("anonymization strategy", "lattice: a term of statistical disclosure control"),
        ("l-diversity/entropy", "l-diversity: a privacy model"),
    ],
)
def test_spellings_do_not_matter(capsys, spelled, first):
    assert main(["explain", spelled]) == 0

    assert capsys.readouterr().out.startswith(first)


@pytest.mark.parametrize(
    ("typed", "meant"),
    [
        ("generalisatoin", "generalisation"),
        ("k-anonimity", "k-anonymity"),
        ("micro aggregtion", "micro-aggregation"),
        ("encryption", None),
        ("reidentify", None),
        ("grouping", None),
    ],
)
def test_only_a_near_spelling_is_proposed(capsys, typed, meant):
    assert main(["explain", typed]) == 2

    told = " ".join(capsys.readouterr().err.split())
    assert ("did you mean" in told) is (meant is not None)
    assert meant is None or normalise_spelling(f"did you mean {meant}?") in normalise_spelling(told)


def test_no_name_is_of_two_terms_and_each_does_or_names_what_is_nearest():
    found = all_terms()

    assert len(terms_by_name()) == len(
        {(normalise_spelling(name), term.names[0]) for term in found for name in term.names}
    )
    assert all(bool(term.here) is not bool(term.nearest) for term in found)


def test_what_a_term_points_to_is_there():
    registry = load_registry()
    known = {*known_names(registry)}
    commands = {*COMMANDS}
    for term in all_terms():
        assert all(describe_name(registry, name) for name in term.see), term
        for quoted in re.findall(r"`([^`]+)`", f"{term.here} {term.nearest}"):
            words = quoted.split()
            if words[0] == "rrpolicy":
                assert {words[1], " ".join(words[1:3])} & commands, term
            elif len(words) == 1 and quoted[0] not in "*-":
                assert quoted in known | RISKS, (quoted, term)


def test_the_page_of_reference_has_every_term():
    page = terms_page()

    assert all(f"**{term.names[0]}**" in page and term.done.replace("|", "\\|") in page for term in all_terms())
