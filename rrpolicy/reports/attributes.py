"""Treatment of each attribute, read from the decoders: a closed list of forms, so no plugin is needed."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import TypeVar

from rrpolicy.canonical_json import category_text
from rrpolicy.channels.decoders import (
    AdditionDecoder,
    AnatomyDecoder,
    Cell,
    Decoder,
    IdentityDecoder,
    MatrixDecoder,
    RecodeDecoder,
    RetentionDecoder,
    Rows,
    WithheldDecoder,
)
from rrpolicy.declarations import DesignPart, Role
from rrpolicy.finding import Origin
from rrpolicy.manifest.manifest import Manifest, ReleasedAttribute
from rrpolicy.numbers import figure, out_of_hundred, percent, plain_number, rational
from rrpolicy.policy.model import Attribute
from rrpolicy.report import AttributePanel, Fact, MatrixPanel

AttributeT = TypeVar("AttributeT", ReleasedAttribute, Attribute)
"""An attribute of the manifest, or of the policy."""
WIDEST = 48
"""Maximum number of categories of a printed transition matrix; a larger one is unreadable, and is in release.json."""

MOST_NAMED = 6
"""Maximum number of randomised columns, beyond the sensitive ones, whose true values a sentence lists."""
TREATMENT: Mapping[type[Decoder], str] = {
    IdentityDecoder: "released unchanged",
    RetentionDecoder: "randomised: kept, or replaced by another category, each equally likely",
    MatrixDecoder: "randomised by a transition matrix",
    AdditionDecoder: "released as a set of categories, including the original one",
    AnatomyDecoder: "released in groups of records",
    WithheldDecoder: "randomised by a transition matrix that the publisher withholds",
}
SILENT = "released as the set of all categories, without information"
UNCHANGED, PARTLY_GENERALISED, GENERALISED = "unchanged", "generalised in part", "generalised"
KINDS: Mapping[type[Decoder], str] = {
    RetentionDecoder: "randomised",
    MatrixDecoder: "randomised",
    AdditionDecoder: "in sets",
    AnatomyDecoder: "in groups",
    WithheldDecoder: "randomised",
}
TOGETHER = "randomised together: a combination is kept, or replaced by another one, each equally likely"
TOGETHER_BLOCKS = "randomised together inside blocks: a combination is kept, or replaced by another one of its block"
BLOCKS = "randomised inside blocks: kept, or replaced by another category of its block"
KEPT = "released unchanged: nothing is ever exchanged"
CARRIED = "released unchanged; it has no list of categories"
AS_THEY_ARE = "unchanged"
DESIGN: Mapping[DesignPart, str] = {
    "weight": "survey weight",
    "stratum": "stratum of the survey",
    "cluster": "cluster of the survey",
}
NOT_STATED = "is in the release's description; how it was chosen is not published"


def attribute_panels(manifest: Manifest, origins: Mapping[str, Origin]) -> tuple[AttributePanel, ...]:
    """Return the treatment of each released attribute; attributes that are drawn together share a panel."""
    described = {attribute.name: attribute for attribute in manifest.attributes}
    undone = {name: decoder for decoder in manifest.decoders for name in decoder.attributes}
    made: list[AttributePanel] = []
    for name, attribute in described.items():
        decoder = undone.get(name)
        if decoder is None or isinstance(decoder, (IdentityDecoder, RecodeDecoder)):
            made.append(_attribute_panel([attribute], decoder, origins))
        elif decoder.attributes[0] == name:
            made.append(_attribute_panel([described[n] for n in decoder.attributes], decoder, origins))
    return tuple(made)


def treatment_counts(decoders: Sequence[Decoder], released: int) -> str:
    """Return the numbers of released attributes by treatment."""
    kinds = Counter(kind for decoder in decoders for kind in _treatment_kinds(decoder))
    kinds[UNCHANGED] += released - kinds.total()
    return ", ".join(f"{figure(n)} {kind}" for kind, n in kinds.items() if n)


def unmodified_attributes(attributes: Iterable[AttributeT], decoders: Sequence[Decoder]) -> tuple[AttributeT, ...]:
    """Return the attributes that are released unmodified."""
    kinds = {n: kind for d in decoders for n, kind in zip(d.attributes, _treatment_kinds(d), strict=True)}
    return tuple(a for a in attributes if kinds.get(a.name, UNCHANGED) == UNCHANGED)


def _treatment_kinds(decoder: Decoder) -> Iterator[str]:
    kind = KINDS[type(decoder)] if decoder.drawn else UNCHANGED
    for name in decoder.attributes:
        yield column_coarseness(decoder, name) if isinstance(decoder, RecodeDecoder) else kind


def column_coarseness(decoder: RecodeDecoder, name: str) -> str:
    """Return whether some label of a column covers several categories, or the only label covers all of them."""
    sizes, categories = _label_sizes(decoder, name)
    if any(1 < size < categories for size in sizes) or sizes == [categories]:
        return GENERALISED if categories > 1 else UNCHANGED
    return UNCHANGED if max(sizes) == 1 else PARTLY_GENERALISED


def _label_sizes(decoder: RecodeDecoder, name: str) -> tuple[list[int], int]:
    """Return the number of categories of each released label of a column, and their total."""
    place = decoder.attributes.index(name)
    return [len(group) for group in decoder.groups[place]], len(decoder.original[place])


def _attribute_panel(
    together: Sequence[ReleasedAttribute], decoder: Decoder | None, origins: Mapping[str, Origin]
) -> AttributePanel:
    first, randomised = together[0], not (decoder is None or isinstance(decoder, IdentityDecoder))
    facts, matrix = _parameter_facts(decoder)
    origin = origins.get(first.name)
    return AttributePanel(
        name=" × ".join(a.name for a in together),
        released_as=" × ".join(a.release_as for a in together),
        role=", ".join(dict.fromkeys(map(_role_text, together))),
        treatment=CARRIED if decoder is None else _treatment_text(decoder, first.name),
        origin="" if not randomised else NOT_STATED if origin is None else origin.value,
        parameters=facts,
        matrix=matrix,
        domain="; ".join(dict.fromkeys(map(_domain_text, together))),
        change=_change_text(decoder, first.name),
        changed=_replacement_range(decoder),
        reason="" if randomised else first.unchanged or first.assume_unlinkable or "",
    )


def _role_text(attribute: ReleasedAttribute) -> str:
    """Return an attribute's role, with its use in the survey design."""
    return f"{attribute.role.value} ({survey_role_text(attribute)})" if attribute.design else attribute.role.value


def survey_role_text(attribute: ReleasedAttribute) -> str:
    """Return an attribute's use in the survey design, "" without one, and the rounding of its numbers."""
    rounded = "" if attribute.rounding is None else f", rounded to multiples of {plain_number(attribute.rounding)}"
    return "" if attribute.design is None else DESIGN[attribute.design] + rounded


def _change_text(decoder: Decoder | None, name: str) -> str:
    """Return the change of values, in a few words."""
    told = AS_THEY_ARE
    match decoder:
        case RecodeDecoder() if column_coarseness(decoder, name) != UNCHANGED:
            sizes, categories = _label_sizes(decoder, name)
            own = [size for size in sizes if size < categories]
            labels = f"{figure(len(own) or 1)} label{'s' if len(own) > 1 else ''}"
            told = f"coarser: {labels} for {figure(categories)} categories"
            if own and max(own) == 1:
                told = "unchanged, or suppressed"
        case AdditionDecoder(set_size=size, labels=labels):
            told = f"in sets of {figure(size)} of {figure(len(labels))}"
        case AnatomyDecoder(size=size):
            told = f"apart, by groups of {figure(size)}"
        case WithheldDecoder():
            told = "exchanged at random, by a matrix that is withheld"
        case RetentionDecoder() | MatrixDecoder() if decoder.drawn:
            low, high = _replacement_range(decoder) or (0.0, 0.0)
            told = f"{percent(high)} exchanged at random"
            if low != high:
                told = f"{percent(low)} to {told}, by category"
    return told


def _replacement_range(decoder: Decoder | None) -> tuple[float, float] | None:
    """Return the share of values that are replaced: minimum and maximum over the original categories."""
    kept = {} if decoder is None else _keep_probabilities(decoder)
    return (1 - max(kept.values()), 1 - min(kept.values())) if kept else None


def _keep_probabilities(decoder: Decoder) -> dict[str, float]:
    """Return the probability that each category is released unchanged; empty for channels that exchange no values."""
    match decoder:
        case RetentionDecoder(labels=labels, blocks=blocks):
            return {category_label(labels[member]): float(block.keep) for block in blocks for member in block.members}
        case MatrixDecoder(released=released, original=original):
            place = {u: i for i, u in enumerate(released)}
            rows = decoder.rows
            return {category_label(v): float(rows[place[v]][i]) if v in place else 0.0 for i, v in enumerate(original)}
        case _:
            return {}


def true_values_sentence(
    attributes: Iterable[AttributeT],
    decoders: Sequence[Decoder],
    shares: Mapping[str, Mapping[str, float]] = MappingProxyType({}),
) -> str:
    """Return how many of every 100 values of each randomised column are true, in a sentence; "" without columns.

    `shares` has released column -> category -> share in the original table; without them the minimum and maximum over
    categories are reported.
    """
    sensitive = {a.release_as or a.name for a in attributes if a.role is Role.SENSITIVE}
    found: dict[tuple[str, ...], tuple[float, float]] = {}
    for decoder in decoders:
        if decoder.drawn and (kept := _keep_probabilities(decoder)):
            found[decoder.columns] = _keep_share_range(kept, shares.get(" × ".join(decoder.columns), {}))
    ranked = sorted(found, key=sensitive.isdisjoint)
    most = max(MOST_NAMED, sum(not sensitive.isdisjoint(columns) for columns in ranked))
    named = ranked if len(ranked) <= most + 1 else ranked[:most]
    told = [f"of {' × '.join(f'`{c}`' for c in columns)} {out_of_hundred(*found[columns])}" for columns in named]
    if rest := [found[columns] for columns in ranked[len(named) :]]:
        lowest, highest = min(low for low, _ in rest), max(high for _, high in rest)
        told.append(f"of each of {figure(len(rest))} more columns {out_of_hundred(lowest, highest)}")
    return f"Of every 100 values these are the true ones: {', '.join(told)}." if told else ""


def _keep_share_range(kept: Mapping[str, float], shares: Mapping[str, float]) -> tuple[float, float]:
    """Return the share of kept values twice; minimum and maximum if shares are unknown."""
    whole = sum(shares.get(category, 0.0) for category in kept)
    if not whole:
        return min(kept.values()), max(kept.values())
    mean = sum(share * shares.get(category, 0.0) for category, share in kept.items()) / whole
    return mean, mean


def _parameter_facts(decoder: Decoder | None) -> tuple[tuple[Fact, ...], MatrixPanel | None]:
    match decoder:
        case RetentionDecoder(labels=own):
            return _retention_facts(decoder), None if len(own) > WIDEST else _matrix_panel(own, own, decoder.matrix())
        case MatrixDecoder(released=released, original=original):
            wide = max(len(released), len(original)) > WIDEST
            return _matrix_facts(decoder), None if wide else _matrix_panel(released, original, decoder.matrix())
        case AdditionDecoder(set_size=size):
            return (Fact("Categories in each released set", figure(size)),), None
        case WithheldDecoder():
            return _withheld_facts(decoder), None
        case _:
            return (), None


def _treatment_text(decoder: Decoder, name: str) -> str:
    if isinstance(decoder, RecodeDecoder):
        return _generalisation_text(decoder, name)
    if isinstance(decoder, AdditionDecoder) and decoder.silent:
        return SILENT
    if isinstance(decoder, RetentionDecoder) and decoder.drawn:
        own = (TREATMENT[RetentionDecoder], BLOCKS) if len(decoder.columns) == 1 else (TOGETHER, TOGETHER_BLOCKS)
        return own[len(decoder.blocks) > 1]
    return TREATMENT[type(decoder)] if decoder.drawn or isinstance(decoder, IdentityDecoder) else KEPT


def _generalisation_text(decoder: RecodeDecoder, name: str) -> str:
    sizes, categories = _label_sizes(decoder, name)
    kind = column_coarseness(decoder, name)
    if kind == UNCHANGED:
        return TREATMENT[IdentityDecoder]
    own = [size for size in sizes if size < categories]
    if not own:
        return "generalised: one label for every category"
    labels = decoder.released[decoder.attributes.index(name)]
    all_of_them = [category_text(label) for label, size in zip(labels, sizes, strict=True) if size == categories]
    if kind == PARTLY_GENERALISED:
        return f"released unchanged, or as {' or '.join(all_of_them)}, which represents every category"
    also = "".join(f"; {label} for every one" for label in all_of_them)
    return f"generalised: {figure(len(own))} labels, none for more than {figure(max(own))} categories{also}"


def _domain_text(attribute: ReleasedAttribute) -> str:
    if attribute.domain is None:
        return "no list of categories"
    source = "observed in the data" if attribute.observed else "declared by the policy"
    return f"{figure(len(attribute.domain))} categories, {source}"


def _retention_facts(decoder: RetentionDecoder) -> tuple[Fact, ...]:
    """Return keep and retention probability of each block: rho = (d p - 1)/(d - 1) (Guo, Ying, Wu 2011)."""
    facts: list[Fact] = []
    for number, block in enumerate(decoder.blocks, 1):
        of = f" of block {number} ({figure(block.size)} categories)" if len(decoder.blocks) > 1 else ""
        facts.append(Fact(f"Keep probability{of}", rational(block.keep)))
        if block.size > 1:
            facts.append(Fact(f"Retention probability{of}", rational(block.retention)))
            facts.append(Fact(f"Every other category{of}", rational(block.move)))
    if len(decoder.blocks) == 1 and block.keep and block.move:
        whose = "this attribute alone" if len(decoder.columns) == 1 else "these attributes as one"
        facts.append(Fact(f"Epsilon of {whose}", figure(abs(math.log(block.keep / block.move)))))
    return tuple(facts)


def _withheld_facts(decoder: WithheldDecoder) -> tuple[Fact, ...]:
    told = [("The matrix is doubly stochastic", decoder.doubly_stochastic)]
    told.append(("Every category is kept with probability one half or more", decoder.half))
    return tuple(Fact(name, "yes" if holds else "no") for name, holds in told)


def _matrix_panel(released: Sequence[Cell], original: Sequence[Cell], matrix: Rows) -> MatrixPanel:
    rows = tuple(tuple(map(float, row)) for row in matrix)
    return MatrixPanel(tuple(map(category_label, released)), tuple(map(category_label, original)), rows)


def _matrix_facts(decoder: MatrixDecoder) -> tuple[Fact, ...]:
    released, original = decoder.released, decoder.original
    facts = [
        Fact("Transition matrix", f"{figure(len(released))} released × {figure(len(original))} original categories")
    ]
    kept = [decoder.rows[released.index(v)][i] for i, v in enumerate(original) if v in released]
    if len(kept) == len(original):
        facts.append(Fact("Keep probability, smallest", rational(min(kept))))
        facts.append(Fact("Keep probability, largest", rational(max(kept))))
    return tuple(facts)


def category_label(cell: Cell) -> str:
    """Return a category, or one of coupled attributes, as text."""
    return " × ".join(map(category_text, cell))
