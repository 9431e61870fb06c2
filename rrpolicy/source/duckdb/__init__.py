"""The engine `duckdb`: Parquet, CSV and DuckDB tables read in place, encoded and counted inside the engine."""
