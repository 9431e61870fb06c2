"""What holds of an opened release: of each column by what is known of its matrix."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from rrpolicy.estimate.uncorrected.conditions import BOUNDS, ORDERS, two_categories
from rrpolicy.estimate.uncorrected.holds import Holds, Statement
from rrpolicy.estimate.uncorrected.known import Known

if TYPE_CHECKING:
    from rrpolicy.estimate.release import Release

_NOTHING: Mapping[str, float] = {}
_THESE = "another column of this list or one released as it is"
_APART = "a column that is randomised by itself or released as it is"
INDEPENDENT = "columns that are independent stay so when each is randomised by itself"
_LOGLINEAR = "it survives iff no randomised column occurs twice among its highest-order terms"


def what_holds(release: Release) -> Holds:
    """Say which analyses hold; `Release.what_holds` says of what.

    Columns whose matrix is not known count as randomised in an unknown way.
    """
    axes = list({id(a): a for a in release.columns.axes.values()}.values())
    carried = [c for c in release.columns.columns if c not in release.columns.axes and c not in release.columns.refused]
    plain = (*(c for a in axes if not a.randomised for c in a.columns), *carried)
    known = [*(Known.of(a) for a in axes if a.randomised), *map(Known.told, release.manifest.withheld)]
    return holding(plain, known)


def holding(plain: tuple[str, ...], known: Sequence[Known]) -> Holds:
    """Say which analyses hold of some columns.

    Args:
        plain: columns that are released as they are.
        known: what is known of the matrices of the others.
    """
    if not known:
        return Holds((unchanged(plain),) if plain else ())
    return Holds(
        (
            *((unchanged(plain),) if plain else ()),
            counts(known),
            *flat(known),
            *_tests(known),
            *_measures([k for k in known if k.apart]),
            orders(),
        )
    )


def unchanged(columns: tuple[str, ...]) -> Statement:
    """Return what holds of columns that are released as they are."""
    because = "they are released as they are; nothing randomised enters"
    return Statement("any analysis of these columns alone", columns, "valid", because)


def counts(known: Sequence[Known]) -> Statement:
    """Return what holds of the counts of randomised columns."""
    names = tuple(c for k in known for c in k.columns)
    because = "a released value may be another than the original one"
    return Statement("counts, shares and means by these columns", names, "biased", because)


def flat(known: Sequence[Known], released: Mapping[str, float] = _NOTHING) -> list[Statement]:
    """Return the test of equal frequencies, of those columns of which its level is kept."""
    doubly = tuple(c for k in known if k.apart and k.doubly for c in k.columns)
    because = "a flat table stays flat under a doubly stochastic matrix, so the test keeps its level"
    analysis = "test that the categories are equally frequent"
    return [Statement(analysis, doubly, "level kept", because, released)] if doubly else []


def orders() -> Statement:
    """Return which orders are not kept."""
    because = "what is frequent or confident in the release need not be so in the original"
    return Statement("orders by support, confidence, gini or naive Bayes scores", (), "biased", because)


def _tests(known: Sequence[Known]) -> list[Statement]:
    apart = tuple(c for k in known if k.apart for c in k.columns)
    coupled = [k.columns for k in known if len(k.columns) > 1]
    found = []
    if apart:
        analysis = f"chi-square test of independence with {_THESE}"
        found.append(Statement(analysis, apart, "level kept", INDEPENDENT))
        because = f"{_LOGLINEAR}, as loglinear() tells where the matrices are published"
        found.append(Statement("test of a hierarchical loglinear model that survives", apart, "level kept", because))
    for columns in coupled:
        because = "they were randomised together, which makes them dependent"
        found.append(Statement("chi-square test of independence of these", columns, "biased", because))
    return found


def _measures(apart: Sequence[Known]) -> list[Statement]:
    """State which measures never grow, for pairs of columns that are randomised apart or released as they are."""
    found = []
    for bound in BOUNDS:
        names = tuple(c for k in apart if bound.row(k) and bound.column(k) for c in k.columns)
        if names:
            others = _THESE if bound.of_both else _APART
            found.append(Statement(f"{bound.analysis}, with {others}", names, "never larger", bound.because))
    two = tuple(c for k in apart if two_categories(k) for c in k.columns)
    if two:
        found += [Statement(order.analysis, two, "order kept", order.because) for order in ORDERS]
    return found
