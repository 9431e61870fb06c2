"""Risk measures of an anonymised table from another source."""
