"""Released tables: drawn rows sorted, digested, written in every format, and read back."""
