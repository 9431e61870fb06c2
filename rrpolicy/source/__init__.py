"""Reading the original: a pinned `Snapshot` of a table, read under a policy as an `Original`."""
