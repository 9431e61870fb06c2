"""The engine of a table in memory: copied into a private engine when it is opened, so that it cannot change."""

from __future__ import annotations

from contextlib import AbstractContextManager
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from rrpolicy.frozen_dataclass import frozen
from rrpolicy.policy.model import PLAIN, Reading
from rrpolicy.source.memory.copied_records import encoded
from rrpolicy.source.memory.kinds import MEMORY_SCHEME, TUNING_SCHEME

if TYPE_CHECKING:
    from rrpolicy.source.protocol import Snapshot


@frozen
class MemorySource:
    """Opens one table in memory; a `Source`.

    Attributes:
        held: the caller's table.
        kind: the name of its kind.
    """

    schemes: ClassVar[tuple[str, ...]] = (MEMORY_SCHEME, TUNING_SCHEME)
    paths: ClassVar[bool] = False
    held: Any
    kind: str

    def open(  # uri and table select nothing: this is one table
        self,
        uri: str,  # noqa: ARG002
        table: str | None,  # noqa: ARG002
        scratch: Path,
        reading: Reading = PLAIN,
    ) -> AbstractContextManager[Snapshot]:
        """Copy the table and open the copy; see `Source.open`.

        Args:
            uri: of the scheme; the rest is for messages.
            table: ignored: it selects one of a database's tables, and this is one table.
            scratch: the folder to which DuckDB spills.
            reading: the codes of missing values; the format of CSV is ignored.

        Raises:
            DataError: RR344 if a column cannot be read, RR308 if columns share a name.
        """
        return encoded(self.held, f"the {self.kind}", scratch, reading, kind=self.kind)
