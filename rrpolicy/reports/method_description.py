"""Protection of a release's columns in plain words, read from the decoders, so that no plugin is needed."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from msgspec import Struct

from rrpolicy.channels.decoders import (
    AdditionDecoder,
    AnatomyDecoder,
    MatrixDecoder,
    RecodeDecoder,
    RetentionDecoder,
    WithheldDecoder,
)
from rrpolicy.declarations import Role
from rrpolicy.numbers import figure, percent_range
from rrpolicy.report import Fact
from rrpolicy.reports.attributes import (
    GENERALISED,
    PARTLY_GENERALISED,
    UNCHANGED,
    column_coarseness,
)
from rrpolicy.wording import columns_phrase

if TYPE_CHECKING:
    from rrpolicy.channels.decoders import Decoder
    from rrpolicy.manifest.manifest import Manifest, ReleasedAttribute

EXACT = "Values are released unchanged: every one is exact. An attacker who finds a person's row reads them."
COARSER = (
    "Nothing was changed at random: a value is exact but coarser, a label for one category or several. "
    "For the categories inside a label only bounds are known."
)
COARSER_OR_HIDDEN = (
    "Nothing was changed at random: a value is exact but coarser, a label for one category or several. "
    "Records may have a label for all categories."
)
HIDDEN = (
    "A value is exact, or it is hidden: released as a label for all categories. Records with hidden values are "
    "not a random sample, so results without them are biased."
)
DEALT = (
    "Published apart from the records, by groups of at least {size}: a record is known to have one of the values of "
    "its group. Which value of a group belongs to which record was left to chance and is not released."
)
SETS = (
    "Released as a set of {size} values: the true one and {more} drawn at random. A set always contains the true "
    "value, and excludes with certainty the"
    " {others} that it does not hold."
)
SILENT = "Released as the set of all values. It shows nothing of the record, and nothing can be estimated for it."
WITHHELD = (
    "Each value was kept or replaced at random, with probabilities that the publisher withholds. Counts cannot be "
    "corrected. Withholding is not a privacy measure: every requirement assumes an attacker who has the "
    "probabilities."
)
ROW = "No single row can be taken at its word; estimates are right on average."
NOTHING = "The released values reveal nothing about the original ones, and nothing can be estimated."

TEST = "This was drawn from a test's seed that anybody can know: it protects nobody."
COLLECTED = "each record was randomised on the person's own machine before it was sent, and there is no original table"


class _ColumnTreatment(Struct, frozen=True):
    """Treatment of some columns.

    Attributes:
        how: the treatment in a few words, for the headline.
    """

    columns: tuple[str, ...]
    how: str
    told: str


def protection_facts(manifest: Manifest) -> tuple[Fact, ...]:
    """Return columns grouped by treatment, each treatment in two sentences; exact columns are last."""
    done = _column_treatments(manifest)
    exact = _exact_column_names(manifest, done)
    told = [Fact(columns_phrase(each.columns), each.told) for each in done]
    return (*told, Fact(columns_phrase(exact), EXACT)) if exact else tuple(told)


def protection_headline(manifest: Manifest) -> str:
    """Return the treatment of the columns, and the exact ones, in one sentence."""
    alike: dict[str, list[str]] = {}
    for each in (done := _column_treatments(manifest)):
        alike.setdefault(each.how, []).extend(each.columns)
    if not alike:
        return "Every value is released unchanged: nothing was changed."
    called = _ColumnNaming(manifest.attributes)
    said = [called.so(columns, how) for how, columns in alike.items()]
    exact = _exact_column_names(manifest, done)
    if exact:
        dealt = any(isinstance(decoder, AnatomyDecoder) for decoder in manifest.decoders)
        said.insert(0 if dealt else len(said), called.so(exact, "exact"))
    if not any(decoder.drawn for decoder in manifest.decoders):
        said.append("nothing was changed at random")
    whole = "; ".join(said)
    return f"{whole[0].upper()}{whole[1:]}."


def exact_columns(manifest: Manifest) -> tuple[str, ...]:
    """Return the columns whose values are released unmodified, in the order of the policy."""
    return _exact_column_names(manifest, _column_treatments(manifest))


def _exact_column_names(manifest: Manifest, done: Sequence[_ColumnTreatment]) -> tuple[str, ...]:
    """Return the columns whose values are released unmodified, in the order of the policy."""
    changed = {column for each in done for column in each.columns}
    return tuple(name for name in manifest.of_column if name not in changed)


def _column_treatments(manifest: Manifest) -> list[_ColumnTreatment]:
    """Return the treatments of modified columns, each treatment once."""
    alike: dict[tuple[str, str], list[str]] = {}
    for decoder in manifest.decoders:
        for columns, how, told in _decoder_treatments(decoder):
            alike.setdefault((how, told), []).extend(columns)
    kept = _keep_probability_texts(manifest.decoders)
    return [
        _ColumnTreatment(tuple(columns), how, told.replace(_KEPT, kept.get(told, "")))
        for (how, told), columns in alike.items()
    ]


_KEPT = "{kept}"
ONE_BY_ONE = (
    f"Each value was kept with a probability of {_KEPT}, otherwise replaced by one of the other categories, equally "
    f"likely. {ROW}"
)
INSIDE_BLOCKS = (
    f"Each value was kept with a probability of {_KEPT}, otherwise replaced by another category of its block, equally "
    f"likely. {ROW}"
)
TOGETHER = (
    f"Randomised together: a combination of values was kept with a probability of {_KEPT}, otherwise replaced by "
    f"another one. {ROW}"
)
MATRIX = f"Each value was kept or replaced at random, by a published table of probabilities. {ROW}"
PUBLISHED = "randomised with published probabilities"


def _retention_text(decoder: RetentionDecoder) -> str:
    if all(block.keep == block.move for block in decoder.blocks if block.size > 1):
        return f"Each value was drawn anew, whatever it was. {NOTHING}"
    if len(decoder.columns) > 1:
        return TOGETHER
    return INSIDE_BLOCKS if len(decoder.blocks) > 1 else ONE_BY_ONE


def _keep_probability_texts(decoders: Iterable[Decoder]) -> Mapping[str, str]:
    """Return the probability of keeping values, by the columns' description."""
    found: dict[str, list[float]] = {}
    for decoder in decoders:
        if isinstance(decoder, RetentionDecoder) and decoder.drawn:
            found.setdefault(_retention_text(decoder), []).extend(float(b.keep) for b in decoder.blocks if b.size > 1)
    return {told: percent_range(min(keeps), max(keeps)) for told, keeps in found.items()}


def _decoder_treatments(decoder: Decoder) -> Iterator[tuple[Sequence[str], str, str]]:
    """Yield columns of a decoder with their treatment, in a few words and in two sentences."""
    match decoder:
        case RecodeDecoder():
            yield from _recode_treatments(decoder)
        case AnatomyDecoder(size=size):
            yield (
                decoder.columns,
                f"known only by groups of {figure(size)} or more records",
                DEALT.format(size=figure(size)),
            )
        case AdditionDecoder(set_size=size, labels=labels) if decoder.drawn:
            if decoder.silent:
                yield decoder.columns, "released as sets that reveal nothing", SILENT
                return
            told = SETS.format(size=figure(size), more=figure(size - 1), others=figure(len(labels) - size))
            yield decoder.columns, f"released as sets of {figure(size)} values that contain the true one", told
        case RetentionDecoder() if decoder.drawn:
            yield decoder.columns, PUBLISHED, _retention_text(decoder)
        case MatrixDecoder() if decoder.drawn:
            yield decoder.columns, PUBLISHED, MATRIX
        case WithheldDecoder():
            yield decoder.columns, "randomised with probabilities that are withheld", WITHHELD
        case _:
            return


def _recode_treatments(decoder: RecodeDecoder) -> Iterator[tuple[Sequence[str], str, str]]:
    pairs = zip(decoder.attributes, decoder.columns, decoder.original, decoder.groups, strict=True)
    for name, column, domain, groups in pairs:
        kind = column_coarseness(decoder, name)
        if kind == GENERALISED:
            own = any(1 <= len(group) < len(domain) for group in groups)
            whole = own and any(len(group) == len(domain) for group in groups)
            told = COARSER_OR_HIDDEN if whole else COARSER
            yield (column,), "coarser", told
        elif kind == PARTLY_GENERALISED:
            yield (column,), "exact or hidden", HIDDEN
        else:
            assert kind == UNCHANGED


class _ColumnNaming:
    """Names columns by their role if they are all columns of that role."""

    def __init__(self, attributes: Sequence[ReleasedAttribute]) -> None:
        self._roles: dict[frozenset[str], str] = {}
        for name, roles in (
            ("insensitive column", {Role.INSENSITIVE}),
            ("sensitive column", {Role.SENSITIVE}),
            ("quasi-identifier", {Role.QUASI_IDENTIFIER}),
            ("quasi-identifiers and sensitive column", {Role.QUASI_IDENTIFIER, Role.SENSITIVE}),
        ):
            self._roles[frozenset(a.release_as for a in attributes if a.role in roles)] = name
        self._all = frozenset(a.release_as for a in attributes)

    def so(self, columns: Collection[str], how: str) -> str:
        """Return a statement on columns."""
        chosen = frozenset(columns)
        if chosen == self._all:
            return f"all columns are {how}"
        one = len(chosen) == 1
        role = self._roles.get(chosen, "")
        called = f"{role}{'' if one else 's'} ({columns_phrase(columns)})" if role else columns_phrase(columns)
        return f"{'the ' if role and one else ''}{called} {'is' if one else 'are'} {how}"
