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
    """Opens one table in memory; a `Source`."""

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

        `table` and the format of CSV are ignored: this is one table.
        """
        return encoded(self.held, f"the {self.kind}", scratch, reading, kind=self.kind)
