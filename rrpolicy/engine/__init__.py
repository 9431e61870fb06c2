"""The interface to DuckDB: connections, quoting in one place, types of columns, errors in plain words."""
