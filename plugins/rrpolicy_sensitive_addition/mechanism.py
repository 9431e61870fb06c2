"""`sensitive-addition`: outline without data, plan with the number of records."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from fractions import Fraction

from rrpolicy.plugin import (
    Assessor,
    Axis,
    Column,
    Identity,
    Measure,
    Origin,
    Original,
    Outline,
    Policy,
    Product,
    Proposal,
    Remark,
    Requirement,
    Role,
    Sets,
    Task,
    figure,
)
from rrpolicy.plugin.solve import Domain, addition_mean_squared_error
from rrpolicy_sensitive_addition.layout import HiddenGroup, SensitiveAdditionOptions, read_hidden_groups


def build_channel(hidden: Sequence[HiddenGroup], policy: Policy) -> Product:
    """Return the channel; every domain must be known."""
    return Product.of(policy.released, [set_axis(each) for each in hidden])


def set_axis(hidden: HiddenGroup) -> Sets:
    """Return the axis of attributes that are hidden as one."""
    domains = tuple(Domain(a.name, a.domain or ()) for a in hidden.attributes)
    columns = tuple(Column(a.release_as or a.name, "set", a.domain or (), "", a.name) for a in hidden.attributes)
    return Sets(domains, columns, hidden.set_size)


def outline_axes(hidden: Sequence[HiddenGroup], policy: Policy) -> tuple[tuple[tuple[str, ...], type[Axis]], ...]:
    """Return (attributes, axis class) of every axis, in the channel's order."""
    own = {a.name: tuple(a.name for a in each.attributes) for each in hidden for a in each.attributes}
    found: list[tuple[tuple[str, ...], type[Axis]]] = []
    for attribute in policy.released:
        names = own.get(attribute.name)
        if names is not None and names[0] == attribute.name:
            found.append((names, Sets))
        elif names is None and attribute.categorical:
            found.append(((attribute.name,), Identity))
    return tuple(found)


def larger_set_remarks(hidden: Sequence[HiddenGroup], channel: Product, task: Task) -> tuple[Remark, ...]:
    """Return remarks on a sufficient l if a risk is over its limit with sets as large as l-diversity requires."""
    original = task.original
    if isinstance(original, int):
        return ()
    failing: dict[str, list[tuple[Requirement, Assessor]]] = {}
    for requirement, assessor in task.requirements:
        if assessor.monotone and requirement.monotone and not assessor.accepts(requirement, channel, original):
            failing.setdefault(requirement.model, []).append((requirement, assessor))
    return tuple(_set_size_remark(model, asked, hidden, task, original) for model, asked in failing.items())


def _set_size_remark(
    model: str,
    failing: Sequence[tuple[Requirement, Assessor]],
    hidden: Sequence[HiddenGroup],
    task: Task,
    original: Original,
) -> Remark:
    """Return the smallest sets with which the entries of a model are met; or that no sets are large enough."""
    fewest, most = 0, max((each.values or 0) - each.set_size for each in hidden)
    if not _satisfies_requirements(hidden, most, failing, task, original):
        text = "whatever the size of the sets: coarsen the quasi-identifiers, or choose a mechanism that hides them too"
        return Remark("larger-sets", f"{model} fails {text}")
    while most - fewest > 1:
        middle = (fewest + most) // 2
        if _satisfies_requirements(hidden, middle, failing, task, original):
            most = middle
        else:
            fewest = middle
    grown = _with_larger_sets(hidden, most)
    if all(each.set_size == each.values for each in grown):
        names = " and ".join(each.name for each in grown)
        text = (
            f"only sets of all values of {names} would meet it, and these reveal nothing: relax the requirement, "
            f"or coarsen"
        )
        return Remark("larger-sets", f"{model} fails; {text} the quasi-identifiers or {names}")
    sizes = " and ".join(f"{each.set_size} values of {each.name}" for each in grown)
    return Remark("larger-sets", f"{model} fails; sets of {sizes} would satisfy it: set l that large")


def _satisfies_requirements(
    hidden: Sequence[HiddenGroup],
    more: int,
    failing: Sequence[tuple[Requirement, Assessor]],
    task: Task,
    original: Original,
) -> bool:
    """Return whether sets with so many more values satisfy the failing entries."""
    channel = build_channel(_with_larger_sets(hidden, more), task.policy)
    return all(a.accepts(r, channel, original) for r, a in failing)


def _with_larger_sets(hidden: Sequence[HiddenGroup], more: int) -> list[HiddenGroup]:
    return [replace(each, l=Fraction(min(each.set_size + more, each.values or 0))) for each in hidden]


class SensitiveAddition:
    """Randomised addition of sensitive values (Sei, Ohsuga): quasi-identifiers stay as they are."""

    name = "sensitive-addition"
    options = SensitiveAdditionOptions
    method = "sets"
    sized_by = "frequency"

    def outline(self, options: SensitiveAdditionOptions, policy: Policy) -> Outline:
        """Return a product channel with an axis of sets for each hidden group; the channel if domains are known."""
        hidden = read_hidden_groups(options, policy)
        known = all(a.domain is not None for a in policy.released if a.categorical)
        kept = tuple(a.name for a in policy.with_role(Role.QUASI_IDENTIFIER))
        return Outline(Product, outline_axes(hidden, policy), build_channel(hidden, policy) if known else None, kept)

    def plan(self, options: SensitiveAdditionOptions, task: Task) -> Proposal:
        """Return the channel: sets as large as required, and no larger."""
        hidden = read_hidden_groups(options, task.policy)
        task.require_domains()
        origins = {a.name: Origin.POLICY for each in hidden for a in each.attributes}
        remarks = tuple(remark for each in hidden for remark in _error_remarks(each, task.records))
        channel = build_channel(hidden, task.policy)
        return Proposal(channel, origins, remarks=(*remarks, *larger_set_remarks(hidden, channel, task)))


def _error_remarks(hidden: HiddenGroup, records: int) -> Iterator[Remark]:
    values = hidden.values or 0
    if hidden.set_size == values:
        text = f"every set of {hidden.name} holds all its values: it reveals nothing, and no count can be estimated"
        yield Remark("nothing-released", text)
        return
    table = float(addition_mean_squared_error(values, hidden.set_size, records, "table"))
    population = float(addition_mean_squared_error(values, hidden.set_size, records, "population"))
    what = f"an estimated share of {hidden.name} ({hidden.set_size} of {values} in each set)"
    yield Remark(
        "mean-squared-error-this-table",
        f"{what} has a mean squared error of {figure(table)} as a share of this table",
        Measure(table),
    )
    yield Remark(
        "mean-squared-error-population",
        f"{what} has a mean squared error of {figure(population)} as a share of the population that the table is a"
        " sample of, if its values are equally common there, and less if they are not",
        Measure(population),
    )
