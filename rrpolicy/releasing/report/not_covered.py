"""What each privacy model does not say: printed beside every finding, so that nobody takes it for more than it is."""

from __future__ import annotations

from collections.abc import Mapping

EVERY_MODEL = (
    (
        "What the whole table says of a group. Whoever knows that a person belongs to a group learns what is usual in "
        "it, whether or not that person took part."
    ),
    "A second release about the same people: what two releases tell adds up.",
)
"""Holds of every model of the core."""

MODELS: Mapping[str, tuple[str, ...]] = {
    "pk-anonymity": (
        (
            "What a released value says of the person behind it. The number speaks of finding somebody's record, not "
            "of learning what it held."
        ),
        "People with more records in the table than the policy admits.",
        (
            "Other releases of the same people: who links their records multiplies the ratios that k is made of, and a "
            "person who is in one table and not in the other may be told with certainty."
        ),
        (
            "What the published parameters tell of a value. k grants the adversary all original records, and holds "
            "whatever the parameters were chosen from; the epsilon beside it does not."
        ),
    ),
    "local-dp": (
        (
            "How likely a guess is to be right. Epsilon bounds how far the odds may move, by the factor e^epsilon; "
            "where they start is what the adversary knew before."
        ),
        "People with more records in the table than the policy admits: epsilon counts once for each.",
        "Other releases of the same people: the epsilons of all of them add up, and this one counts its own release.",
        (
            "What the description tells by itself, where it is derived from this table, and that there is a release: "
            "epsilon is then marked conditional. Whoever knows all other records may exclude candidates with certainty."
        ),
    ),
    "attribute-disclosure": (
        (
            "How often a guess of the sensitive value is right. It is the chance of one event: that a record drawn "
            "for the person is theirs in all that was randomised, and is read as such."
        ),
        "Who can be told with certainty not to have a value.",
    ),
    "identity-disclosure": (
        "What is learnt about a person without finding their record.",
        "People below the percentile, where the policy asks for one.",
    ),
    "k-anonymity": (
        "What the members of a group of k share. If all have one sensitive value, it is known of each of them.",
        "Adversaries who know more than the quasi-identifiers.",
    ),
    "l-diversity": (
        "How likely each of the l values is for one person, if the adversary knows which are usual for such people.",
        "Values that differ in name and mean much the same.",
    ),
    "written-posteriors": (
        "What decides: it was measured when all was drawn, and a release is never made or refused by it.",
        "Adversaries who know exact counts, and not shares: in tiny tables they learn more.",
    ),
    "t-closeness": ("Finding somebody's record: it bounds what a group tells of the sensitive attribute alone.",),
}
"""By the name that policies use."""

UNKNOWN = ("This model comes from a plugin that does not say what it leaves open; ask its author.",)


def not_covered(model: str, offered: Mapping[str, object] | None = None) -> tuple[str, ...]:
    """Return what a requirement of the model does not say.

    Args:
        model: the privacy model's name, or one of its kinds, such as `l-diversity/entropy`.
        offered: loaded models by name; a model's attribute `not_covered` goes before what stands here.
    """
    family = model.partition("/")[0]
    own = getattr((offered or {}).get(family), "not_covered", None)
    if isinstance(own, tuple) and own:
        return tuple(str(text) for text in own)
    return MODELS.get(family, UNKNOWN) + EVERY_MODEL
