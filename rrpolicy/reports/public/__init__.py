"""Content of the public page alone: description, usage, accuracy and guarantees."""
