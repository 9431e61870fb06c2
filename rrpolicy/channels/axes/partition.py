"""Rules by which a recoding maps combinations of categories to combinations of labels: by levels, or by boxes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, ClassVar, TypeAlias

from msgspec import Struct

if TYPE_CHECKING:
    from rrpolicy.counts import Codes, Ints

Groups: TypeAlias = Sequence[tuple[tuple[int, ...], ...]]
"""For each attribute, for each of its labels, the original codes that it contains."""


class Levels(Struct, frozen=True):
    """Each category becomes the label of its group; classes may be suppressed.

    If suppression is permitted, the last label of each column contains the whole domain, and a suppressed class gets it
    in all columns.

    Attributes:
        suppressing: whether classes may be suppressed.
        suppressed: the labels' positions of each suppressed class before suppression; None without suppression, or in a
            public description, as it would reveal the values that occur.
    """

    rule: ClassVar[str] = "levels"

    audit_only: ClassVar[tuple[str, ...]] = ("suppressed",)

    suppressing: bool = False
    suppressed: tuple[tuple[int, ...], ...] | None = None

    def check(self, sizes: Sequence[int], groups: Groups, labels: Sequence[int]) -> None:
        """Raise ValueError unless the labels of each attribute, all of which have names, partition its categories."""
        if [len(of_attribute) for of_attribute in groups] != list(labels):
            raise ValueError("every group of an attribute must have a label")
        for size, of_attribute in zip(sizes, groups, strict=True):
            everything = tuple(range(size))
            own = of_attribute[:-1] if self.suppressing and len(of_attribute) > 1 else of_attribute
            if sorted(code for group in own for code in group) != list(everything):
                raise ValueError("each category must be in exactly one group of its attribute")
            if self.suppressing and of_attribute[-1] != everything:
                raise ValueError("the last label of an attribute must represent all its categories")
        if self.suppressed is not None:
            widths = [len(g) for g in groups]
            if not self.suppressing or any(
                len(c) != len(widths) or not all(0 <= i < w for i, w in zip(c, widths, strict=True))
                for c in self.suppressed
            ):
                raise ValueError("a suppressed class is not one of the classes")

    def recode(self, codes: Ints | Codes, groups: Groups, sizes: Sequence[int]) -> Codes:
        """Return (k, attributes) positions of labels.

        Raises:
            ValueError: if the suppressed classes are unknown.
        """
        import numpy as np

        if self.suppressing and self.suppressed is None:
            raise ValueError("the description does not list the suppressed classes")
        labels = np.empty(codes.shape, dtype=np.int32)
        for place, (size, of_attribute) in enumerate(zip(sizes, groups, strict=True)):
            becomes = np.empty(size, dtype=np.int32)
            for label in reversed(range(len(of_attribute))):  # the last one, if it means suppressed, is overwritten
                becomes[list(of_attribute[label])] = label
            labels[:, place] = becomes[codes[:, place]]
        if self.suppressed:
            shape = tuple(len(g) for g in groups)
            failing = np.ravel_multi_index(tuple(np.array(self.suppressed).T), shape)
            found = np.isin(np.ravel_multi_index(tuple(labels.T), shape), failing)
            labels[found] = [width - 1 for width in shape]
        return labels


class Cut(Struct, frozen=True):
    """A box cut along one attribute.

    Attributes:
        place: the attribute's place on the axis.
        parts: the label of each part on it; together they contain the box's label.
    """

    place: int
    parts: tuple[int, ...]


class Boxes(Struct, frozen=True):
    """The domain is cut into boxes, one cut after the other, and each combination becomes its box.

    Attributes:
        whole: the labels that contain everything, one per attribute: the box before any cut.
        cuts: the tree in preorder: a cut, followed by the subtree of each part; None is a box that is not cut.
    """

    rule: ClassVar[str] = "boxes"

    whole: tuple[int, ...]
    cuts: tuple[Cut | None, ...]

    def check(self, sizes: Sequence[int], groups: Groups, labels: Sequence[int]) -> None:
        """Raise ValueError unless every cut partitions its box, and uncut boxes have labels with names."""
        if len(self.whole) != len(sizes) or any(
            not 0 <= label < len(of_attribute) or sorted(of_attribute[label]) != list(range(size))
            for label, of_attribute, size in zip(self.whole, groups, sizes, strict=True)
        ):
            raise ValueError("the first box is not the whole domain")
        open_boxes = [self.whole]
        for cut in self.cuts:
            if not open_boxes:
                raise ValueError("there are more cuts than boxes")
            box = open_boxes.pop()
            if cut is None:
                continue
            if not 0 <= cut.place < len(box) or any(not 0 <= p < len(groups[cut.place]) for p in cut.parts):
                raise ValueError("a cut lists an unknown attribute or label")
            of_attribute = groups[cut.place]
            together = sorted(code for part in cut.parts for code in of_attribute[part])
            if together != sorted(of_attribute[box[cut.place]]):
                raise ValueError("a cut does not part its box")
            open_boxes += [_replace_label(box, cut.place, part) for part in reversed(cut.parts)]
        if open_boxes:
            raise ValueError("there are fewer cuts than boxes")
        if any(label >= named for box in self.boxes() for label, named in zip(box, labels, strict=True)):
            raise ValueError("a box has a label without a name")

    def boxes(self) -> tuple[tuple[int, ...], ...]:
        """Return the labels of every uncut box, in the tree's order."""
        open_boxes, found = [self.whole], []
        for cut in self.cuts:
            box = open_boxes.pop()
            if cut is None:
                found.append(box)
            else:
                open_boxes += [_replace_label(box, cut.place, part) for part in reversed(cut.parts)]
        return tuple(found)

    def numbered(self, orders: Sequence[Sequence[int]]) -> Boxes:
        """Return the same boxes under another order of each attribute's labels: position -> label."""
        place = [{label: position for position, label in enumerate(order)} for order in orders]
        cuts = (None if c is None else Cut(c.place, tuple(place[c.place][part] for part in c.parts)) for c in self.cuts)
        return Boxes(tuple(of[label] for of, label in zip(place, self.whole, strict=True)), tuple(cuts))

    def recode(self, codes: Ints | Codes, groups: Groups, sizes: Sequence[int]) -> Codes:
        """Return (k, attributes) positions of labels."""
        import numpy as np

        labels = np.empty(codes.shape, dtype=np.int32)
        part_of = [np.zeros(size, dtype=np.int32) for size in sizes]
        waiting: list[tuple[tuple[int, ...], Ints]] = [(self.whole, np.arange(len(codes)))]
        for cut in self.cuts:
            box, rows = waiting.pop()
            if cut is None:
                labels[rows] = box
                continue
            owner = part_of[cut.place]
            for number, part in enumerate(cut.parts):
                owner[list(groups[cut.place][part])] = number
            mine = owner[codes[rows, cut.place]]
            waiting += [
                (_replace_label(box, cut.place, part), rows[mine == number])
                for number, part in reversed(tuple(enumerate(cut.parts)))
            ]
        return labels


Rule: TypeAlias = Levels | Boxes


def _replace_label(box: tuple[int, ...], place: int, label: int) -> tuple[int, ...]:
    return (*box[:place], label, *box[place + 1 :])
