"""Reading the original: a pinned `Snapshot` of a table, seen under a policy as an `Original`."""
