"""The bundle: a plan executed once, the data and its documents, written whole or not at all."""
