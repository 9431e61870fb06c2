"""The ledger: earlier releases of the same people, in a file whose changes are detected."""
