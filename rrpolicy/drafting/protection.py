"""The [[privacy]] and [mechanism] tables of a draft: mechanisms, the privacy models they can meet, and open keys."""

from __future__ import annotations

import difflib
from collections.abc import Mapping, Sequence

from msgspec import Struct

from rrpolicy.errors import PolicyError, Problem
from rrpolicy.policy.load import PLACEHOLDER_MARK

_SETS = "l-diversity"
"""The model that determines the size of the groups of `anatomy` and of the sets of `sensitive-addition`."""
_RANDOMISED = ("local-dp", "pk-anonymity", "rho1-to-rho2", "attribute-disclosure", "identity-disclosure")
_PARTLY_RANDOMISED = ("attribute-disclosure", "identity-disclosure", "local-dp", "rho1-to-rho2")

MODELS: Mapping[str, tuple[str, tuple[str, ...]]] = {
    "local-dp": (
        "The probabilities of a released value differ by a factor of at most e^epsilon between two original values.",
        (f'epsilon = "{PLACEHOLDER_MARK} a number, such as 1 (much noise) to 8 (little)"', 'scope = "attribute"'),
    ),
    "pk-anonymity": (
        "No attacker links a person to a record with a probability above 1 / k.",
        (f'k = "{PLACEHOLDER_MARK} a number above 1, such as 2"',),
    ),
    "rho1-to-rho2": (
        "A statement about a person with a probability of at most rho1 before has at most rho2 after the release.",
        (
            f'rho1 = "{PLACEHOLDER_MARK} the probability before, such as 1/10"',
            f'rho2 = "{PLACEHOLDER_MARK} the probability after, above rho1, such as 1/2"',
            'scope = "attribute"',
        ),
    ),
    "attribute-disclosure": (
        "An attacker finds a person's own record and reads the true sensitive value with a limited probability.",
        (f'threshold = "{PLACEHOLDER_MARK} a probability, such as 1/3"',),
    ),
    "identity-disclosure": (
        "An attacker who knows a person's quasi-identifiers selects that person's record with a limited probability.",
        (f'threshold = "{PLACEHOLDER_MARK} a probability, such as 1/20"',),
    ),
    "k-anonymity": (
        "Every group of records with equal quasi-identifiers has k records or more.",
        (f'k = "{PLACEHOLDER_MARK} a whole number, such as 5"',),
    ),
    "l-diversity": (
        "In every group no sensitive value has more than one in l of the records.",
        ('kind = "frequency"', f'l = "{PLACEHOLDER_MARK} a number above 1, such as 2"'),
    ),
    "t-closeness": (
        "The sensitive values of every group are distributed nearly as those of the whole table.",
        (f't = "{PLACEHOLDER_MARK} a distance from 0 to 1, such as 0.2"',),
    ),
    "alpha-k-anonymity": (
        "Every group has k records or more, and no sensitive value a share above alpha in it.",
        (f'alpha = "{PLACEHOLDER_MARK} a share, such as 0.5"', f'k = "{PLACEHOLDER_MARK} a whole number, such as 5"'),
    ),
    "beta-likeness": (
        "In no group does a sensitive value's share exceed that of the whole table by more than beta times the latter.",
        (f'beta = "{PLACEHOLDER_MARK} a number, such as 2"',),
    ),
    "delta-disclosure": (
        "In no group does the share of a sensitive value differ from that of the whole table by a factor of e^delta.",
        (f'delta = "{PLACEHOLDER_MARK} a number, such as 2"',),
    ),
    "k-map": (
        "At least k people of the population, estimated from the sample, have the quasi-identifiers of each group.",
        (
            f'k = "{PLACEHOLDER_MARK} a whole number, such as 5"',
            f'sampling_fraction = "{PLACEHOLDER_MARK} the share of the population in the table, such as 0.01"',
            'decided_by = "estimate"',
        ),
    ),
    "delta-presence": (
        "The probability that a person of the population is in the table is limited.",
        (f'max = "{PLACEHOLDER_MARK} a probability, such as 0.5"',),
    ),
}
"""Privacy model -> its guarantee, and its keys."""

FITS: Mapping[str, tuple[str, ...]] = {
    "pram": _RANDOMISED,
    "rr-both": _RANDOMISED,
    "rr-qi": _PARTLY_RANDOMISED,
    "rr-s": _PARTLY_RANDOMISED,
    "generalisation": (
        *("k-anonymity", "l-diversity", "t-closeness", "alpha-k-anonymity", "beta-likeness", "delta-disclosure"),
        *("k-map", "delta-presence", "attribute-disclosure", "identity-disclosure"),
    ),
    "anatomy": (_SETS, "k-anonymity", "attribute-disclosure", "identity-disclosure"),
    "sensitive-addition": (_SETS, "t-closeness", "attribute-disclosure", "identity-disclosure"),
}
"""Mechanism -> the privacy models that it can meet, the default first."""

_NOTES: Mapping[str, Sequence[str]] = {
    "generalisation": (
        "The hierarchies of ordered columns above merge neighbours, level by level. A column without a hierarchy is",
        'released unchanged or as `*`: give it a hierarchy, such as hierarchy = "region.csv", with the category and',
        "what it becomes at each level in every row, between semicolons.",
    )
}
_REFERENCE = f"""
# The population: a table with the quasi-identifiers of everybody who could be in the data.
[reference]
uri = "{PLACEHOLDER_MARK} the table of the population, such as register.parquet"
"""


class ProtectionDraft(Struct, frozen=True):
    """Protection of a draft.

    Attributes:
        models: privacy models that must hold, in the order of the entries.
    """

    mechanism: str
    models: tuple[str, ...]

    @property
    def generalises(self) -> bool:
        """Whether quasi-identifiers are generalised along hierarchies."""
        return self.mechanism == "generalisation"

    def tables(self) -> str:
        """Return the tables as TOML."""
        entries = "\n".join(map(_privacy_entry, self.models))
        reference = _REFERENCE if "delta-presence" in self.models else ""
        notes = "".join(f"# {line}\n" for line in _NOTES.get(self.mechanism, ()))
        return f'{entries}{reference}\n{notes}[mechanism]\nname = "{self.mechanism}"\n'


def protection(mechanism: str | None, models: Sequence[str]) -> ProtectionDraft:
    """Return the protection of a draft by the caller's names; the first choice that fits replaces missing ones."""
    for what, name, known in (("mechanism", mechanism, FITS), *(("privacy model", model, MODELS) for model in models)):
        if name is not None and name not in known:
            near = difflib.get_close_matches(name, known, n=1)
            message = f"there is no draft with the {what} '{name}'"
            hint = f"did you mean '{near[0]}'?" if near else "draft with another one, and edit the draft"
            raise PolicyError(Problem("RR149", message, expected=f"one of: {', '.join(known)}", hint=hint))
    chosen = mechanism or next((name for name, fits in FITS.items() if {*models} <= {*fits}), None)
    if chosen is None or not {*models} <= {*FITS[chosen]}:
        raise PolicyError(_mechanism_mismatch(chosen, models))
    wanted = models or FITS[chosen][:1]
    sized = (_SETS,) if FITS[chosen][0] == _SETS else ()
    return ProtectionDraft(chosen, tuple(dict.fromkeys((*sized, *wanted))))


def _mechanism_mismatch(mechanism: str | None, models: Sequence[str]) -> Problem:
    """Return the problem of a mechanism that cannot meet privacy models, with suitable ones."""
    if mechanism is None:
        message = f"no mechanism meets {' and '.join(models)} together"
        each = "; ".join(f"{m}: {', '.join(n for n, fits in FITS.items() if m in fits)}" for m in models)
        return Problem("RR149", message, expected="models that one mechanism meets", hint=f"mechanisms of {each}")
    unmet = [model for model in models if model not in FITS[mechanism]]
    message = f"the mechanism {mechanism} cannot meet {' and '.join(unmet)}"
    others = [name for name, fits in FITS.items() if {*models} <= {*fits}]
    hint = f"for {' and '.join(models)} take {' or '.join(others)}" if others else "draft without one of the models"
    return Problem("RR149", message, expected=f"of the models one of: {', '.join(FITS[mechanism])}", hint=hint)


def _privacy_entry(model: str) -> str:
    meaning, keys = MODELS[model]
    return "\n".join((*_comment_lines(meaning), "[[privacy]]", f'model = "{model}"', *keys, ""))


def _comment_lines(text: str) -> list[str]:
    import textwrap

    return [f"# {line}" for line in textwrap.wrap(text, 118)]
