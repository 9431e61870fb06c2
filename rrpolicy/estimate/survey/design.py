"""The design of a survey as an analyst knows it: the released columns of its weight, strata and clusters."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Literal, TypeAlias

import numpy as np
from msgspec import Struct, field

from rrpolicy.canonical_json import Value
from rrpolicy.declarations import ROUNDING_TOLERANCE, category_weight
from rrpolicy.errors import PolicyError, Problem
from rrpolicy.estimate.counts.columns import Columns, kind_of_type
from rrpolicy.frozen import replace
from rrpolicy.numbers import fixed_number

if TYPE_CHECKING:
    from rrpolicy.counts import Array
    from rrpolicy.estimate.weights.base import AxisWeights
    from rrpolicy.manifest.manifest import Manifest

Alone: TypeAlias = Literal["refused", "centred"]
Totals: TypeAlias = Mapping[str, Mapping[Value, float]]


class Design(Struct, frozen=True):
    """How the released records were sampled. Clusters are taken to be drawn with replacement inside strata.

    Attributes:
        weight: the released column with the number of people that a record represents; None: each represents one.
        strata: released columns whose combinations are the strata; none for one.
        clusters: released columns whose combinations, inside a stratum, are the primary sampling units; none where
            records were drawn one by one.
        totals: known numbers of people of the population by category of released columns, to which estimates are
            calibrated.
        alone: treatment of a stratum with one cluster: an error, or its deviation is from the mean of all clusters.
        randomised_strata: columns of strata that were randomised; they are left out of `strata`.
        randomised_clusters: columns of clusters that were randomised; the population's errors are then unknown.
        weights_inside: whether the publisher withheld the weights, so that known totals replace them.
    """

    weight: str | None = None
    strata: tuple[str, ...] = ()
    clusters: tuple[str, ...] = ()
    totals: Totals = field(default_factory=dict)
    alone: Alone = "refused"
    randomised_strata: tuple[str, ...] = ()
    randomised_clusters: tuple[str, ...] = ()
    weights_inside: bool = False

    @property
    def description(self) -> str:
        """Return the design in words."""
        parts = [
            f"weighted by {self.weight}" if self.weight else "records of equal weight",
            f"strata by {', '.join(self.strata)}" if self.strata else "one stratum",
            f"clusters by {', '.join(self.clusters)}" if self.clusters else "records drawn one by one",
        ]
        if self.totals:
            parts.append(f"calibrated to known totals of {', '.join(self.totals)}")
        return "; ".join(parts)

    @property
    def notes(self) -> tuple[str, ...]:
        """Return the notes that are required to read the errors."""
        told = []
        if self.weights_inside:
            told.append("the publisher kept the survey's weights: known totals replace them")
        if self.randomised_strata:
            names = ", ".join(map(repr, self.randomised_strata))
            told.append(f"{names} was randomised: errors ignore these strata, and are somewhat too large")
        return tuple(told)


def design_of(manifest: Manifest, columns: Columns) -> Design | None:
    """Return the design that a release states; None if it states none.

    Strata that were randomised are left out, which makes errors larger on average.
    """
    of: dict[str, list[str]] = {"weight": [], "stratum": [], "cluster": []}
    for name, attribute in manifest.of_column.items():
        if attribute.design is not None:
            of[attribute.design].append(name)
    totals = {
        name: dict(zip(attribute.domain, attribute.totals, strict=True))
        for name, attribute in manifest.of_column.items()
        if attribute.totals is not None
        and attribute.domain is not None
        and _has_categories(columns, name, attribute.domain)
    }
    if not any(of.values()) and not totals and not manifest.weights_inside:
        return None
    randomised_strata = tuple(name for name in of["stratum"] if _randomised(columns, name))
    return Design(
        weight=next(iter(of["weight"]), None),
        strata=tuple(name for name in of["stratum"] if name not in randomised_strata),
        clusters=tuple(of["cluster"]),
        randomised_strata=randomised_strata,
        totals=totals,
        randomised_clusters=tuple(name for name in of["cluster"] if _randomised(columns, name)),
        weights_inside=manifest.weights_inside,
    )


def _has_categories(columns: Columns, name: str, domain: tuple[Value, ...]) -> bool:
    """Return whether records can be counted by the categories of a domain: labels of generalised ones are others."""
    return name in columns.axes and set(columns.axes[name].labels_of(name)) == set(domain)


def _randomised(columns: Columns, name: str) -> bool:
    return name in columns.refused or (name in columns.axes and columns.axes[name].randomised)


def state_design(  # noqa: PLR0917 the parts of a design
    columns: Columns,
    known: Design | None,
    weight: str | None,
    strata: Sequence[str] | str,
    clusters: Sequence[str] | str,
    totals: Totals | None,
    alone: Alone | None,
) -> Design:
    """Return a design that an analyst states; arguments that are not given stay as in the known design.

    `known`: the design so far; None for none.

    Raises:
        PolicyError: RR262 for a name that is not a column; RR545 if a column cannot have the stated use, RR547 for
            totals that do not fit, RR271 for another `alone`.
    """
    design = known or Design()
    if alone not in {None, "refused", "centred"}:
        raise PolicyError(Problem("RR271", f"no such treatment: alone={alone!r}", expected='"refused" or "centred"'))
    if weight is not None:
        design = replace(design, weight=_weight(columns, weight), weights_inside=False)
    if strata:
        design = replace(design, strata=_grouping_columns(columns, strata), randomised_strata=())
    if clusters:
        design = replace(design, clusters=_grouping_columns(columns, clusters), randomised_clusters=())
    if totals is not None:
        exact = {columns.name(name): dict(known) for name, known in totals.items()}
        _check_totals(columns, exact)
        design = replace(design, totals=exact)
    return design if alone is None else replace(design, alone=alone)


def _weight(columns: Columns, name: str) -> str:
    exact = columns.name(name)
    if exact not in columns.axes and kind_of_type(columns.columns[exact].type) != "number":
        raise PolicyError(Problem("RR545", f"{exact!r} contains no numbers, but a weight is a number"))
    weight_values(columns, exact)
    return exact


def _grouping_columns(columns: Columns, names: Sequence[str] | str) -> tuple[str, ...]:
    """Return the exact names of columns that define groups of records."""
    exact = tuple(map(columns.name, [names] if isinstance(names, str) else names))
    for name in exact:
        if _randomised(columns, name):
            raise randomised_design_error(name)
    return exact


def _check_totals(columns: Columns, totals: Totals) -> None:
    """Refuse totals that do not fit categories, or one another (RR547)."""
    for name, known in totals.items():
        labels = tuple(dict.fromkeys(columns.axis(name).labels_of(name)))
        unlike = [v for v in known if v not in labels] or [v for v in labels if v not in known]
        if unlike:
            raise PolicyError(
                Problem(
                    "RR547",
                    f"the known totals of {name!r} and its categories differ in {unlike[0]!r}",
                    expected=f"a number for each of {', '.join(map(repr, labels))}",
                    hint="give 0 for a category that does not occur in the population",
                )
            )
        if not all(math.isfinite(n) and n >= 0 for n in known.values()) or sum(known.values()) <= 0:
            raise PolicyError(Problem("RR547", f"the known totals of {name!r} are not numbers of people"))
    whole = [sum(known.values()) for known in totals.values()]
    if whole and max(whole) - min(whole) > ROUNDING_TOLERANCE * max(whole):
        told = ", ".join(f"{name} {fixed_number(n)}" for name, n in zip(totals, whole, strict=True))
        message = f"the known totals are of populations of different sizes: {told}"
        raise PolicyError(Problem("RR547", message, hint="make them agree"))


def randomised_design_error(name: str) -> PolicyError:
    """Return the error for a column of strata or clusters that was randomised."""
    message = f"{name!r} was randomised: which records are together in its strata or clusters is not in the release"
    hint = (
        "leave strata out, and errors are larger rather than smaller; without clusters they would be too "
        "small. `release.without_design()`, or --design none, estimates this table"
    )
    return PolicyError(Problem("RR545", message, hint=hint))


def weight_values(columns: Columns, name: str) -> tuple[AxisWeights, Array] | None:
    """Return the axis of a weight that has categories, and (V,) how large each is; None for a column of numbers.

    Raises:
        PolicyError: RR545 if a category has no size.
    """
    if name not in columns.axes:
        return None
    axis = columns.axes[name]
    found = [category_weight(label) for label in axis.labels_of(name)]
    if None in found:
        message = f"the categories of {name!r} are not numbers, and a weight is a number"
        hint = "bins need labels that are numbers, such as the mean weight of each"
        raise PolicyError(Problem("RR545", message, hint=hint))
    return axis, np.array(found, dtype=np.float64)
