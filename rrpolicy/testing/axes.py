"""Checks of an axis."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Mapping
from fractions import Fraction
from typing import cast

import numpy as np

from rrpolicy.canonical_json import Json, canonical
from rrpolicy.channels.base import Axis, Posterior, Readable, Transition
from rrpolicy.channels.decoders import Decoder
from rrpolicy.channels.sampling.persistent_noise import PersistentStream, PersonMarks
from rrpolicy.channels.sampling.prng import Streams
from rrpolicy.channels.self_check import axis_contradictions
from rrpolicy.counts import Codes, Ints
from rrpolicy.report import Section
from rrpolicy.serialization import plain, read
from rrpolicy.testing.assertions import convert_to_assertion, demand

DRAWS = 300_000
CELLS = 20_000
BIG = 10_000
SEEDS = 64
"""Number of draws of BIG records, one in BIG of which changes: all are equal with a probability below 1e-6."""
ROUNDING = 1e-9


@convert_to_assertion("the arguments of the axis")
def check_axis(axis: Axis, *, seed: int = 0) -> None:
    """Check that an axis satisfies `Axis`, and `Transition`, `Posterior` and `Readable` if it is one.

    Args:
        axis: an example of it; check several, with the edges of its parameters.
        seed: seed of the draws; a correct axis fails with a probability below 1e-6.

    Raises:
        AssertionError: with the violated requirement.
    """
    _check_description(axis)
    _check_documents(axis)
    _check_split(axis, seed)
    if isinstance(axis, Transition):
        _check_matrix(axis, axis)
        for told in axis_contradictions(axis):
            raise AssertionError(told)
        if math.prod(len(column.labels) for column in axis.columns()) == axis.released_size:
            _check_law(axis, axis, seed)
    if isinstance(axis, Posterior):
        _check_posterior(axis, axis.original_size, seed)
    if axis.one_number:
        generator = np.random.default_rng(seed)
        codes: Ints = generator.integers(0, axis.original_size, size=400)
        people = generator.integers(0, 1 << 63, size=(len(codes), 2), dtype=np.uint64)
        whole = _persistent_split(axis, codes, people)
        parts = [_persistent_split(axis, codes[part], people[part]) for part in (slice(0, 7), slice(7, None))]
        backwards = _persistent_split(axis, codes[::-1].copy(), people[::-1].copy())
        said = "split() does not draw a record by one number, as `one_number` declares"
        demand(bool(np.array_equal(np.concatenate(parts), whole)), said)
        demand(bool(np.array_equal(backwards[::-1], whole)), said)


def _check_description(axis: Axis) -> None:
    demand(bool(axis.attributes), "an axis has at least one attribute")
    demand(axis.original_size >= 1, "original_size is at least 1")
    columns, decoder = axis.columns(), axis.decoder()
    demand(bool(columns), "an axis releases at least one column")
    names = [column.name for column in columns]
    demand(len(set(names)) == len(names), f"released columns share a name: {names}")
    strange = {column.attribute for column in columns} - set(axis.attributes)
    demand(not strange, f"columns belong to attributes that are not the axis': {sorted(strange)}")
    told = axis.discloses()
    demand(isinstance(told, tuple) and all(isinstance(i, str) for i in told), "discloses() is not a tuple of ids")
    with convert_to_assertion("sections()"):
        demand(
            all(isinstance(s, Section) for s in axis.sections(1000)), "sections() returns something else than sections"
        )
    demand(isinstance(decoder, Decoder), f"{type(decoder).__name__} is not one of the six decoders")
    demand(set(decoder.attributes) == set(axis.attributes), "the decoder has other attributes than the axis")
    demand(
        set(decoder.columns) == set(names),
        f"the decoder reads the columns {list(decoder.columns)}, and these are {names}",
    )
    try:
        read(type(decoder), plain(decoder))
    except ValueError as error:
        raise AssertionError(f"the decoder cannot be read back: {error}") from error


def _check_documents(axis: Axis) -> None:
    for name, document in (("to_json", axis.to_json()), ("to_public_json", axis.to_public_json())):
        demand(isinstance(document, dict), f"{name}() returns an object")
        described = cast("dict[str, Json]", document)
        canonical(described)
        demand(described.get("kind") == axis.kind, f"{name}() contains its kind")
        demand(described.get("version") == axis.version, f"{name}() contains its version")
        again = type(axis).from_json(described)
        demand(again.to_public_json() == axis.to_public_json(), f"from_json({name}()) describes another axis")
        demand(again.decoder() == axis.decoder(), f"from_json({name}()) is undone otherwise")
        try:
            type(axis).from_json({**described, "version": axis.version + 1_000_000})
        except ValueError:
            continue
        raise AssertionError("from_json() takes a version that it cannot know")
    whole = type(axis).from_json(cast("Mapping[str, Json]", axis.to_json()))
    demand(whole.to_json() == axis.to_json(), "from_json(to_json()) is another axis")


def _run_split(axis: Axis, codes: Ints, n: Ints, seed: int) -> tuple[Ints, Codes, Ints]:
    return axis.split(codes, n, Streams.for_tests(seed).stream("axis", *axis.attributes))


def _same_split(one: tuple[Ints, Codes, Ints], other: tuple[Ints, Codes, Ints]) -> bool:
    return all(np.array_equal(one[part], other[part]) for part in range(3))


def _check_split(axis: Axis, seed: int) -> None:
    generator = np.random.default_rng(seed)
    codes: Ints = generator.integers(0, axis.original_size, size=40)
    n: Ints = generator.integers(0, 30, size=40)
    n[:3] = (0, 1, 63)
    cell, released, count = _run_split(axis, codes, n, seed)
    if type(axis).values is Axis.values:
        demand(
            released.shape == (len(cell), len(axis.columns())), "split() returns one released code a part and column"
        )
    demand(len(released) == len(cell) == len(count), "split() returns arrays of one length")
    for index, column in enumerate(axis.columns()):
        if column.kind in {"category", "interval"}:
            inside = (released[:, index] >= 0) & (released[:, index] < len(column.labels))
            demand(bool(np.all(inside)), f"split() returns a code that '{column.name}' has no label for")
    values = axis.values(released)
    demand(
        [len(v) for v in values] == [len(cell)] * len(axis.columns()), "values() returns one value a part and column"
    )
    demand(bool(np.all(np.diff(cell) >= 0)), "split() returns cells in order")
    demand(bool(np.all(count > 0)), "split() returns a part without records")
    kept = np.bincount(cell, weights=count, minlength=len(n))
    demand(bool(np.array_equal(kept, n)), "split() loses or makes up records")
    same = _same_split((cell, released, count), _run_split(axis, codes, n, seed))
    demand(same, "split() gives other results from the same bits")


def _persistent_split(axis: Axis, codes: Ints, people: PersonMarks) -> Codes:
    numbers = PersistentStream(lambda place: hashlib.sha256(b"%d" % place).digest(), people, codes)
    try:
        _, released, _ = axis.split(codes, np.ones(len(codes), dtype=np.int64), numbers)
    except RuntimeError as error:
        message = "split() uses more than one number per record, contrary to `one_number`"
        raise AssertionError(message) from error
    return released


def _inexact_type(number: object) -> str:
    """Return the type of a number that is not exact in any size; "" for int, and for Fraction of ints."""
    if type(number) is int:
        return ""
    inner = number.numerator if isinstance(number, Fraction) else number
    return "" if type(inner) is int else type(inner).__name__


def _check_matrix(axis: Axis, transition: Transition) -> None:
    entries = {v: transition.column(v) for v in range(axis.original_size)}
    dense = np.zeros((transition.released_size, axis.original_size))
    for name, value in (("max_ratio()", axis.max_ratio()), ("min_cross_ratio()", axis.min_cross_ratio())):
        demand(value is None or not _inexact_type(value), f"{name} is of type {_inexact_type(value)}, not a Fraction")
    for v, column in entries.items():
        strange = {_inexact_type(x) for x in (*column, *column.values())} - {""}
        demand(not strange, f"column {v} of the matrix holds {sorted(strange)}, not int and Fraction")
        demand(sum(column.values(), Fraction(0)) == 1, f"column {v} of the matrix does not sum to exactly 1")
        demand(all(p > 0 for p in column.values()), f"column {v} lists an entry that is not positive")
        for u, p in column.items():
            demand(0 <= u < transition.released_size, f"column {v} has an entry outside the released values")
            dense[u, v] = float(p)
    for power in (1, 2):
        exponent = cast("object", power)
        forward = transition.forward(np.eye(axis.original_size), 0, exponent)  # type: ignore[arg-type]
        back = transition.back(np.eye(transition.released_size), 0, exponent)  # type: ignore[arg-type]
        demand(bool(np.allclose(forward, dense**power, atol=1e-12)), f"forward(power={power}) is not the matrix")
        demand(bool(np.allclose(back, dense.T**power, atol=1e-12)), f"back(power={power}) is not its transpose")


def _check_law(axis: Axis, transition: Transition, seed: int) -> None:
    """Compare draws with the columns of the matrix, for many records in one cell and for many cells of one record."""
    size = axis.original_size
    codes: Ints = np.arange(size, dtype=np.int64)
    many, few = max(200, DRAWS // size), max(50, CELLS // size)
    _check_frequencies(axis, transition, codes, np.full(size, many, dtype=np.int64), seed)
    single = np.repeat(codes, few)
    _check_frequencies(axis, transition, single, np.ones_like(single), seed + 1)
    surest = min(max(transition.column(code).values()) for code in range(size))
    n: Ints = np.full(size, BIG, dtype=np.int64)
    if BIG * (1 - surest) < 1:
        return  # values that change so rarely may be equal by chance
    first = _run_split(axis, codes, n, seed)
    for other in range(SEEDS):
        if not _same_split(first, _run_split(axis, codes, n, seed + 1 + other)):
            return
    raise AssertionError("split() gives the same results from other bits: it does not draw from its stream")


def _check_frequencies(axis: Axis, transition: Transition, codes: Ints, n: Ints, seed: int) -> None:
    """Check every frequency against Bernstein's bound at 1e-7 over all of them."""
    cell, released, count = _run_split(axis, codes, n, seed)
    places = np.ravel_multi_index(tuple(released.T), [len(column.labels) for column in axis.columns()])
    chance = math.log(2e7 * axis.original_size * transition.released_size)
    for v in range(axis.original_size):
        here, draws = codes[cell] == v, int(n[codes == v].sum())
        seen = np.bincount(places[here], weights=count[here], minlength=transition.released_size)
        column = transition.column(v)
        for u in range(transition.released_size):
            p = float(column.get(u, Fraction(0)))
            room = math.sqrt(2 * draws * p * (1 - p) * chance) + chance * (2 / 3 if 0 < p < 1 else 0)
            of = "of single records " if len(n) > axis.original_size else ""
            same = abs(seen[u] - draws * p) <= room
            demand(same, f"split() {of}draws {u} from {v} with another chance than the matrix")


def _check_posterior(axis: Posterior, size: int, seed: int) -> None:
    """Check bounds of expected posteriors of many priors at once, and of ratios if the axis has them."""
    generator = np.random.default_rng(seed)
    counts = generator.integers(0, 4, size=(2, 3, size))
    counts[..., 0] += 1
    prior = counts / counts.sum(axis=-1, keepdims=True)
    lower, upper = axis.expected_posterior(prior)
    demand(lower.shape == upper.shape == prior.shape, "expected_posterior() takes priors of any number of dimensions")
    inside = (lower >= -ROUNDING) & (lower <= upper + ROUNDING) & (upper <= 1 + ROUNDING)
    demand(bool(inside.all()), "expected_posterior() returns a lower and an upper bound of a probability")
    demand(bool((upper[prior == 0] == 0).all()), "expected_posterior() is 0 for what does not occur")
    demand(
        bool((prior <= upper + ROUNDING).all()), "expected_posterior() is below the prior: released values reveal more"
    )
    for i in np.ndindex(prior.shape[:-1]):
        alone = axis.expected_posterior(prior[i])
        same = np.allclose(alone[0], lower[i], atol=ROUNDING) and np.allclose(alone[1], upper[i], atol=ROUNDING)
        demand(bool(same), "expected_posterior() of several priors is not that of each")
    if not isinstance(axis, Readable):
        return
    low, high = axis.expected_ratio(prior, prior)
    occurs = prior > 0
    demand(
        bool(((low <= 1 + ROUNDING) & (high >= 1 - ROUNDING))[occurs].all()), "expected_ratio(c, c) does not enclose 1"
    )
    worst = axis.worst_posterior(prior)
    demand(bool((lower <= worst + ROUNDING).all()), "worst_posterior() is below the expected one")
    n = [int(x) for x in counts[0, 0]]
    told = axis.exact_ratio([n[0], *[0] * (size - 1)], n, 0, 10**6)
    demand(
        told is None or bool(lower[0, 0, 0] - ROUNDING <= float(told) <= upper[0, 0, 0] + ROUNDING),
        "exact_ratio() is not what expected_posterior() encloses",
    )
