"""Thrift's compact protocol, as far as a Parquet footer needs it: structs, lists, integers and byte strings.

References:
    Apache Thrift, "Thrift Compact protocol encoding", doc/specs/thrift-compact-protocol.md.
"""

from __future__ import annotations

from collections.abc import Sequence

_I16, _I32, _I64, _BINARY, _LIST, _STRUCT = 4, 5, 6, 8, 9, 12
_SHORT_LIST = 15
_BYTE = 0x7F


def varint(value: int) -> bytes:
    """Return an unsigned integer, seven bits a byte, the lowest first."""
    out = bytearray()
    while value > _BYTE:
        out.append(value & _BYTE | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)


class Struct:
    """A struct in the making; fields are added in increasing order of their ids."""

    def __init__(self) -> None:
        self._out = bytearray()
        self._last = 0

    def i16(self, field: int, value: int) -> Struct:
        """Add a 16-bit integer."""
        return self._add(field, _I16, varint(value << 1))

    def i32(self, field: int, value: int) -> Struct:
        """Add a 32-bit integer, not negative."""
        return self._add(field, _I32, varint(value << 1))

    def i64(self, field: int, value: int) -> Struct:
        """Add a 64-bit integer, not negative."""
        return self._add(field, _I64, varint(value << 1))

    def binary(self, field: int, value: bytes) -> Struct:
        """Add a byte string."""
        return self._add(field, _BINARY, varint(len(value)) + value)

    def struct(self, field: int, value: Struct) -> Struct:
        """Add a struct."""
        return self._add(field, _STRUCT, value.done())

    def structs(self, field: int, values: Sequence[Struct]) -> Struct:
        """Add a list of structs."""
        return self._list(field, _STRUCT, [v.done() for v in values])

    def i32s(self, field: int, values: Sequence[int]) -> Struct:
        """Add a list of 32-bit integers."""
        return self._list(field, _I32, [varint(v << 1) for v in values])

    def binaries(self, field: int, values: Sequence[bytes]) -> Struct:
        """Add a list of byte strings."""
        return self._list(field, _BINARY, [varint(len(v)) + v for v in values])

    def done(self) -> bytes:
        """Return the struct's bytes."""
        return bytes(self._out) + b"\0"

    def _list(self, field: int, kind: int, items: Sequence[bytes]) -> Struct:
        size = len(items)
        head = bytes([size << 4 | kind]) if size < _SHORT_LIST else bytes([0xF0 | kind]) + varint(size)
        return self._add(field, _LIST, head + b"".join(items))

    def _add(self, field: int, kind: int, content: bytes) -> Struct:
        delta = field - self._last
        if not 0 < delta <= _SHORT_LIST:
            raise ValueError("fields come in increasing order, at most 15 apart")
        self._out += bytes([delta << 4 | kind]) + content
        self._last = field
        return self
