"""Planning: the classes of a table, generalised until every requirement is met."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from fractions import Fraction

from rrpolicy.plugin import (
    Axis,
    Measure,
    Origin,
    Original,
    Product,
    Proposal,
    Remark,
    Role,
    Task,
    exact,
    figure,
    replace,
)
from rrpolicy.plugin.solve import (
    Generalised,
    Recoded,
    certainty_loss,
    full_domain,
    multidimensional,
    refuse_without_data,
    tuple_suppression,
    with_few_suppressed,
)
from rrpolicy.plugin.text import plain_number
from rrpolicy_l_diversity.layout import (
    GeneralisationLayout,
    GeneralisationOptions,
    fixed_channel,
    read_layout,
    suppression_target,
)

FEW = Fraction(1, 20)
"""The share of records for which a plan reports the gain of suppressing them."""
BOXES = "the domain was cut along its widest attribute, as evenly as the requirements allow, until nothing could be cut"

MERGE = "give it a `hierarchy` that merges neighbours, as `rrpolicy init --mechanism generalisation` drafts it"


def propose(options: GeneralisationOptions, task: Task) -> Proposal:
    """Return the channel, the origins of its levels, and remarks on the choice."""
    layout = read_layout(options, task.policy)
    if layout.fixed:
        levels = tuple(_level_remarks(layout, [r.chosen[0] for r in layout.attributes]))
        return Proposal(fixed_channel(layout, task.policy), _level_origins(layout), {}, levels)
    original = task.original
    if isinstance(original, int):
        raise refuse_without_data("choosing what the quasi-identifiers become", "algorithm", task)

    def build(axes: Sequence[Axis]) -> Product:
        return Product.of(task.policy.released, axes)

    few = replace(layout.goal, suppression=FEW)
    if options.algorithm == "mondrian":
        boxes = multidimensional(task, original, layout.attributes, layout.goal, build)
        assert isinstance(boxes, Product)
        loss = certainty_loss(boxes, original, layout.attributes, layout.goal)
        finer = with_few_suppressed(task, original, layout.attributes, few, build, loss)
        told = (Remark("boxes", BOXES), *_suppression_remark(layout, finer, loss, original.records))
        return Proposal(boxes, _level_origins(layout), {}, told)
    if options.algorithm == "tp":
        return _suppress_tuples(task, original, layout)
    found = full_domain(task, original, layout.attributes, layout.goal, build)
    remarks = [*_class_size_remarks(layout, found, original.records)]
    if not layout.goal.suppression:
        loss = found.choice.loss
        finer = with_few_suppressed(task, original, layout.attributes, few, build, loss)
        remarks += _suppression_remark(layout, finer, loss, original.records)
    return Proposal(found.channel, _level_origins(layout), {}, tuple(remarks))


def _suppress_tuples(task: Task, original: Original, layout: GeneralisationLayout) -> Proposal:
    known = tuple(r.attribute for r in layout.attributes)
    sensitive, least = suppression_target(task.policy)
    found = tuple_suppression(task, original, known, sensitive, least=least, place=layout.goal.place)
    gone = sum(row[-1] for row in found.channel.moved or ())
    text = f"{figure(gone)} of {figure(original.records)} records are released as `*`; nothing is generalised"
    remarks = [Remark("suppressed", text, Measure(float(gone)))]
    if found.l > least:
        text = f"classes satisfy l = {exact(found.l)} by frequency, which disclosure implies; the rest, {exact(least)}"
        remarks.append(Remark("implied-l", text))
    return Proposal(found.channel, {a.name: Origin.DATA for a in known}, {}, tuple(remarks))


def _level_origins(layout: GeneralisationLayout) -> dict[str, Origin]:
    return {
        r.attribute.name: Origin.POLICY if len(r.chosen) == 1 and not layout.goal.suppression else Origin.DATA
        for r in layout.attributes
        if r.attribute.role is Role.QUASI_IDENTIFIER
    }


def _class_size_remarks(layout: GeneralisationLayout, found: Generalised, records: int) -> Iterator[Remark]:
    yield from _level_remarks(layout, found.levels)
    choice, goal = found.choice, layout.goal
    sizes = choice.table.n[choice.kept]
    yield Remark("loss", f"the loss {goal.loss} of this choice", Measure(choice.loss))
    yield Remark("classes", f"{figure(len(sizes))} classes, of {figure(sizes.min())} to {figure(sizes.max())} records")
    if goal.suppression:
        most = f"at most {exact(goal.suppression)} of all may be"
        text = f"{figure(choice.suppressed)} of {figure(records)} records are released as `*`; {most}"
        yield Remark("suppressed", text, Measure(float(choice.suppressed)))
    schemes = f"{figure(found.nodes)} generalisation schemes ({figure(found.tested)} fully evaluated)"
    yield Remark("search", f"optimal among {schemes}")


def _suppression_remark(
    layout: GeneralisationLayout, finer: Generalised | None, loss: float, records: int
) -> Iterator[Remark]:
    """Yield the gain of suppressing a few records, if it is large."""
    if finer is None:
        return
    gone, lost = finer.choice.suppressed, finer.choice.loss
    pairs = zip(layout.attributes, finer.levels, strict=True)
    coarse = [r.attribute.name for r, level in pairs if level and r.attribute.role is Role.QUASI_IDENTIFIER]
    asked = f"`suppression = {plain_number(float(FEW))}`"
    if layout.boxes:
        asked = f'`algorithm = "full-domain"` with {asked}'
    kept = f"generalise only {', '.join(map(repr, coarse))} in" if coarse else "keep the categories of"
    text = (
        f"{asked} would release {figure(gone)} of {figure(records)} records as `*` and {kept} the other "
        f"{figure(records - gone)}; the loss {layout.goal.loss} would be {plain_number(lost)} instead "
        f"of {plain_number(loss)}"
    )
    yield Remark("alternative", text, Measure(lost))


def _level_remarks(layout: GeneralisationLayout, levels: Sequence[int]) -> Iterator[Remark]:
    for r, level in zip(layout.attributes, levels, strict=True):
        if r.attribute.role is Role.QUASI_IDENTIFIER:
            yield Remark(f"level-{r.attribute.name}", _level_text(r, level))


def _level_text(r: Recoded, level: int) -> str:
    groups = len(set(r.levels[level]))
    of = f"'{r.attribute.name}' is released at level {level} of {len(r.levels) - 1}"
    kept = "unchanged" if level == 0 else f"in {groups} groups" if groups > 1 else "as one group"
    ordered = r.attribute.scale == "ordinal" and r.attribute.hierarchy is None and len(r.chosen) > 1
    told = f"; {MERGE}" if ordered and groups == 1 and len(r.levels[0]) > 3 else ""  # noqa: PLR2004 fewer have no levels
    return f"{of}: its {len(r.levels[0])} categories {kept}{told}"
