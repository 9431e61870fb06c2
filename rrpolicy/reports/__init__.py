"""Content of the report: the public page from public/ alone, the audit page from the same and from audit data."""
