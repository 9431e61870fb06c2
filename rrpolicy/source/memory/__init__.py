"""Tables that the caller holds in memory: data frames, Arrow tables and DuckDB relations."""
