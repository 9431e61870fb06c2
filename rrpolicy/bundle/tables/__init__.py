"""Released tables: drawn rows put in order, digested, written in every format, and read back."""
