"""The bundle: a plan executed once, and what is written beside the data, whole or not at all."""
