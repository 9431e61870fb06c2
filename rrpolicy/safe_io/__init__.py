"""Files that somebody else may have written, and files that appear whole or not at all."""
