"""Tables in the caller's memory: data frames, Arrow tables and DuckDB relations."""
