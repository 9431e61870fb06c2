"""What was done to each attribute, read from the decoders: a closed list of forms, so no plugin is needed to tell."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from fractions import Fraction
from typing import Any

from rrpolicy.channel.probability import retention_probability
from rrpolicy.report import AttributePanel, MatrixPanel
from rrpolicy.section import Fact, figure, rational

WIDEST = 48
"""Categories up to which a transition matrix is printed; a wider one cannot be read, and stands in release.json."""

TREATMENT = {
    "identity": "released as it is",
    "retention": "randomised: kept, or replaced by another category, each equally likely",
    "matrix": "randomised by a transition matrix",
    "membership": "released as a set of categories that holds the original one",
    "share": "released in groups of records",
}
DRAWN = frozenset({"retention", "matrix", "membership", "share"})
"""Forms that undo something drawn at random."""
UNCHANGED, IN_PART, GENERALISED = "unchanged", "generalised in part", "generalised"
KINDS = {"retention": "randomised", "matrix": "randomised", "membership": "in sets", "share": "in groups"}
BLOCKS = "randomised inside blocks: kept, or replaced by another category of its block"
KEPT = "released as it is: nothing is ever exchanged"
CARRIED = "released as it is; it has no list of categories"
NOT_STATED = "stands in the release's description; the audit report says how it was chosen"


def panels(
    attributes: Sequence[Mapping[str, Any]], decoders: Sequence[Mapping[str, Any]], origins: Mapping[str, str]
) -> tuple[AttributePanel, ...]:
    """Return how each released attribute was treated; attributes that are drawn together share a panel.

    Args:
        attributes: released attributes, as release.json lists them.
        decoders: as release.json lists them.
        origins: attribute -> where its parameters come from; empty on the public page.
    """
    described = {attribute["name"]: attribute for attribute in attributes}
    undone = {name: decoder for decoder in decoders for name in decoder["attributes"]}
    made: list[AttributePanel] = []
    for name, attribute in described.items():
        decoder = undone.get(name)
        if decoder is not None and decoder["form"] in DRAWN:
            if decoder["attributes"][0] == name:
                made.append(_panel([described[n] for n in decoder["attributes"]], decoder, origins))
        else:
            made.append(_panel([attribute], decoder, origins))
    return tuple(made)


def treated_so(attributes: Sequence[Mapping[str, Any]], decoders: Sequence[Mapping[str, Any]]) -> str:
    """Return how many attributes are released, and how many of them in which way."""
    kinds = Counter(kind for decoder in decoders for kind in _kinds(decoder))
    kinds[UNCHANGED] += len(attributes) - kinds.total()
    return f"{figure(len(attributes))}: " + ", ".join(f"{figure(n)} {kind}" for kind, n in kinds.items() if n)


def _kinds(decoder: Mapping[str, Any]) -> Iterator[str]:
    kind = UNCHANGED if exchanges_nothing(decoder) else KINDS.get(decoder["form"], UNCHANGED)
    for name in decoder["attributes"]:
        yield _coarseness(decoder, name) if decoder["form"] == "spread" else kind


def drawn(decoder: Mapping[str, Any]) -> bool:
    """Return whether chance had a part in what was released."""
    return decoder["form"] in DRAWN and not exchanges_nothing(decoder)


def exchanges_nothing(decoder: Mapping[str, Any]) -> bool:
    """Return whether a randomising form has the identity for a matrix: what is solved for may come out so."""
    parameters = decoder["parameters"]
    if decoder["form"] == "retention":
        return all(len(b["members"]) == 1 or Fraction(b["keep_probability"]) == 1 for b in parameters["blocks"])
    if decoder["form"] != "matrix" or parameters["released"] != parameters["original"]:
        return False
    return all(Fraction(x) == (u == v) for u, row in enumerate(parameters["rows"]) for v, x in enumerate(row))


def _coarseness(decoder: Mapping[str, Any], name: str) -> str:
    """Return whether any label of a column stands for several categories, or none but the one for all of them."""
    sizes, categories = _label_sizes(decoder, name)
    if any(1 < size < categories for size in sizes) or sizes == [categories]:
        return GENERALISED if categories > 1 else UNCHANGED
    return UNCHANGED if max(sizes) == 1 else IN_PART


def _label_sizes(decoder: Mapping[str, Any], name: str) -> tuple[list[int], int]:
    """Return how many categories each released label of a column stands for, and how many there are."""
    place, parameters = _place(decoder, name), decoder["parameters"]
    return [len(group) for group in parameters["groups"][place]], len(parameters["original"][place])


def _place(decoder: Mapping[str, Any], name: str) -> int:
    found: int = decoder["attributes"].index(name)
    return found


def _panel(
    together: Sequence[Mapping[str, Any]], decoder: Mapping[str, Any] | None, origins: Mapping[str, str]
) -> AttributePanel:
    form = None if decoder is None else decoder["form"]
    parameters: Mapping[str, Any] = {} if decoder is None else decoder["parameters"]
    facts: tuple[Fact, ...] = ()
    matrix = None
    if form == "retention":
        facts, matrix = _retention_facts(parameters), _retention_matrix(parameters)
    elif form == "matrix":
        matrix = _matrix(parameters)
        facts = _matrix_facts(parameters)
    elif form == "membership":
        facts = (Fact("Categories in each released set", figure(parameters["set_size"])),)
    randomised = form not in {None, "identity"}
    return AttributePanel(
        name=" × ".join(a["name"] for a in together),
        released_as=" × ".join(a["release_as"] for a in together),
        role=", ".join(dict.fromkeys(a["role"] for a in together)),
        treatment=CARRIED if decoder is None else _treatment(decoder, together[0]["name"]),
        origin=origins.get(together[0]["name"], NOT_STATED) if randomised else "",
        parameters=facts,
        matrix=matrix,
        domain="; ".join(dict.fromkeys(_domain(a) for a in together)),
        reason="" if randomised else together[0]["unchanged"] or together[0]["assume_unlinkable"] or "",
    )


def _treatment(decoder: Mapping[str, Any], name: str) -> str:
    form = decoder["form"]
    if form == "retention" and len(decoder["parameters"]["blocks"]) > 1 and drawn(decoder):
        return BLOCKS
    if form != "spread":
        return KEPT if exchanges_nothing(decoder) else TREATMENT[form]
    sizes, categories = _label_sizes(decoder, name)
    kind = _coarseness(decoder, name)
    if kind == UNCHANGED:
        return TREATMENT["identity"]
    own = [size for size in sizes if size < categories]
    if not own:
        return "generalised: one label for every category"
    all_of_them = [
        category(label)
        for label, size in zip(decoder["parameters"]["released"][_place(decoder, name)], sizes, strict=True)
        if size == categories
    ]
    if kind == IN_PART:
        return f"released as it is, or as {' or '.join(all_of_them)}, which stands for every category"
    also = "".join(f"; {label} for every one" for label in all_of_them)
    return f"generalised: {figure(len(own))} labels, none for more than {figure(max(own))} categories{also}"


def _domain(attribute: Mapping[str, Any]) -> str:
    if attribute["domain"] is None:
        return "no list of categories"
    source = "observed in the data" if attribute["observed"] else "declared by the policy"
    return f"{figure(len(attribute['domain']))} categories, {source}"


def _retention_facts(parameters: Mapping[str, Any]) -> tuple[Fact, ...]:
    """Return keep and retention probability of each block: rho = (d p - 1)/(d - 1) (Guo, Ying, Wu 2011)."""
    facts: list[Fact] = []
    for number, block in enumerate(parameters["blocks"], 1):
        keep, size = Fraction(block["keep_probability"]), len(block["members"])
        of = f" of block {number} ({figure(size)} categories)" if len(parameters["blocks"]) > 1 else ""
        facts.append(Fact(f"Keep probability{of}", rational(keep)))
        if size > 1:
            facts.append(Fact(f"Retention probability{of}", rational(retention_probability(keep, size))))
            facts.append(Fact(f"Every other category{of}", rational((1 - keep) / (size - 1))))
    if len(parameters["blocks"]) == 1 and size > 1 and keep < 1:
        epsilon = math.log(keep * (size - 1) / (1 - keep))
        facts.append(Fact("Epsilon of this attribute alone", figure(abs(epsilon))))
    return tuple(facts)


def _retention_matrix(parameters: Mapping[str, Any]) -> MatrixPanel | None:
    labels = parameters["labels"]
    if len(labels) > WIDEST:
        return None
    rows = [[0.0] * len(labels) for _ in labels]
    for block in parameters["blocks"]:
        keep, members = Fraction(block["keep_probability"]), block["members"]
        other = float((1 - keep) / (len(members) - 1)) if len(members) > 1 else 0.0
        for u in members:
            for v in members:
                rows[u][v] = float(keep) if u == v else other
    return MatrixPanel(_texts(labels), _texts(labels), tuple(tuple(row) for row in rows))


def _matrix(parameters: Mapping[str, Any]) -> MatrixPanel | None:
    released, original = parameters["released"], parameters["original"]
    if max(len(released), len(original)) > WIDEST:
        return None
    rows = tuple(tuple(float(Fraction(entry)) for entry in row) for row in parameters["rows"])
    return MatrixPanel(_texts(released), _texts(original), rows)


def _matrix_facts(parameters: Mapping[str, Any]) -> tuple[Fact, ...]:
    released, original, rows = parameters["released"], parameters["original"], parameters["rows"]
    facts = [
        Fact("Transition matrix", f"{figure(len(released))} released × {figure(len(original))} original categories")
    ]
    kept = [Fraction(rows[released.index(v)][i]) for i, v in enumerate(original) if v in released]
    if len(kept) == len(original):
        facts.append(Fact("Keep probability, smallest", rational(min(kept))))
        facts.append(Fact("Keep probability, largest", rational(max(kept))))
    return tuple(facts)


def _texts(labels: Sequence[Any]) -> tuple[str, ...]:
    return tuple(category(label) for label in labels)


def category(label: Any) -> str:
    """Return a category as text; one of coupled attributes is a list."""
    if isinstance(label, list):
        return " × ".join(category(part) for part in label)
    if isinstance(label, bool):
        return "true" if label else "false"
    return str(label)
