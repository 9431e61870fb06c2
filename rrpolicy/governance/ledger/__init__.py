"""The ledger: what was released before of the same people, in a file that nobody changes unseen."""
