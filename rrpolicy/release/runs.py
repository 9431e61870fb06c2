"""Tables of categories as Parquet, straight from distinct rows with multiplicities: time and size go by runs, not rows.

A general writer looks at every value of every column; a sorted table of 10^8 records in some thousand cells has only
some ten thousand runs, and Parquet's dictionary encoding stores exactly runs. Columns are required (categories are
never null), each row group has one dictionary page and one data page a column, compressed with zstd.

References:
    Apache Parquet, "File Format": PageHeader, FileMetaData (parquet.thrift); "RLE / Bit-Packing Hybrid" (Encodings.md).
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from rrpolicy import __version__
from rrpolicy.channel.table import TableSpec
from rrpolicy.release.columns import engine_type
from rrpolicy.release.formats import coded
from rrpolicy.release.thrift import Struct, varint

if TYPE_CHECKING:
    import pyarrow as pa

    from rrpolicy.source.counts import Ints

MAGIC = b"PAR1"
PHYSICAL = {"VARCHAR": 6, "BIGINT": 2, "DOUBLE": 5}
"""Engine type -> Parquet's physical type (BYTE_ARRAY, INT64, DOUBLE)."""
_PLAIN, _RLE, _RLE_DICTIONARY, _ZSTD, _UTF8 = 0, 3, 8, 6, 0
_DATA_PAGE, _DICTIONARY_PAGE = 0, 2


def handles(spec: TableSpec) -> bool:
    """Return whether every column of a table is one that this writer knows."""
    return all(c.kind in {"category", "interval"} and engine_type(c) in PHYSICAL for c in spec.columns)


@dataclass(frozen=True, slots=True)
class _Chunk:
    """A written column chunk."""

    offset: int
    data: int
    plain: int
    packed: int


class RunsTable:
    """One Parquet file, written run by run."""

    def __init__(self, path: Path, spec: TableSpec) -> None:
        self._names = [c.name.encode() for c in spec.columns]
        self._types = [PHYSICAL[engine_type(c)] for c in spec.columns]
        self._groups: list[Struct] = []
        self._rows = 0
        self._file = path.open("xb")
        self._file.write(MAGIC)

    def write(self, rows: pa.RecordBatch, n: Ints) -> None:
        """Write one row group."""
        total = int(n.sum())
        chunks = [self._column(column, n, total) for column in rows.columns]
        described = [Struct().i64(2, 0).struct(3, self._metadata(i, chunk, total)) for i, chunk in enumerate(chunks)]
        group = Struct().structs(1, described).i64(2, sum(c.plain for c in chunks)).i64(3, total)
        group.i64(5, chunks[0].offset).i64(6, sum(c.packed for c in chunks))
        self._groups.append(group.i16(7, len(self._groups)) if len(self._groups) < 1 << 15 else group)
        self._rows += total

    def close(self) -> None:
        """Write the footer."""
        root = Struct().binary(4, b"schema").i32(5, len(self._names))
        leaves = [_leaf(name, kind) for name, kind in zip(self._names, self._types, strict=True)]
        footer = Struct().i32(1, 2).structs(2, [root, *leaves]).i64(3, self._rows).structs(4, self._groups)
        content = footer.binary(6, f"rrpolicy version {__version__} (build 0)".encode()).done()
        self._file.write(content + len(content).to_bytes(4, "little") + MAGIC)
        self._file.close()

    def abandon(self) -> None:
        """Let go of the file."""
        self._file.close()

    def _column(self, column: pa.Array, n: Ints, total: int) -> _Chunk:
        import pyarrow as pa

        known = coded(column)
        labels, codes = known.dictionary, known.indices.to_numpy()
        texts = pa.types.is_string(labels.type)
        dictionary = b"".join(map(_byte_array, labels.to_pylist())) if texts else labels.to_numpy().tobytes()
        offset = self._file.tell()
        head = Struct().i32(1, len(labels)).i32(2, _PLAIN)
        first = self._page(_DICTIONARY_PAGE, dictionary, 7, head)
        data = self._file.tell()
        head = Struct().i32(1, total).i32(2, _RLE_DICTIONARY).i32(3, _RLE).i32(4, _RLE)
        second = self._page(_DATA_PAGE, hybrid(codes.astype(np.int64), n, len(labels)), 5, head)
        return _Chunk(offset, data, first + second, self._file.tell() - offset)

    def _page(self, kind: int, content: bytes, field: int, head: Struct) -> int:
        """Write a page; return its size if it were not compressed."""
        import pyarrow as pa

        packed = pa.Codec("zstd").compress(content, asbytes=True)
        header = Struct().i32(1, kind).i32(2, len(content)).i32(3, len(packed)).struct(field, head).done()
        self._file.write(header + packed)
        return len(header) + len(content)

    def _metadata(self, column: int, chunk: _Chunk, total: int) -> Struct:
        about = Struct().i32(1, self._types[column]).i32s(2, [_PLAIN, _RLE, _RLE_DICTIONARY])
        about.binaries(3, [self._names[column]]).i32(4, _ZSTD).i64(5, total).i64(6, chunk.plain)
        return about.i64(7, chunk.packed).i64(9, chunk.data).i64(11, chunk.offset)


def hybrid(codes: Ints, n: Ints, labels: int) -> bytes:
    """Return dictionary codes in the RLE / bit-packing hybrid, behind the byte that tells their width.

    Runs if that is shorter, else one bit-packed run of everything.

    Args:
        codes: (rows,) codes below `labels`.
        n: (rows,) how often each stands.
        labels: the size of the dictionary.
    """
    width = max(1, (labels - 1).bit_length())
    starts = np.flatnonzero(np.concatenate(([True], codes[1:] != codes[:-1])))
    lengths = np.add.reduceat(n, starts)
    size = (width + 7) // 8
    if len(starts) * (1 + size) <= int(n.sum()) * width // 8:
        return bytes([width]) + _runs(codes[starts], lengths, size)
    return bytes([width]) + _packed(np.repeat(codes, n), width)


def _runs(codes: Ints, lengths: Ints, size: int) -> bytes:
    """Return one run after the other: the doubled length as a varint, then the code in whole bytes."""
    return b"".join(
        varint(length << 1) + code.to_bytes(size, "little")
        for code, length in zip(codes.tolist(), lengths.tolist(), strict=True)
    )


def _packed(codes: Ints, width: int) -> bytes:
    """Return one bit-packed run, padded to whole groups of eight."""
    groups = -(-len(codes) // 8)
    padded = np.zeros(groups * 8, dtype=np.int64)
    padded[: len(codes)] = codes
    bits = (padded[:, None] >> np.arange(width)) & 1
    return varint(groups << 1 | 1) + np.packbits(bits.astype(np.uint8), bitorder="little").tobytes()


def _byte_array(text: str) -> bytes:
    content = text.encode()
    return len(content).to_bytes(4, "little") + content


def _leaf(name: bytes, kind: int) -> Struct:
    element = Struct().i32(1, kind).i32(3, 0).binary(4, name)
    if kind != PHYSICAL["VARCHAR"]:
        return element
    return element.i32(6, _UTF8).struct(10, Struct().struct(1, Struct()))
