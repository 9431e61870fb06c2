"""Points of a table that need a person's judgement: values of one record only, and limits of a survey's design.

The numbers are statistics of the original: they appear in the plan and in audit/, never in public/.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Protocol, runtime_checkable

from rrpolicy.canonical_json import category_text
from rrpolicy.channels.axes.identity import Identity
from rrpolicy.channels.axes.recode import Recode
from rrpolicy.channels.base import Channel
from rrpolicy.channels.decoders import IdentityDecoder
from rrpolicy.channels.product.channel import Product
from rrpolicy.channels.table import Column
from rrpolicy.engine.arrays import as_numpy
from rrpolicy.escaping import formulas
from rrpolicy.escaping.printable import shortened_names
from rrpolicy.finding import Measure
from rrpolicy.mechanism import Outline, Remark
from rrpolicy.numbers import fixed_number, out_of_hundred, percent
from rrpolicy.policy.model import Attribute, Policy
from rrpolicy.policy.tree.problems import toml_value
from rrpolicy.source.protocol import UnitCounter
from rrpolicy.source.sampling_units import SamplingUnits

if TYPE_CHECKING:
    import pyarrow as pa

    from rrpolicy.counts import Array
    from rrpolicy.privacy.dependence import Columns, Dependence
    from rrpolicy.source.protocol import Original


ASSOCIATION_REMARK = "association"
GIVEAWAY_REMARK = "given-away"
UNIQUE_VALUE_REMARK = "held-by-one"
SURVEY_DESIGN_REMARK = "survey-design"
UNPROTECTED_GROUPS_REMARK = "unprotected-groups"
"""The names of these remarks."""
MOST_MEMBERS = 30
"""Mean number of records of a cluster up to which an attacker may know all its members, as of a household."""


@runtime_checkable
class _SinglesCounter(Protocol):
    """An original that counts the unique values of its columns while its rows are read."""

    def singles(self, name: str) -> int: ...


@runtime_checkable
class _WeightSummer(Protocol):
    """An original that sums the survey's weights."""

    def weighted(self) -> Mapping[str, Array] | None: ...


def unique_value_warnings(policy: Policy, channel: Channel, original: Original) -> Iterator[Remark]:
    """Yield a warning for every unmodified column that has values of one record only."""
    kept = {name for d in channel.decoders() if isinstance(d, IdentityDecoder) for name in d.attributes}
    changed = {name for d in channel.decoders() if not isinstance(d, IdentityDecoder) for name in d.attributes}
    for attribute in policy.released:
        if attribute.name in kept or (not attribute.categorical and attribute.name not in changed):
            singles = _unique_value_count(attribute, original)
            if singles:
                yield Remark(
                    UNIQUE_VALUE_REMARK,
                    f"'{attribute.name}' is released unchanged; values that one record alone has: {singles:,}. An "
                    "attacker who knows such a value of a person finds the person's record",
                    Measure(float(singles)),
                    attribute.name,
                )


def _unique_value_count(attribute: Attribute, original: Original) -> int:
    """Return the number of values of an attribute that occur in one record only; nulls do not count."""
    from rrpolicy.channels.product.draw import distinct_row_counts
    from rrpolicy.source.run_length import UniqueValueCounter

    if isinstance(original, _SinglesCounter):
        return original.singles(attribute.name)
    if attribute.categorical:
        return int((original.counts(attribute.name).n == 1).sum())
    found = UniqueValueCounter()
    for batch in distinct_row_counts(original, [], [attribute.name]):
        found.take(batch.column(0), as_numpy(batch.column(1)))
    return found.count()


def association_warnings(policy: Policy, channel: Channel | Outline, original: Original) -> Iterator[Remark]:
    """Yield the unmodified columns that reveal randomised ones, then a warning of those associated with some."""
    from rrpolicy.privacy.dependence import exact_and_randomised, find_dependences

    columns = (
        _planned_columns(policy, channel) if isinstance(channel, Outline) else exact_and_randomised(policy, channel)
    )
    found = find_dependences(policy, columns, original)
    for one in found:
        if one.gives_away:
            text = (
                f"'{one.exact}' is released unmodified and gives the randomised '{one.randomised}' away: "
                f"{_dependence_text(one)}"
            )
            yield Remark(GIVEAWAY_REMARK, text, one.v, one.exact, one.randomised)
    rest = [one for one in found if not one.gives_away]
    if not rest:
        return
    worst = max(rest, key=lambda one: (one.v.value, one.share))
    others = dict.fromkeys(one.exact for one in rest if one.exact != worst.exact)
    text = (
        f"'{worst.exact}' is released unmodified and goes with the randomised '{worst.randomised}': "
        f"{_dependence_text(worst)}"
    )
    also = f"; so do, less strongly, {shortened_names([*others])}" if others else ""
    yield Remark(ASSOCIATION_REMARK, text + also, worst.v)


def _planned_columns(policy: Policy, outline: Outline) -> Columns:
    """Return the columns that will be released unmodified and those randomised, as far as no data are needed."""
    drawn = {name for names, axis in outline.axes if not issubclass(axis, (Identity, Recode)) for name in names}
    return [*outline.unchanged(policy)], [a for a in policy.released if a.name in drawn and a.categorical]


def _dependence_text(found: Dependence) -> str:
    """Return the association of a column with a randomised one in words."""
    v = f"Cramér's V, corrected for bias, {fixed_number(found.v.value, 2)}"
    share = f"{percent(found.share)} of the records ({found.following:,} of {found.records:,})"
    with_others = f" with {shortened_names(found.others)}" if found.others else ""
    follows = f"the value follows from it{with_others} for {share}"
    return "; ".join([v] * bool(found.v.value) + [follows] * bool(found.following))


def unprotected_group_warnings(policy: Policy, original: Original) -> Iterator[Remark]:
    """Yield a warning for every column left out that groups the units of protection, such as the key of households."""
    from rrpolicy.source.group_keys import unprotected_groups

    for group in unprotected_groups(policy, original):
        text = (
            f"'{group.name}' groups people: {group.groups:,} values, up to {group.most} records each. Each guarantee "
            f"is for one '{policy.unit}', not for all records that share '{group.name}': an attacker who knows a whole "
            f"group learns more of its members. Write unit = {toml_value(group.name)} and max_records = {group.most} "
            "under [source] to protect them together, or waive this point if the column identifies no group of people"
        )
        yield Remark(UNPROTECTED_GROUPS_REMARK, text, attribute=group.name)


def survey_design_warnings(policy: Policy, channel: Channel, original: Original) -> Iterator[Remark]:
    """Yield the points of a survey's design that need a person's judgement."""
    changed = {n for d in channel.decoders() if not isinstance(d, IdentityDecoder) for n in d.attributes}
    strata, clusters = ([a for a in policy.released if a.design == part] for part in ("stratum", "cluster"))
    strata = [a for a in strata if a.name not in changed]
    if strata and changed.isdisjoint(a.name for a in clusters):
        rows = _distinct_values((*strata, *clusters), original)
        for text in SamplingUnits.counted(rows, len(strata), len(clusters)).told():
            yield Remark(SURVEY_DESIGN_REMARK, text)
    if isinstance(channel, Product) and isinstance(original, UnitCounter):
        yield from _composition_warnings(policy, channel, original)
    if policy.weights_inside and isinstance(original, _WeightSummer):
        yield from _coverage_warnings(original)


def _composition_warnings(policy: Policy, product: Product, original: UnitCounter) -> Iterator[Remark]:
    """Yield that a released column of clusters links the records of households, some of which are alone of their kind.

    Only columns that are released with certainty count; large clusters, such as districts, nobody knows all members of.
    """
    import numpy as np

    from rrpolicy.privacy.classes.equivalence import ClassColumns, released_codes
    from rrpolicy.privacy.classes.unit_classes import UnitClasses
    from rrpolicy.privacy.evidence import split_axes

    seen = split_axes(product, policy, None)
    known = tuple(axis for axis in seen.known if isinstance(axis, (Identity, Recode)))
    names = [name for axis in known for name in axis.attributes]
    for cluster in policy.released:
        changed = any(cluster.name in axis.attributes for axis in product.axes if not isinstance(axis, Identity))
        if cluster.design != "cluster" or changed or not names:
            continue
        counted = original.unit_counts(*names, unit=cluster.name)
        clusters = sum(int(n.sum()) for n in counted.n)
        records = sum(int(n.sum()) * rows.shape[1] for rows, n in zip(counted.members, counted.n, strict=True))
        if records > MOST_MEMBERS * clusters:
            continue
        codes = released_codes(ClassColumns(known, (), ()), counted.codes)
        sizes = UnitClasses.counted(counted, codes, np.ones(len(counted.codes), dtype=bool), {}).units.sizes
        alone = int((sizes == 1).sum())
        if alone:
            text = (
                f"'{cluster.name}' links the released records of {clusters:,} clusters; of {alone:,} of them no other "
                f"has the same composition by {shortened_names(names)}: an attacker who knows all members of such a "
                "cluster, as of a household, finds their records"
            )
            yield Remark(SURVEY_DESIGN_REMARK, text, Measure(float(alone)), cluster.name)


def _distinct_values(attributes: tuple[Attribute, ...], original: Original) -> Iterator[pa.RecordBatch]:
    """Yield the distinct values of some attributes, in their order, with their number of records."""
    from rrpolicy.channels.product.draw import distinct_row_counts

    names = [a.name for a in attributes]
    coded = [a.name for a in attributes if a.categorical]
    for batch in distinct_row_counts(original, coded, [name for name in names if name not in coded]):
        yield batch.select([*names, batch.schema.names[-1]])


def _coverage_warnings(original: Original) -> Iterator[Remark]:
    """Yield the largest difference between the shares that analysts can estimate and those of the population."""
    import numpy as np

    sums = original.weighted() if isinstance(original, _WeightSummer) else None
    people = max((float(s.sum()) for s in (sums or {}).values()), default=0.0)
    if not sums or not people:
        return
    worst, apart, name = "", -1.0, ""
    for attribute in original.policy.released:
        if attribute.name in sums:
            plain = original.counts(attribute.name).dense() / original.records
            off = np.abs(sums[attribute.name] / people - plain)
            place = int(off.argmax())
            if off[place] > apart:
                name, apart = attribute.name, float(off[place])
                worst = category_text((attribute.domain or ())[place])
    yield Remark(
        SURVEY_DESIGN_REMARK,
        "the survey's weights are not released: analysts estimate shares of these records, which differ from the "
        "population's by up to"
        f" {out_of_hundred(apart)} percentage points ('{name}', {worst})",
        attribute=name,
    )


CSV_FORMULA_REMARK = "csv-formulas"
"""The name of these remarks."""


def policy_formula_warnings(policy: Policy) -> tuple[Remark, ...]:
    """Return the warning for a policy before any data; () for no warning."""
    return _formula_warning(policy, [a.release_as for a in policy.released if _attribute_may_run(a, policy)])


def channel_formula_warnings(policy: Policy, channel: Channel) -> Iterator[Remark]:
    """Yield the warning for the values that a channel releases."""
    columns = [column for table in channel.tables() for column in table.columns]
    yield from _formula_warning(policy, [column.name for column in columns if _column_runs(column, policy)])


def _attribute_may_run(attribute: Attribute, policy: Policy) -> bool:
    if attribute.domain is None:
        return attribute.observed or policy.release.format == "csv"
    labels = (*attribute.domain, *(label for level in attribute.hierarchy or () for label in level))
    return formulas.any_formula(labels) or _name_runs(attribute.release_as, policy)


def _column_runs(column: Column, policy: Policy) -> bool:
    if column.labels:  # which are in the weights, too, for every format of the data
        return formulas.any_formula(column.labels) or _name_runs(column.name, policy)
    carried = policy.release.format == "csv" and column.escapable
    return carried or _name_runs(column.name, policy)


def _name_runs(name: str, policy: Policy) -> bool:
    return policy.release.format == "csv" and formulas.any_formula([name])


def _formula_warning(policy: Policy, names: Sequence[str]) -> tuple[Remark, ...]:
    if policy.release.csv_formulas == "escape" or not names:
        return ()
    listed = ", ".join(f"'{name}'" for name in names)
    told = (
        f"text of {listed} may begin with {formulas.TOLD}, and CSV files of the release keep it: a spreadsheet that "
        'opens them may run it as a formula. csv_formulas = "escape", the default, prevents it'
    )
    return (Remark(CSV_FORMULA_REMARK, told),)
